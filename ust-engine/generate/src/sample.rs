//! Cells chosen without replacement, and how a cell's number splits into coordinates.

use rayon::prelude::*;

use super::stream::Stream;

/// The row-major number of a cell: `u64` where the shape allows, `u128` for larger shapes.
pub(super) trait Cell: Copy + Ord + Send + Sync + From<u64> {
    /// The number of a cell whose number without the last dimension is `self`.
    #[must_use]
    fn join(self, extent: usize, coordinate: u64) -> Self;
    /// The coordinate in a dimension of this extent, behind which stand `stride` cells.
    fn coordinate(self, stride: Self, extent: usize) -> i64;
}

macro_rules! cell {
    ($ty:ty) => {
        impl Cell for $ty {
            fn join(self, extent: usize, coordinate: u64) -> Self {
                self * extent as $ty + coordinate as $ty
            }
            fn coordinate(self, stride: Self, extent: usize) -> i64 {
                (self / stride % extent as $ty) as i64
            }
        }
    };
}
cell!(u64);
cell!(u128);

/// The `count` cells of a shape that are drawn first, ascending: draw `n` is the cell with
/// coordinate `below(n * rank + d, extent of d)` in dimension `d`, and only the first draw of a cell
/// counts.
///
/// When that is more than half of all `cells`, the cells drawn first are the ones left out.
pub(super) fn choose<T: Cell>(
    shape: &[usize],
    cells: u128,
    count: usize,
    stream: Stream,
) -> Vec<T> {
    let rank = shape.len() as u64;
    let draw = |n: u64| {
        (0_u64..).zip(shape).fold(T::from(0), |cell, (dim, &extent)| {
            cell.join(extent, stream.below(n * rank + dim, extent as u64))
        })
    };
    if count as u128 * 2 <= cells {
        return first_distinct(count, draw);
    }
    let left_out = first_distinct((cells - count as u128) as usize, draw);
    let mut next = left_out.iter().peekable();
    let all = (0..cells as u64).map(T::from);
    all.filter(|cell| next.next_if_eq(&cell).is_none()).collect()
}

/// The set of the first `count` distinct numbers among `draw(0)`, `draw(1)`, ..., ascending. There
/// must be so many.
///
/// Each round draws exactly as many as are still missing, so that no number beyond the last one
/// needed is ever drawn: the set does not depend on how it is found.
fn first_distinct<T: Cell>(count: usize, draw: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let mut chosen: Vec<T> = Vec::new();
    let mut drawn = 0;
    while chosen.len() < count {
        let round = drawn..drawn + (count - chosen.len());
        drawn = round.end;
        let mut fresh: Vec<T> = round.into_par_iter().map(|n| draw(n as u64)).collect();
        fresh.par_sort_unstable();
        fresh.dedup();
        chosen = if chosen.is_empty() { fresh } else { union(&chosen, &fresh) };
    }
    chosen
}

/// The numbers of two ascending sequences, ascending, each once.
fn union<T: Cell>(a: &[T], b: &[T]) -> Vec<T> {
    let mut both = Vec::with_capacity(a.len() + b.len());
    let mut rest = b.iter().copied().peekable();
    for &from_a in a {
        while let Some(from_b) = rest.next_if(|&from_b| from_b <= from_a) {
            if from_b < from_a {
                both.push(from_b);
            }
        }
        both.push(from_a);
    }
    both.extend(rest);
    both
}

#[cfg(test)]
mod tests {
    use super::super::stream::Purpose;
    use super::*;

    /// The definition, taken literally.
    fn literally(count: usize, draw: impl Fn(u64) -> u64) -> Vec<u64> {
        let mut seen = std::collections::BTreeSet::new();
        let mut n = 0;
        while seen.len() < count {
            seen.insert(draw(n));
            n += 1;
        }
        seen.into_iter().collect()
    }

    #[test]
    fn the_first_distinct_draws_are_found() {
        for (bound, count) in [(1, 1), (7, 0), (7, 3), (7, 7), (1000, 500), (1 << 40, 300)] {
            let stream = Stream::new(bound, Purpose::Positions);
            let draw = |n| stream.below(n, bound);
            assert_eq!(first_distinct(count, draw), literally(count, draw), "{count} of {bound}");
        }
    }

    #[test]
    fn both_sides_of_one_half_choose_so_many_distinct_cells() {
        let stream = Stream::new(5, Purpose::Positions);
        for count in 0..=24 {
            let chosen: Vec<u64> = choose(&[2, 3, 4], 24, count, stream);
            assert_eq!(chosen.len(), count);
            assert!(chosen.windows(2).all(|w| w[0] < w[1]) && chosen.iter().all(|&c| c < 24));
        }
    }
}
