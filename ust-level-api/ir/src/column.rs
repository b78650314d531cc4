//! Columns of coordinates and positions: one number for each entry, as narrow as it may be.
//!
//! Assembly and conversion move columns of many millions of entries, and their speed is that of
//! memory. A column is therefore 32 bits wide wherever its numbers allow it, and takes no memory at
//! all where they follow a rule: all alike, or counting up from zero. Cloning shares memory, so that
//! a column which is exactly what a level stores becomes its array without a copy.

use std::sync::Arc;

use bytemuck::Zeroable;
use num_traits::AsPrimitive;

use crate::buffer::{FetchError, Plain};
use crate::{Buffer, Elsewhere, IndexKind, parallel};

/// Columns shorter than this are not worth a second thread.
const PARALLEL: usize = 1 << 16;

/// One number for each entry.
#[derive(Clone, Debug)]
pub enum IndexColumn {
    /// `0, 1, 2, ...`, so many.
    Count(usize),
    /// The same number, so many times.
    Same(i64, usize),
    /// Numbers that count up from zero, each for a run of entries: the first entry of each run, and
    /// once more at the end the number of entries. Ascending, from 0.
    Runs(Buffer<u32>),
    /// Unsigned, four bytes.
    U32(Buffer<u32>),
    /// Signed, four bytes.
    I32(Buffer<i32>),
    /// Signed, eight bytes.
    I64(Buffer<i64>),
}

/// A number that columns are made of.
pub trait IndexWord: Plain + Zeroable + AsPrimitive<i64> + Ord {
    /// The low bits of a number.
    fn truncated(number: i64) -> Self;
    /// A column of such words.
    fn column(words: Buffer<Self>) -> IndexColumn;
}

macro_rules! words {
    ($($variant:ident($ty:ty)),*) => {$(
        impl IndexWord for $ty {
            #[inline]
            fn truncated(number: i64) -> Self { number as Self }
            fn column(words: Buffer<Self>) -> IndexColumn { IndexColumn::$variant(words) }
        }
        impl From<Buffer<$ty>> for IndexColumn {
            fn from(words: Buffer<$ty>) -> Self { Self::$variant(words) }
        }
        impl From<Vec<$ty>> for IndexColumn {
            fn from(words: Vec<$ty>) -> Self { Self::$variant(words.into()) }
        }
    )*};
}
words!(U32(u32), I32(i32), I64(i64));

impl From<&[i64]> for IndexColumn {
    /// A copy.
    fn from(words: &[i64]) -> Self {
        words.to_vec().into()
    }
}

impl<const N: usize> From<[i64; N]> for IndexColumn {
    fn from(words: [i64; N]) -> Self {
        words.to_vec().into()
    }
}

impl From<&IndexColumn> for IndexColumn {
    /// The same memory.
    fn from(column: &IndexColumn) -> Self {
        column.clone()
    }
}

/// Numbers by their place: what loops over columns are generic over.
pub trait IndexRead: Copy + Send + Sync {
    /// The number at a place below the length.
    fn at(self, at: usize) -> i64;
}

impl<T: IndexWord> IndexRead for &[T] {
    #[inline]
    fn at(self, at: usize) -> i64 {
        self[at].as_()
    }
}

/// [`IndexColumn::Count`], to read.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

impl IndexRead for Counting {
    #[inline]
    fn at(self, at: usize) -> i64 {
        at as i64
    }
}

/// [`IndexColumn::Same`], to read.
#[derive(Clone, Copy, Debug)]
pub struct Repeated(pub i64);

impl IndexRead for Repeated {
    #[inline]
    fn at(self, _at: usize) -> i64 {
        self.0
    }
}

/// Runs an expression with `$read` bound to something that implements [`IndexRead`], once for each
/// way in which an [`IndexColumn`] can be kept: loops inside are compiled for each of them. Runs are
/// written out first: this is for loops over whole columns.
#[macro_export]
macro_rules! with_column {
    ($column:expr, $read:ident => $body:expr) => {
        match $column {
            $crate::IndexColumn::Count(_) => {
                let $read = $crate::column::Counting;
                $body
            }
            $crate::IndexColumn::Same(number, _) => {
                let $read = $crate::column::Repeated(*number);
                $body
            }
            $crate::IndexColumn::Runs(starts) => {
                let words = $crate::column::expanded(starts);
                let $read = &words[..];
                $body
            }
            $crate::IndexColumn::U32(words) => {
                let $read = &words[..];
                $body
            }
            $crate::IndexColumn::I32(words) => {
                let $read = &words[..];
                $body
            }
            $crate::IndexColumn::I64(words) => {
                let $read = &words[..];
                $body
            }
        }
    };
}

impl IndexColumn {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Count(len) | Self::Same(_, len) => *len,
            Self::Runs(starts) => starts.last().map_or(0, |&end| end as usize),
            Self::U32(words) => words.len(),
            Self::I32(words) => words.len(),
            Self::I64(words) => words.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of one entry.
    ///
    /// # Panics
    /// May panic beyond the end.
    #[must_use]
    pub fn at(&self, at: usize) -> i64 {
        match self {
            Self::Count(_) => at as i64,
            Self::Same(number, _) => *number,
            Self::Runs(starts) => run_of(starts, at) as i64,
            Self::U32(words) => words[at].into(),
            Self::I32(words) => words[at].into(),
            Self::I64(words) => words[at],
        }
    }

    /// All numbers, one copy.
    #[must_use]
    pub fn to_vec(&self) -> Vec<i64> {
        with_column!(self, read => (0..self.len()).map(|at| read.at(at)).collect())
    }

    /// All numbers, without a copy where they are kept as such.
    #[must_use]
    pub fn into_vec(self) -> Vec<i64> {
        match self {
            Self::I64(words) => words.into_vec(),
            other => other.to_vec(),
        }
    }

    /// Bytes of memory that the numbers take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Count(_) | Self::Same(..) => 0,
            Self::Runs(starts) => 4 * starts.len(),
            Self::U32(_) | Self::I32(_) => 4 * self.len(),
            Self::I64(_) => 8 * self.len(),
        }
    }

    /// Where the numbers are that were not fetched yet. `None` if they are here, or follow a rule.
    #[must_use]
    pub fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        match self {
            // How many entries there are is the last start.
            Self::Count(_) | Self::Same(..) | Self::Runs(_) => None,
            Self::U32(words) => words.place(),
            Self::I32(words) => words.place(),
            Self::I64(words) => words.place(),
        }
    }

    /// Fetches the numbers, if they are elsewhere. No look at them panics afterwards.
    ///
    /// # Errors
    /// Why they cannot be fetched. It may be tried again.
    pub fn fetch(&self) -> Result<(), FetchError> {
        match self {
            Self::Count(_) | Self::Same(..) => Ok(()),
            Self::Runs(words) | Self::U32(words) => words.fetch(),
            Self::I32(words) => words.fetch(),
            Self::I64(words) => words.fetch(),
        }
    }

    /// The least and the greatest number, or `None` when empty. Parallel.
    ///
    /// # Errors
    /// Why numbers that are elsewhere cannot be fetched.
    pub fn extremes(&self) -> Result<Option<(i64, i64)>, FetchError> {
        if let Some(place) = self.place().filter(|_| !self.is_empty())
            && let Some(found) = place.extremes(self)
        {
            return Ok(Some(found));
        }
        self.fetch()?;
        Ok(match self {
            _ if self.is_empty() => None,
            Self::Count(len) => Some((0, *len as i64 - 1)),
            Self::Same(number, _) => Some((*number, *number)),
            Self::Runs(_) => Some((self.at(0), self.at(self.len() - 1))),
            Self::U32(words) => extremes(words),
            Self::I32(words) => extremes(words),
            Self::I64(words) => extremes(words),
        })
    }

    /// Copies the numbers of the entries from `first` on.
    ///
    /// # Panics
    /// When they reach beyond the end.
    pub fn read(&self, first: usize, out: &mut [i64]) {
        if let Self::Runs(starts) = self {
            let from = if out.is_empty() { 0 } else { run_of(starts, first) };
            let mut done = 0;
            for (run, &end) in (from..).zip(&starts[from + 1..]) {
                let end = (end as usize - first).min(out.len());
                out[done..end].fill(run as i64);
                done = end;
                if done == out.len() {
                    break;
                }
            }
            return;
        }
        with_column!(self, read => {
            for (at, out) in (first..).zip(out) {
                *out = read.at(at);
            }
        });
    }

    /// Of bounds, the pairs of neighbours, side by side: `self[0], self[1], self[1], self[2], ...` Parallel.
    ///
    /// # Errors
    /// Why numbers that are elsewhere cannot be fetched.
    pub fn pairs(&self) -> Result<Self, FetchError> {
        if let Some(place) = self.place()
            && let Some(pairs) = place.pairs(self)
        {
            return Ok(pairs);
        }
        self.fetch()?;
        let count = self.len().saturating_sub(1);
        Ok(Self::blocks(2 * count, self.extremes()?.unwrap_or((0, 0)), &|first, out| {
            for (at, out) in (first..).zip(out) {
                *out = self.at(at / 2 + at % 2);
            }
        }))
    }

    /// A column of so many numbers, as narrow as the numbers `lo..=hi` allow, made block by block:
    /// the function is given the place of the first number of a block, and the block. Parallel.
    #[must_use]
    pub fn blocks(
        len: usize,
        (lo, hi): (i64, i64),
        block: &(dyn Fn(usize, &mut [i64]) + Sync),
    ) -> Self {
        match column_kind(lo, hi) {
            IndexKind::U32 => Self::U32(in_blocks(len, block, |number| number as u32)),
            IndexKind::I32 => Self::I32(in_blocks(len, block, |number| number as i32)),
            _ => Self::I64(in_blocks(len, block, |number| number)),
        }
    }
}

/// The run that an entry is in.
fn run_of(starts: &[u32], at: usize) -> usize {
    starts.partition_point(|&start| start as usize <= at) - 1
}

/// The numbers of [`IndexColumn::Runs`], one for each entry. Parallel.
#[doc(hidden)]
#[must_use]
pub fn expanded(starts: &Buffer<u32>) -> Buffer<u32> {
    /// Most runs are short: a store of this many, of which the next run overwrites what is not its.
    const SHORT: usize = 16;
    let len = starts.last().map_or(0, |&end| end as usize);
    let mut made = Buffer::<u32>::unspecified(len);
    let chunk = chunk_len(len);
    parallel::chunks(made.make_mut(), chunk, |number, out| {
        let first = number * chunk;
        let (from, mut at) = (run_of(starts, first), 0);
        for (run, &end) in (from as u32..).zip(&starts[from + 1..]) {
            let end = (end as usize - first).min(out.len());
            let rest = match out.get_mut(at..at + SHORT) {
                Some(short) => {
                    short.fill(run);
                    at + SHORT
                }
                None => at,
            };
            if rest < end {
                out[rest..end].fill(run);
            }
            at = end;
            if at == out.len() {
                break;
            }
        }
    });
    made
}

/// Numbers made or copied at a time, so that they stay in cache.
pub const BLOCK: usize = 1024;

/// Elements made of numbers that come in blocks. Parallel.
pub(crate) fn in_blocks<T: Plain + Zeroable>(
    len: usize,
    block: &(dyn Fn(usize, &mut [i64]) + Sync),
    element: impl Fn(i64) -> T + Sync,
) -> Buffer<T> {
    let mut made = Buffer::<T>::unspecified(len);
    let chunk = chunk_len(len).next_multiple_of(BLOCK);
    parallel::chunks(made.make_mut(), chunk, |number, out| {
        let mut numbers = [0; BLOCK];
        for (k, out) in out.chunks_mut(BLOCK).enumerate() {
            let numbers = &mut numbers[..out.len()];
            block(number * chunk + k * BLOCK, numbers);
            for (to, &from) in out.iter_mut().zip(&*numbers) {
                *to = element(from);
            }
        }
    });
    made
}

/// Equal numbers, however they are kept.
impl PartialEq for IndexColumn {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|at| self.at(at) == other.at(at))
    }
}

impl<const N: usize> PartialEq<[i64; N]> for IndexColumn {
    fn eq(&self, other: &[i64; N]) -> bool {
        self.to_vec() == other
    }
}

/// The narrowest kind of column for numbers in `lo..=hi`: `U32`, `I32` or `I64`.
#[must_use]
pub fn column_kind(lo: i64, hi: i64) -> IndexKind {
    let kinds = [IndexKind::U32, IndexKind::I32];
    kinds.into_iter().find(|kind| kind.holds(lo) && kind.holds(hi)).unwrap_or(IndexKind::I64)
}

fn extremes<T: IndexWord>(words: &[T]) -> Option<(i64, i64)> {
    let first = *words.first()?;
    let of = |words: &[T]| words.iter().fold((first, first), |(lo, hi), &w| (lo.min(w), hi.max(w)));
    let chunks: Vec<&[T]> = words.chunks(chunk_len(words.len())).collect();
    let each = parallel::map(chunks.len(), |at| of(chunks[at]));
    let (lo, hi) = each.into_iter().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    Some((lo.as_(), hi.as_()))
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

    #[test]
    fn columns_are_as_narrow_as_their_numbers_allow() {
        assert_eq!(column_kind(0, i64::from(u32::MAX)), IndexKind::U32);
        assert_eq!(column_kind(-1, 5), IndexKind::I32);
        assert_eq!(column_kind(-1, i64::from(u32::MAX)), IndexKind::I64);
        assert_eq!(column_kind(0, 1 << 40), IndexKind::I64);
        let made = IndexColumn::blocks(3, (-2, 2), &|first, out| {
            IndexColumn::Count(9).read(first, out);
            out.iter_mut().for_each(|v| *v -= 2);
        });
        assert!(matches!(&made, IndexColumn::I32(_)));
        assert_eq!(made, [-2, -1, 0]);
    }

    #[test]
    fn columns_that_follow_a_rule_take_no_memory_and_equal_those_that_do() {
        assert_eq!(IndexColumn::Count(3), IndexColumn::from([0, 1, 2]));
        assert_eq!(IndexColumn::Same(-4, 2), IndexColumn::from(vec![-4_i32, -4]));
        assert_eq!(IndexColumn::Count(3).bytes() + IndexColumn::Same(7, 9).bytes(), 0);
        assert_ne!(IndexColumn::Count(3), IndexColumn::Count(2));
    }

    #[test]
    fn runs_are_numbers_that_ascend() {
        let runs = IndexColumn::Runs(vec![0, 0, 3, 3, 3, 4, 6, 6].into());
        let numbers = [1_i64, 1, 1, 4, 5, 5];
        assert_eq!((runs.len(), runs.bytes(), runs.extremes().unwrap()), (6, 32, Some((1, 5))));
        assert_eq!(runs, numbers);
        for first in 0..6 {
            assert_eq!(runs.at(first), numbers[first]);
            let mut read = vec![-1; 6 - first];
            runs.read(first, &mut read);
            assert_eq!(read, numbers[first..]);
        }
        for starts in [vec![0], vec![0, 0, 0]] {
            let none = IndexColumn::Runs(starts.into());
            assert_eq!((none.len(), none.extremes().unwrap(), none.to_vec()), (0, None, vec![]));
            none.read(0, &mut []);
        }
    }

    #[test]
    fn runs_of_any_length_are_written_out() {
        for longest in [1, 3, 17, 40, 1000] {
            // Every third run is empty.
            let mut starts = vec![0_u32];
            for run in 0..200_000 / longest {
                let length = if run % 3 == 1 { 0 } else { run * 7 % longest + 1 };
                starts.push(starts[starts.len() - 1] + length);
            }
            let numbers: Vec<u32> = starts
                .windows(2)
                .enumerate()
                .flat_map(|(run, ends)| (ends[0]..ends[1]).map(move |_| run as u32))
                .collect();
            assert_eq!(expanded(&starts.into())[..], numbers);
        }
        assert!(expanded(&vec![0].into()).is_empty());
        assert!(expanded(&vec![0, 0].into()).is_empty());
    }

    #[test]
    fn extremes_are_those_of_all_numbers() {
        let words: Vec<i32> = (0..200_000).map(|v: i32| (v * 37) % 1001 - 500).collect();
        assert_eq!(IndexColumn::from(words).extremes().unwrap(), Some((-500, 500)));
        assert_eq!(IndexColumn::Same(4, 3).extremes().unwrap(), Some((4, 4)));
        assert_eq!(IndexColumn::Same(4, 0).extremes().unwrap(), None);
    }
}
