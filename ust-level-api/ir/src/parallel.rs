//! Parallel loops over numbers and over items, on the threads of rayon's pool.
//!
//! A parallel iterator of rayon is compiled anew for each element type and closure. These loops are compiled
//! once, and call a `dyn Fn` for each item: an item is a chunk of work, never a single entry.
//!
//! They run in the pool of the calling thread, or in rayon's global pool, or, in a process that was forked, in a pool of its
//! own: the threads of the global pool were not copied. What runs on rayon without these loops has to be [`entered`].
//! Each job is a look at the [tokens](crate::cancel) of the caller, and works in the caller's scopes.

use std::ops::RangeInclusive;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::prelude::*;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::cancel::{self, ASKS, Carried};
use crate::process::{PerProcess, forks};

/// Locks a mutex, even one that a panic poisoned: for data that no panic leaves inconsistent.
pub fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pool of a process that was forked, as large as the global pool would be. `None` elsewhere, where the global pool
/// is alive; and where no thread can be started.
#[must_use]
pub fn own_pool() -> Option<&'static ThreadPool> {
    static POOL: PerProcess<OnceLock<Option<ThreadPool>>> = PerProcess::new();
    if forks() == 0 {
        return None;
    }
    let threads = |threads| ThreadPoolBuilder::new().num_threads(threads).build().ok();
    let make = || threads(rayon::current_num_threads()).or_else(|| threads(1));
    POOL.get(|_| OnceLock::new()).get_or_init(make).as_ref()
}

/// Does work, which may use rayon, in the pool of the calling thread, or else in that of the process.
pub fn entered<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    match rayon::current_thread_index() {
        Some(_) => work(),
        None => result_of(work, &|work| enter(own_pool(), work)),
    }
}

/// Does work, which may use rayon, in a pool.
pub fn entered_in<R: Send>(pool: &ThreadPool, work: impl FnOnce() -> R + Send) -> R {
    result_of(work, &|work| enter(Some(pool), work))
}

/// The result of `work`, which `run` calls once: rayon's functions are compiled once for all of `work`.
fn result_of<R: Send>(
    work: impl FnOnce() -> R + Send,
    run: &dyn Fn(&mut (dyn FnMut() + Send)),
) -> R {
    let (mut work, mut result) = (Some(work), None);
    run(&mut || result = work.take().map(|work| work()));
    result.expect("it is called once")
}

/// Does work in a pool, or in the global one.
fn enter(pool: Option<&ThreadPool>, work: &mut (dyn FnMut() + Send)) {
    let carrier = Carrier::here();
    if !carrier.asks() {
        let work = || carrier.run(work);
        return match pool {
            Some(pool) => pool.install(work),
            None => rayon::scope(|_| work()),
        };
    }
    // Also where no work takes long enough for a wait.
    cancel::poll();
    let done = (Mutex::new(false), Condvar::new());
    match pool {
        Some(pool) => pool.in_place_scope(|scope| asking(scope, work, &carrier, &done)),
        None => rayon::in_place_scope(|scope| asking(scope, work, &carrier, &done)),
    }
}

/// Has another thread do work. Meanwhile this thread does not sleep: it asks whether the work shall go on.
fn asking<'s>(
    scope: &Scope<'s>,
    work: &'s mut (dyn FnMut() + Send + 's),
    carrier: &'s Carrier,
    done: &'s (Mutex<bool>, Condvar),
) {
    /// Says that the work is done, also when it panicked.
    struct Told<'s>(&'s (Mutex<bool>, Condvar));
    impl Drop for Told<'_> {
        fn drop(&mut self) {
            *locked(&self.0.0) = true;
            self.0.1.notify_one();
        }
    }
    scope.spawn(move |_| {
        let _told = Told(done);
        carrier.run(work);
    });
    let is_done = || {
        let wait = done.1.wait_timeout_while(locked(&done.0), ASKS, |done| !*done);
        *wait.unwrap_or_else(PoisonError::into_inner).0
    };
    while !is_done() {
        cancel::poll();
    }
}

/// Carries the scopes of [tokens](crate::cancel) to the threads that share the work.
pub struct Carrier(Carried);

impl Carrier {
    /// The scopes in which this thread works.
    #[must_use]
    pub fn here() -> Self {
        Self(cancel::here())
    }

    /// Runs a job in these scopes, on any thread, and looks at their tokens first.
    pub fn run<R>(&self, job: impl FnOnce() -> R) -> R {
        cancel::within(self.0.clone(), || {
            cancel::poll();
            job()
        })
    }

    /// Whether this thread should [look](cancel::poll) now and then, while it waits for others: a token
    /// [asks](cancel::CancelToken::asking) on it.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.0.as_ref().is_some_and(|scopes| scopes.asks())
    }
}

/// Calls `job(0)` to `job(count - 1)`, at least `least` of them one after another on the same thread.
pub fn each(count: usize, least: usize, job: &(dyn Fn(usize) + Sync)) {
    let carrier = Carrier::here();
    let job = |at| carrier.run(|| job(at));
    match count <= least {
        true => (0..count).for_each(job),
        false => entered(|| (0..count).into_par_iter().with_min_len(least).for_each(job)),
    }
}

/// As [`each`], with so many jobs one after another, at least and at most, that share what `init` makes for them.
pub fn each_with<S>(
    count: usize,
    together: RangeInclusive<usize>,
    init: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, usize) + Sync,
) {
    let carrier = Carrier::here();
    let job = |shared: &mut S, at| carrier.run(|| job(shared, at));
    entered(|| {
        let jobs = (0..count).into_par_iter();
        let jobs = jobs.with_min_len(*together.start()).with_max_len(*together.end());
        jobs.for_each_init(&init, job);
    });
}

/// Whether `test` holds for all numbers below `count`. Where it fails for one, others may not be tested.
/// `least` as for [`each`].
pub fn every(count: usize, least: usize, test: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    let carrier = Carrier::here();
    let test = |at| carrier.run(|| test(at));
    match count <= least {
        true => (0..count).all(test),
        false => entered(|| (0..count).into_par_iter().with_min_len(least).all(test)),
    }
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

/// As [`items`], with `together` and `init` as for [`each_with`].
pub fn items_with<T: Send, S>(
    together: RangeInclusive<usize>,
    items: impl IntoIterator<Item = T>,
    init: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, usize, T) + Sync,
) {
    let items = Slots::of(items);
    each_with(items.0.len(), together, init, |shared, at| job(shared, at, items.take(at)));
}

/// The results of `job` with each item and its number.
pub fn map_items<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    job: impl Fn(usize, T) -> R + Sync,
) -> Vec<R> {
    let items = Slots::of(items);
    map(items.0.len(), |at| job(at, items.take(at)))
}

/// As [`map_items`], where jobs share what `init` makes for those that run one after another, `least` of them at least.
pub fn map_items_with<T: Send, R: Send, S>(
    least: usize,
    items: impl IntoIterator<Item = T>,
    init: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, usize, T) -> R + Sync,
) -> Vec<R> {
    let items = Slots::of(items);
    let count = items.0.len();
    let mut results = Slots(Vec::new());
    results.0.resize_with(count, || Mutex::new(None));
    each_with(count, least..=usize::MAX, init, |shared, at| {
        let result = job(shared, at, items.take(at));
        *locked(&results.0[at]) = Some(result);
    });
    (0..count).map(|at| results.take(at)).collect()
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
