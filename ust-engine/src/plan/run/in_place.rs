//! Results in which the position of every value is known before the loops run: stored in full, or with
//! the levels of an operand. Threads write to one array, or each to a copy; copies are combined afterwards.

use std::iter;

use ust_format::Bound;
use ust_kernels::pool::apart;
use ust_level_api::ir::cancel;
use ust_level_api::ir::interp::Param;
use ust_level_api::with_dtype;

use super::{Compiled, Parts};
use crate::error::Error;
use crate::expr::control::Run;
use crate::plan::frame::{Params, Sizes};
use crate::provider::unsorted::{combine_copies, combining};
use crate::storage::memory::Budget;
use crate::storage::{StoredElement, Tensor, Values};

impl Compiled {
    /// Runs the loops for a result that is stored in full.
    pub(in crate::plan) fn in_full(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        how: Run,
    ) -> Result<Tensor, Error> {
        let length = self.length(&sizes.bound, how)?;
        let groups = self.groups(tensors, sizes, how)?;
        let values = self.in_place(tensors, length, sizes, groups.as_deref(), how)?;
        Ok(Tensor::from_full(&sizes.bound, values, self.planned.fill))
    }

    /// Number of elements of a result that is stored in full.
    pub(super) fn length(&self, bound: &Bound, how: Run) -> Result<usize, Error> {
        let mut each = bound.levels().iter().map(|level| level.size);
        let length = each.try_fold(1_u64, u64::checked_mul);
        let bytes = length.and_then(|n| n.checked_mul(self.planned.rest.dtype().bytes() as u64));
        let Some(length) = length.filter(|_| bytes.is_some_and(|b| b <= how.limit)) else {
            let (what, help) = match self.between {
                false => ("a result", "ask for a sparse format, or "),
                true => ("a tensor between operands and result", ""),
            };
            return Err(Error::TooLarge(format!(
                "{what} of shape {:?}, stored in full, takes more than {} bytes: {help}raise the \
                 memory limit",
                bound.shape(),
                how.limit
            )));
        };
        Ok(length as usize)
    }

    /// Runs the loops for a result that shares the levels of an operand, which is stored as `levels` is.
    pub(super) fn in_shared(
        &self,
        tensors: &[&Tensor],
        levels: &Tensor,
        sizes: &Sizes,
        how: Run,
    ) -> Result<Tensor, Error> {
        let groups = self.groups(tensors, sizes, how)?;
        let length = levels.nse();
        let values = self.in_place(tensors, length, sizes, groups.as_deref(), how)?;
        levels.with_clean_values(values)
    }

    /// The values of a result in place.
    fn in_place(
        &self,
        tensors: &[&Tensor],
        length: usize,
        sizes: &Sizes,
        groups: Option<&[Parts]>,
        how: Run,
    ) -> Result<Values, Error> {
        let rest = self.planned.rest;
        // Fresh memory that is read before it is written causes two page faults for each page.
        let prepares = self.adds || self.sets_all;
        let mut values = match prepares {
            true => Values::unspecified(rest.dtype(), length),
            false => Values::filled(rest, length),
        };
        with_dtype!(rest.dtype(), T => {
            if prepares {
                self.prepare(values.typed_mut::<T>()?);
            }
            self.fill(tensors, sizes, groups, how, values.typed_mut::<T>()?)?;
        });
        Ok(values)
    }

    /// Fills the result with the unstored value, unless the loops set every element.
    pub(super) fn prepare<T: StoredElement>(&self, out: &mut [T]) {
        let rest = T::from_scalar(self.planned.rest).unwrap_or(T::ZERO);
        if !self.sets_all {
            out.fill(rest);
        } else if cfg!(debug_assertions) {
            // A wrong value, so that tests find elements that the loops do not set.
            out.fill(if rest.same(T::ONE) { T::ZERO } else { T::ONE });
        }
    }

    /// Runs the loops on memory that [was prepared](Self::prepare).
    pub(super) fn fill<T: StoredElement>(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        groups: Option<&[Parts]>,
        how: Run,
        out: &mut [T],
    ) -> Result<(), Error> {
        let (each, budget) = (size_of_val(out) as u64, Budget::new(how.limit));
        budget.take(each, 0);
        // Without memory for the copies, one thread runs all parts.
        let fits = |groups: &&[Parts]| {
            self.keeps_apart() || budget.take_all(each.saturating_mul(groups.len() as u64 - 1))
        };
        let Some(groups) = groups.filter(fits) else {
            cancel::check()?;
            let params = || self.params(tensors, sizes, self.whole(), 0);
            let own;
            let params = match self.depends_on_entries() {
                true => {
                    own = params();
                    &own
                }
                false => sizes.whole.get_or_init(params),
            };
            let mut tables = self.tables(tensors, &budget, 1)?;
            let mut memory = self.bindings(tensors, T::memory_mut(out), &mut tables);
            return self.chosen.executable.run(params, &mut memory);
        };
        let params = |part: (i64, i64), region| self.params(tensors, sizes, part, region);
        let executable = &self.chosen.executable;
        if let Some(shared) = self.long_rows(tensors, sizes, groups, how)?
            && shared.fill(tensors, sizes, (&mut *out, &budget))?
        {
            return Ok(());
        }
        if self.keeps_apart() {
            let each = |(region, parts): (usize, &Parts)| {
                parts.iter().map(|&part| params(part, region)).collect()
            };
            let each: Vec<Vec<Params>> = groups.iter().enumerate().map(each).collect();
            let each: Vec<Vec<&[Param]>> =
                each.iter().map(|group| group.iter().map(|one| &one[..]).collect()).collect();
            let mut tables = self.tables(tensors, &budget, groups.len())?;
            let mut memory = self.bindings(tensors, T::memory_mut(out), &mut tables);
            return executable.run_apart(&each, &mut memory, &|| Ok(cancel::check()?));
        }
        let several = |parts: &[(i64, i64)], out: &mut [T]| -> Result<(), Error> {
            let mut tables = self.tables(tensors, &budget, 1)?;
            let mut memory = self.bindings(tensors, T::memory_mut(out), &mut tables);
            parts.iter().try_for_each(|&part| {
                cancel::check()?;
                executable.run(&params(part, 0), &mut memory)
            })
        };
        let rest = T::from_scalar(self.planned.rest).unwrap_or(T::ZERO);
        let copy = |_: &Parts| Values::unspecified(T::DTYPE, out.len());
        let mut copies: Vec<Values> = groups[1..].iter().map(copy).collect();
        let typed: Result<Vec<_>, _> = copies.iter_mut().map(Values::typed_mut::<T>).collect();
        let fresh = typed?.into_iter().map(|copy| (true, copy));
        let places = iter::once((false, &mut *out)).chain(fresh);
        apart(groups.iter().zip(places), |(parts, (is_fresh, out))| {
            if is_fresh {
                out.fill(rest);
            }
            several(parts, out)
        })?;
        let op = self.reduce.as_ref().expect("parts that meet are combined");
        let code = match self.combining.get() {
            Some(code) => code,
            None => {
                let code = combining(op, T::DTYPE)?;
                self.combining.get_or_init(|| code)
            }
        };
        combine_copies(code, out, &copies)
    }
}
