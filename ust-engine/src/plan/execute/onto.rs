//! Results that are added to what is there already: parts of a sum, one after another in one memory.

use smallvec::SmallVec;
use ust_format::Format;
use ust_level_api::{Dtype, with_dtype};

use super::operands::{are_ready, ready_for, refs, tensors_of};
use super::{Begun, Prepared};
use crate::error::Error;
use crate::expr::control::Run;
use crate::storage::{StoredElement, Tensor};

impl Prepared {
    /// The format of the result.
    pub(crate) fn result_format(&self) -> &Format {
        let last = self.compiled.last().expect("an assignment has a stage");
        self.counts.as_ref().unwrap_or(last.format())
    }

    /// Whether the loops can add to what a result of this format and dtype holds.
    pub(crate) fn adds_onto(&self, format: &Format, dtype: Dtype) -> bool {
        match &self.compiled[..] {
            [only] => self.counts.is_none() && only.adds_onto(format, dtype),
            _ => false,
        }
    }

    /// Adds the result to values that are stored as those of [a tensor that it can add to](Self::adds_onto).
    ///
    /// # Errors
    /// As [`Prepared::run`], and [`Error::Shape`] for another number of values.
    pub(crate) fn run_onto<T: StoredElement>(
        &self,
        operands: &[&Tensor],
        how: Run,
        out: &mut [T],
        begun: Begun,
    ) -> Result<(), Error> {
        let frame = self.frame(operands)?;
        let (stage, compiled, sizes) = (&self.stages[0], &self.compiled[0], &frame.stages[0]);
        let mut levels = sizes.bound.levels().iter().map(|level| level.size);
        let length = levels.try_fold(1_u64, u64::checked_mul);
        if length != Some(out.len() as u64) {
            let expected = format!("the values of a result of shape {:?}", sizes.bound.shape());
            return Err(Error::Shape { found: vec![out.len()], expected });
        }
        let mut ready = SmallVec::new();
        if are_ready(stage, compiled, operands, &mut ready) {
            return compiled.run_onto(&ready, sizes, how, out);
        }
        let Begun { results, mut made, .. } = begun;
        let given = tensors_of(&self.assignment, stage, operands, &results, &mut made)?;
        let (tensors, how) = ready_for(compiled, given, how)?;
        compiled.run_onto(&refs(&tensors), sizes, how, out)
    }

    /// Adds the result to a tensor, in its memory.
    ///
    /// # Errors
    /// As [`Prepared::run_onto`].
    pub(crate) fn add_to(
        &self,
        operands: &[&Tensor],
        how: Run,
        target: &mut Tensor,
        begun: Begun,
    ) -> Result<(), Error> {
        target.fetch()?;
        let clean = target.clean;
        with_dtype!(target.dtype(), T => {
            self.run_onto(operands, how, target.values_mut::<T>()?, begun)?;
        });
        target.clean = clean;
        Ok(())
    }
}
