//! For each iteration of the outermost loop, the number of the first row that it appends: the `pos` array of
//! the result's first level.

use ust_level_api::assemble::fill;
use ust_level_api::{Buffer, IndexColumn};

/// For each iteration of the outermost loop, the number of its first row; at the end, the number of rows.
pub(super) enum Starts {
    /// If the number of rows certainly fits.
    U32(Buffer<u32>),
    I64(Buffer<i64>),
}

/// The first rows of a part of the loop.
pub(super) enum StartsOf<'a> {
    U32(&'a mut [u32]),
    I64(&'a mut [i64]),
}

impl Starts {
    /// For `iterations` iterations, and at most `most` rows.
    pub(super) fn new(iterations: usize, most: usize) -> Self {
        match u32::try_from(most) {
            Ok(_) => Self::U32(Buffer::unspecified(iterations + 1)),
            Err(_) => Self::I64(Buffer::unspecified(iterations + 1)),
        }
    }

    /// Splits the first rows into those of consecutive parts, with these numbers of iterations.
    pub(super) fn split(&mut self, iterations: impl Iterator<Item = usize>) -> Vec<StartsOf<'_>> {
        fn cut<T>(mut rest: &mut [T], iterations: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
            iterations
                .map(|iterations| rest.split_off_mut(..iterations).unwrap_or_default())
                .collect()
        }
        match self {
            Self::U32(all) => {
                cut(all.make_mut(), iterations).into_iter().map(StartsOf::U32).collect()
            }
            Self::I64(all) => {
                cut(all.make_mut(), iterations).into_iter().map(StartsOf::I64).collect()
            }
        }
    }

    /// The column of the first level: for each row, its iteration. The first `set` iterations must be set.
    /// Later ones have no rows.
    pub(super) fn column(self, rows: usize, set: usize) -> IndexColumn {
        match self {
            Self::U32(mut starts) => {
                starts.make_mut()[set..].fill(rows as u32);
                IndexColumn::Runs(starts)
            }
            Self::I64(mut starts) => {
                starts.make_mut()[set..].fill(rows as i64);
                if u32::try_from(rows).is_ok() {
                    return IndexColumn::Runs(fill(starts.len(), |at| starts[at] as u32));
                }
                let each = starts.windows(2).enumerate();
                let each = each
                    .flat_map(|(iteration, run)| (run[0]..run[1]).map(move |_| iteration as i64));
                each.collect::<Vec<i64>>().into()
            }
        }
    }
}

impl StartsOf<'_> {
    /// Number of iterations.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::U32(starts) => starts.len(),
            Self::I64(starts) => starts.len(),
        }
    }

    /// Sets the first rows to `rows`, each plus `more`.
    pub(super) fn set(&mut self, rows: &[i64], more: usize) {
        match self {
            Self::U32(starts) => {
                let more = more as u32;
                starts.iter_mut().zip(rows).for_each(|(to, &row)| *to = more + row as u32);
            }
            Self::I64(starts) => {
                let more = more as i64;
                starts.iter_mut().zip(rows).for_each(|(to, &row)| *to = more + row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_of_all_parts() {
        for most in [1 << 20, 1 << 40] {
            let mut starts = Starts::new(5, most);
            let mut of = starts.split([2, 0, 3].into_iter());
            of[2].set(&[0, 1, 1], 4);
            of[0].set(&[0, 4], 0);
            drop(of);
            let runs: Vec<u32> = vec![0, 4, 4, 5, 5, 7];
            assert_eq!(starts.column(7, 5), IndexColumn::Runs(runs.into()));
        }
    }
}
