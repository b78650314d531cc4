//! Which threads work is done on.

mod crew;

use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crew::Crew;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Work on fewer elements, about, stays on the thread that it is on: it is half done before a thread of
/// the pool has woken up.
const LITTLE: usize = 1 << 15;
/// Jobs that take so many nanoseconds in all, as they are estimated, are worth a second thread.
const ASLEEP: f64 = 100_000.0;
/// The same where that thread is awake.
const AWAKE: f64 = 40_000.0;

/// Does something that may use rayon, on at most so many threads. `work` is about how many elements
/// there are to handle.
///
/// Fewer threads than the caller's pool has are a pool of their own, made once and kept.
pub fn within<R: Send>(threads: usize, work: usize, f: impl FnOnce() -> R + Send) -> R {
    static POOLS: Mutex<BTreeMap<usize, Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());
    if work < LITTLE || threads >= rayon::current_num_threads() {
        return together(work, f);
    }
    let mut pools = locked(&POOLS);
    let pool = match pools.get(&threads) {
        Some(pool) => Some(Arc::clone(pool)),
        // Where no thread can be had, the caller's are the best there is.
        None => ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new),
    };
    let Some(pool) = pool else { return f() };
    pools.entry(threads).or_insert_with(|| Arc::clone(&pool));
    drop(pools);
    pool.install(f)
}

/// What is inside, also after somebody panicked: for what is never left half done.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many threads are to share work on about so many elements.
pub fn threads(work: usize) -> usize {
    if work < LITTLE { 1 } else { rayon::current_num_threads() }
}

/// How many of so many items, at most, a thread is to take at a time where some may be much larger than
/// others, as buckets of skewed keys are: few enough that others can take over from it.
pub fn at_a_time(items: usize) -> usize {
    match rayon::current_num_threads() {
        1 => items.max(1),
        threads => items.div_ceil(32 * threads).max(1),
    }
}

/// Whether work that takes so many nanoseconds, as estimated, is to be [done apart](apart).
pub fn pays(nanoseconds: f64) -> bool {
    nanoseconds >= ASLEEP || (nanoseconds >= AWAKE && crew().is_some_and(Crew::rouse))
}

/// The crew, for who is in no pool already.
fn crew() -> Option<&'static Crew> {
    rayon::current_thread_index().is_none().then(Crew::get)?
}

/// Does something that uses rayon in several steps: the pool is entered once, not at each step.
/// `work` is about how many elements there are to handle.
pub fn together<R: Send>(work: usize, f: impl FnOnce() -> R + Send) -> R {
    if work < LITTLE || rayon::current_thread_index().is_some() {
        return f();
    }
    rayon::scope(|_| f())
}

/// Does jobs at the same time, the first of them on the caller's thread, so that it does not wait for
/// a thread of the pool to wake up.
///
/// # Errors
/// What a job says that failed; others are done nevertheless.
pub fn apart<T: Send, E: Send>(
    jobs: impl IntoIterator<Item = T>,
    job: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let mut jobs = jobs.into_iter();
    let Some(first) = jobs.next() else { return Ok(()) };
    let Some(second) = jobs.next() else { return job(first) };
    let failed = Mutex::new(None);
    let (run, lost) = (&job, &failed);
    let run = move |job| {
        if let Err(error) = run(job) {
            *locked(lost) = Some(error);
        }
    };
    let others = iter::once(second).chain(jobs);
    match crew() {
        Some(crew) => crew.share(first, others.collect(), run),
        None => rayon::in_place_scope(|scope| {
            others.for_each(|job| scope.spawn(move |_| run(job)));
            run(first);
        }),
    }
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_than_asked_for() {
        let many = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let count =
            |threads, work| many.install(|| within(threads, work, rayon::current_num_threads));
        assert_eq!((count(1, LITTLE), count(2, LITTLE), count(3, LITTLE)), (1, 2, 3));
        assert_eq!((count(9, LITTLE), count(1, LITTLE - 1)), (3, 3));
    }

    #[test]
    fn every_job_is_done_and_what_failed_is_told() {
        let done = std::sync::atomic::AtomicUsize::new(0);
        let job = |n: usize| {
            done.fetch_add(1 << (4 * n), std::sync::atomic::Ordering::Relaxed);
            if n == 2 { Err(n) } else { Ok(()) }
        };
        assert_eq!(
            (apart(0..2, job), apart(0..0, job), apart(0..5, job)),
            (Ok(()), Ok(()), Err(2))
        );
        assert_eq!(done.into_inner(), 0x1_1122);
    }

    #[test]
    fn steps_that_belong_together_stay_in_the_pool() {
        let inside = || rayon::current_thread_index().is_some();
        assert!(!together(LITTLE - 1, inside) && together(LITTLE, inside));
        let one = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(one.install(|| together(LITTLE, rayon::current_num_threads)), 1);
    }
}
