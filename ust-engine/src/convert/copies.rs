//! Copies of what a tensor shows, for loops that do not run on it as it is: of slices, and of counted formats. They are
//! kept beside the values, so that the next run finds them.

use std::sync::Arc;

use ust_format::Bound;
use ust_level_api::Scalar;

use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::view::View;

/// Copies, the one that was used last first.
struct Copies(Vec<Arc<Copied>>);

struct Copied {
    /// The identity of the arrays of the levels.
    levels: u64,
    bound: Bound,
    view: View,
    fill: Scalar,
    copy: Tensor,
}

impl Copied {
    fn is_of(&self, tensor: &Tensor) -> bool {
        self.levels == tensor.kept_of_levels().id()
            && self.bound.format() == tensor.format()
            && self.bound.extents() == tensor.bound.extents()
            && self.view == tensor.view
            && self.fill.same(&tensor.fill)
    }
}

impl Tensor {
    /// The copy that `make` makes of this tensor: one that was made before, if it is kept. All that are kept together
    /// take as many bytes as the tensor itself, at most.
    ///
    /// # Errors
    /// Those of `make`.
    pub(crate) fn copied_by(
        &self,
        make: impl FnOnce() -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        let kept = self.kept_of_values();
        let before = kept.get::<Copies>();
        let mut copies = before.as_ref().map_or(Vec::new(), |copies| copies.0.clone());
        if let Some(at) = copies.iter().position(|copied| copied.is_of(self)) {
            return Ok(copies[at].copy.clone());
        }
        let mut copy = make()?;
        // What is kept with the values of a copy that shares them would keep itself.
        copy.set_values(copy.values().clone());
        // The memory of a device is left to others.
        if copy.place().is_some() {
            return Ok(copy);
        }
        let copied = Copied {
            levels: self.kept_of_levels().id(),
            bound: self.bound.clone(),
            view: self.view.clone(),
            fill: self.fill,
            copy: copy.clone(),
        };
        copies.insert(0, Arc::new(copied));
        let mut bytes = 0;
        copies.retain(|copied| {
            bytes += copied.copy.bytes();
            bytes <= self.bytes()
        });
        if copies.first().is_some_and(|first| first.is_of(self)) {
            let bytes: usize = copies.iter().map(|copied| copied.copy.bytes()).sum();
            kept.keep(Arc::new(Copies(copies)), bytes as u64);
        }
        Ok(copy)
    }
}
