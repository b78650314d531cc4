//! Requests to run a plan on tensors, for providers that keep data elsewhere than in arrays of this process.

use ust_format::{Bound, Format};
use ust_level_api::ir::cancel;
use ust_level_api::ir::interp::Param;
use ust_level_api::{Dtype, IndexColumn, Scalar};

use super::plan::{Array, Parameter};
use super::unsorted::sort_and_combine;
use crate::convert::rows::Rows;
use crate::error::Error;
use crate::expr::Operator;
use crate::expr::control::Run;
use crate::storage::{Tensor, Values};

/// A request to run a plan on tensors, see [`Executable::call`](super::Executable::call).
///
/// The operands are handles: [`Tensor::kept_of_levels`] and [`Tensor::kept_of_values`] identify their arrays,
/// and keep what a provider makes of them. The result may be a tensor whose arrays are
/// [fetched](ust_level_api::ir::Buffer::deferred) when somebody looks at them.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub(crate) operands: &'a [&'a Tensor],
    pub(crate) parameters: &'a [Parameter],
    pub(crate) extents: &'a [usize],
    pub(crate) bound: &'a Bound,
    /// The tensor whose levels the result shares.
    pub(crate) shared: Option<&'a Tensor>,
    pub(crate) format: &'a Format,
    pub(crate) rest: Scalar,
    pub(crate) fill: Scalar,
    pub(crate) how: Run,
}

impl<'a> Call<'a> {
    /// The tensors that the loops read, in the order of [`Plan::operands`](super::Plan::operands).
    #[must_use]
    pub fn operands(&self) -> &'a [&'a Tensor] {
        self.operands
    }

    /// The values of the plan's parameters, for the part `part` of the outermost loop, and the region `region`
    /// of each table.
    #[must_use]
    pub fn parameters(&self, part: (i64, i64), region: usize) -> Vec<Param> {
        let Self { extents, operands, bound, .. } = *self;
        let value = |one: &Parameter| one.value(extents, operands, bound, part, region);
        self.parameters.iter().map(value).collect()
    }

    /// The extent of each index variable.
    #[must_use]
    pub fn extents(&self) -> &'a [usize] {
        self.extents
    }

    /// The format of the plan's result with its shape.
    #[must_use]
    pub fn result(&self) -> &'a Bound {
        self.bound
    }

    /// Number of values of the result, if their positions are known: all elements, or the stored elements of
    /// the operand whose levels it shares. `None` if rows are appended.
    #[must_use]
    pub fn value_count(&self) -> Option<usize> {
        match self.shared {
            Some(levels) => Some(levels.nse()),
            None if self.bound.format().is_full() => {
                let mut sizes = self.bound.levels().iter().map(|level| level.size);
                let length = sizes.try_fold(1_u64, u64::checked_mul);
                length.and_then(|length| usize::try_from(length).ok())
            }
            None => None,
        }
    }

    /// The length of an array that the loops write, if it has a fixed one. `None` for arrays of operands, and for
    /// those that grow. `block`: the number of values of a row.
    #[must_use]
    pub fn length(&self, array: Array, block: usize) -> Option<usize> {
        let levels = self.bound.levels();
        // The last level above the trailing dense block.
        let slots = || {
            let last = self.bound.format().tail().checked_sub(1)?;
            usize::try_from(levels[last].size).ok()
        };
        match array {
            Array::Level { .. } | Array::Values(_) | Array::RowValues => None,
            Array::Column(_) | Array::Mask => self.operands.first().map(|tensor| tensor.nse()),
            Array::RowCoordinates(_) => None,
            Array::Result => self.value_count(),
            Array::RowCounts => Some(2),
            Array::RowStarts | Array::AllRowStarts => usize::try_from(levels.first()?.size).ok(),
            Array::WorkValues => slots()?.checked_mul(block),
            Array::WorkMarks | Array::WorkList => slots(),
            Array::Table { operand, level } => {
                let size = self.operands[operand].bound().levels()[level].size;
                usize::try_from(size).ok()?.checked_add(1)
            }
        }
    }

    /// The format that was asked for. The provider may return the result in this one as well.
    #[must_use]
    pub fn format(&self) -> &'a Format {
        self.format
    }

    /// The dtype of the values.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.rest.dtype()
    }

    /// The value with which elements at known positions begin.
    #[must_use]
    pub fn begin(&self) -> Scalar {
        self.rest
    }

    /// The number of threads that may be used.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.how.threads
    }

    /// Bytes that may be used for the result and for working memory.
    #[must_use]
    pub fn memory_limit(&self) -> u64 {
        self.how.limit
    }

    /// Whether the caller has no use for the result any more: return [`Error::Cancelled`].
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        cancel::check().is_err()
    }

    /// The result, given its values at known positions.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not [`value_count`](Self::value_count) of them; [`Error::Dtype`] for another dtype.
    pub fn in_place(&self, values: Values) -> Result<Tensor, Error> {
        if values.dtype() != self.dtype() {
            return Err(Error::Dtype { expected: self.dtype(), found: values.dtype() });
        }
        if self.value_count() != Some(values.len()) {
            return Err(Error::Shape {
                found: vec![values.len()],
                expected: format!("the result has {:?} values", self.value_count()),
            });
        }
        match self.shared {
            Some(levels) => levels.with_clean_values(values),
            None => Ok(Tensor::from_full(self.bound, values, self.fill)),
        }
    }

    /// The result, given its rows: ascending and distinct. `columns` has the coordinates of each row, for each
    /// level above the trailing dense block.
    ///
    /// # Errors
    /// [`Error::Level`] if a level cannot hold them; [`Error::TooLarge`] beyond the memory limit.
    pub fn in_rows(&self, columns: Vec<IndexColumn>, values: Values) -> Result<Tensor, Error> {
        Tensor::from_rows(self.bound, Rows { columns, values }, self.fill, self.how.limit)
    }

    /// The result, given its rows in any order: they are sorted, and those with the same coordinates are combined
    /// in their order by the operator of the reduction. Each row is one value. Cost: as sorting entries.
    ///
    /// # Errors
    /// As [`in_rows`](Self::in_rows).
    pub fn in_unsorted_rows(
        &self,
        columns: Vec<IndexColumn>,
        values: Values,
        operator: &Operator,
    ) -> Result<Tensor, Error> {
        let Rows { columns, values } =
            sort_and_combine(Rows { columns, values }, self.bound, operator)?;
        self.in_rows(columns, values)
    }
}
