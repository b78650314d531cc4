//! Sorted entries in, arrays and positions out; and the helpers that bulk assembly is made of.

mod joined;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Zeroable;

use crate::array::Arrays;
use crate::buffer::Plain;
use crate::column::{BLOCK, IndexColumn, IndexRead, IndexWord, chunk_len};
use crate::ir::{Elsewhere, parallel};
use crate::{Buffer, IndexKind, LevelError, Pos, with_column};

pub use crate::ir::elsewhere::Segments;
pub use joined::Joined;

/// The entries of a level: two columns, one row an entry. Cheap to clone: memory is shared.
#[derive(Clone, Debug)]
pub struct Entries {
    /// Number of parent positions: those of the level above, 1 at the root.
    pub parents: Pos,
    /// For each entry, its parent position. Equal parents stand together.
    pub parent: IndexColumn,
    /// For each entry, its coordinate at this level, ascending under one parent. An entry is what
    /// the level below wants apart: equal coordinates under one parent occur, and mean one child
    /// in a unique level, several in a nonunique one.
    pub crd: IndexColumn,
    /// Whether it is known that no two entries have the same parent and the same coordinate.
    pub distinct: bool,
    /// For each entry, whether its value has the bits of the value of the entry before. Given to a level that
    /// [joins](crate::LevelType::joins_alike) such entries.
    pub alike: Option<Arc<[bool]>>,
}

/// What a level made of its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled {
    /// The arrays, in the order of the level's description.
    pub arrays: Arrays,
    /// For each entry, its position at this level.
    pub position: IndexColumn,
    /// Number of positions at this level.
    pub positions: Pos,
}

impl Entries {
    /// Entries with the given columns.
    #[must_use]
    pub fn new(parents: Pos, parent: impl Into<IndexColumn>, crd: impl Into<IndexColumn>) -> Self {
        Self { parents, parent: parent.into(), crd: crd.into(), distinct: false, alike: None }
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// Where the columns are, if both are elsewhere or follow a rule. `None` if one is here.
    #[must_use]
    pub fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        let follows_rule =
            |column: &IndexColumn| matches!(column, IndexColumn::Count(_) | IndexColumn::Same(..));
        match (self.parent.place(), self.crd.place()) {
            (Some(place), Some(_)) => Some(place),
            (Some(place), None) if follows_rule(&self.crd) => Some(place),
            (None, Some(place)) if follows_rule(&self.parent) => Some(place),
            _ => None,
        }
    }

    /// Fetches columns that are elsewhere: whoever looks at their numbers calls this before. No look panics
    /// afterwards.
    ///
    /// # Errors
    /// [`LevelError::Unfetched`].
    pub fn fetch(&self) -> Result<(), LevelError> {
        self.parent.fetch()?;
        Ok(self.crd.fetch()?)
    }

    /// Lays the children of each parent side by side; in a unique level, entries with the same
    /// coordinate become one child. Where every entry is a child of its own, the column of
    /// coordinates is shared, not copied. Parallel. Cost: O(entries + parents).
    ///
    /// Columns that are elsewhere become segments there, if that can be: whoever looks at their numbers
    /// [fetches](Segments::fetch) them before.
    ///
    /// # Errors
    /// [`LevelError::Unfetched`].
    pub fn segments(&self, unique: bool) -> Result<Segments, LevelError> {
        if let Some(place) = self.place()
            && let Some(segments) =
                place.segments(self.parents, &self.parent, &self.crd, unique && !self.distinct)
        {
            return Ok(segments);
        }
        self.fetch()?;
        if let (true, IndexColumn::Same(parent, _), IndexColumn::Runs(starts)) =
            (unique, &self.parent, &self.crd)
        {
            return Ok(of_runs(starts, *parent, self.parents));
        }
        let found = if unique && !self.distinct {
            with_column!(&self.parent, parent => match &self.crd {
                IndexColumn::U32(crd) => heads(parent, &crd[..]),
                IndexColumn::I32(crd) => heads(parent, &crd[..]),
                IndexColumn::I64(crd) => heads(parent, &crd[..]),
                other => heads(parent, &other.to_vec()[..]),
            })
        } else {
            Heads { counts: vec![self.len()], ascending: ascends(&self.parent) }
        };
        let total = found.counts.iter().sum::<usize>();
        let (crd, child, of) = if total == self.len() {
            (self.crd.clone(), IndexColumn::Count(total), self.parent.clone())
        } else {
            with_column!(&self.parent, parent => match &self.crd {
                IndexColumn::U32(crd) => children(parent, &crd[..], &found.counts, total),
                IndexColumn::I32(crd) => children(parent, &crd[..], &found.counts, total),
                IndexColumn::I64(crd) => children(parent, &crd[..], &found.counts, total),
                other => children(parent, &other.to_vec()[..], &found.counts, total),
            })
        };
        if found.ascending {
            return Ok(Segments { offsets: offsets(&of, self.parents), crd, child });
        }
        Ok(reordered(&of, &crd, &child, self.parents))
    }
}

impl Entries {
    /// For each entry, its position, which follows from its parent and its coordinate, and is less than
    /// `positions`. Parallel. Cost: O(entries).
    ///
    /// # Errors
    /// [`LevelError::Unfetched`].
    pub fn positions(
        &self,
        positions: Pos,
        of: impl Fn(usize, i64) -> i64 + Sync,
    ) -> Result<IndexColumn, LevelError> {
        self.fetch()?;
        let most = (0, positions.saturating_sub(1) as i64);
        Ok(IndexColumn::blocks(self.len(), most, &|first, out| {
            let mut above = [0; BLOCK];
            self.parent.read(first, &mut above[..out.len()]);
            self.crd.read(first, out);
            for (out, &parent) in out.iter_mut().zip(&above) {
                *out = of(parent as usize, *out);
            }
        }))
    }
}

/// Where children begin.
struct Heads {
    /// For each chunk, how many do.
    counts: Vec<usize>,
    /// Whether no parent stands before a smaller one.
    ascending: bool,
}

/// The chunks into which a column of so many entries is split.
fn chunks(n: usize) -> Vec<Range<usize>> {
    let chunk = chunk_len(n);
    (0..n).step_by(chunk).map(|lo| lo..(lo + chunk).min(n)).collect()
}

/// Whether an entry becomes a child of its own, not the same child as the entry before it.
#[inline]
fn is_head<T: IndexWord>(parent: impl IndexRead, crd: &[T], at: usize) -> bool {
    at == 0 || (parent.at(at) != parent.at(at - 1)) | (crd[at] != crd[at - 1])
}

/// Whether the numbers of a column never descend.
fn ascends(column: &IndexColumn) -> bool {
    match column {
        IndexColumn::Count(_) | IndexColumn::Same(..) | IndexColumn::Runs(_) => true,
        column => with_column!(column, read => {
            let chunks = chunks(column.len());
            parallel::every(chunks.len(), 1, &|number| {
                let range = chunks[number].start.max(1)..chunks[number].end;
                range.fold(true, |yes, at| yes & (read.at(at - 1) <= read.at(at)))
            })
        }),
    }
}

fn heads<T: IndexWord>(parent: impl IndexRead, crd: &[T]) -> Heads {
    let found = parallel::map_items(chunks(crd.len()), |_, range| {
        let from = range.start.max(1);
        let mut count = usize::from(range.start == 0);
        let mut ascending = true;
        for at in from..range.end {
            ascending &= parent.at(at - 1) <= parent.at(at);
            count += usize::from(is_head(parent, crd, at));
        }
        (count, ascending)
    });
    let ascending = found.iter().all(|&(_, ascending)| ascending);
    Heads { counts: found.into_iter().map(|(count, _)| count).collect(), ascending }
}

/// The children of one parent where all entries with the same coordinate stand together: only the
/// runs are looked at.
fn of_runs(starts: &[u32], parent: i64, parents: Pos) -> Segments {
    let some = || starts.windows(2).enumerate().filter(|(_, run)| run[0] < run[1]);
    let crd: Vec<u32> = some().map(|(crd, _)| crd as u32).collect();
    let first = some().map(|(_, run)| run[0]);
    let child: Vec<u32> = first.chain(starts.last().copied()).collect();
    let offsets = offsets(&IndexColumn::Same(parent, crd.len()), parents);
    Segments { offsets, crd: Buffer::from(crd).into(), child: IndexColumn::Runs(child.into()) }
}

/// Coordinates of the children, the child of each entry, and the parent of each child.
fn children<T: IndexWord>(
    parent: impl IndexRead,
    crd: &[T],
    counts: &[usize],
    total: usize,
) -> (IndexColumn, IndexColumn, IndexColumn) {
    let n = crd.len();
    // Where children begin says of which child an entry is, where that fits.
    let mut starts = Buffer::<u32>::unspecified(if narrow(n) { total + 1 } else { 0 });
    let mut of_entry = Buffer::<i64>::unspecified(if narrow(n) { 0 } else { n });
    let mut kept = Buffer::<T>::unspecified(total);
    let mut of_child = Buffer::<i64>::unspecified(total);
    if let Some(end) = starts.make_mut().last_mut() {
        *end = n as u32;
    }
    let mut rest = (starts.make_mut(), of_entry.make_mut(), kept.make_mut());
    let mut rest_parent = of_child.make_mut();
    let mut start = 0;
    let mut jobs = Vec::with_capacity(counts.len());
    for (range, &count) in chunks(n).into_iter().zip(counts) {
        let (starts, a) = rest.0.split_at_mut(count.min(rest.0.len()));
        let (wide, b) = rest.1.split_at_mut(range.len().min(rest.1.len()));
        let (crd, c) = rest.2.split_at_mut(count);
        let (parent, d) = rest_parent.split_at_mut(count);
        jobs.push((range, start, starts, wide, crd, parent));
        (rest, rest_parent) = ((a, b, c), d);
        start += count;
    }
    parallel::items(jobs, |_, (range, start, starts, wide, kept, of_child)| {
        let mut next = 0;
        let base = range.start;
        for at in range {
            if is_head(parent, crd, at) {
                kept[next] = crd[at];
                of_child[next] = parent.at(at);
                if let Some(start) = starts.get_mut(next) {
                    *start = at as u32;
                }
                next += 1;
            }
            if let Some(child) = wide.get_mut(at - base) {
                *child = (start + next - 1) as i64;
            }
        }
    });
    let child = if narrow(n) { IndexColumn::Runs(starts) } else { of_entry.into() };
    (T::column(kept), child, of_child.into())
}

/// Whether so many things can be numbered in 32 bits.
fn narrow(n: usize) -> bool {
    u32::try_from(n).is_ok()
}

/// For parents that ascend: where the children of each begin, and where the last end.
fn offsets(child_parent: &IndexColumn, parents: Pos) -> IndexColumn {
    let (n, parents) = (child_parent.len(), parents as usize);
    match child_parent {
        IndexColumn::Count(_) if n == parents => return IndexColumn::Count(n + 1),
        IndexColumn::Runs(starts) if starts.len() == parents + 1 => {
            return IndexColumn::U32(starts.clone());
        }
        // All children have one parent.
        &IndexColumn::Same(parent, n) => {
            let before = std::iter::repeat_n(0, parent as usize + 1);
            let behind = std::iter::repeat_n(n as i64, parents - parent as usize);
            let all: Vec<i64> = before.chain(behind).collect();
            return all.into();
        }
        _ if narrow(n) => {}
        _ => return with_column!(child_parent, p => boundaries::<i64>(p, n, parents)),
    }
    with_column!(child_parent, p => boundaries::<u32>(p, n, parents))
}

fn boundaries<T: IndexWord>(parent: impl IndexRead, n: usize, parents: usize) -> IndexColumn {
    let mut offsets = Buffer::<T>::unspecified(parents + 1);
    let mut rest = offsets.make_mut();
    // Each chunk writes the beginnings of the parents that it is the first to name, and of the
    // childless ones before them; the first parent begins at 0.
    let mut jobs = Vec::new();
    let mut done = 0;
    for range in chunks(n) {
        let end = parent.at(range.end - 1) as usize + 1;
        let (slots, others) = rest.split_at_mut(end - done);
        jobs.push((range, done, slots));
        (rest, done) = (others, end);
    }
    rest.fill(T::truncated(n as i64));
    parallel::items(jobs, |_, (range, first, slots)| {
        let mut next = 0;
        for at in range {
            let slot = parent.at(at) as usize + 1;
            if slot > first + next {
                let upto = slot - first;
                for slot in &mut slots[next..upto] {
                    *slot = T::truncated(at as i64);
                }
                next = upto;
            }
        }
    });
    T::column(offsets)
}

/// Moves children to where their parents want them, for parents that do not ascend.
fn reordered(
    child_parent: &IndexColumn,
    crd: &IndexColumn,
    child: &IndexColumn,
    parents: Pos,
) -> Segments {
    let mut offsets = vec![0_i64; parents as usize + 1];
    let of = child_parent.to_vec();
    for &parent in &of {
        offsets[parent as usize + 1] += 1;
    }
    scan(&mut offsets);
    let mut next = offsets.clone();
    let place: Vec<usize> = of
        .iter()
        .map(|&parent| {
            let slot = &mut next[parent as usize];
            *slot += 1;
            *slot as usize - 1
        })
        .collect();
    let mut moved = vec![0; crd.len()];
    for (from, &to) in place.iter().enumerate() {
        moved[to] = crd.at(from);
    }
    let child: Vec<i64> = (0..child.len()).map(|at| place[child.at(at) as usize] as i64).collect();
    Segments { offsets: offsets.into(), crd: moved.into(), child: child.into() }
}

/// Elements in parts: part `n` has the places `bounds[n] .. bounds[n + 1]`, and is made as a whole. `more`
/// elements that no part has, all zero, follow. Parallel. The bounds begin at 0, and do not descend.
#[must_use]
pub fn parts<T: Plain + Zeroable>(
    bounds: &[i64],
    more: usize,
    part: impl Fn(usize, &mut [T]) + Sync,
) -> Buffer<T> {
    let len = bounds.last().map_or(0, |&end| end as usize);
    let mut made = Buffer::<T>::unspecified(len + more);
    let (mut rest, behind) = made.make_mut().split_at_mut(len);
    behind.fill(T::zeroed());
    // Jobs with about as many elements and parts each.
    let each = chunk_len(len + bounds.len());
    let (mut jobs, mut from) = (Vec::new(), 0);
    while from + 1 < bounds.len() {
        let first = bounds[from] as usize;
        let fits = |to: &usize| bounds[*to] as usize - first + (to - from) <= each;
        let to = (from + 2..bounds.len()).take_while(fits).last().unwrap_or(from + 1);
        let (own, others) = rest.split_at_mut(bounds[to] as usize - first);
        jobs.push((from..to, own));
        (rest, from) = (others, to);
    }
    parallel::items(jobs, |_, (parts, own)| {
        let first = bounds[parts.start];
        for number in parts {
            let [lo, hi] = [number, number + 1].map(|at| (bounds[at] - first) as usize);
            part(number, &mut own[lo..hi]);
        }
    });
    made
}

/// For each entry, the position of its child. `child` numbers the children of the entries, and `place` has the
/// position of each child, less than `positions`. Parallel.
///
/// # Panics
/// If a column is elsewhere and cannot be fetched: see [`Segments::fetch`].
#[must_use]
pub fn of_children(child: &IndexColumn, place: &[i64], positions: Pos) -> IndexColumn {
    let most = (0, positions.saturating_sub(1) as i64);
    IndexColumn::blocks(child.len(), most, &|first, out| {
        child.read(first, out);
        out.iter_mut().for_each(|out| *out = place[*out as usize]);
    })
}

/// Replaces counts by their running sums. Cost: O(length).
pub fn scan(counts: &mut [i64]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// So many elements, made by a function of the place, in parallel. In huge pages when large.
#[must_use]
pub fn fill<T: Plain + Zeroable>(
    len: usize,
    element: impl Fn(usize) -> T + Send + Sync,
) -> Buffer<T> {
    let mut filled = Buffer::<T>::unspecified(len);
    let chunk = chunk_len(len);
    parallel::chunks(filled.make_mut(), chunk, |at, out| {
        for (offset, slot) in out.iter_mut().enumerate() {
            *slot = element(at * chunk + offset);
        }
    });
    filled
}

/// The kind of column that holds positions below a number.
#[must_use]
pub fn position_kind(positions: Pos) -> IndexKind {
    crate::column::column_kind(0, positions.saturating_sub(1) as i64)
}
