//! Where the rounds of the outermost loop begin among the rows that it appends.

use ust_level_api::assemble::fill;
use ust_level_api::{Buffer, IndexColumn};

/// For each round of the outermost loop, its first row; and at the end, how many rows there are.
pub(super) enum Starts {
    /// Where there cannot be more.
    U32(Buffer<u32>),
    I64(Buffer<i64>),
}

/// Those of a part of the loop.
pub(super) enum StartsOf<'a> {
    U32(&'a mut [u32]),
    I64(&'a mut [i64]),
}

impl Starts {
    /// Of so many rounds, and `most` rows.
    pub(super) fn new(rounds: usize, most: usize) -> Self {
        match u32::try_from(most) {
            Ok(_) => Self::U32(Buffer::unspecified(rounds + 1)),
            Err(_) => Self::I64(Buffer::unspecified(rounds + 1)),
        }
    }

    /// Those of parts of the loop that follow each other, of so many rounds each.
    pub(super) fn split(&mut self, rounds: impl Iterator<Item = usize>) -> Vec<StartsOf<'_>> {
        fn cut<T>(mut rest: &mut [T], rounds: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
            rounds.map(|rounds| rest.split_off_mut(..rounds).unwrap_or_default()).collect()
        }
        match self {
            Self::U32(all) => cut(all.make_mut(), rounds).into_iter().map(StartsOf::U32).collect(),
            Self::I64(all) => cut(all.make_mut(), rounds).into_iter().map(StartsOf::I64).collect(),
        }
    }

    /// The round of each of so many rows, once those of all parts are set, of so many rounds. Others, and
    /// the end, are behind all rows.
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
                let each =
                    each.flat_map(|(round, run)| (run[0]..run[1]).map(move |_| round as i64));
                each.collect::<Vec<i64>>().into()
            }
        }
    }
}

impl StartsOf<'_> {
    /// How many rounds there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::U32(starts) => starts.len(),
            Self::I64(starts) => starts.len(),
        }
    }

    /// Sets them to so many more.
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
