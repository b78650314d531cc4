//! Results in the caller's memory.

use smallvec::SmallVec;

use super::operands::{are_ready, ready_for, refs, tensors_of};
use super::{Begun, Prepared};
use crate::error::Error;
use crate::expr::control::Run;
use crate::storage::{StoredElement, Tensor};

impl Prepared {
    /// Runs all stages, with the result in the caller's memory.
    ///
    /// # Errors
    /// As [`Prepared::run`], and [`Error::Shape`] if the length is not that of the result, or
    /// if the result is neither stored in full, row-major, nor in the positions of a tensor.
    pub(crate) fn run_into<T: StoredElement>(
        &self,
        operands: &[&Tensor],
        how: Run,
        out: &mut [T],
        begun: Begun,
    ) -> Result<(), Error> {
        if self.aligned.is_some() {
            return self.run_aligned_into(operands, how, out, begun);
        }
        let format = self.result_format();
        let frame = self.frame(operands)?;
        if T::DTYPE != self.assignment.result.dtype {
            return Err(Error::Dtype { expected: T::DTYPE, found: self.assignment.result.dtype });
        }
        let wanted = frame.stages.last().expect("as many as stages").bound.shape();
        let row_major = {
            let order = format.levels().iter().enumerate();
            format.is_full()
                && !format.depends_on_entries()
                && format.level_count() == wanted.len()
                && order.clone().all(|(at, l)| l.expr == ust_format::IndexExpr::Var(at))
        };
        if !row_major || wanted.iter().product::<usize>() != out.len() {
            return Err(Error::Shape {
                found: vec![out.len()],
                expected: format!(
                    "the result has shape {wanted:?} and is stored in `{format}`; a slice takes one \
                     value for each element, in row-major order"
                ),
            });
        }
        self.run_stages_into(operands, how, out, begun)
    }

    /// Runs all stages, with the values of the result in memory of as many.
    pub(super) fn run_stages_into<T: StoredElement>(
        &self,
        operands: &[&Tensor],
        how: Run,
        out: &mut [T],
        begun: Begun,
    ) -> Result<(), Error> {
        let (last, above) = self.compiled.split_last().expect("an assignment has a stage");
        let frame = self.frame(operands)?;
        let stage = &self.stages[above.len()];
        let sizes = &frame.stages[above.len()];
        let in_place =
            last.along.is_none() && last.instead.is_none() && last.planned.rest.dtype() == T::DTYPE;
        let mut ready = SmallVec::new();
        if in_place && are_ready(stage, last, operands, &mut ready) {
            return last.run_into(&ready, sizes, how, out);
        }
        if in_place && above.is_empty() {
            let Begun { results, mut made, .. } = begun;
            let given = tensors_of(&self.assignment, stage, operands, &results, &mut made)?;
            let (tensors, how) = ready_for(last, given, how)?;
            return last.run_into(&refs(&tensors), sizes, how, out);
        }
        let result = self.run_stages(operands, how, None, begun)?;
        result.fetch()?;
        out.copy_from_slice(result.values().typed::<T>()?);
        Ok(())
    }
}
