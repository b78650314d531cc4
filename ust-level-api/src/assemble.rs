//! Sorted entries in, arrays and positions out; and the helpers that bulk assembly is made of.

use std::ops::Range;

use rayon::prelude::*;

use crate::level::Arrays;
use crate::{Crd, Pos};

/// Columns shorter than this are not worth a second thread.
const PARALLEL: usize = 1 << 15;

/// The entries of a level: two columns, one row an entry.
#[derive(Clone, Copy, Debug)]
pub struct Entries<'a> {
    /// Number of parent positions: those of the level above, 1 at the root.
    pub parents: Pos,
    /// For each entry, its parent position. Equal parents stand together.
    pub parent: &'a [Pos],
    /// For each entry, its coordinate at this level, ascending under one parent. An entry is what
    /// the level below wants apart: equal coordinates under one parent occur, and mean one child
    /// in a unique level, several in a nonunique one.
    pub crd: &'a [Crd],
}

/// What a level made of its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Assembled {
    /// The arrays, in the order of the level's description.
    pub arrays: Arrays,
    /// For each entry, its position at this level.
    pub position: Vec<Pos>,
    /// Number of positions at this level.
    pub positions: Pos,
}

/// The children of each parent, laid side by side in the order of the parents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segments {
    /// For each parent, and once more at the end, where its children begin: `parents + 1` offsets.
    pub offsets: Vec<i64>,
    /// For each child, its coordinate.
    pub crd: Vec<Crd>,
    /// For each entry, the child that it became.
    pub child: Vec<Pos>,
}

impl Entries<'_> {
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

    /// Whether an entry becomes a child of its own, not the same child as the entry before it.
    fn is_child(&self, at: usize, unique: bool) -> bool {
        !unique
            || at == 0
            || self.parent[at] != self.parent[at - 1]
            || self.crd[at] != self.crd[at - 1]
    }

    /// Lays the children of each parent side by side; in a unique level, entries with the same
    /// coordinate become one child. Parallel. Cost: O(entries + parents).
    #[must_use]
    pub fn segments(&self, unique: bool) -> Segments {
        let n = self.len();
        let chunk = chunk_len(n);
        let chunks: Vec<Range<usize>> =
            (0..n).step_by(chunk).map(|lo| lo..(lo + chunk).min(n)).collect();
        // Count, scan, fill: children in the order of the entries.
        let counts: Vec<usize> = chunks
            .par_iter()
            .map(|c| c.clone().filter(|&at| self.is_child(at, unique)).count())
            .collect();
        let total = counts.iter().sum();
        let mut child = vec![0; n];
        let mut crd = vec![0; total];
        let mut heads_parent = vec![0; total];
        let mut rest_child = &mut child[..];
        let mut rest_crd = &mut crd[..];
        let mut rest_parent = &mut heads_parent[..];
        let mut start = 0;
        let mut jobs = Vec::with_capacity(chunks.len());
        for (range, &count) in chunks.iter().zip(&counts) {
            let (a, b) = rest_child.split_at_mut(range.len());
            let (c, d) = rest_crd.split_at_mut(count);
            let (e, f) = rest_parent.split_at_mut(count);
            jobs.push((range.clone(), start, a, c, e));
            (rest_child, rest_crd, rest_parent) = (b, d, f);
            start += count;
        }
        jobs.into_par_iter().for_each(|(range, start, child, crd, parent)| {
            let mut next = 0;
            for (at, child) in range.zip(child) {
                if self.is_child(at, unique) {
                    crd[next] = self.crd[at];
                    parent[next] = self.parent[at];
                    next += 1;
                }
                *child = (start + next - 1) as Pos;
            }
        });
        let mut segments = Segments { offsets: self.offsets(&heads_parent), crd, child };
        if !self.parent.is_sorted() {
            segments.reorder(&heads_parent);
        }
        segments
    }

    /// Offsets of the children of each parent, given each child's parent.
    fn offsets(&self, child_parent: &[Pos]) -> Vec<i64> {
        let mut offsets = vec![0; self.parents as usize + 1];
        for &parent in child_parent {
            offsets[parent as usize + 1] += 1;
        }
        scan(&mut offsets);
        offsets
    }
}

impl Segments {
    /// Moves children to where their parents want them, for parents that do not ascend.
    fn reorder(&mut self, child_parent: &[Pos]) {
        let mut next = self.offsets.clone();
        let place: Vec<usize> = child_parent
            .iter()
            .map(|&parent| {
                let slot = &mut next[parent as usize];
                *slot += 1;
                *slot as usize - 1
            })
            .collect();
        let mut crd = vec![0; self.crd.len()];
        for (from, &to) in place.iter().enumerate() {
            crd[to] = self.crd[from];
        }
        self.crd = crd;
        for child in &mut self.child {
            *child = place[*child as usize] as Pos;
        }
    }
}

/// Replaces counts by their running sums. Cost: O(length).
pub fn scan(counts: &mut [i64]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// A chunk length that gives every thread a few chunks, and short columns a single one.
#[must_use]
pub fn chunk_len(n: usize) -> usize {
    if n < PARALLEL {
        return n.max(1);
    }
    n.div_ceil(rayon::current_num_threads() * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries<'a>(parents: Pos, parent: &'a [Pos], crd: &'a [Crd]) -> Entries<'a> {
        Entries { parents, parent, crd }
    }

    #[test]
    fn equal_coordinates_are_one_child_where_unique() {
        let e = entries(3, &[0, 0, 0, 2], &[1, 1, 4, 0]);
        let unique = e.segments(true);
        assert_eq!(unique.offsets, [0, 2, 2, 3]);
        assert_eq!(unique.crd, [1, 4, 0]);
        assert_eq!(unique.child, [0, 0, 1, 2]);
        let all = e.segments(false);
        assert_eq!((&all.offsets[..], &all.child[..]), (&[0, 3, 3, 4][..], &[0, 1, 2, 3][..]));
    }

    #[test]
    fn parents_that_do_not_ascend_get_their_children_side_by_side() {
        let e = entries(3, &[2, 2, 0], &[5, 6, 7]);
        let s = e.segments(true);
        assert_eq!(s.offsets, [0, 1, 1, 3]);
        assert_eq!(s.crd, [7, 5, 6]);
        assert_eq!(s.child, [1, 2, 0]);
    }

    #[test]
    fn long_columns_are_split_and_agree_with_a_plain_loop() {
        let n = 3 * PARALLEL + 7;
        let parent: Vec<Pos> = (0..n as u64).map(|v| v / 10).collect();
        let crd: Vec<Crd> = (0..n as i64).map(|v| v % 10 / 2).collect();
        let s = entries(parent[n - 1] + 1, &parent, &crd).segments(true);
        let mut child = Vec::new();
        let mut heads = 0;
        for at in 0..n {
            if at == 0 || (parent[at], crd[at]) != (parent[at - 1], crd[at - 1]) {
                heads += 1;
            }
            child.push(heads - 1);
        }
        assert_eq!(s.child, child);
        assert_eq!(s.crd.len() as u64, heads);
        assert_eq!(*s.offsets.last().unwrap() as u64, heads);
    }
}
