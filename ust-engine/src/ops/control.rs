//! What is said about a run beside its tensors, and what is learnt from it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// What holds for one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) threads: usize,
    pub(crate) limit: u64,
    pub(crate) cancel: Option<&'a CancelToken>,
}

/// How long the parts of a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Planning, compiling and conversions.
    pub prepared_in: Duration,
    /// The loops, and the assembly of the result.
    pub run_in: Duration,
}

/// Stops an evaluation from another thread. Clones are the same token.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every evaluation that was given the token, soon.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Work below about so many elements stays on the thread that it is on.
const LITTLE: usize = 1 << 14;

/// Does something that may use rayon, on at most so many threads. `work` is about how many elements
/// there are to handle.
///
/// Fewer threads than the caller's pool has are a pool of their own, made once and kept.
pub(crate) fn within<R: Send>(threads: usize, work: usize, f: impl FnOnce() -> R + Send) -> R {
    static POOLS: Mutex<BTreeMap<usize, Arc<ThreadPool>>> = Mutex::new(BTreeMap::new());
    if work < LITTLE || threads >= rayon::current_num_threads() {
        return f();
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
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
}
