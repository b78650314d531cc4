//! Entries gathered into trailing dense blocks.
//!
//! Entries that are in the order of some leading levels only are gathered segment by segment. A
//! segment is a run of entries with the same coordinates at these levels, such as a row of blocks.
//! The coordinates at the levels between them and the block are combined to one number, the key: it
//! identifies a block within its segment.

use ust_format::{Bound, LevelDomain};
use ust_level_api::ir::parallel;
use ust_level_api::{Buffer, IndexColumn};

use super::Table;
use super::order::{is_sorted, run_starts};
use super::sort::{combined_keys, picked};
use crate::tuning::{BLOCK_TABLE_KEYS, GROUPED_ENTRIES};

/// Blocks, in the order of the levels above them.
pub(super) struct Blocks {
    /// For each entry, the number of its block.
    pub(super) of: IndexColumn,
    /// For each level above the trailing full levels, the coordinate of each block.
    pub(super) levels: Vec<IndexColumn>,
    /// Number of blocks.
    pub(super) count: usize,
}

impl Table {
    /// The blocks of sorted entries. `None` where the format has no trailing full levels.
    /// Duplicates within a block go to further blocks with the same coordinates.
    pub(super) fn group_sorted(&self, bound: &Bound) -> Option<Blocks> {
        let n = self.len();
        if self.levels.len() == bound.levels().len() {
            return None;
        }
        let columns: Vec<&IndexColumn> = self.levels.iter().collect();
        let firsts = run_starts(&columns, n);
        if self.distinct {
            let of = block_of_each(&firsts, n);
            return Some(self.blocks(of, &firsts));
        }
        // The first entry of each block. An offset that k entries have needs k blocks.
        let mut first = Vec::new();
        let mut of = Vec::with_capacity(n);
        for (run, &start) in firsts.iter().enumerate() {
            let group = first.len();
            let mut rank = 0;
            for at in start..firsts.get(run + 1).copied().unwrap_or(n) {
                let again = at > start && self.offset.at(at) == self.offset.at(at - 1);
                rank = if again { rank + 1 } else { 0 };
                if group + rank == first.len() {
                    first.push(at);
                }
                of.push((group + rank) as i64);
            }
        }
        Some(self.blocks(of.into(), &first))
    }

    /// The blocks of distinct entries that are sorted by some leading levels at least. A table of
    /// keys finds the blocks of each segment. `None` where the format has no trailing full levels,
    /// or where the table would be too large.
    pub(super) fn group_unsorted(&self, bound: &Bound) -> Option<Blocks> {
        let (n, tail) = (self.len(), self.levels.len());
        if tail == bound.levels().len() {
            return None;
        }
        if tail == 0 {
            let count = usize::from(n > 0);
            return Some(Blocks { of: IndexColumn::Same(0, n), levels: Vec::new(), count });
        }
        let all: Vec<&IndexColumn> = self.levels.iter().collect();
        let known = |upto| upto <= self.sorted;
        let sorted = (1..=tail).rev().find(|&upto| known(upto) || is_sorted(&all[..upto]))?;
        if sorted == tail {
            return self.group_sorted(bound);
        }
        let domains = &bound.levels()[sorted..tail];
        let range = table_range(domains, n).filter(|_| u32::try_from(n).is_ok())?;
        let keys = combined_keys::<u32>(&self.levels[sorted..], domains);
        let starts = run_starts(&all[..sorted], n);
        let (of, found) = by_segment(&starts, range, &keys);
        let levels = found.columns(&self.levels[..sorted], &starts, domains);
        Some(Blocks { of, levels, count: found.keys.len() })
    }

    fn blocks(&self, of: IndexColumn, firsts: &[usize]) -> Blocks {
        let levels = self.levels.iter().map(|column| picked(column, firsts)).collect();
        Blocks { of, levels, count: firsts.len() }
    }
}

/// For each entry, the number of its run, given the first entry of each run.
fn block_of_each(firsts: &[usize], n: usize) -> IndexColumn {
    let mut of = Buffer::<u32>::zeroed(n);
    if u32::try_from(firsts.len()).is_err() {
        let runs = firsts
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .chain(firsts.last().map(|&last| n - last));
        let of: Vec<i64> =
            runs.enumerate().flat_map(|(run, len)| std::iter::repeat_n(run as i64, len)).collect();
        return of.into();
    }
    let mut rest = of.make_mut();
    let mut jobs = Vec::new();
    let mut done = 0;
    for (number, part) in firsts.chunks(GROUPED_ENTRIES).enumerate() {
        let end = firsts.get((number + 1) * GROUPED_ENTRIES).copied().unwrap_or(n);
        let (slots, others) = rest.split_at_mut(end - done);
        jobs.push((number * GROUPED_ENTRIES, part, slots));
        (rest, done) = (others, end);
    }
    parallel::items(jobs, |_, (run, part, slots)| {
        let (start, end) = (part[0], part[0] + slots.len());
        for (k, &first) in part.iter().enumerate() {
            let next = part.get(k + 1).copied().unwrap_or(end);
            slots[first - start..next - start].fill((run + k) as u32);
        }
    });
    of.into()
}

/// Number of keys that levels with these domains have, where a table of them pays for `n` entries.
pub(super) fn table_range(domains: &[LevelDomain], n: usize) -> Option<usize> {
    let range = domains.iter().try_fold(1_u64, |all, d| all.checked_mul(d.size.max(1)))?;
    (range <= BLOCK_TABLE_KEYS.min(4 * n as u64)).then_some(range as usize)
}

/// The blocks of consecutive segments. The blocks of a segment are in the order of their keys.
#[derive(Default)]
pub(super) struct SegmentBlocks {
    /// The key of each block.
    pub(super) keys: Vec<u32>,
    /// The number of blocks of each segment.
    pub(super) counts: Vec<usize>,
}

impl SegmentBlocks {
    /// For each level, the coordinate of each block.
    ///
    /// `leading` are the columns of the levels that entries are sorted by, `starts` the first entry
    /// of each segment, and `domains` the levels whose coordinates the keys combine.
    pub(super) fn columns(
        &self,
        leading: &[IndexColumn],
        starts: &[usize],
        domains: &[LevelDomain],
    ) -> Vec<IndexColumn> {
        let mut at = Vec::with_capacity(self.keys.len());
        for (&start, &count) in starts.iter().zip(&self.counts) {
            at.resize(at.len() + count, start);
        }
        let leading = leading.iter().map(|column| picked(column, &at));
        let below = |level: usize| {
            let LevelDomain { lower, size, .. } = domains[level];
            let above: u64 = domains[level + 1..].iter().map(|domain| domain.size.max(1)).product();
            let crd = |&key: &u32| u64::from(key) / above % size.max(1);
            match (lower, domains.len()) {
                (0, 1) => Buffer::from(self.keys.clone()).into(),
                (0, _) => {
                    let crds: Vec<u32> = self.keys.iter().map(|key| crd(key) as u32).collect();
                    Buffer::from(crds).into()
                }
                _ => {
                    let crds = self.keys.iter().map(|key| lower + crd(key) as i64);
                    IndexColumn::from(crds.collect::<Vec<i64>>())
                }
            }
        };
        leading.chain((0..domains.len()).map(below)).collect()
    }
}

/// A table that numbers the blocks of one segment at a time.
pub(super) struct BlockTable {
    /// A bit for each key, set where the segment has a block with that key. All are clear between
    /// two segments.
    marks: Vec<u64>,
    /// For each key of the last segment, the number of its block, times a factor that the caller chose.
    blocks: Vec<u32>,
    /// The distinct keys of a segment, in the order of its entries: scratch memory.
    order: Vec<u32>,
}

impl BlockTable {
    /// For keys below `range`.
    pub(super) fn new(range: usize) -> Self {
        let marks = vec![0; range.div_ceil(64)];
        Self { marks, blocks: vec![0; range], order: Vec::new() }
    }

    /// Numbers the blocks of consecutive segments, and writes the number of each entry's block to `of`.
    /// `starts` gives the first entry of each segment. There are fewer than 2^32 entries.
    pub(super) fn segments(
        &mut self,
        starts: &[usize],
        keys: &[u32],
        of: &mut [u32],
    ) -> SegmentBlocks {
        let mut found =
            SegmentBlocks { keys: Vec::new(), counts: Vec::with_capacity(starts.len()) };
        for (k, &start) in starts.iter().enumerate() {
            let segment = start..starts.get(k + 1).copied().unwrap_or(keys.len());
            let (base, keys) = (found.keys.len(), &keys[segment.clone()]);
            self.number(keys.iter().copied(), 1, &mut found.keys);
            of[segment].iter_mut().zip(keys).for_each(|(of, &key)| *of = self.block(key));
            found.counts.push(found.keys.len() - base);
        }
        found
    }

    /// Numbers the blocks of a segment in the order of their keys, and appends the keys to `found`.
    /// Numbers continue from the length of `found`. The table keeps each number multiplied by
    /// `times`.
    #[inline]
    pub(super) fn number(
        &mut self,
        keys: impl ExactSizeIterator<Item = u32> + Clone,
        times: u32,
        found: &mut Vec<u32>,
    ) {
        let (mut lo, mut hi) = (u32::MAX, 0);
        for key in keys.clone() {
            (lo, hi) = (lo.min(key), hi.max(key));
        }
        if lo > hi {
            return;
        }
        let Self { marks, blocks, order } = self;
        // Dense keys: a pass over all words of marks takes no more steps than there are entries.
        if (hi / 64 - lo / 64) as usize <= keys.len() {
            // Neighbouring entries often have the same key. Comparing with the last key avoids a
            // load of the word that was just stored. No key equals the initial value.
            let mut before = u32::MAX;
            for key in keys {
                if std::mem::replace(&mut before, key) != key {
                    marks[key as usize / 64] |= 1 << (key % 64);
                }
            }
            let [lo, hi] = [lo, hi].map(|key| key as usize / 64);
            for (word, mark) in (lo as u32..).zip(&mut marks[lo..=hi]) {
                if *mark == 0 {
                    continue;
                }
                let mut rest = std::mem::take(mark);
                while rest != 0 {
                    let key = word * 64 + rest.trailing_zeros();
                    blocks[key as usize] = found.len() as u32 * times;
                    found.push(key);
                    rest &= rest - 1;
                }
            }
            return;
        }
        order.clear();
        let mut before = u32::MAX;
        for key in keys {
            if std::mem::replace(&mut before, key) == key {
                continue;
            }
            let (word, bit) = (&mut marks[key as usize / 64], 1 << (key % 64));
            if *word & bit == 0 {
                *word |= bit;
                order.push(key);
            }
        }
        order.sort_unstable();
        for &key in &*order {
            marks[key as usize / 64] = 0;
            blocks[key as usize] = found.len() as u32 * times;
            found.push(key);
        }
    }

    /// The number of a block of the last segment, given its key, times the factor.
    #[inline]
    pub(super) fn block(&self, key: u32) -> u32 {
        self.blocks[key as usize]
    }
}

/// The number of each entry's block, and the blocks. `starts` gives the first entry of each
/// segment, and keys are below `range`. In parallel, over whole segments.
fn by_segment(starts: &[usize], range: usize, keys: &[u32]) -> (IndexColumn, SegmentBlocks) {
    let n = keys.len();
    let mut jobs: Vec<&[usize]> = Vec::new();
    let mut rest = starts;
    while let Some(&first) = rest.first() {
        let count = rest.partition_point(|&start| start < first + GROUPED_ENTRIES).max(1);
        let (job, others) = rest.split_at(count);
        jobs.push(job);
        rest = others;
    }
    let ends: Vec<usize> =
        jobs.iter().skip(1).map(|job| job[0]).chain((!jobs.is_empty()).then_some(n)).collect();
    let mut of = Buffer::<u32>::zeroed(n);
    let mut slots = of.make_mut();
    let mut work = Vec::with_capacity(jobs.len());
    for (job, &end) in jobs.iter().zip(&ends) {
        let (mine, others) = slots.split_at_mut(end - job[0]);
        work.push((*job, mine, end));
        slots = others;
    }
    let parts: Vec<SegmentBlocks> = parallel::map_items_with(
        1,
        work,
        || BlockTable::new(range),
        |table, _, (starts, of, end)| {
            let base = starts[0];
            let starts: Vec<usize> = starts.iter().map(|start| start - base).collect();
            table.segments(&starts, &keys[base..end], of)
        },
    );
    // Each job numbers its blocks from 0. The blocks of the jobs before are added.
    let mut all = SegmentBlocks::default();
    let mut slots = of.make_mut();
    let mut work = Vec::with_capacity(parts.len());
    for ((job, &end), part) in jobs.iter().zip(&ends).zip(&parts) {
        let (mine, others) = slots.split_at_mut(end - job[0]);
        work.push((mine, all.keys.len() as u32));
        slots = others;
        all.keys.extend_from_slice(&part.keys);
        all.counts.extend_from_slice(&part.counts);
    }
    parallel::items(work, |_, (of, base)| of.iter_mut().for_each(|block| *block += base));
    (of.into(), all)
}
