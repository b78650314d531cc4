//! Stable sorting of entries by two columns: the row, and a second coordinate.
//!
//! In one streaming pass, whole entries move to buckets of rows that fit the cache. In a bucket, entries are
//! counted by row. Short rows are then sorted one by one, without branches; where rows are long, the whole
//! bucket is sorted by digits of the second column. Counting gives the start of each row, so no sorted
//! column of rows is written.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};

use ust_ir::Buffer;
use ust_ir::parallel;

use super::lanes::{Lane, with_width};
use super::partition::{Partition, shift_for_buckets};
use super::sort::starts as begin;
use crate::pool::at_a_time;
use crate::tuning::{ROWS_BY_DIGITS, ROWS_IN_CACHE, SORT_DIGIT_BITS};
use crate::vector::prefetch_ahead;

/// The sorted entries.
#[derive(Debug)]
pub struct Rows {
    /// The first entry of each row, then the number of entries.
    pub starts: Buffer<u32>,
    /// The second column.
    pub second: Buffer<u32>,
    /// Whether no two entries are equal in both columns.
    pub distinct: bool,
}

/// Sorts entries by `row` and, where that is equal, by `second`, stably; `values` are moved along.
/// All rows are below `rows`. Parallel. Cost: O(entries log(entries of a row) + rows).
///
/// # Panics
/// When lengths differ, a row is not below their number, or there are 2^32 entries or more.
pub fn sort_rows(row: Buffer<u32>, rows: usize, second: Buffer<u32>, values: &Lane<'_>) -> Rows {
    let n = row.len();
    assert!(u32::try_from(n).is_ok() && second.len() == n && values.len() == n, "one length");
    with_width!(values, Word => sorted::<Word>(row, rows, second, values))
}

/// As [`sort_rows`], with values as wide as `W`.
fn sorted<W: Copy>(row: Buffer<u32>, rows: usize, second: Buffer<u32>, values: &Lane<'_>) -> Rows {
    let n = row.len();
    if n <= ROWS_IN_CACHE {
        return match second.is_sorted() {
            true => counted::<W>(&row, rows, &second, values),
            false => at_once::<W>(&row, rows, &second, values),
        };
    }
    let shift = shift_for_buckets(n, rows as u64);
    let each = 1_usize << shift;
    let mut partition = Partition::new(&row, shift, rows.div_ceil(each));
    let moved = Moved::<W>::new(n);
    partition.run(&row, &|first, places| {
        let columns = row[first..].iter().zip(&second[first..]);
        for (at, (&place, (row, second))) in places.iter().zip(columns).enumerate() {
            if at % 8 == 0 {
                values.prefetch_ahead(first + at);
                prefetch_ahead(row);
                prefetch_ahead(second);
            }
            let (&row, &second) = (row, second);
            // SAFETY: entries and places are below `n`, and no two entries have the same place.
            unsafe {
                let entry = Entry { row, second, value: values.element(first + at) };
                moved.entries().add(place).write(entry);
            }
        }
    });
    drop((row, second));
    let mut starts = Buffer::<u32>::unspecified(rows + 1);
    let mut column = Buffer::<u32>::unspecified(n);
    let distinct = AtomicBool::new(true);
    let mut jobs = Vec::with_capacity(partition.ends.len());
    let (mut from, mut rest) = (0, column.make_mut());
    let slots = starts.make_mut();
    slots[rows] = n as u32;
    for (&end, starts) in partition.ends.iter().zip(slots[..rows].chunks_mut(each)) {
        let (column, others) = rest.split_at_mut(end - from);
        jobs.push((from, starts, column));
        (from, rest) = (end, others);
    }
    let most = at_a_time(jobs.len());
    parallel::items_with(
        1..=most,
        jobs,
        Scratch::default,
        |scratch, _, (first, starts, column)| {
            // SAFETY: all entries of this bucket were written above.
            let entries =
                unsafe { std::slice::from_raw_parts(moved.entries().add(first), column.len()) };
            let mask = each as u32 - 1;
            let of = |at: usize| (entries[at].row & mask, entries[at].second);
            let soon = |at: usize| prefetch_ahead(&entries[at]);
            if scratch.order(column.len(), of, soon, starts) {
                distinct.store(false, Ordering::Relaxed);
            }
            starts.iter_mut().for_each(|start| *start += first as u32);
            for (at, (to, &pair)) in column.iter_mut().zip(&scratch.sorted).enumerate() {
                *to = (pair >> 32) as u32;
                // SAFETY: the order is a permutation of the bucket, which no other thread accesses.
                unsafe { values.write(first + at, entries[pair as u32 as usize].value) };
            }
        },
    );
    Rows { starts, second: column, distinct: distinct.into_inner() }
}

/// As [`sorted`], for few entries: one bucket, to which they are not moved first.
fn at_once<W: Copy>(row: &[u32], rows: usize, second: &[u32], values: &Lane<'_>) -> Rows {
    let n = row.len();
    let mut starts = Buffer::<u32>::unspecified(rows + 1);
    let mut column = Buffer::<u32>::unspecified(n);
    let slots = starts.make_mut();
    slots[rows] = n as u32;
    let mut scratch = Scratch::default();
    let of = |at: usize| (row[at], second[at]);
    let twice = scratch.order(n, of, |_| {}, &mut slots[..rows]);
    for (at, (to, &pair)) in column.make_mut().iter_mut().zip(&scratch.sorted).enumerate() {
        *to = (pair >> 32) as u32;
        // SAFETY: the order is a permutation of the entries.
        unsafe { values.write(at, values.element::<W>(pair as u32 as usize)) };
    }
    Rows { starts, second: column, distinct: !twice }
}

/// As [`sorted`], where the second column ascends: entries are counted by row, and each moves to its place.
fn counted<W: Copy>(row: &[u32], rows: usize, second: &[u32], values: &Lane<'_>) -> Rows {
    // Counts stand behind a 0. When all entries have moved, each `next` is the start of the next row.
    let mut starts = Buffer::<u32>::zeroed(rows + 1);
    let next = &mut starts.make_mut()[1..];
    row.iter().for_each(|&row| next[row as usize] += 1);
    begin(next);
    let mut column = Buffer::<u32>::unspecified(row.len());
    let sorted = column.make_mut();
    for (at, (&row, &second)) in row.iter().zip(second).enumerate() {
        let place = next[row as usize] as usize;
        next[row as usize] += 1;
        sorted[place] = second;
        // SAFETY: `at` and `place` are below the number of entries; counting gives each entry its own place.
        unsafe { values.write(place, values.element::<W>(at)) };
    }
    let distinct = !is_twice(sorted, next, |one, other| one == other);
    Rows { starts, second: column, distinct }
}

/// Whether two adjacent entries of a row are the same. First, all rows are searched as one: adjacent rows
/// seldom end and begin with the same coordinate.
fn is_twice<T>(sorted: &[T], ends: &[u32], same: impl Fn(&T, &T) -> bool) -> bool {
    let found = |part: &[T]| part.windows(2).any(|two| same(&two[0], &two[1]));
    let mut from = 0;
    found(sorted)
        && ends.iter().any(|&end| {
            let row = from..end as usize;
            from = row.end;
            found(&sorted[row])
        })
}

/// An entry that is moved.
#[derive(Clone, Copy)]
#[repr(C)]
struct Entry<W> {
    row: u32,
    second: u32,
    value: W,
}

/// Memory for entries that are moved.
struct Moved<W> {
    _memory: Buffer<u64>,
    entries: *mut Entry<W>,
    of: PhantomData<W>,
}

// SAFETY: entries are plain words, and the code that writes them keeps threads apart.
unsafe impl<W> Sync for Moved<W> {}

impl<W> Moved<W> {
    fn new(n: usize) -> Self {
        const { assert!(align_of::<Entry<W>>() <= align_of::<u64>()) };
        let bytes = n.checked_mul(size_of::<Entry<W>>()).expect("entries that memory holds");
        let mut memory = Buffer::<u64>::unspecified(bytes.div_ceil(8));
        let entries = memory.make_mut().as_mut_ptr().cast();
        Self { _memory: memory, entries, of: PhantomData }
    }

    fn entries(&self) -> *mut Entry<W> {
        self.entries
    }
}

/// Entries of a row, at most, that a sorting network sorts.
const SHORT: usize = 16;

/// Working memory of a thread.
#[derive(Default)]
struct Scratch {
    /// A [`pair`] for each entry of a bucket, and room behind them.
    pairs: Vec<u64>,
    /// The sorted pairs.
    sorted: Vec<u64>,
    next: Vec<u32>,
    counts: Vec<u32>,
}

impl Scratch {
    /// Sorts `n` entries into `sorted`, and writes the start of each row to `starts`. `of` gives the row and
    /// the second column of an entry. `soon` may prefetch: it is called with entries that are read. Returns
    /// whether two entries are equal in both columns.
    #[inline(always)]
    fn order(
        &mut self,
        n: usize,
        of: impl Fn(usize) -> (u32, u32),
        soon: impl Fn(usize),
        starts: &mut [u32],
    ) -> bool {
        starts.fill(0);
        let mut bits = 0;
        for at in 0..n {
            if at % 4 == 0 {
                soon(at);
            }
            let (row, second) = of(at);
            starts[row as usize] += 1;
            bits |= second;
        }
        begin(starts);
        self.next.clear();
        self.next.extend_from_slice(starts);
        for pairs in [&mut self.pairs, &mut self.sorted] {
            pairs.resize((n + SHORT).max(pairs.len()), 0);
        }
        if n > ROWS_BY_DIGITS * starts.len() {
            self.by_digits(n, |at| of(at).1, 32 - bits.leading_zeros());
            for &pair in &self.pairs[..n] {
                let slot = &mut self.next[of(pair as u32 as usize).0 as usize];
                self.sorted[*slot as usize] = pair;
                *slot += 1;
            }
        } else {
            for at in 0..n {
                let (row, second) = of(at);
                let slot = &mut self.next[row as usize];
                self.pairs[*slot as usize] = pair(at, second);
                *slot += 1;
            }
            self.by_rows();
        }
        is_twice(&self.sorted[..n], &self.next, |one, other| one >> 32 == other >> 32)
    }

    /// Sorts each row; `next` holds the ends of the rows.
    fn by_rows(&mut self) {
        let Self { pairs, sorted, next, .. } = self;
        let mut from = 0;
        for &end in &*next {
            let row = from..end as usize;
            from = row.end;
            match row.len() {
                0 => {}
                1 => sorted[row.start] = pairs[row.start],
                2..=8 => without_branches(
                    &pairs[row.start..],
                    row.len(),
                    &mut sorted[row.start..],
                    eight,
                ),
                9..=SHORT => without_branches(
                    &pairs[row.start..],
                    row.len(),
                    &mut sorted[row.start..],
                    sixteen,
                ),
                _ => {
                    sorted[row.clone()].copy_from_slice(&pairs[row.clone()]);
                    sorted[row].sort_unstable();
                }
            }
        }
    }

    /// Sorts the entries of a bucket by the lowest `bits` bits of their second column, stably, into `pairs`.
    fn by_digits(&mut self, n: usize, second: impl Fn(usize) -> u32, bits: u32) {
        let passes = bits.div_ceil(SORT_DIGIT_BITS).max(1);
        let digit = bits.div_ceil(passes);
        let mask = (1 << digit) - 1;
        for pass in 0..passes {
            let of = |second: u32| (second >> (pass * digit)) as usize & mask;
            self.counts.clear();
            self.counts.resize(mask + 1, 0);
            for at in 0..n {
                self.counts[of(second(at))] += 1;
            }
            begin(&mut self.counts);
            let mut put = |pair: u64| {
                let slot = &mut self.counts[of((pair >> 32) as u32)];
                self.sorted[*slot as usize] = pair;
                *slot += 1;
            };
            match pass {
                0 => (0..n).map(|at| pair(at, second(at))).for_each(&mut put),
                _ => self.pairs[..n].iter().copied().for_each(&mut put),
            }
            std::mem::swap(&mut self.pairs, &mut self.sorted);
        }
    }
}

/// Sorts the first `n` numbers, at most `N`. It writes behind them, too: these numbers are overwritten later,
/// or not read.
#[inline(always)]
fn without_branches<const N: usize>(
    from: &[u64],
    n: usize,
    to: &mut [u64],
    sort: impl Fn(&mut [u64; N]),
) {
    let room = "room behind the entries";
    let mut numbers: [u64; N] = *from.first_chunk().expect(room);
    for (at, number) in numbers.iter_mut().enumerate() {
        *number = if at < n { *number } else { u64::MAX };
    }
    sort(&mut numbers);
    *to.first_chunk_mut().expect(room) = numbers;
}

/// The second column of an entry in the high half, its number in the bucket in the low half.
fn pair(at: usize, second: u32) -> u64 {
    u64::from(second) << 32 | at as u64
}

/// Orders pairs of numbers, without a branch.
macro_rules! ordered {
    ($numbers:ident, $($a:literal $b:literal),*) => {
        $(
            let (a, b) = ($numbers[$a], $numbers[$b]);
            ($numbers[$a], $numbers[$b]) = (a.min(b), a.max(b));
        )*
    };
}

/// Sorts eight numbers (a network of nineteen comparisons).
#[inline(always)]
fn eight(n: &mut [u64; 8]) {
    ordered!(n, 0 2, 1 3, 4 6, 5 7, 0 4, 1 5, 2 6, 3 7, 0 1, 2 3, 4 5, 6 7, 2 4, 3 5, 1 4, 3 6, 1 2, 3 4, 5 6);
}

/// Sorts sixteen: two halves, which are merged.
#[inline(always)]
fn sixteen(n: &mut [u64; 16]) {
    let [mut low, mut high] = [0, 8].map(|at| -> [u64; 8] { n[at..at + 8].try_into().expect("8") });
    eight(&mut low);
    eight(&mut high);
    for at in 0..8 {
        let (a, b) = (low[at], high[7 - at]);
        (n[at], n[at + 8]) = (a.min(b), a.max(b));
    }
    ordered!(n, 0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15);
    ordered!(n, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15);
    ordered!(n, 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_sort_every_pattern_of_two_numbers() {
        for pattern in 0..1_u64 << 16 {
            let mut numbers: [u64; 16] = std::array::from_fn(|at| pattern >> at & 1);
            let mut few: [u64; 8] = std::array::from_fn(|at| numbers[at]);
            eight(&mut few);
            sixteen(&mut numbers);
            assert!(few.is_sorted() && numbers.is_sorted(), "{pattern:b}");
            assert_eq!(numbers.iter().sum::<u64>(), pattern.count_ones().into());
            assert_eq!(few.iter().sum::<u64>(), (pattern & 255).count_ones().into());
        }
    }

    #[test]
    fn rows_are_sorted_and_equal_entries_keep_their_order() {
        let mut state = 7_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32
        };
        for (n, rows, columns) in [
            (0, 1, 5),
            (1, 3, 2),
            (500, 9, 4000),
            (500, 9, 1),
            (9_000, 3_000, 500),
            (70_000, 50_000, 30),
            (40_000, 4000, 1000),
            (90_000, 300, 1 << 30),
        ] {
            for (skewed, ascending) in [(false, false), (true, false), (false, true), (true, true)]
            {
                let row: Vec<u32> = (0..n)
                    .map(|_| if skewed && next() % 4 > 0 { next() % 2 } else { next() % rows } % rows)
                    .collect();
                let mut second: Vec<u32> = (0..n).map(|_| next() % columns).collect();
                if ascending {
                    second.sort_unstable();
                }
                let values: Vec<u64> = (0..n as u64).collect();
                let mut moved = vec![9; n];
                let made = {
                    let values = Lane::new(&values, &mut moved);
                    let [row, second] = [&row, &second].map(|column| Buffer::from(column.clone()));
                    sort_rows(row, rows as usize, second, &values)
                };
                let mut order: Vec<usize> = (0..n).collect();
                order.sort_by_key(|&at| (row[at], second[at]));
                let text =
                    format!("{n} entries in {rows} rows, skewed {skewed} ascending {ascending}");
                assert!(order.iter().zip(&moved).all(|(&at, &v)| v == at as u64), "{text}");
                assert!(order.iter().zip(&*made.second).all(|(&at, &s)| s == second[at]), "{text}");
                for at in 0..=rows {
                    let first = order.partition_point(|&k| row[k] < at);
                    assert_eq!(made.starts[at as usize], first as u32, "{text}");
                }
                let pair = |at: usize| (row[at], second[at]);
                let equal = order.windows(2).any(|two| pair(two[0]) == pair(two[1]));
                assert_eq!(made.distinct, !equal, "{text}");
            }
        }
    }
}
