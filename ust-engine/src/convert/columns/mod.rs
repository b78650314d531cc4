//! From columns of entries to storage.
//!
//! A [`Table`] holds entries in the terms of a format: a column of coordinates for each level above
//! the trailing full levels, a column of offsets within the trailing dense block, and values. The
//! steps to a tensor:
//!
//! | step | module | left out where |
//! |---|---|---|
//! | read coordinates | `read` | |
//! | sort | `order`, `sort` | the order is right, or blocks are found without it |
//! | merge duplicates, drop padding | `merge` | entries are known to be distinct, levels not padded |
//! | gather entries into blocks | `group`, `pieces`, `grid` | there are no trailing full levels |
//! | assemble level by level, place values | `assemble` | |
//!
//! Some conversions need no table. Values are written straight to their positions in formats that
//! store every element, or few blocks (`cells`). Blocks that both formats have are moved whole
//! (`whole`). A conversion goes through an intermediate format where that saves a sort (`detour`).
//!
//! Columns are 32 bits wide wherever coordinates allow it ([`IndexColumn`]). A level that stores
//! its column as an array takes it over without a copy.

mod assemble;
mod cells;
mod detour;
mod expr;
mod grid;
mod group;
mod merge;
mod order;
mod pieces;
mod read;
mod sort;
mod whole;

pub(super) use assemble::{
    POSITION_BYTES, Stored, first_of_each, gathered_column, levels, too_large_for,
};
pub(super) use cells::Cells;
pub(super) use detour::{detour, without_padding};
pub(super) use expr::{Source, evaluate};
pub(super) use pieces::PieceByPiece;
pub(super) use read::{
    FirstLevel, block_of, is_sorted_by_first_level, kind as level_kind, levels_in_order,
    offset_expr,
};
use ust_level_api::{IndexColumn, Scalar};
pub(super) use whole::WholeBlocks;

use self::order::run_starts;
use self::sort::picked;
use super::build::{BuildOptions, Duplicates};
use super::rows::Rows;
use crate::error::Error;
use crate::storage::values::gathered;
use crate::storage::{Tensor, Values};
use ust_format::Bound;

/// Entries in the terms of a format's levels, in any order.
pub(super) struct Table {
    /// For each level above the trailing full levels, the coordinate of each entry.
    levels: Vec<IndexColumn>,
    /// For each entry, its offset within the trailing dense block.
    offset: IndexColumn,
    /// Number of values in that block.
    block: u64,
    /// The values of the entries, and perhaps others.
    values: Values,
    /// For each entry, the index of its value. Without this column, values are in the order of the
    /// entries.
    places: Option<IndexColumn>,
    /// Whether all entries are known to have different coordinates.
    distinct: bool,
    /// The number of leading levels in whose order entries are known to be.
    sorted: usize,
}

impl Table {
    /// Number of entries.
    fn len(&self) -> usize {
        self.offset.len()
    }

    /// Whether all entries are known to have different coordinates.
    pub(super) fn is_distinct(&self) -> bool {
        self.distinct
    }

    /// The tensor that holds these entries.
    pub(super) fn build(
        mut self,
        bound: &Bound,
        fill: Scalar,
        options: &BuildOptions,
    ) -> Result<Tensor, Error> {
        let padding = bound.format().has_padding().then_some(fill);
        if self.distinct {
            self.drop_padding(padding);
        }
        self.build_of_kept(bound, fill, padding, options)
    }

    /// As [`Table::build`], of entries from which padding was [dropped](Table::drop_padding), as far as they are known
    /// to be distinct. Where `padding` is `None`, none of the others is padding.
    pub(super) fn build_of_kept(
        mut self,
        bound: &Bound,
        fill: Scalar,
        padding: Option<Scalar>,
        options: &BuildOptions,
    ) -> Result<Tensor, Error> {
        if self.distinct
            && let Some(blocks) = self.group_unsorted(bound)
        {
            return self.assemble(bound, Some(blocks), fill, options);
        }
        self.arrange(bound, padding, options.duplicates)?;
        let blocks = self.group_sorted(bound);
        self.assemble(bound, blocks, fill, options)
    }

    /// Sorts the entries into the order of the levels. Duplicates become what `duplicates` says. Entries that are
    /// found to equal `padding` only then are dropped: see [`Table::drop_padding`].
    pub(super) fn arrange(
        &mut self,
        bound: &Bound,
        padding: Option<Scalar>,
        duplicates: Duplicates,
    ) -> Result<(), Error> {
        let merged = self.distinct;
        let apart = self.distinct || self.block == 1;
        if self.sorted < self.levels.len() || !apart {
            self.sort(bound)?;
        }
        if merged {
            return Ok(());
        }
        let duplicate = if self.distinct { None } else { self.first_duplicate() };
        if let Some(at) = duplicate {
            if duplicates == Duplicates::Refuse {
                return Err(Error::Duplicate { coordinates: self.coordinates(bound, at) });
            }
            if duplicates == Duplicates::Sum || bound.format().is_unique() {
                self.merge(bound)?;
            }
        } else {
            self.distinct = true;
        }
        self.drop_padding(padding);
        Ok(())
    }

    /// The columns of the levels, and the value of each entry.
    pub(super) fn into_columns(self) -> (Vec<IndexColumn>, Values) {
        let values = match &self.places {
            Some(places) => gathered(&self.values, places),
            None => self.values,
        };
        (self.levels, values)
    }

    /// Rows of one value each, as entries in a format without trailing full levels.
    pub(super) fn of_rows(rows: Rows) -> Self {
        let Rows { columns: levels, values } = rows;
        let offset = IndexColumn::Same(0, values.len());
        Self { levels, offset, block: 1, values, places: None, distinct: false, sorted: 0 }
    }

    /// See [`Rows::sorted`].
    pub(super) fn sorted_rows(mut self, bound: &Bound) -> Result<(Rows, Option<Vec<i64>>), Error> {
        self.sort(bound)?;
        let n = self.len();
        let mut starts = None;
        if !self.distinct && self.first_duplicate().is_some() {
            let firsts = run_starts(&self.levels.iter().collect::<Vec<_>>(), n);
            self.levels = self.levels.iter().map(|column| picked(column, &firsts)).collect();
            let ends = firsts.iter().chain([&n]);
            starts = Some(ends.map(|&at| at as i64).collect());
        }
        Ok((Rows { columns: self.levels, values: self.values }, starts))
    }

    /// The coordinates of an entry in the tensor.
    fn coordinates(&self, bound: &Bound, at: usize) -> Vec<usize> {
        let tail = &bound.levels()[self.levels.len()..];
        let mut crd: Vec<i64> = self.levels.iter().map(|column| column.at(at)).collect();
        let mut rest = self.offset.at(at) as u64;
        let mut within: Vec<i64> = tail
            .iter()
            .rev()
            .map(|domain| {
                let crd = domain.lower.saturating_add_unsigned(rest % domain.size.max(1));
                rest /= domain.size.max(1);
                crd
            })
            .collect();
        within.reverse();
        crd.append(&mut within);
        let dims = bound.format().lvl2dim(&crd).expect("coordinates that levels were made of");
        dims.into_iter().map(|c| c as usize).collect()
    }
}
