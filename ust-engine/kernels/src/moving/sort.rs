//! Stable sorting of lanes by a key column.
//!
//! In one streaming pass over all lanes, entries are split by the high bits of their keys into buckets that
//! fit the cache. Then each bucket is sorted in place. Entries are moved twice, whatever their number, and
//! each time within few open cache lines. Both passes are parallel; the result does not depend on the
//! threads.

use ust_ir::Buffer;
use ust_ir::parallel;

use super::lanes::Lane;
use super::partition::{Key, Partition, shift_for};
use crate::pool::at_a_time;
use crate::tuning::{MAX_BUCKETS, PARTITION_BLOCK, SORT_DIGIT_BITS, SORT_MIN_COUNTED};
/// Sorts lanes by their keys, stably. All keys are below `range`. `sorted` becomes the sorted keys.
///
/// # Panics
/// When lengths differ, or a key is not below the range.
pub fn sort<K: Key>(keys: &[K], range: u64, sorted: &mut [K], lanes: &[Lane<'_>]) {
    let n = keys.len();
    assert!(sorted.len() == n && lanes.iter().all(|lane| lane.len() == n), "lanes of one length");
    let shift = if is_local(keys, range) { 0 } else { shift_for(n, range) };
    let buckets = (range.saturating_sub(1) >> shift) as usize + 1;
    let all: Vec<&Lane<'_>> = lanes.iter().collect();
    let ends = partition(keys, shift, buckets, sorted, &all);
    if shift == 0 {
        return;
    }
    let keyed = Lane::new(keys, sorted);
    let (keyed, mask) = (&keyed, (1_u64 << shift) - 1);
    parallel::each_with(buckets, 1..=at_a_time(buckets), Scratch::default, |scratch, bucket| {
        let range = if bucket == 0 { 0 } else { ends[bucket - 1] }..ends[bucket];
        if range.len() < 2 {
            return;
        }
        // SAFETY: the range is a bucket, which no other thread accesses.
        let keys = unsafe { keyed.written::<K>(range.clone()) };
        let low = |at: usize| keys[at].into() & mask;
        if !scratch.order(range.len(), shift, low) {
            return;
        }
        for lane in lanes.iter().chain([keyed]) {
            // SAFETY: as above; the order is a permutation of the range.
            unsafe { lane.permute(range.clone(), &scratch.dest, &mut scratch.copy) };
        }
    });
}

/// Sorts lanes in place that are already in buckets `key >> shift`, stably. `ends` are the ends of the
/// buckets, the last of them the length. All keys are below `range`. Gives for each key the number of its
/// first entry, then the number of entries. Parallel. Cost: O(entries + range).
///
/// # Panics
/// When lengths differ, the ends do not ascend or are too few, or there are 2^32 entries or more.
pub fn sort_buckets(
    keys: &[u32],
    shift: u32,
    ends: &[u32],
    range: usize,
    lanes: &[Lane<'_>],
) -> Buffer<u32> {
    let (n, each) = (keys.len(), 1_usize << shift);
    assert!(lanes.iter().all(|lane| lane.len() == n), "lanes of one length");
    assert!(ends.is_sorted() && ends.len() == range.div_ceil(each), "an end for each bucket");
    assert!(ends.last().is_none_or(|&end| end as usize == n), "whole buckets");
    let mut starts = Buffer::<u32>::unspecified(range + 1);
    let slots = starts.make_mut();
    slots[range] = n as u32;
    parallel::items_with(
        1..=at_a_time(ends.len()),
        slots[..range].chunks_mut(each),
        Scratch::default,
        |scratch, bucket, starts| {
            let first = if bucket == 0 { 0 } else { ends[bucket - 1] };
            let range = first as usize..ends[bucket] as usize;
            let of = |key: u32| key as usize & (each - 1);
            starts.fill(0);
            for &key in &keys[range.clone()] {
                starts[of(key)] += 1;
            }
            self::starts(starts);
            scratch.counts.clear();
            scratch.counts.extend_from_slice(starts);
            scratch.dest.clear();
            scratch.dest.extend(keys[range.clone()].iter().map(|&key| {
                let slot = &mut scratch.counts[of(key)];
                *slot += 1;
                *slot - 1
            }));
            starts.iter_mut().for_each(|start| *start += first);
            for lane in lanes {
                // SAFETY: buckets do not overlap; every entry of a bucket has a place of its own.
                unsafe { lane.permute(range.clone(), &scratch.dest, &mut scratch.copy) };
            }
        },
    );
    starts
}

/// Segments that one thread sorts at a time.
const SEGMENTS: usize = 64;

/// Sorts each segment of the lanes by its keys, stably. `segments` are the ends of the segments, the
/// last of them the length. All keys are below `range`.
///
/// # Panics
/// When lengths differ or the ends do not ascend.
pub fn sort_segments(
    segments: &[usize],
    range: u64,
    key: impl Fn(usize) -> u64 + Send + Sync,
    lanes: &[Lane<'_>],
) {
    let n = segments.last().copied().unwrap_or(0);
    assert!(lanes.iter().all(|lane| lane.len() == n) && segments.is_sorted(), "whole segments");
    let bits = 64 - range.saturating_sub(1).leading_zeros();
    parallel::each_with(
        segments.len().div_ceil(SEGMENTS),
        1..=usize::MAX,
        Scratch::default,
        |scratch, block| {
            for at in block * SEGMENTS..segments.len().min((block + 1) * SEGMENTS) {
                let range = if at == 0 { 0 } else { segments[at - 1] }..segments[at];
                let moved = scratch.order(range.len(), bits, |offset| key(range.start + offset));
                for lane in lanes {
                    // SAFETY: segments do not overlap; the order is a permutation of one.
                    unsafe { lane.place(range.clone(), moved.then_some(&scratch.dest)) };
                }
            }
        },
    );
}

/// Whether nearby entries have nearby keys, as in a banded matrix, judged from a sample: then the places of
/// each block lie in few cache lines, each key can be a bucket of its own, and entries are moved once.
fn is_local<K: Key>(keys: &[K], range: u64) -> bool {
    /// Keys in a line, as a power of two: places are eight bytes wide.
    const LINE: u32 = 3;
    let n = keys.len();
    if range <= MAX_BUCKETS || n < 64 * PARTITION_BLOCK || range > 2 * n as u64 {
        return false;
    }
    let mut lines = Vec::with_capacity(PARTITION_BLOCK);
    let step = n / 16;
    let distinct: usize = (0..16)
        .map(|sample| {
            lines.clear();
            let block = &keys[sample * step..][..PARTITION_BLOCK];
            lines.extend(block.iter().map(|&key| key.into() >> LINE));
            lines.sort_unstable();
            lines.dedup();
            lines.len()
        })
        .sum();
    distinct < 16 * PARTITION_BLOCK / 3
}

/// Moves entries to their buckets, in their order. Gives the end of each bucket.
fn partition<K: Key>(
    keys: &[K],
    shift: u32,
    buckets: usize,
    sorted: &mut [K],
    lanes: &[&Lane<'_>],
) -> Vec<usize> {
    let mut partition = Partition::new(keys, shift, buckets);
    let keyed = Lane::new(keys, sorted);
    partition.run(keys, &|first, places| {
        for lane in lanes.iter().copied().chain([&keyed]) {
            // SAFETY: each entry has a place of its own.
            unsafe { lane.put(first, places) };
        }
    });
    partition.ends
}

/// Working memory of a thread.
#[derive(Default)]
struct Scratch {
    /// The place of each entry within the bucket.
    dest: Vec<u32>,
    counts: Vec<u32>,
    pairs: Vec<u64>,
    other: Vec<u64>,
    wide: Vec<(u64, u32)>,
    copy: Vec<u64>,
}

impl Scratch {
    /// Finds the places of `n` entries, sorted stably by keys of `bits` bits. Returns false where they are
    /// sorted already; else `dest` is a permutation.
    fn order(&mut self, n: usize, bits: u32, key: impl Fn(usize) -> u64) -> bool {
        if (1..n).all(|at| key(at - 1) <= key(at)) {
            return false;
        }
        assert!(u32::try_from(n).is_ok(), "a bucket of {n} entries");
        self.dest.clear();
        let counted = n >= SORT_MIN_COUNTED;
        if counted && bits < 32 && (1_usize << bits) <= (2 * n).max(1 << SORT_DIGIT_BITS) {
            self.count(n, 1 << bits, key);
            return true;
        }
        self.dest.resize(n, 0);
        if bits > 32 {
            self.wide.clear();
            self.wide.extend((0..n).map(|at| (key(at), at as u32)));
            self.wide.sort_unstable();
            for (to, &(_, at)) in self.wide.iter().enumerate() {
                self.dest[at as usize] = to as u32;
            }
            return true;
        }
        self.pairs.clear();
        self.pairs.extend((0..n).map(|at| key(at) << 32 | at as u64));
        if counted {
            self.radix(bits);
        } else {
            self.pairs.sort_unstable();
        }
        for (to, &pair) in self.pairs.iter().enumerate() {
            self.dest[pair as u32 as usize] = to as u32;
        }
        true
    }

    /// One counting pass over keys below a limit.
    fn count(&mut self, n: usize, limit: usize, key: impl Fn(usize) -> u64) {
        self.counts.clear();
        self.counts.resize(limit, 0);
        for at in 0..n {
            self.counts[key(at) as usize] += 1;
        }
        starts(&mut self.counts);
        let counts = &mut self.counts;
        self.dest.extend((0..n).map(|at| {
            let slot = &mut counts[key(at) as usize];
            *slot += 1;
            *slot - 1
        }));
    }

    /// Sorts pairs by the key in their high halves, digit by digit.
    fn radix(&mut self, bits: u32) {
        let passes = bits.div_ceil(SORT_DIGIT_BITS).max(1);
        let digit = bits.div_ceil(passes);
        let mask = (1 << digit) - 1;
        self.other.resize(self.pairs.len(), 0);
        for pass in 0..passes {
            let of = |pair: u64| (pair >> (32 + pass * digit)) as usize & mask;
            self.counts.clear();
            self.counts.resize(mask + 1, 0);
            for &pair in &self.pairs {
                self.counts[of(pair)] += 1;
            }
            starts(&mut self.counts);
            for &pair in &self.pairs {
                let slot = &mut self.counts[of(pair)];
                self.other[*slot as usize] = pair;
                *slot += 1;
            }
            std::mem::swap(&mut self.pairs, &mut self.other);
        }
    }
}

/// Replaces counts by their exclusive prefix sums: the first place of each key.
pub(super) fn starts(counts: &mut [u32]) {
    let mut next = 0;
    for count in counts {
        (*count, next) = (next, next + *count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of random numbers.
    fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
        }
    }

    fn check<K: Key + std::fmt::Debug>(
        n: usize,
        range: u64,
        skewed: bool,
        make: impl Fn(u64) -> K,
    ) {
        let mut next = random(n as u64 + range);
        let keys: Vec<K> = (0..n)
            .map(|_| {
                let key = next() % range;
                make(if skewed && !next().is_multiple_of(8) { key % 3 } else { key })
            })
            .collect();
        let wide: Vec<[u64; 2]> = (0..n as u64).map(|at| [at, !at]).collect();
        let halves: Vec<u16> = (0..n).map(|at| at as u16).collect();
        let source: Vec<u32> = (0..n as u32).rev().collect();
        let places = source.clone();
        let mut sorted = vec![make(0); n];
        let mut to = (vec![[7; 2]; n], vec![7; n], vec![7; n]);
        let lanes = [
            Lane::new(&wide, &mut to.0),
            Lane::new(&halves, &mut to.1),
            Lane::gathering(&source, Some(&places), &mut to.2),
        ];
        sort(&keys, range, &mut sorted, &lanes);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&at| keys[at]);
        let text = format!("{n} keys below {range}, skewed {skewed}");
        assert!(order.iter().zip(&sorted).all(|(&at, &key)| keys[at] == key), "{text}");
        assert!(
            order.iter().zip(&to.0).all(|(&at, w)| w[0] == at as u64 && w[1] == !w[0]),
            "{text}"
        );
        assert!(order.iter().zip(&to.1).all(|(&at, &half)| half == at as u16), "{text}");
        assert!(order.iter().zip(&to.2).all(|(&at, &place)| place == at as u32), "{text}");
    }

    #[test]
    fn lanes_follow_their_keys_and_equal_keys_keep_their_order() {
        for skewed in [false, true] {
            for n in [0, 1, 2, 50, 1000, 70_000] {
                for range in [1, 2, 300, 5000, 1 << 20, u64::from(u32::MAX)] {
                    check(n, range, skewed, |key| key as u32);
                }
                check(n, 1 << 45, skewed, |key| key);
                check(n, 1 << 50, skewed, |key| key);
            }
        }
    }

    #[test]
    fn keys_from_few_lines_are_sorted_in_one_pass() {
        let n = 200_000_u32;
        let keys: Vec<u32> =
            (0..n).map(|at| (at / 2 + [0, 900, 1, 70_000][at as usize % 4]) % n).collect();
        assert!(is_local(&keys, n.into()) && !is_local(&keys, 1 << 40));
        let mixed: Vec<u32> = (0..n).map(|at| at.wrapping_mul(2_654_435_761) % n).collect();
        assert!(!is_local(&mixed, n.into()));
        let places: Vec<u32> = (0..n).collect();
        let (mut sorted, mut moved) = (vec![0; n as usize], vec![0; n as usize]);
        sort(&keys, n.into(), &mut sorted, &[Lane::new(&places, &mut moved)]);
        let mut order = places;
        order.sort_by_key(|&at| keys[at as usize]);
        assert_eq!(moved, order);
        assert!(sorted.iter().zip(&order).all(|(&key, &at)| key == keys[at as usize]));
    }

    #[test]
    fn buckets_are_sorted_by_the_rest_of_their_keys() {
        let mut next = random(9);
        for (n, range, shift) in [(0, 1, 3), (1, 9, 2), (5000, 700, 4), (5000, 60_000, 9)] {
            let mut keys: Vec<u32> = (0..n).map(|_| (next() % range) as u32).collect();
            keys.sort_by_key(|&key| key >> shift);
            let buckets = (range as usize).div_ceil(1 << shift);
            let ends: Vec<u32> = (1..=buckets)
                .map(|end| keys.partition_point(|&key| ((key >> shift) as usize) < end) as u32)
                .collect();
            let mut order: Vec<u64> = (0..n).collect();
            let mut moved = order.clone();
            let lanes = [Lane::within(&mut moved)];
            let starts = sort_buckets(&keys, shift, &ends, range as usize, &lanes);
            order.sort_by_key(|&at| keys[at as usize]);
            assert_eq!(moved, order, "{n} entries below {range}");
            for key in 0..=range {
                let first = order.partition_point(|&at| u64::from(keys[at as usize]) < key);
                assert_eq!(starts[key as usize], first as u32, "{n} entries below {range}");
            }
        }
    }

    #[test]
    fn segments_are_sorted_on_their_own() {
        let mut next = random(5);
        for (range, most) in [(10, 40), (100_000, 40), (1 << 40, 40), (1000, 4000)] {
            let mut segments = Vec::new();
            let mut n = 0;
            for _ in 0..200 {
                n += (next() % most) as usize;
                segments.push(n);
            }
            let keys: Vec<u64> = (0..n).map(|_| next() % range).collect();
            let mut sorted = vec![u64::MAX; n];
            sort_segments(&segments, range, |at| keys[at], &[Lane::new(&keys, &mut sorted)]);
            let mut expected = keys.clone();
            let mut start = 0;
            for end in segments {
                expected[start..end].sort_unstable();
                start = end;
            }
            assert_eq!(sorted, expected);
        }
    }
}
