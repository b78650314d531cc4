//! Assembly of tensors from rows: the results of operations.

use ust_format::Bound;
use ust_level_api::check::MAX_POSITIONS;
use ust_level_api::{Dtype, IndexColumn, Scalar};

use super::columns::{Stored, Table, first_of_each, gathered_column, levels};
use crate::error::Error;
use crate::storage::values::repeats;
use crate::storage::{StoredElement, Tensor, Values, joins_alike};
use crate::with_values;

/// The positions of the last level that is not full. Each is a row: its coordinates and its
/// trailing dense block.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// For each level above the trailing full levels, the coordinate of each row.
    pub(crate) columns: Vec<IndexColumn>,
    /// The trailing dense blocks, row by row.
    pub(crate) values: Values,
}

impl Rows {
    /// Fetches what is elsewhere.
    ///
    /// # Errors
    /// [`Error::Device`] if it cannot be fetched.
    pub(crate) fn fetch(&self) -> Result<(), Error> {
        self.columns.iter().try_for_each(IndexColumn::fetch).map_err(Error::Device)?;
        self.values.fetch().map_err(Error::Device)
    }

    /// Sorts rows of one value each by their coordinates. Stable, parallel.
    ///
    /// Where several rows have the same coordinates, the sorted columns hold these coordinates
    /// once, and the second result gives the first value of each coordinate tuple, and the number
    /// of values at the end.
    ///
    /// # Errors
    /// As [`Tensor::convert`].
    pub(crate) fn sorted(self, bound: &Bound) -> Result<(Self, Option<Vec<i64>>), Error> {
        Table::of_rows(self).sorted_rows(bound)
    }
}

impl Tensor {
    /// Rounds a result that was computed in single precision to `dtype`, a dtype of half precision.
    ///
    /// # Errors
    /// [`Error::Device`] if the values are elsewhere, and cannot be fetched.
    pub(crate) fn rounded(mut self, dtype: Dtype) -> Result<Self, Error> {
        if self.dtype() != dtype {
            let fill = Values::filled(self.fill, 1).rounded(dtype).map_err(Error::Device)?;
            self.fill = fill.get(0).unwrap_or(dtype.zero());
            let values = self.values().clone().rounded(dtype).map_err(Error::Device)?;
            self.set_values(values);
        }
        Ok(self)
    }

    /// A tensor whose levels are all full, given a value for each position.
    pub(crate) fn from_full(bound: &Bound, values: Values, fill: Scalar) -> Self {
        let arrays = vec![ust_level_api::Arrays::default(); bound.levels().len()];
        Tensor::trusted(bound.clone(), arrays, values, fill, false)
    }

    /// A tensor of distinct rows in the order of the format's levels. Cost: O(rows + values).
    ///
    /// # Errors
    /// [`Error::Level`] when a level cannot hold its entries, [`Error::TooLarge`] beyond `limit`
    /// bytes.
    pub(crate) fn from_rows(
        bound: &Bound,
        mut rows: Rows,
        fill: Scalar,
        limit: u64,
    ) -> Result<Self, Error> {
        let tail = bound.format().tail();
        let block: u64 = bound.levels()[tail..].iter().map(|level| level.size).product();
        let mut count = rows.columns.first().map_or(1, IndexColumn::len);
        let joins = joins_alike(bound.format());
        if joins {
            rows.values.fetch().map_err(Error::Device)?;
        }
        let alike = joins.then(|| repeats(&rows.values, None, count));
        let Stored { arrays, mut position, positions, bytes: stored_bytes } =
            levels(bound, rows.columns, count, (true, alike), (limit, false))?;
        if joins {
            let first = first_of_each(&position);
            position = gathered_column(&position, &first, positions);
            (rows.values, count) = (rows.values.gather(&first), first.len());
        }
        let length = positions.checked_mul(block).filter(|&n| n <= MAX_POSITIONS);
        let bytes = length.and_then(|n| n.checked_mul(rows.values.dtype().bytes() as u64));
        let (Some(length), true) =
            (length, bytes.is_some_and(|bytes| bytes <= limit.saturating_sub(stored_bytes)))
        else {
            return Err(Error::TooLarge(format!(
                "a result in `{}` of shape {:?} takes more than {limit} bytes",
                bound.format(),
                bound.shape()
            )));
        };
        position.fetch().map_err(Error::Device)?;
        let in_place = positions == count as u64
            && (matches!(position, IndexColumn::Count(_)) || position == IndexColumn::Count(count));
        let held = rows.values.len() as u64 * rows.values.dtype().bytes() as u64;
        let both = bytes.unwrap_or(u64::MAX).saturating_add(held).saturating_add(stored_bytes);
        let values = match in_place {
            true => rows.values,
            false if both > limit => {
                return Err(Error::TooLarge(format!(
                    "a result in `{}` of shape {:?}, beside what was collected for it, takes {both} \
                     bytes, more than the limit of {limit}: raise the memory limit",
                    bound.format(),
                    bound.shape()
                )));
            }
            false => {
                rows.values.fetch().map_err(Error::Device)?;
                with_values!(&rows.values, from => {
                    scatter(from, fill, length as usize, &position, block as usize)
                })
            }
        };
        Tensor::assembled(bound.clone(), arrays, values, fill, false)
    }
}

/// Writes each block to its position, and the fill value to all other positions.
fn scatter<T: StoredElement>(
    from: &[T],
    fill: Scalar,
    length: usize,
    position: &IndexColumn,
    block: usize,
) -> Values {
    let mut stored = Values::filled(fill, length);
    let to = stored.typed_mut::<T>().expect("the fill value has the dtype of the values");
    if block > 0 {
        for (number, row) in from.chunks_exact(block).enumerate() {
            let at = position.at(number) as usize * block;
            to[at..at + block].copy_from_slice(row);
        }
    }
    stored
}
