//! What plans depend on of a tensor: everything but the contents of its arrays.

use ust_format::{Bound, Format};
use ust_level_api::{ArraySpec, Arrays, Dtype, IndexKind, Scalar};

use super::Tensor;
use super::view::View;
use crate::error::Error;

/// A tensor without the contents of its arrays: format, shape, dtype, fill value, the number of stored elements,
/// and of each level array its kind and length. Plans are made from outlines, so a tensor whose arrays are
/// elsewhere, such as in the memory of a device, can be planned for.
#[derive(Clone, Debug)]
pub struct Outline {
    bound: Bound,
    view: View,
    fill: Scalar,
    nse: usize,
    iso: bool,
    /// Whether a stored value equal to the fill value is padding.
    padded: bool,
    arrays: Vec<Vec<(IndexKind, usize)>>,
}

impl Outline {
    /// The outline of a tensor in this format and shape, with `nse` stored elements of the dtype of the fill value.
    /// `arrays` has the kind and the length of each array of each level.
    ///
    /// # Errors
    /// [`Error::Shape`] if they are not as many as the format has.
    pub fn new(
        bound: Bound,
        fill: Scalar,
        nse: usize,
        arrays: Vec<Vec<(IndexKind, usize)>>,
    ) -> Result<Self, Error> {
        let found: Vec<usize> = arrays.iter().map(Vec::len).collect();
        let levels = bound.format().descriptions().iter();
        let wanted: Vec<usize> = levels.map(|level| level.arrays.len()).collect();
        if found != wanted {
            let expected = format!("`{}` has {wanted:?} arrays", bound.format());
            return Err(Error::Shape { found, expected });
        }
        let view = View::whole(bound.shape());
        let padded = bound.format().has_padding();
        Ok(Self { bound, view, fill, nse, iso: false, padded, arrays })
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> &Format {
        self.bound.format()
    }

    /// The format bound to the shape: level sizes and lowest coordinates.
    #[must_use]
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// Extent of each dimension.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.view.shape()
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// The dtype of the values.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.fill.dtype()
    }

    /// The value of elements that are not stored.
    #[must_use]
    pub fn fill(&self) -> Scalar {
        self.fill
    }

    /// Number of stored elements, padding included.
    #[must_use]
    pub fn nse(&self) -> usize {
        self.nse
    }

    /// Whether one value is stored for all elements.
    #[must_use]
    pub fn is_iso(&self) -> bool {
        self.iso
    }

    /// This outline, of a tensor with one value for all elements or with a value for each.
    pub(crate) fn with_iso(self, iso: bool) -> Self {
        Self { iso, ..self }
    }

    /// This outline, of a tensor that stores entries alone, whatever its format.
    pub(crate) fn without_padding(self) -> Self {
        Self { padded: false, ..self }
    }

    /// For each level, the kind and the length of each array.
    #[must_use]
    pub fn arrays(&self) -> &[Vec<(IndexKind, usize)>] {
        &self.arrays
    }

    /// The kind and the length of the first array of a level that is such.
    pub(crate) fn array_where(
        &self,
        level: usize,
        is_wanted: impl Fn(&ArraySpec) -> bool,
    ) -> Option<(IndexKind, usize)> {
        let specs = &self.format().descriptions().get(level)?.arrays;
        let at = specs.iter().position(is_wanted)?;
        self.arrays[level].get(at).copied()
    }

    /// As [`Tensor::has_padding`], unless it is known that no padding is stored.
    #[must_use]
    pub fn has_padding(&self) -> bool {
        self.padded
    }
}

impl Tensor {
    /// What plans depend on.
    #[must_use]
    pub fn outline(&self) -> Outline {
        let of_level =
            |arrays: &Arrays| arrays.0.iter().map(|array| (array.kind(), array.len())).collect();
        Outline {
            bound: self.bound.clone(),
            view: self.view.clone(),
            fill: self.fill,
            nse: self.nse(),
            iso: self.is_iso(),
            padded: self.has_padding(),
            arrays: self.levels().iter().map(of_level).collect(),
        }
    }
}
