//! Duplicates are summed, and entries that equal the fill value are dropped.

use ust_format::Bound;
use ust_level_api::column::{BLOCK, chunk_len};
use ust_level_api::ir::parallel;
use ust_level_api::{Buffer, IndexColumn, Scalar};

use super::Table;
use super::order::{first_equal, run_starts};
use super::sort::picked;
use crate::error::Error;
use crate::storage::values::gathered;
use crate::storage::{StoredElement, Values};
use crate::tuning::{FILL_SEARCH_BLOCKS, SUMMED_GROUPS};
use crate::with_values;

impl Table {
    /// The columns that identify an entry: level coordinates, and the offset within a block.
    fn all_columns(&self) -> Vec<&IndexColumn> {
        let mut all: Vec<&IndexColumn> = self.levels.iter().collect();
        if self.block > 1 {
            all.push(&self.offset);
        }
        all
    }

    /// The first entry with the same coordinates as its predecessor. Entries are sorted.
    pub(super) fn first_duplicate(&self) -> Option<usize> {
        first_equal(&self.all_columns(), self.len())
    }

    /// Sums entries at the same coordinates, in their order. Entries are sorted.
    pub(super) fn merge(&mut self, bound: &Bound) -> Result<(), Error> {
        if let Some(places) = self.places.take() {
            self.values = gathered(&self.values, &places);
        }
        self.values = self.values.expanded();
        let dtype = self.values.dtype();
        if let ([IndexColumn::Runs(starts), IndexColumn::U32(second)], 1) =
            (&self.levels[..], self.block)
        {
            let merged = with_values!(&self.values, from => merged_rows(starts, second, from));
            let (starts, second, values) = merged
                .map_err(|at| Error::Sum { coordinates: self.coordinates(bound, at), dtype })?;
            self.offset = IndexColumn::Same(0, second.len());
            self.levels = vec![IndexColumn::Runs(starts), second.into()];
            self.values = values;
            self.distinct = true;
            return Ok(());
        }
        let firsts = run_starts(&self.all_columns(), self.len());
        let merged: Result<Values, usize> =
            with_values!(&self.values, from => sums(from, &firsts).map(Values::from));
        self.values =
            merged.map_err(|at| Error::Sum { coordinates: self.coordinates(bound, at), dtype })?;
        self.keep_columns(&firsts);
        self.distinct = true;
        Ok(())
    }

    /// Drops entries equal to the fill value, where the target stores such elements as padding: then it is `padding`.
    pub(in crate::convert) fn drop_padding(&mut self, padding: Option<Scalar>) {
        let Some(fill) = padding else { return };
        self.values = self.values.expanded();
        let in_order = IndexColumn::Count(self.len());
        let places = self.places.as_ref().unwrap_or(&in_order);
        let kept = with_values!(&self.values, from => differing(from, fill, places));
        if let Some(kept) = kept {
            self.keep(&kept);
        }
    }

    /// Keeps the given entries, in the given order.
    pub(super) fn keep(&mut self, kept: &[usize]) {
        let places = match &self.places {
            None => picked(&IndexColumn::Count(self.len()), kept),
            Some(places) => picked(places, kept),
        };
        self.values = gathered(&self.values, &places);
        self.places = None;
        self.keep_columns(kept);
    }

    fn keep_columns(&mut self, kept: &[usize]) {
        for column in self.levels.iter_mut().chain([&mut self.offset]) {
            *column = picked(column, kept);
        }
    }
}

/// Sums duplicates within rows, given the first entry of each row and the column of each entry.
/// Gives the same arrays of the sums, or the first entry whose sum overflows. In parallel, over
/// parts of the rows.
fn merged_rows<T: StoredElement>(
    starts: &[u32],
    second: &[u32],
    from: &[T],
) -> Result<(Buffer<u32>, Buffer<u32>, Values), usize> {
    let rows = starts.len() - 1;
    let part = chunk_len(rows);
    // The number of sums in each part. Equal neighbours are counted over the whole part, as one
    // loop. This also counts a row whose first column equals the last column of the row before:
    // such rows are added again.
    let counts: Vec<u32> = parallel::map(rows.div_ceil(part), |number| {
        let (first, last) = (number * part, rows.min((number + 1) * part));
        sums_in_rows(&starts[first..=last], second)
    });
    let mut ends = Buffer::<u32>::unspecified(rows + 1);
    let total = counts.iter().sum::<u32>() as usize;
    let (mut kept, mut sums) = (Buffer::<u32>::unspecified(total), Buffer::<T>::unspecified(total));
    {
        let ends = ends.make_mut();
        ends[0] = 0;
        let (mut rest, mut base) = ((kept.make_mut(), sums.make_mut()), 0);
        let mut jobs = Vec::with_capacity(counts.len());
        for (ends, &count) in ends[1..].chunks_mut(part).zip(&counts) {
            let (kept, others) = rest.0.split_at_mut(count as usize);
            let (sums, more) = rest.1.split_at_mut(count as usize);
            jobs.push((base, ends, kept, sums));
            (rest, base) = ((others, more), base + count);
        }
        let done = parallel::map_items(jobs, |number, (base, ends, kept, sums)| {
            let mut to = 0;
            for (offset, end) in ends.iter_mut().enumerate() {
                let at = number * part + offset;
                let (first, last) = (starts[at] as usize, starts[at + 1] as usize);
                for at in first..last {
                    if at > first && second[at] == second[at - 1] {
                        sums[to - 1] = sums[to - 1].checked_plus(from[at]).ok_or(at)?;
                    } else {
                        (kept[to], sums[to]) = (second[at], from[at]);
                        to += 1;
                    }
                }
                *end = base + to as u32;
            }
            Ok(())
        });
        done.into_iter().collect::<Result<(), usize>>()?;
    }
    Ok((ends, kept, T::wrap(sums)))
}

/// The number of distinct neighbours in the rows that begin at `starts`.
fn sums_in_rows(starts: &[u32], second: &[u32]) -> u32 {
    let [first, last] = [starts[0], starts[starts.len() - 1]];
    let own = &second[first as usize..last as usize];
    let equal = own.windows(2).map(|pair| u32::from(pair[0] == pair[1])).sum::<u32>();
    let continues = |at: &&[u32]| {
        let (before, here) = (at[0] as usize, at[1] as usize);
        first < at[0] && before < here && second[before] == second[before - 1]
    };
    let between_rows = starts.windows(2).filter(continues).count();
    own.len() as u32 - equal + between_rows as u32
}

/// The sum of each group of values, given the first value of each group; or the first value of a
/// group whose sum overflows.
fn sums<T: StoredElement>(from: &[T], firsts: &[usize]) -> Result<Buffer<T>, usize> {
    let mut sums = Buffer::<T>::unspecified(firsts.len());
    let chunk = chunk_len(firsts.len()).max(SUMMED_GROUPS);
    let done = parallel::map_items(sums.make_mut().chunks_mut(chunk), |number, sums| {
        for (group, to) in (number * chunk..).zip(sums) {
            let (first, end) = (firsts[group], firsts.get(group + 1).copied());
            let others = &from[first + 1..end.unwrap_or(from.len())];
            let sum = others.iter().try_fold(from[first], |sum, &v| sum.checked_plus(v));
            *to = sum.ok_or(first)?;
        }
        Ok(())
    });
    done.into_iter().collect::<Result<(), usize>>()?;
    Ok(sums)
}

/// The entries whose value differs from the fill value; `None` where all do.
fn differing<T: StoredElement>(
    values: &[T],
    fill: Scalar,
    places: &IndexColumn,
) -> Option<Vec<usize>> {
    let (fill, n) = (T::from_scalar(fill)?, places.len());
    let is_fill = |number: usize, block: &mut [i64; BLOCK]| {
        let first = number * BLOCK;
        let len = BLOCK.min(n - first);
        places.read(first, &mut block[..len]);
        block[..len].iter_mut().for_each(|at| *at = fill.same(values[*at as usize]).into());
        len
    };
    let blocks = n.div_ceil(BLOCK);
    let all_differ = parallel::every(blocks, FILL_SEARCH_BLOCKS, &|number| {
        let mut block = [0; BLOCK];
        let len = is_fill(number, &mut block);
        block[..len].iter().all(|&fill| fill == 0)
    });
    if all_differ {
        return None;
    }
    let kept = parallel::map(blocks.div_ceil(FILL_SEARCH_BLOCKS), |part| {
        let (mut block, mut kept) = ([0; BLOCK], Vec::new());
        for number in part * FILL_SEARCH_BLOCKS..blocks.min((part + 1) * FILL_SEARCH_BLOCKS) {
            let len = is_fill(number, &mut block);
            kept.extend((0..len).filter(|&k| block[k] == 0).map(|k| number * BLOCK + k));
        }
        kept
    });
    Some(kept.concat())
}
