//! Assembly of a tensor from sorted columns: level by level, then the values.

use std::sync::Arc;

use ust_format::Bound;
use ust_kernels::moving::place::place;
use ust_level_api::check::MAX_POSITIONS;
use ust_level_api::column::BLOCK;
use ust_level_api::{Arrays, Buffer, Dtype, Entries, IndexColumn, Pos, Scalar, Site};

use super::Table;
use super::group::Blocks;
use crate::convert::build::BuildOptions;
use crate::error::Error;
use crate::storage::values::{gathered, gathered_from, repeats};
use crate::storage::{StoredElement, Tensor, Values, joins_alike, level_error};
use crate::with_values;

/// Bytes for each position, about: the arrays of a level, and its scratch memory.
pub(in crate::convert) const POSITION_BYTES: u64 = 16;

impl Table {
    /// The tensor of sorted entries, or of their blocks.
    pub(super) fn assemble(
        mut self,
        bound: &Bound,
        blocks: Option<Blocks>,
        fill: Scalar,
        &BuildOptions { memory_limit, room, .. }: &BuildOptions,
    ) -> Result<Tensor, Error> {
        let (mut of, columns, count) = match blocks {
            Some(Blocks { of, levels, count }) => (Some(of), levels, count),
            None => (None, std::mem::take(&mut self.levels), self.len()),
        };
        self.levels.clear();
        let alike = match of.is_none() && self.block == 1 && joins_alike(bound.format()) {
            true => Some(repeats(&self.values, self.places.as_ref(), count)),
            false => None,
        };
        let joins = alike.is_some();
        let known = (self.distinct, alike);
        let mut made = levels(bound, columns, count, known, (memory_limit, room))?;
        if joins {
            let first = first_of_each(&made.position);
            made.position = gathered_column(&made.position, &first, made.positions);
            let place = |&entry: &u64| {
                self.places.as_ref().map_or(entry, |of| of.at(entry as usize) as u64)
            };
            self.values = self.values.gather(&first.iter().map(place).collect::<Vec<_>>());
            (self.places, self.offset) = (None, IndexColumn::Same(0, first.len()));
        }
        let length = stored_values(bound, &made, self.block, self.values.dtype(), memory_limit)?;
        let Stored { arrays, mut position, .. } = made;
        if of.is_none() && self.block == 1 {
            (of, position) = (Some(position), IndexColumn::Count(length));
        }
        let of = of.unwrap_or_else(|| IndexColumn::Count(self.len()));
        // Positions without an entry hold the fill value.
        if let Some(value) = self.values.iso_value()
            && self.len() == length
            && !bound.format().has_padding()
        {
            let values = Values::iso(value, length);
            return Tensor::assembled(bound.clone(), arrays, values, fill, true);
        }
        let values = self.values_at(&of, &position, fill, length);
        Tensor::assembled(bound.clone(), arrays, values, fill, true)
    }

    /// The stored values: the value of each entry at its offset within its block, and the fill
    /// value elsewhere. `of` gives the block of each entry, and `position` the position of each
    /// block.
    fn values_at(
        mut self,
        of: &IndexColumn,
        position: &IndexColumn,
        fill: Scalar,
        length: usize,
    ) -> Values {
        let n = self.len();
        let places = self.places.take();
        if let (IndexColumn::Count(_), IndexColumn::Count(_), 1) = (of, position, self.block)
            && n == length
        {
            return match places {
                Some(places) => gathered(&self.values, &places),
                None => self.values,
            };
        }
        with_values!(&self.values, from => {
            let gathered = places.map(|places| gathered_from(from, &places));
            let from = gathered.as_ref().unwrap_or(from);
            self.scattered(from, of, position, fill, length)
        })
    }

    fn scattered<T: StoredElement>(
        &self,
        from: &Buffer<T>,
        of: &IndexColumn,
        position: &IndexColumn,
        fill: Scalar,
        length: usize,
    ) -> Values {
        // As many distinct entries as positions: all are written.
        let mut stored = match self.distinct && self.len() == length {
            true => Values::unspecified(fill.dtype(), length),
            false => Values::filled(fill, length),
        };
        let to = stored.typed_mut::<T>().expect("the fill value has the dtype of the values");
        let block = self.block as i64;
        place(from, to, &|first, dest| {
            let mut numbers = [0; BLOCK];
            let numbers = &mut numbers[..dest.len()];
            of.read(first, numbers);
            match position {
                IndexColumn::Count(_) => {}
                position => numbers.iter_mut().for_each(|at| *at = position.at(*at as usize)),
            }
            for (dest, &at) in dest.iter_mut().zip(&*numbers) {
                *dest = (at * block) as usize;
            }
            self.offset.read(first, numbers);
            for (dest, &offset) in dest.iter_mut().zip(&*numbers) {
                *dest += offset as usize;
            }
        });
        stored
    }
}

/// For each position that entries have, the first of them. Entries of one position stand together.
pub(in crate::convert) fn first_of_each(position: &IndexColumn) -> Vec<u64> {
    let is_first = |at: &usize| *at == 0 || position.at(*at) != position.at(at - 1);
    (0..position.len()).filter(is_first).map(|at| at as u64).collect()
}

/// The positions of some entries.
pub(in crate::convert) fn gathered_column(
    position: &IndexColumn,
    entries: &[u64],
    positions: Pos,
) -> IndexColumn {
    let most = (0, positions.saturating_sub(1) as i64);
    IndexColumn::blocks(entries.len(), most, &|first, out| {
        for (out, &entry) in out.iter_mut().zip(&entries[first..]) {
            *out = position.at(entry as usize);
        }
    })
}

/// The assembled levels of a tensor.
pub(in crate::convert) struct Stored {
    /// The arrays of every level, the trailing full levels included.
    pub(in crate::convert) arrays: Vec<Arrays>,
    /// For each entry, its position at the last assembled level.
    pub(in crate::convert) position: IndexColumn,
    /// Number of positions of that level.
    pub(in crate::convert) positions: Pos,
    /// Bytes of the arrays.
    pub(in crate::convert) bytes: u64,
}

/// Assembles the levels above the trailing full levels. `columns` has the sorted coordinates of
/// `count` entries for each of them. `distinct` says whether all entries are known to have
/// different coordinates; `alike` is for the last level. `room` says whether levels leave room for more.
pub(in crate::convert) fn levels(
    bound: &Bound,
    columns: Vec<IndexColumn>,
    count: usize,
    (distinct, mut alike): (bool, Option<Arc<[bool]>>),
    (memory_limit, room): (u64, bool),
) -> Result<Stored, Error> {
    let mut position = IndexColumn::Same(0, count);
    let mut positions = 1;
    let mut arrays = Vec::with_capacity(bound.levels().len());
    let mut bytes = 0;
    let last = columns.len().saturating_sub(1);
    for (level, crd) in columns.into_iter().enumerate() {
        let most = memory_limit.saturating_sub(bytes) / POSITION_BYTES;
        if positions > most {
            return Err(too_large_for("the positions", positions, memory_limit));
        }
        let distinct = distinct && level == last;
        let alike = alike.take_if(|_| level == last);
        let entries = Entries { parents: positions, parent: position, crd, distinct, alike };
        let site = Site { max_positions: most, room, ..bound.site(level) };
        let made = bound.format().levels()[level]
            .ty
            .assemble(&site, &entries)
            .map_err(|source| level_error(bound, level, source))?;
        bytes += made.arrays.bytes() as u64;
        arrays.push(made.arrays);
        (position, positions) = (made.position, made.positions);
    }
    arrays.resize_with(bound.levels().len(), Default::default);
    Ok(Stored { arrays, position, positions, bytes })
}

/// Number of stored values below the assembled levels.
///
/// # Errors
/// [`Error::TooLarge`] where they exceed the memory limit.
pub(super) fn stored_values(
    bound: &Bound,
    made: &Stored,
    block: u64,
    dtype: Dtype,
    memory_limit: u64,
) -> Result<usize, Error> {
    let length = made.positions.checked_mul(block).filter(|&n| n <= MAX_POSITIONS);
    let length = length.ok_or_else(|| too_large("the stored values", bound))?;
    let bytes = length.checked_mul(dtype.bytes() as u64);
    if bytes.is_none_or(|bytes| bytes > memory_limit.saturating_sub(made.bytes)) {
        return Err(too_large_for("the values", length, memory_limit));
    }
    Ok(length as usize)
}

pub(super) fn too_large(what: &str, bound: &Bound) -> Error {
    Error::TooLarge(format!(
        "{what} of shape {:?} in `{}` are more than can be addressed",
        bound.shape(),
        bound.format()
    ))
}

pub(in crate::convert) fn too_large_for(what: &str, count: u64, limit: u64) -> Error {
    Error::TooLarge(format!(
        "{what} would be {count} in number, beyond the memory limit of {limit} bytes: choose a \
         format that compresses this level, or raise the memory limit"
    ))
}
