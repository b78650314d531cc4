//! Full rows of entries in the order of their columns: each entry goes to the next place of its column.
//!
//! What that costs is lines of the destination that come and go: as many are open as there are columns.
//! Where many entries of a row stand in few columns, those columns are done first, for all rows.

use std::ops::Range;

use rayon::prelude::*;
use ust_level_api::Buffer;

use super::lanes::{Lane, with_width};
use crate::kernels::vector::{LINE, NEAR, ask_for};
use crate::pool::threads;

/// Where the next entry of each key goes, for pieces of the entries that are moved at the same time.
pub(crate) struct Next {
    /// A 0, and for each piece a number for each key: together they become where keys begin.
    slots: Buffer<u32>,
    keys: usize,
}

impl Next {
    /// No entry anywhere.
    pub(crate) fn new(pieces: usize, keys: usize) -> Self {
        Self { slots: Buffer::zeroed(pieces * keys + 1), keys }
    }

    /// The numbers, with one before them that is not to be written.
    pub(crate) fn slots(&mut self) -> &mut [u32] {
        self.slots.make_mut()
    }

    /// Counts of entries become places: those of a key in the order of the pieces. Gives the number of
    /// all.
    pub(crate) fn begin(&mut self) -> usize {
        let (keys, pieces) = (self.keys, self.pieces());
        let counts = &mut self.slots()[1..];
        let mut total = 0;
        for at in 0..keys {
            for piece in 0..pieces {
                let count = &mut counts[piece * keys + at];
                (*count, total) = (total, total + *count);
            }
        }
        total as usize
    }

    /// Once all entries are moved: the first of each key; and once more at the end, the number of all.
    pub(crate) fn starts(self) -> Buffer<u32> {
        match self.pieces() {
            0 | 1 => self.slots,
            pieces => {
                let mut starts = self.slots[(pieces - 1) * self.keys..].to_vec();
                starts[0] = 0;
                starts.into()
            }
        }
    }

    fn pieces(&self) -> usize {
        (self.slots.len() - 1) / self.keys.max(1)
    }
}

/// Entries in the order of their columns.
pub(crate) struct Transposed {
    /// For each column, its first entry; and once more at the end, the number of entries.
    pub(crate) starts: Buffer<u32>,
    /// The row of each entry.
    pub(crate) rows: Buffer<u32>,
}

/// Sorts entries, of which `starts` says where rows begin, by their columns, stably where those
/// ascend in each row; `values` are moved along. `None`, and nothing is done, where it is quickest to
/// move entries in their order. Parallel. Cost: O(entries + rows x columns + columns x threads).
///
/// # Panics
/// When lengths differ, rows do not begin and end with the entries, or a column is not below `columns`.
pub(crate) fn transpose(
    starts: &[u32],
    column: &[u32],
    columns: usize,
    values: &Lane<'_>,
) -> Option<Transposed> {
    let width = width(starts, column, columns, values.width)?;
    Some(transposed(starts, column, columns, values, width))
}

/// As [`transpose`], so many columns after the others.
fn transposed(
    starts: &[u32],
    column: &[u32],
    columns: usize,
    values: &Lane<'_>,
    width: usize,
) -> Transposed {
    let n = column.len();
    let ends = [starts.first(), starts.last()].map(|end| end.map(|&end| end as usize));
    assert!(ends == [Some(0), Some(n)] && starts.is_sorted() && values.len() == n, "one length");
    // Each piece counts every column: all counts together are to be about as many as the entries.
    let most = (2 * n).div_ceil(columns.max(1)).max(1);
    let mut next = Next::new(threads(n).min(most), columns);
    let pieces = pieces(starts, next.pieces());
    let slots = 1..1 + pieces.len() * columns;
    let counts = next.slots()[slots.clone()].par_chunks_mut(columns.max(1));
    counts.zip(&pieces).for_each(|(counts, piece)| {
        for &at in &column[starts[piece.start] as usize..starts[piece.end] as usize] {
            counts[at as usize] += 1;
        }
    });
    assert_eq!(next.begin(), n, "every entry is counted");
    let mut rows = Buffer::<u32>::unspecified(n);
    let moving = Moving { starts, column, values, rows: &Lane::within(rows.make_mut()), width };
    let next_of_each = next.slots()[slots].par_chunks_mut(columns.max(1));
    next_of_each.zip(&pieces).for_each(|(next, piece)| {
        // SAFETY: columns were counted by the slices that say where their entries go.
        with_width!(values, Word => unsafe { moving.run::<Word>(piece.clone(), next) });
    });
    Transposed { starts: next.starts(), rows }
}

/// Cuts rows into so many pieces of about as many entries each.
fn pieces(starts: &[u32], count: usize) -> Vec<Range<usize>> {
    let (rows, n) = (starts.len() - 1, starts[starts.len() - 1] as usize);
    let cut = |piece: usize| match piece {
        piece if piece == count => rows,
        piece => starts.partition_point(|&at| (at as usize) < n / count * piece).min(rows),
    };
    (0..count).map(|piece| cut(piece)..cut(piece + 1)).collect()
}

/// Rows that are looked at to see how full they are.
const SAMPLE: usize = 64;
/// Columns whose open lines the first cache holds.
const FEW: usize = 256;
/// Entries of a row in some columns that are worth the way there.
const MANY: usize = 16;

/// Whether so many entries may be rows full enough: a look from afar.
pub(crate) fn may_be_full(n: usize, columns: usize) -> bool {
    n / MANY >= columns && n * size_of::<u64>() >= NEAR
}

/// How many columns are to be done at a time, so that a row has enough entries there. `None` where lines
/// of all columns stay near. Looks at some rows.
fn width(starts: &[u32], column: &[u32], columns: usize, bytes: usize) -> Option<usize> {
    let (rows, n) = (starts.len().checked_sub(1)?, column.len());
    let [mut span, mut entries, mut found] = [0, 0, 0];
    for row in (0..rows).step_by((rows / SAMPLE).max(1)) {
        let row = column.get(starts[row] as usize..starts[row + 1] as usize)?;
        let (Some(first), Some(&last)) = (row.first(), row.last()) else { continue };
        span += first.abs_diff(last) as usize + 1;
        entries += row.len();
        found += 1;
    }
    // Lines that stay open from row to row: two of a column, or all that it has.
    let each = n.div_ceil(columns.max(1)) * (bytes + size_of::<u32>());
    let open = (span / found.max(1)).saturating_mul(each.min(2 * LINE));
    let mut widths = (FEW / 4..=FEW).filter(|width| width.is_power_of_two());
    widths.find(|width| entries * width >= MANY * span && 2 * open >= NEAR)
}

struct Moving<'a> {
    starts: &'a [u32],
    column: &'a [u32],
    values: &'a Lane<'a>,
    rows: &'a Lane<'a>,
    width: usize,
}

impl Moving<'_> {
    /// Moves the entries of some rows.
    ///
    /// # Safety
    /// `next` has a slot for each column, the first of as many places as the rows have entries there,
    /// below the number of entries, that no one else writes. `W` is as wide as the values.
    unsafe fn run<W: Copy>(&self, rows: Range<usize>, next: &mut [u32]) {
        let columns = next.len();
        let mut to = Places::<W>::new(self, next);
        let mut cursors = self.starts[rows.start..rows.end].to_vec();
        let ends = &self.starts[rows.start + 1..=rows.end];
        for from in (0..columns).step_by(self.width) {
            let beyond = (from + self.width).min(columns) as u32;
            for (nth, row) in rows.clone().enumerate() {
                // What is read of the rows to come is elsewhere each time.
                if let Some(&soon) = cursors.get(nth + 4) {
                    ask_for(self.column, soon as usize, 2 * MANY);
                    self.values.ask_for(soon as usize, 2 * MANY);
                }
                let (mut at, end) = (cursors[nth] as usize, ends[nth] as usize);
                // SAFETY: promised by the caller; an entry of the row, each once.
                unsafe {
                    while at < end && *self.column.get_unchecked(at) < beyond {
                        to.put(row as u32, at);
                        at += 1;
                    }
                }
                cursors[nth] = at as u32;
            }
        }
    }
}

/// Where entries come from and where they go.
struct Places<W> {
    column: *const u32,
    from: *const W,
    next: *mut u32,
    rows: *mut u32,
    to: *mut W,
}

impl<W: Copy> Places<W> {
    fn new(moving: &Moving<'_>, next: &mut [u32]) -> Self {
        let (from, to) = moving.values.pointers();
        let (_, rows) = moving.rows.pointers();
        Self { column: moving.column.as_ptr(), from, next: next.as_mut_ptr(), rows, to }
    }

    /// Moves an entry of a row to the next place of its column.
    ///
    /// # Safety
    /// As of [`Moving::run`]; `at` is an entry that was not moved before.
    #[inline(always)]
    unsafe fn put(&mut self, row: u32, at: usize) {
        // SAFETY: as said above.
        unsafe {
            let slot = self.next.add(*self.column.add(at) as usize);
            let place = *slot as usize;
            *slot += 1;
            *self.rows.add(place) = row;
            self.to.add(place).write_unaligned(self.from.add(at).read_unaligned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with about so many of the columns, from a place on that moves with the row.
    fn matrix(rows: usize, columns: usize, span: usize, share: f64) -> (Vec<u32>, Vec<u32>) {
        let mut state = 9_u64;
        let (mut starts, mut column) = (vec![0], Vec::new());
        for row in 0..rows {
            let from = (row * columns / rows.max(1)).min(columns - span);
            for at in from..from + span {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if ((state >> 33) as f64) < share * f64::from(1_u32 << 31) {
                    column.push(at as u32);
                }
            }
            starts.push(column.len() as u32);
        }
        (starts, column)
    }

    fn check(starts: &[u32], column: &[u32], columns: usize, width: usize) {
        let n = column.len();
        let rows = starts.windows(2).zip(0_u32..);
        let each = rows.map(|(ends, row)| vec![row; (ends[1] - ends[0]) as usize]);
        let row_of: Vec<u32> = each.flatten().collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&at| column[at]);
        let from: Vec<u32> = (0..n as u32).collect();
        let mut to = vec![u32::MAX; n];
        let made = transposed(starts, column, columns, &Lane::new(&from, &mut to), width);
        assert!(order.iter().zip(&to).all(|(&at, &v)| v == at as u32), "by {width}");
        assert!(order.iter().zip(&*made.rows).all(|(&at, &row)| row == row_of[at]), "by {width}");
        let first = |at| order.partition_point(|&k| (column[k] as usize) < at) as u32;
        let begins: Vec<u32> = (0..=columns).map(first).collect();
        assert_eq!(begins, &*made.starts, "by {width}");
    }

    #[test]
    fn entries_go_to_their_columns_however_many_are_done_at_a_time() {
        for (rows, columns, span, share) in [
            (0, 5, 5, 0.5),
            (1, 1, 1, 1.0),
            (40, 300, 300, 0.0),
            (300, 40, 20, 0.4),
            (500, 700, 9, 0.9),
            (700, 900, 900, 0.3),
        ] {
            let (starts, column) = matrix(rows, columns, span, share);
            [1, 7, 64, 5000].iter().for_each(|&width| check(&starts, &column, columns, width));
        }
        check(&[0], &[], 0, 64);
    }

    #[test]
    fn only_full_rows_of_many_columns_are_worth_it() {
        for (rows, columns, span, share, expected) in [
            (3000, 3000, 9, 1.0, None),
            (2000, 2000, 2000, 0.01, None),
            (30_000, 30_000, 30_000, 0.0005, None),
            (400, 1000, 1000, 0.5, None),
            (400, 5000, 5000, 0.1, Some(256)),
            (400, 5000, 5000, 0.5, Some(64)),
        ] {
            let (starts, column) = matrix(rows, columns, span, share);
            let found = width(&starts, &column, columns, 8);
            assert_eq!(found, expected, "{span} columns, {share}");
        }
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn columns_that_are_none_are_refused() {
        transposed(&[0, 1], &[2], 2, &Lane::new(&[1_u8], &mut [0]), 64);
    }
}
