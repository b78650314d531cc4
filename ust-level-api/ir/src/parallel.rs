//! Parallel loops over numbers and over items, on rayon's pool.
//!
//! A parallel iterator of rayon is compiled anew for each element type and closure. These loops are compiled
//! once, and call a `dyn Fn` for each item: an item is a chunk of work, never a single entry.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

/// Locks a mutex, even one that a panic poisoned: for data that no panic leaves inconsistent.
pub fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `job(0)` to `job(count - 1)`, at least `least` of them one after another on the same thread.
pub fn each(count: usize, least: usize, job: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().with_min_len(least).for_each(job);
}

/// Whether `test` holds for all numbers below `count`. Where it fails for one, others may not be tested.
/// `least` as for [`each`].
pub fn every(count: usize, least: usize, test: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    (0..count).into_par_iter().with_min_len(least).all(test)
}

/// The results of `job(0)` to `job(count - 1)`.
pub fn map<R: Send>(count: usize, job: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let mut results = Slots(Vec::new());
    results.0.resize_with(count, || Mutex::new(None));
    each(count, 1, &|at| {
        let result = job(at);
        *locked(&results.0[at]) = Some(result);
    });
    let mut all = Vec::with_capacity(count);
    for at in 0..count {
        all.push(results.take(at));
    }
    all
}

/// Calls `job` with each item and its number.
pub fn items<T: Send>(items: impl IntoIterator<Item = T>, job: impl Fn(usize, T) + Sync) {
    items_by(1, items, job);
}

/// As [`items`], with `least` as for [`each`].
pub fn items_by<T: Send>(
    least: usize,
    items: impl IntoIterator<Item = T>,
    job: impl Fn(usize, T) + Sync,
) {
    let items = Slots::of(items);
    each(items.0.len(), least, &|at| job(at, items.take(at)));
}

/// The results of `job` with each item and its number.
pub fn map_items<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    job: impl Fn(usize, T) -> R + Sync,
) -> Vec<R> {
    let items = Slots::of(items);
    map(items.0.len(), |at| job(at, items.take(at)))
}

/// Calls `job` with the number of each chunk of `chunk` elements, the last of which may be shorter, and the
/// chunk.
pub fn chunks<T: Send>(all: &mut [T], chunk: usize, job: impl Fn(usize, &mut [T]) + Sync) {
    items(all.chunks_mut(chunk), job);
}

/// Items, each of which is put by one thread and taken by one thread. Filled by loops: iterators would be
/// instantiated for each type.
struct Slots<T>(Vec<Mutex<Option<T>>>);

impl<T> Slots<T> {
    fn of(items: impl IntoIterator<Item = T>) -> Self {
        let mut slots = Vec::new();
        for item in items {
            slots.push(Mutex::new(Some(item)));
        }
        Self(slots)
    }

    fn take(&self, at: usize) -> T {
        let item = locked(&self.0[at]).take();
        item.expect("it is put before it is taken, once")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_visited_once_and_results_are_in_order() {
        for count in [0, 1, 2, 1000] {
            let squares: Vec<usize> = (0..count).map(|at| at * at).collect();
            assert_eq!(map(count, |at| at * at), squares);
            let strings = squares.iter().map(ToString::to_string);
            let told = map_items(strings.clone(), |at, item| format!("{at} {item}"));
            let expected = strings.enumerate().map(|(at, item)| format!("{at} {item}"));
            assert_eq!(told, expected.collect::<Vec<_>>());
            let mut filled = vec![0; count];
            chunks(&mut filled, 7, |number, chunk| {
                chunk.iter_mut().enumerate().for_each(|(at, slot)| *slot += number * 7 + at);
            });
            assert_eq!(filled, (0..count).collect::<Vec<_>>());
            assert!(
                every(count, 3, &|at| at < count)
                    && every(count, 1, &|at| at + 1 != count) == (count == 0)
            );
        }
    }
}
