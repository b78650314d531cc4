//! A partition of entries into buckets by the high bits of their keys: the place of each entry.

use bytemuck::Zeroable;
use ust_ir::buffer::Plain;
use ust_ir::cancel::poll;
use ust_ir::parallel;

use crate::pool::threads;
use crate::tuning::{
    BUCKET_ENTRIES, FEW_BUCKETS, MAX_BUCKETS, ONE_BUCKET_ENTRIES, PARTITION_BLOCK,
};

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

/// The shift for which `key >> shift` is the bucket of a key. 0 where each key can have a bucket of its own.
pub(super) fn shift_for(n: usize, range: u64) -> u32 {
    if range <= MAX_BUCKETS { 0 } else { shift_for_buckets(n, range) }
}

/// As [`shift_for`], where every bucket is sorted afterwards, even if it has a single key.
pub(super) fn shift_for_buckets(n: usize, range: u64) -> u32 {
    let buckets = if n <= ONE_BUCKET_ENTRIES { 1 } else { n.div_ceil(BUCKET_ENTRIES) as u64 };
    bits_below(buckets.next_power_of_two().min(MAX_BUCKETS / 2), range)
}

/// The shift for which `key >> shift` is the bucket of a key, where the columns of a tensor are written entry
/// by entry: the first cache holds an open line of each bucket, and the second cache a whole bucket.
pub fn shift_for_few(n: usize, range: u64) -> u32 {
    shift_for_buckets(n, range).max(bits_below(FEW_BUCKETS, range))
}

/// The shift that maps keys below `range` to `buckets` buckets, a power of two.
fn bits_below(buckets: u64, range: u64) -> u32 {
    let bits = 64 - range.saturating_sub(1).leading_zeros();
    bits.saturating_sub(buckets.trailing_zeros())
}

/// The places of entries, grouped in buckets of keys with the same high bits.
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
        let chunk = n.div_ceil(threads(n)).max(PARTITION_BLOCK);
        let mut next: Vec<Vec<usize>> = parallel::map_items(keys.chunks(chunk), |_, keys| {
            if buckets == 1 {
                return vec![keys.len()];
            }
            let mut counts = vec![0; buckets];
            for &key in keys {
                counts[(key.into() >> shift) as usize] += 1;
            }
            counts
        });
        // Counts become first places: within a bucket, in the order of the chunks.
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

    /// Finds the place of each entry, once. `put` is called with the number of the first entry of a block,
    /// and the places of the entries in it. The keys are those given to [`Partition::new`].
    pub(super) fn run<K: Key>(&mut self, keys: &[K], put: &(impl Fn(usize, &[usize]) + Sync)) {
        let Self { shift, chunk, next, .. } = self;
        parallel::items(next.iter_mut().zip(keys.chunks(*chunk)), |number, (next, keys)| {
            let mut places = [0; PARTITION_BLOCK];
            for (block, keys) in keys.chunks(PARTITION_BLOCK).enumerate() {
                poll();
                let places = &mut places[..keys.len()];
                if let [next] = &mut next[..] {
                    places.iter_mut().zip(*next..).for_each(|(to, place)| *to = place);
                    *next += keys.len();
                    put(number * *chunk + block * PARTITION_BLOCK, places);
                    continue;
                }
                for (place, &key) in places.iter_mut().zip(keys) {
                    let slot = &mut next[(key.into() >> *shift) as usize];
                    (*place, *slot) = (*slot, *slot + 1);
                }
                put(number * *chunk + block * PARTITION_BLOCK, places);
            }
        });
    }
}
