//! Which thread runs which part of a loop.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts of each thread, by number, that are not yet run.
pub(super) struct Shares(Vec<Mutex<Range<usize>>>);

impl Shares {
    /// So many for each thread, numbered through.
    pub(super) fn new(each: impl IntoIterator<Item = usize>) -> Self {
        let mut end = 0;
        let share = |count| {
            let begin = end;
            end += count;
            Mutex::new(begin..end)
        };
        Self(each.into_iter().map(share).collect())
    }

    /// The next part for a thread: the first of its own, then the last of the thread that has most left.
    pub(super) fn next(&self, thread: usize) -> Option<usize> {
        if let Some(part) = self.of(thread).next() {
            return Some(part);
        }
        loop {
            let left = (0..self.0.len()).map(|thread| (self.of(thread).len(), thread));
            let (_, most) = left.max().filter(|&(left, _)| left > 0)?;
            if let Some(part) = self.of(most).next_back() {
                return Some(part);
            }
        }
    }

    fn of(&self, thread: usize) -> MutexGuard<'_, Range<usize>> {
        self.0[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_parts_come_first_and_in_order() {
        let shares = Shares::new([3, 0, 4]);
        let next = |thread| shares.next(thread);
        assert_eq!([next(0), next(0), next(1), next(1)], [Some(0), Some(1), Some(6), Some(5)]);
        assert_eq!([next(2), next(0), next(0), next(2)], [Some(3), Some(2), Some(4), None]);
    }

    #[test]
    fn every_part_is_run_once() {
        let shares = Shares::new([5, 1, 9, 0]);
        let run = |thread| std::iter::from_fn(|| shares.next(thread)).collect::<Vec<_>>();
        let mut all = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || run(thread))).collect();
            threads.into_iter().flat_map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        all.sort_unstable();
        assert_eq!(all, (0..15).collect::<Vec<_>>());
    }
}
