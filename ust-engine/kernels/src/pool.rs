//! The threads that share work: rayon's pool, pools of fewer threads, and a crew that stays awake.

mod crew;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use crew::Crew;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
pub use ust_ir::parallel::locked;
use ust_ir::parallel::{Carrier, entered, entered_in, own_pool};
use ust_ir::process::PerProcess;

use crate::tuning::{PARALLEL_ELEMENTS, PARALLEL_NS_ASLEEP, PARALLEL_NS_AWAKE, PARTS_PER_THREAD};

/// Runs `f`, which may use rayon, on at most `threads` threads. `work` is about the number of elements to
/// process.
///
/// If `threads` is less than the size of the caller's pool, `f` runs in a pool of that many threads, which
/// is made once and kept.
pub fn within<R: Send>(threads: usize, work: usize, f: impl FnOnce() -> R + Send) -> R {
    if work < PARALLEL_ELEMENTS || threads >= rayon::current_num_threads() {
        return together(work, f);
    }
    match pool_of(threads) {
        Some(pool) => entered_in(&pool, f),
        // If no thread can be started, the caller's pool is used.
        None => entered(f),
    }
}

/// The threads that a process has beside rayon's global pool. A child that was forked has none of its parent's.
#[derive(Default)]
struct Threads {
    /// Pools of fewer threads, by their number.
    fewer: Mutex<BTreeMap<usize, Arc<ThreadPool>>>,
    /// The crew; `None` where it would have no thread.
    crew: OnceLock<Option<Crew>>,
}

impl Threads {
    fn own() -> &'static Self {
        static THREADS: PerProcess<Threads> = PerProcess::new();
        THREADS.get(|_| Self::default())
    }
}

/// The pool of so many threads.
fn pool_of(threads: usize) -> Option<Arc<ThreadPool>> {
    let mut pools = locked(&Threads::own().fewer);
    if let Some(pool) = pools.get(&threads) {
        return Some(Arc::clone(pool));
    }
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().ok()?);
    pools.insert(threads, Arc::clone(&pool));
    Some(pool)
}

/// The number of threads for work on about `work` elements.
pub fn threads(work: usize) -> usize {
    if work < PARALLEL_ELEMENTS { 1 } else { rayon::current_num_threads() }
}

/// The number of items, at most, that a thread takes at a time, of `items` in all. For items of very
/// different sizes, as buckets of skewed keys: small enough that another thread can take the rest.
pub fn at_a_time(items: usize) -> usize {
    match rayon::current_num_threads() {
        1 => items.max(1),
        threads => items.div_ceil(PARTS_PER_THREAD * threads).max(1),
    }
}

/// Whether work of an estimated duration pays for several threads: for [`apart`].
pub fn pays(nanoseconds: f64) -> bool {
    nanoseconds >= PARALLEL_NS_ASLEEP
        || (nanoseconds >= PARALLEL_NS_AWAKE && crew().is_some_and(Crew::rouse))
}

/// The crew, unless the caller is in a pool.
fn crew() -> Option<&'static Crew> {
    if rayon::current_thread_index().is_some() {
        return None;
    }
    Threads::own().crew.get_or_init(|| Crew::new(rayon::current_num_threads() - 1)).as_ref()
}

/// Runs `f`, which uses rayon in several steps: the pool is entered once, not at each step. `work` is about
/// the number of elements to process.
pub fn together<R: Send>(work: usize, f: impl FnOnce() -> R + Send) -> R {
    if work < PARALLEL_ELEMENTS { f() } else { entered(f) }
}

/// Runs jobs in parallel, the first of them on the caller's thread, so that it does not wait for a thread of
/// the pool to wake up.
///
/// # Errors
/// The error of a job that failed; the other jobs run nevertheless.
pub fn apart<T: Send, E: Send>(
    jobs: impl IntoIterator<Item = T>,
    job: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let mut jobs = jobs.into_iter();
    let Some(first) = jobs.next() else { return Ok(()) };
    let Some(second) = jobs.next() else { return job(first) };
    let mut all = vec![Mutex::new(Some(first)), Mutex::new(Some(second))];
    for job in jobs {
        all.push(Mutex::new(Some(job)));
    }
    let failed = Mutex::new(None);
    share(all.len(), &|at| {
        let taken = locked(&all[at]).take();
        if let Some(Err(error)) = taken.map(&job) {
            *locked(&failed) = Some(error);
        }
    });
    let failed = locked(&failed).take();
    failed.map_or(Ok(()), Err)
}

/// Calls `run` with the numbers below `count`, 0 on the caller's thread.
fn share(count: usize, run: &(dyn Fn(usize) + Sync)) {
    let carrier = Carrier::here();
    let run = &|at| carrier.run(|| run(at));
    match (crew(), own_pool()) {
        (Some(crew), _) => crew.share(count, run, carrier.asks()),
        (None, Some(pool)) if rayon::current_thread_index().is_none() => {
            pool.in_place_scope(|scope| share_in(scope, count, run));
        }
        _ => rayon::in_place_scope(|scope| share_in(scope, count, run)),
    }
}

fn share_in<'s>(scope: &Scope<'s>, count: usize, run: &'s (dyn Fn(usize) + Sync)) {
    (1..count).for_each(|at| scope.spawn(move |_| run(at)));
    run(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_than_asked_for() {
        let many = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let count =
            |threads, work| many.install(|| within(threads, work, rayon::current_num_threads));
        let work = PARALLEL_ELEMENTS;
        assert_eq!((count(1, work), count(2, work), count(3, work)), (1, 2, 3));
        assert_eq!((count(9, work), count(1, work - 1)), (3, 3));
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
        assert!(!together(PARALLEL_ELEMENTS - 1, inside) && together(PARALLEL_ELEMENTS, inside));
        let one = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(one.install(|| together(PARALLEL_ELEMENTS, rayon::current_num_threads)), 1);
    }
}
