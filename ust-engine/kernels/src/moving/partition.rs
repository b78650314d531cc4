//! Which bucket each entry goes to, by the high bits of its key, and where there.

use bytemuck::Zeroable;
use rayon::prelude::*;
use ust_ir::buffer::Plain;

use crate::pool::threads;

/// Entries handled at a time, so that their places stay in cache.
pub(super) const BLOCK: usize = 1024;
/// The most buckets of one partition: one open line of each, and each lane, stays in cache.
pub(super) const MOST_BUCKETS: u64 = 1 << 11;
/// Entries that a bucket should have.
const BUCKET: usize = 1 << 13;
/// Entries that are not worth more than one bucket.
const ONE_BUCKET: usize = 1 << 14;

/// A key: an unsigned integer.
pub trait Key: Plain + Zeroable + Ord + Into<u64> {
    /// The low bits of a number.
    fn truncated(number: u64) -> Self;
}

impl Key for u32 {
    fn truncated(number: u64) -> Self {
        number as u32
    }
}

impl Key for u64 {
    fn truncated(number: u64) -> Self {
        number
    }
}

/// By how many bits keys are shifted to give their bucket: none where keys are so few that each has
/// a bucket of its own.
pub(super) fn shift_for(n: usize, range: u64) -> u32 {
    if range <= MOST_BUCKETS { 0 } else { shift_for_buckets(n, range) }
}

/// As [`shift_for`], where buckets are sorted afterwards, be there one key in each or more.
pub(super) fn shift_for_buckets(n: usize, range: u64) -> u32 {
    let buckets = if n <= ONE_BUCKET { 1 } else { n.div_ceil(BUCKET) as u64 };
    bits_below(buckets.next_power_of_two().min(MOST_BUCKETS / 2), range)
}

/// As [`shift_for_buckets`], for the columns of a tensor that are written entry by entry: an open line
/// of each is to stay in the first cache, and the second cache to hold a bucket.
pub fn shift_for_few(n: usize, range: u64) -> u32 {
    /// The most buckets.
    const FEW_BUCKETS: u64 = 1 << 7;
    shift_for_buckets(n, range).max(bits_below(FEW_BUCKETS, range))
}

/// By how many bits keys are shifted to give one of so many buckets.
fn bits_below(buckets: u64, range: u64) -> u32 {
    let bits = 64 - range.saturating_sub(1).leading_zeros();
    bits.saturating_sub(buckets.trailing_zeros())
}

/// Where entries go, each to a bucket of keys that are equal but for some low bits.
pub(super) struct Partition {
    shift: u32,
    /// Entries that a thread moves.
    chunk: usize,
    /// For each chunk, and each bucket, the place of the next entry.
    next: Vec<Vec<usize>>,
    /// Where each bucket ends.
    pub(super) ends: Vec<usize>,
}

impl Partition {
    pub(super) fn new<K: Key>(keys: &[K], shift: u32, buckets: usize) -> Self {
        let n = keys.len();
        let chunk = n.div_ceil(threads(n)).max(BLOCK);
        let mut next: Vec<Vec<usize>> = keys
            .par_chunks(chunk)
            .map(|keys| {
                if buckets == 1 {
                    return vec![keys.len()];
                }
                let mut counts = vec![0; buckets];
                for &key in keys {
                    counts[(key.into() >> shift) as usize] += 1;
                }
                counts
            })
            .collect();
        // Counts become places: those of a bucket in the order of the chunks.
        let mut ends = vec![0; buckets];
        let mut place = 0;
        for (bucket, end) in ends.iter_mut().enumerate() {
            for count in &mut next {
                (count[bucket], place) = (place, place + count[bucket]);
            }
            *end = place;
        }
        Self { shift, chunk, next, ends }
    }

    /// Gives each entry its place, once: `put` is given the first of some entries, and the place of each.
    /// The keys are the same as before.
    pub(super) fn run<K: Key>(&mut self, keys: &[K], put: &(impl Fn(usize, &[usize]) + Sync)) {
        let Self { shift, chunk, next, .. } = self;
        next.par_iter_mut().zip(keys.par_chunks(*chunk)).enumerate().for_each(
            |(number, (next, keys))| {
                let mut places = [0; BLOCK];
                for (block, keys) in keys.chunks(BLOCK).enumerate() {
                    let places = &mut places[..keys.len()];
                    if let [next] = &mut next[..] {
                        places.iter_mut().zip(*next..).for_each(|(to, place)| *to = place);
                        *next += keys.len();
                        put(number * *chunk + block * BLOCK, places);
                        continue;
                    }
                    for (place, &key) in places.iter_mut().zip(keys) {
                        let slot = &mut next[(key.into() >> *shift) as usize];
                        (*place, *slot) = (*slot, *slot + 1);
                    }
                    put(number * *chunk + block * BLOCK, places);
                }
            },
        );
    }
}
