//! Stable sorting of lanes by two columns: rows, and what stands in a row.
//!
//! Entries go to buckets of rows that fit the cache, one streaming pass over all lanes; in a bucket
//! rows are counted, and each is sorted on its own. What comes out of the counting is where rows
//! begin, so that no sorted column of them is written.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use ust_level_api::Buffer;

use super::lanes::Lane;
use super::sort::{partition, shift_for_buckets, starts as begin};

/// Rows in order.
#[derive(Debug)]
pub(crate) struct Rows {
    /// For each row, its first entry; and once more at the end, the number of entries.
    pub(crate) starts: Buffer<u32>,
    /// Whether no two entries are equal in both columns.
    pub(crate) distinct: bool,
}

/// Sorts lanes by `row` and, where that is equal, by `second`, stably. All rows are below `rows`.
/// `sorted` becomes the sorted second column. Parallel. Cost: O(entries log(entries of a row) +
/// rows).
///
/// # Panics
/// When lengths differ, a row is not below their number, or there are 2^32 entries or more.
pub(crate) fn sort_rows(
    row: &[u32],
    rows: usize,
    second: &[u32],
    sorted: &mut [u32],
    lanes: &[Lane<'_>],
) -> Rows {
    let n = row.len();
    assert!(u32::try_from(n).is_ok() && second.len() == n && sorted.len() == n, "one length");
    assert!(lanes.iter().all(|lane| lane.len() == n), "lanes of one length");
    let shift = shift_for_buckets(n, rows as u64);
    let each = 1_usize << shift;
    let buckets = rows.div_ceil(each);
    let mut moved = Buffer::<u32>::unspecified(n);
    let second = Lane::new(second, sorted);
    let all: Vec<&Lane<'_>> = lanes.iter().chain([&second]).collect();
    let ends = partition(row, shift, buckets, moved.make_mut(), &all);
    let (row, mask) = (&moved[..], each - 1);
    let mut starts = Buffer::<u32>::unspecified(rows + 1);
    let distinct = AtomicBool::new(true);
    let slots = starts.make_mut();
    slots[rows] = n as u32;
    slots[..rows].par_chunks_mut(each).enumerate().for_each_init(
        Scratch::default,
        |scratch, (bucket, starts)| {
            let range = if bucket == 0 { 0 } else { ends[bucket - 1] }..ends[bucket];
            // SAFETY: the range is this bucket's, which is this thread's alone.
            let keys = unsafe { second.written::<u32>(range.clone()) };
            let rows = &row[range.clone()];
            let order = scratch.order(rows, mask as u32, keys, starts);
            starts.iter_mut().for_each(|start| *start += range.start as u32);
            if order.equal {
                distinct.store(false, Ordering::Relaxed);
            }
            if order.moves {
                for lane in &all {
                    // SAFETY: as above; the order is a permutation of the range.
                    unsafe { lane.permute(range.clone(), &scratch.dest, &mut scratch.copy) };
                }
            }
        },
    );
    Rows { starts, distinct: distinct.into_inner() }
}

/// Memory that a thread works in.
#[derive(Default)]
struct Scratch {
    /// Where each entry of the bucket goes.
    dest: Vec<u32>,
    /// Entries of rows, each with its second column above its place.
    pairs: Vec<u64>,
    next: Vec<u32>,
    copy: Vec<u64>,
}

/// What was found.
struct Order {
    /// Whether entries change their places.
    moves: bool,
    /// Whether two entries are equal in both columns.
    equal: bool,
}

impl Scratch {
    /// Finds where the entries of a bucket go, and where each of its rows starts.
    fn order(&mut self, rows: &[u32], mask: u32, second: &[u32], starts: &mut [u32]) -> Order {
        starts.fill(0);
        for &row in rows {
            starts[(row & mask) as usize] += 1;
        }
        begin(starts);
        self.next.clear();
        self.next.extend_from_slice(starts);
        self.pairs.clear();
        self.pairs.resize(rows.len(), 0);
        for (at, (&row, &key)) in rows.iter().zip(second).enumerate() {
            let slot = &mut self.next[(row & mask) as usize];
            self.pairs[*slot as usize] = u64::from(key) << 32 | at as u64;
            *slot += 1;
        }
        let mut equal = false;
        let mut from = 0;
        // Each row ends where the next entry of it would go.
        for &end in &self.next {
            let row = &mut self.pairs[from..end as usize];
            from = end as usize;
            sort_few(row);
            equal |= row.windows(2).any(|pair| pair[0] >> 32 == pair[1] >> 32);
        }
        self.dest.clear();
        self.dest.resize(rows.len(), 0);
        let mut moves = false;
        for (to, &pair) in self.pairs.iter().enumerate() {
            moves |= pair as u32 as usize != to;
            self.dest[pair as u32 as usize] = to as u32;
        }
        Order { moves, equal }
    }
}

/// Sorts numbers of which there are mostly few, and mostly in order.
#[inline]
pub(crate) fn sort_few(numbers: &mut [u64]) {
    if numbers.len() > 20 {
        return numbers.sort_unstable();
    }
    for at in 1..numbers.len() {
        let number = numbers[at];
        let mut to = at;
        while to > 0 && numbers[to - 1] > number {
            numbers[to] = numbers[to - 1];
            to -= 1;
        }
        numbers[to] = number;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_equal_entries_keep_their_order() {
        let mut state = 7_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32
        };
        for (n, rows, columns) in
            [(0, 1, 5), (1, 3, 2), (500, 9, 4000), (70_000, 50_000, 30), (90_000, 300, 1 << 30)]
        {
            for skewed in [false, true] {
                let row: Vec<u32> = (0..n)
                    .map(|_| if skewed && next() % 4 > 0 { next() % 2 } else { next() % rows } % rows)
                    .collect();
                let second: Vec<u32> = (0..n).map(|_| next() % columns).collect();
                let values: Vec<u64> = (0..n as u64).collect();
                let (mut sorted, mut moved) = (vec![9; n], vec![9; n]);
                let made = {
                    let lanes = [Lane::new(&values, &mut moved)];
                    sort_rows(&row, rows as usize, &second, &mut sorted, &lanes)
                };
                let mut order: Vec<usize> = (0..n).collect();
                order.sort_by_key(|&at| (row[at], second[at]));
                let text = format!("{n} entries in {rows} rows, skewed {skewed}");
                assert!(order.iter().zip(&moved).all(|(&at, &v)| v == at as u64), "{text}");
                assert!(order.iter().zip(&sorted).all(|(&at, &s)| s == second[at]), "{text}");
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
