//! Sorts entries into the order of the levels.

use rayon::prelude::*;
use ust_format::{Bound, LevelDomain};
use ust_kernels::moving::lanes::Lane;
use ust_kernels::moving::partition::Key;
use ust_kernels::moving::rows::sort_rows;
use ust_kernels::moving::sort::{sort, sort_buckets, sort_segments};
use ust_level_api::column::{IndexRead, IndexWord, chunk_len, expanded};
use ust_level_api::ir::parallel;
use ust_level_api::{Buffer, Dtype, IndexColumn, with_column};

use super::Table;
use super::order::{Ascent, ascent, is_sorted, run_starts};
use crate::error::Error;
use crate::storage::values::gathered;
use crate::storage::{StoredElement, Values};
use crate::with_values;

impl Table {
    /// Sorts the entries by their level coordinates, and by the offset within the block where
    /// entries may be duplicates. Stable. Leading columns that are sorted already divide the
    /// entries into segments, which are sorted alone. Trailing columns that are sorted already are
    /// no part of the key: the sort is stable.
    pub(super) fn sort(&mut self, bound: &Bound) -> Result<(), Error> {
        let Some(value) = self.values.iso_value() else { return self.sort_all(bound) };
        // One value for all entries stays where it is. The sort moves bytes in its place.
        let n = self.len();
        (self.values, self.places) = (Values::unspecified(Dtype::U8, n), None);
        let sorted = self.sort_all(bound);
        self.values = Values::iso(value, n);
        sorted
    }

    /// Sorts the entries with their values.
    fn sort_all(&mut self, bound: &Bound) -> Result<(), Error> {
        let mut digits: Vec<LevelDomain> = bound.levels()[..self.levels.len()].to_vec();
        let mut columns: Vec<IndexColumn> = self.levels.clone();
        if !self.distinct && self.block > 1 {
            columns.push(self.offset.clone());
            digits.push(LevelDomain { lower: 0, size: self.block });
        }
        let all: Vec<&IndexColumn> = columns.iter().collect();
        if let Some(ascent) = ascent(&all) {
            self.distinct |= ascent == Ascent::Strict;
            return Ok(());
        }
        let known = |upto| upto <= self.sorted;
        let sorted = (1..all.len()).rev().find(|&upto| known(upto) || is_sorted(&all[..upto]));
        let sorted = sorted.unwrap_or(0);
        if sorted == 0 && self.sort_rows(digits[0])? {
            return Ok(());
        }
        // What is sorted below equal leading columns stays so.
        let stays = |&from: &usize| is_sorted(&[&all[..sorted], &all[from..]].concat());
        let from = (sorted + 1..=all.len()).find(stays);
        let keys = sorted..from.unwrap_or(all.len());
        let range = digits[keys.clone()]
            .iter()
            .try_fold(1_u64, |all, digit| all.checked_mul(digit.size.max(1)))
            .filter(|&range| range <= 1 << 62);
        let Some(range) = range else {
            self.sort_by_comparison(&columns);
            return Ok(());
        };
        let (columns, digits) = (&columns[keys.clone()], &digits[keys]);
        if sorted > 0 {
            let ends = segment_ends(&all[..sorted], self.len());
            return match u32::try_from(range) {
                Ok(_) => self.sort_within(&ends, range, &combined_keys::<u32>(columns, digits)),
                Err(_) => self.sort_within(&ends, range, &combined_keys::<u64>(columns, digits)),
            };
        }
        if let ([IndexColumn::U32(column)], 0, false) =
            (columns, digits[0].lower, self.levels.is_empty())
        {
            let column = column.clone();
            return self.sort_by(&column, range, true);
        }
        match u32::try_from(range) {
            Ok(_) => self.sort_by(&combined_keys::<u32>(columns, digits), range, false),
            Err(_) => self.sort_by(&combined_keys::<u64>(columns, digits), range, false),
        }
    }

    /// Sorts entries of two levels by rows, where there are not far more rows than entries.
    /// Otherwise does nothing, and returns false.
    fn sort_rows(&mut self, first: LevelDomain) -> Result<bool, Error> {
        let n = self.len();
        let ([IndexColumn::U32(row), IndexColumn::U32(second)], 0, 1) =
            (&self.levels[..], first.lower, self.block)
        else {
            return Ok(false);
        };
        if first.size > 8 * n as u64 || u32::try_from(n).is_err() {
            return Ok(false);
        }
        let (row, second) = (row.clone(), second.clone());
        self.levels.clear();
        let places = self.places_of_values();
        let mut moved = Values::unspecified(self.values.dtype(), n);
        let rows = with_values!(&self.values, from => {
            let to = typed_mut(&mut moved, from)?;
            let values = Lane::gathering(from, places.as_deref(), to);
            sort_rows(row, first.size as usize, second, &values)
        });
        self.values = moved;
        self.levels = vec![IndexColumn::Runs(rows.starts), rows.second.into()];
        self.distinct |= rows.distinct;
        Ok(true)
    }

    /// Sorts entries within buckets, in place. A bucket holds the entries whose keys have the same
    /// high bits, and ends at an index in `ends`. The sorted keys become the first level of the
    /// table.
    pub(super) fn sort_buckets(&mut self, keys: &[u32], shift: u32, ends: &[u32], range: u64) {
        for column in &mut self.levels {
            if let IndexColumn::Runs(_) | IndexColumn::Count(_) = column {
                *column = column.to_vec().into();
            }
        }
        if let Some(places) = self.places.take() {
            self.values = gathered(&self.values, &places);
        }
        let mut lanes: Vec<Lane<'_>> = Vec::new();
        for column in &mut self.levels {
            match column {
                IndexColumn::U32(words) => lanes.push(Lane::within(words.make_mut())),
                IndexColumn::I32(words) => lanes.push(Lane::within(words.make_mut())),
                IndexColumn::I64(words) => lanes.push(Lane::within(words.make_mut())),
                // All elements are equal: the column does not change.
                _ => {}
            }
        }
        if self.values.iso_value().is_none() {
            with_values!(&mut self.values, values => lanes.push(Lane::within(values.make_mut())));
        }
        let starts = sort_buckets(keys, shift, ends, range as usize, &lanes);
        self.levels.insert(0, IndexColumn::Runs(starts));
    }

    /// Sorts by a column of keys. `is_first` says whether it is the first level's column of
    /// coordinates.
    fn sort_by<K: KeyColumn>(
        &mut self,
        keys: &Buffer<K>,
        range: u64,
        is_first: bool,
    ) -> Result<(), Error> {
        let mut sorted = Buffer::<K>::unspecified(keys.len());
        let skip = is_first.then_some(0);
        {
            let sorted = sorted.make_mut();
            self.moved(skip, &mut |lanes| sort(keys, range, sorted, lanes))?;
        }
        if is_first && let Some(column) = K::column(sorted) {
            self.levels[0] = column;
        }
        Ok(())
    }

    /// Sorts each segment by a column of keys, which are below `range`. `ends` are the ends of the segments.
    fn sort_within<K: Key>(
        &mut self,
        ends: &[usize],
        range: u64,
        keys: &Buffer<K>,
    ) -> Result<(), Error> {
        let keys = &keys[..];
        self.moved(None, &mut |lanes| sort_segments(ends, range, |at| keys[at].into(), lanes))
    }

    /// Sorts by comparing columns, where keys do not fit 62 bits.
    fn sort_by_comparison(&mut self, columns: &[IndexColumn]) {
        let mut order: Vec<usize> = (0..self.len()).collect();
        let compare = |&a: &usize, &b: &usize| {
            let orders = columns.iter().map(|column| column.at(a).cmp(&column.at(b)));
            orders.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        };
        parallel::entered(|| order.par_sort_by(compare));
        self.keep(&order);
    }

    /// For each entry, the index of its value; `None` where values are in the order of the entries.
    fn places_of_values(&mut self) -> Option<Buffer<u32>> {
        match self.places.take()? {
            IndexColumn::U32(places) => Some(places),
            places => {
                self.values = gathered(&self.values, &places);
                None
            }
        }
    }

    /// Moves all columns except that of level `skip`, and the values. `run` sorts the lanes that it
    /// is given.
    fn moved(
        &mut self,
        skip: Option<usize>,
        run: &mut dyn FnMut(&[Lane<'_>]),
    ) -> Result<(), Error> {
        let n = self.len();
        let places = self.places_of_values();
        let mut columns: Vec<Moving> = self
            .levels
            .iter()
            .enumerate()
            .filter(|(at, _)| skip != Some(*at))
            .map(|(_, column)| column)
            .chain([&self.offset])
            .map(Moving::of)
            .collect();
        let mut moved = Values::unspecified(self.values.dtype(), n);
        {
            let mut lanes: Vec<Lane<'_>> = columns.iter_mut().filter_map(Moving::lane).collect();
            with_values!(&self.values, from => {
                let to = typed_mut(&mut moved, from)?;
                lanes.push(Lane::gathering(from, places.as_deref(), to));
            });
            run(&lanes);
        }
        self.values = moved;
        let mut columns = columns.into_iter().map(Moving::done);
        for (at, level) in self.levels.iter_mut().enumerate() {
            if skip != Some(at) {
                *level = columns.next().expect("a column for each level");
            }
        }
        self.offset = columns.next().expect("the column of offsets");
        Ok(())
    }
}

/// The values for writing, of the same type as another buffer.
fn typed_mut<'a, T: StoredElement>(
    values: &'a mut Values,
    _like: &Buffer<T>,
) -> Result<&'a mut [T], Error> {
    values.typed_mut::<T>()
}

/// An element of a column of keys, which may also be a column of coordinates.
pub(super) trait KeyColumn: Key {
    fn column(keys: Buffer<Self>) -> Option<IndexColumn>;
    /// The elements of a column that has elements of this type.
    fn shared(column: &IndexColumn) -> Option<Buffer<Self>>;
}

impl KeyColumn for u32 {
    fn column(keys: Buffer<Self>) -> Option<IndexColumn> {
        Some(keys.into())
    }
    fn shared(column: &IndexColumn) -> Option<Buffer<Self>> {
        match column {
            IndexColumn::U32(words) => Some(words.clone()),
            _ => None,
        }
    }
}

impl KeyColumn for u64 {
    fn column(_keys: Buffer<Self>) -> Option<IndexColumn> {
        None
    }
    fn shared(_column: &IndexColumn) -> Option<Buffer<Self>> {
        None
    }
}

/// A column that a sort moves: its old and its new elements.
enum Moving {
    U32(Buffer<u32>, Buffer<u32>),
    I32(Buffer<i32>, Buffer<i32>),
    I64(Buffer<i64>, Buffer<i64>),
    /// All elements are equal: the column does not change.
    Still(IndexColumn),
}

impl Moving {
    fn of(column: &IndexColumn) -> Self {
        let n = column.len();
        match column {
            IndexColumn::U32(from) => Self::U32(from.clone(), Buffer::unspecified(n)),
            IndexColumn::I32(from) => Self::I32(from.clone(), Buffer::unspecified(n)),
            IndexColumn::I64(from) => Self::I64(from.clone(), Buffer::unspecified(n)),
            IndexColumn::Same(..) => Self::Still(column.clone()),
            IndexColumn::Runs(starts) => Self::of(&expanded(starts).into()),
            IndexColumn::Count(_) => {
                Self::of(&IndexColumn::blocks(n, (0, n as i64), &|at, out| column.read(at, out)))
            }
        }
    }

    fn lane(&mut self) -> Option<Lane<'_>> {
        Some(match self {
            Self::U32(from, to) => Lane::new(from, to.make_mut()),
            Self::I32(from, to) => Lane::new(from, to.make_mut()),
            Self::I64(from, to) => Lane::new(from, to.make_mut()),
            Self::Still(_) => return None,
        })
    }

    fn done(self) -> IndexColumn {
        match self {
            Self::U32(_, to) => to.into(),
            Self::I32(_, to) => to.into(),
            Self::I64(_, to) => to.into(),
            Self::Still(column) => column,
        }
    }
}

/// The key of each entry: one number that combines several columns, in lexicographic order.
pub(super) fn combined_keys<K: KeyColumn>(
    columns: &[IndexColumn],
    digits: &[LevelDomain],
) -> Buffer<K> {
    if let ([column], [LevelDomain { lower: 0, .. }]) = (columns, digits)
        && let Some(keys) = K::shared(column)
    {
        return keys;
    }
    let n = columns[0].len();
    let mut keys = Buffer::<K>::zeroed(n);
    let chunk = chunk_len(n);
    parallel::chunks(keys.make_mut(), chunk, |number, keys| {
        for (column, digit) in columns.iter().zip(digits) {
            let size = digit.size.max(1);
            with_column!(column, read => {
                for (offset, key) in keys.iter_mut().enumerate() {
                    let crd = (read.at(number * chunk + offset) - digit.lower) as u64;
                    let above: u64 = (*key).into();
                    *key = K::truncated(above * size + crd);
                }
            });
        }
    });
    keys
}

/// The end of each run of entries that are equal in all given columns.
fn segment_ends(columns: &[&IndexColumn], n: usize) -> Vec<usize> {
    let mut ends = run_starts(columns, n);
    ends.remove(0);
    ends.push(n);
    ends
}

/// The elements of a column at the given entries.
pub(super) fn picked(column: &IndexColumn, at: &[usize]) -> IndexColumn {
    fn pick<T: IndexWord>(words: &[T], at: &[usize]) -> IndexColumn {
        let mut picked = Buffer::<T>::unspecified(at.len());
        let chunk = chunk_len(at.len());
        let parts = picked.make_mut().chunks_mut(chunk).zip(at.chunks(chunk));
        parallel::items(parts, |_, (out, at)| {
            out.iter_mut().zip(at).for_each(|(out, &at)| *out = words[at]);
        });
        T::column(picked)
    }
    match column {
        IndexColumn::Same(number, _) => IndexColumn::Same(*number, at.len()),
        IndexColumn::Count(n) => IndexColumn::blocks(at.len(), (0, *n as i64), &|first, out| {
            for (out, &at) in out.iter_mut().zip(&at[first..]) {
                *out = at as i64;
            }
        }),
        IndexColumn::Runs(starts) => pick(&expanded(starts), at),
        IndexColumn::U32(words) => pick(words, at),
        IndexColumn::I32(words) => pick(words, at),
        IndexColumn::I64(words) => pick(words, at),
    }
}
