//! Entries gathered into the blocks that trailing full levels make.

use std::ops::Range;

use rayon::prelude::*;
use ust_level_api::{Buffer, IndexColumn};

use super::Table;
use super::order::{heads, is_sorted};
use super::sort::{keyed, picked};
use crate::format::{Bound, LevelDomain};
use crate::kernels::moving::rows::sort_few;

/// Keys of this many numbers are looked up in a table, where entries are not far fewer.
const TABLE: u64 = 1 << 22;
/// Entries that a thread handles at a time.
const JOB: usize = 1 << 15;

/// Blocks, in the order of the levels.
pub(super) struct Blocks {
    /// For each entry, its block.
    pub(super) of: IndexColumn,
    /// For each level above the trailing full ones, the coordinate of each block.
    pub(super) levels: Vec<IndexColumn>,
    /// Number of blocks.
    pub(super) count: usize,
}

impl Table {
    /// Blocks of sorted entries; `None` where each entry is a block of its own. A place taken twice
    /// opens another block.
    pub(super) fn group_sorted(&self, bound: &Bound) -> Option<Blocks> {
        let n = self.len();
        if self.levels.len() == bound.levels().len() {
            return None;
        }
        let columns: Vec<&IndexColumn> = self.levels.iter().collect();
        let firsts = heads(&columns, n);
        if self.distinct {
            let of = block_of_each(&firsts, n);
            return Some(self.blocks(of, &firsts));
        }
        // The first entry of each block, where a place that is taken k times needs k blocks.
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

    /// Blocks of distinct entries that are sorted by the first levels at least: those of each run are
    /// found through a table of the coordinates at the others, where that is small.
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
        let range = lookup_range(domains, n).filter(|_| u32::try_from(n).is_ok())?;
        let keys = match &self.levels[sorted..] {
            [IndexColumn::U32(column)] if domains[0].lower == 0 => column.clone(),
            columns => keyed::<u32>(columns, domains),
        };
        let (of, firsts) = by_segment(&heads(&all[..sorted], n), range, &keys);
        Some(self.blocks(of, &firsts))
    }

    fn blocks(&self, of: IndexColumn, firsts: &[usize]) -> Blocks {
        let levels = self.levels.iter().map(|column| picked(column, firsts)).collect();
        Blocks { of, levels, count: firsts.len() }
    }
}

/// The number of the run that each entry is in, given where runs begin.
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
    for (number, part) in firsts.chunks(JOB).enumerate() {
        let end = firsts.get((number + 1) * JOB).copied().unwrap_or(n);
        let (slots, others) = rest.split_at_mut(end - done);
        jobs.push((number * JOB, part, slots));
        (rest, done) = (others, end);
    }
    jobs.into_par_iter().for_each(|(run, part, slots)| {
        let (start, end) = (part[0], part[0] + slots.len());
        for (k, &first) in part.iter().enumerate() {
            let next = part.get(k + 1).copied().unwrap_or(end);
            slots[first - start..next - start].fill((run + k) as u32);
        }
    });
    of.into()
}

/// How many keys the levels below those in order have together, where a table of them pays.
pub(super) fn lookup_range(domains: &[LevelDomain], n: usize) -> Option<usize> {
    let range = domains.iter().try_fold(1_u64, |all, d| all.checked_mul(d.size.max(1)))?;
    (range <= TABLE.min(4 * n as u64)).then_some(range as usize)
}

/// Marks a key that no entry has.
const NONE: u32 = u32::MAX;

/// A table of keys, by which blocks are found.
pub(super) struct Lookup {
    /// For each key of a segment, its block. All [`NONE`] between two segments.
    table: Vec<u32>,
    /// The keys of a segment, each above the number of its block, in the order found.
    found: Vec<u64>,
    /// For each block in that order, its place in the order of keys.
    ranks: Vec<u32>,
    /// A bit for each key: none set between two segments.
    marks: Vec<u64>,
    /// For each key that was marked, its block.
    marked: Vec<u32>,
}

impl Lookup {
    /// For keys below `range`.
    pub(super) fn new(range: usize) -> Self {
        Self {
            table: vec![NONE; range],
            found: Vec::new(),
            ranks: Vec::new(),
            marks: vec![0; range.div_ceil(64)],
            marked: vec![0; range],
        }
    }

    /// Numbers the blocks of entries that stand in segments: for each entry, its block is written to
    /// `of`. Gives an entry of each block. There are fewer than 2^32 entries.
    pub(super) fn segments(
        &mut self,
        starts: &[usize],
        keys: &[u32],
        of: &mut [u32],
    ) -> Vec<usize> {
        let mut members = Vec::new();
        for (k, &start) in starts.iter().enumerate() {
            let segment = start..starts.get(k + 1).copied().unwrap_or(keys.len());
            // All keys are looked through in no more steps than there are entries.
            match self.marks.len() <= segment.len() {
                true => self.by_marks(segment, keys, of, &mut members),
                false => self.by_table(segment, keys, of, &mut members),
            }
        }
        members
    }

    /// The blocks of a segment, found one after another and then put in order.
    fn by_table(
        &mut self,
        segment: Range<usize>,
        keys: &[u32],
        of: &mut [u32],
        members: &mut Vec<usize>,
    ) {
        let Self { table, found, ranks, .. } = self;
        let base = members.len();
        found.clear();
        for at in segment.clone() {
            let slot = &mut table[keys[at] as usize];
            if *slot == NONE {
                *slot = found.len() as u32;
                found.push(u64::from(keys[at]) << 32 | found.len() as u64);
                members.push(at);
            }
            of[at] = base as u32 + *slot;
        }
        for &pair in &*found {
            table[(pair >> 32) as usize] = NONE;
        }
        if found.is_sorted() {
            return;
        }
        sort_few(found);
        ranks.clear();
        ranks.resize(found.len(), 0);
        for (rank, pair) in found.iter_mut().enumerate() {
            ranks[*pair as u32 as usize] = rank as u32;
            *pair = members[base + *pair as u32 as usize] as u64;
        }
        for (member, &at) in members[base..].iter_mut().zip(&*found) {
            *member = at as usize;
        }
        for of in &mut of[segment] {
            *of = base as u32 + ranks[*of as usize - base];
        }
    }

    /// The blocks of a segment, whose keys are marked, and looked through in their order.
    fn by_marks(
        &mut self,
        segment: Range<usize>,
        keys: &[u32],
        of: &mut [u32],
        members: &mut Vec<usize>,
    ) {
        let Self { marks, marked, .. } = self;
        for &key in &keys[segment.clone()] {
            marks[key as usize / 64] |= 1 << (key % 64);
        }
        let mut count = members.len();
        for (word, mark) in marks.iter_mut().enumerate() {
            let mut rest = std::mem::take(mark);
            while rest != 0 {
                marked[word * 64 + rest.trailing_zeros() as usize] = count as u32;
                count += 1;
                rest &= rest - 1;
            }
        }
        members.resize(count, 0);
        for at in segment {
            let block = marked[keys[at] as usize];
            (of[at], members[block as usize]) = (block, at);
        }
    }
}

/// The block of each entry and an entry of each block, where entries stand in segments that
/// begin at `starts`: by a table for each segment.
fn by_segment(starts: &[usize], range: usize, keys: &[u32]) -> (IndexColumn, Vec<usize>) {
    let n = keys.len();
    // Whole segments for each job.
    let mut jobs: Vec<&[usize]> = Vec::new();
    let mut rest = starts;
    while let Some(&first) = rest.first() {
        let count = rest.partition_point(|&start| start < first + JOB).max(1);
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
    let parts: Vec<Vec<usize>> = work
        .into_par_iter()
        .map_init(
            || Lookup::new(range),
            |lookup, (starts, of, end)| {
                let base = starts[0];
                let starts: Vec<usize> = starts.iter().map(|start| start - base).collect();
                let mut firsts = lookup.segments(&starts, &keys[base..end], of);
                firsts.iter_mut().for_each(|first| *first += base);
                firsts
            },
        )
        .collect();
    // Blocks are numbered within each job: all together, from the jobs before.
    let mut base = 0;
    let mut slots = of.make_mut();
    let mut work = Vec::with_capacity(parts.len());
    for ((job, &end), part) in jobs.iter().zip(&ends).zip(&parts) {
        let (mine, others) = slots.split_at_mut(end - job[0]);
        work.push((mine, base as u32));
        (slots, base) = (others, base + part.len());
    }
    work.into_par_iter().for_each(|(of, base)| of.iter_mut().for_each(|block| *block += base));
    (of.into(), parts.concat())
}
