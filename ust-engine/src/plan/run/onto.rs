//! Loops that add to what a result in full holds.

use ust_format::Format;
use ust_level_api::Dtype;

use super::{Compiled, fetch};
use crate::error::Error;
use crate::expr::control::Run;
use crate::expr::operator::Operator;
use crate::plan::choose::Planned;
use crate::plan::frame::Sizes;
use crate::plan::sink::SinkKind;
use crate::storage::{StoredElement, Tensor};

impl Compiled {
    /// Whether the loops can add to what a result of this format and dtype holds.
    pub(crate) fn adds_onto(&self, format: &Format, dtype: Dtype) -> bool {
        let Planned { onto, sink, rest, .. } = &self.planned;
        *onto
            && self.adds
            && !self.sets_all
            && self.along.is_none()
            && self.instead.is_none()
            && self.reduce == Some(Operator::Add)
            && sink.kind == SinkKind::Full
            && (&sink.format, &self.planned.format, rest.dtype()) == (format, format, dtype)
            && self.chosen.executable.adds_onto()
    }

    /// Runs the loops on a result that holds values, to which they add.
    ///
    /// # Errors
    /// As [`Compiled::run`].
    pub(crate) fn run_onto<T: StoredElement>(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        how: Run,
        out: &mut [T],
    ) -> Result<(), Error> {
        if out.is_empty() || self.combines_nothing(sizes) {
            return Ok(());
        }
        fetch(tensors)?;
        let groups = self.groups(tensors, sizes, how)?;
        self.fill(tensors, sizes, groups.as_deref(), how, out)
    }
}
