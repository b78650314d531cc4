//! Threads that stay awake for a moment after work, so that work that follows finds them ready.
//!
//! To wake a thread takes 5 to 100 microseconds, as long as small kernels take in all, and solvers run
//! those again and again. What OpenMP's threads do too, for longer.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{iter, thread, vec};

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};

use super::locked;

/// How long threads stay awake after work.
const LINGER: Duration = Duration::from_micros(200);
/// How often the caller looks whether the others are done before it sleeps: some 20 microseconds,
/// where no other program wants the core that it offers at times.
const PATIENCE: usize = 500;
/// Pauses of the processor between two looks for work.
const PAUSES: usize = 2;
/// Looks between two offers to let another program have the core.
const LOOKS: usize = 100;

/// A pool of its own: in the caller's, a thread that stays awake would be in others' way.
pub(super) struct Crew {
    pool: ThreadPool,
    start: Instant,
    /// Threads that are awake without work, or about to be.
    awake: AtomicUsize,
    /// Until when they are, in nanoseconds since the start.
    until: AtomicU64,
}

impl Crew {
    /// The crew, which with the caller is as many as the global pool. None where no thread can be had.
    pub(super) fn get() -> Option<&'static Self> {
        static CREW: OnceLock<Option<Crew>> = OnceLock::new();
        CREW.get_or_init(|| Self::new(rayon::current_num_threads() - 1)).as_ref()
    }

    fn new(threads: usize) -> Option<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        let pool = if threads > 0 { pool.build().ok()? } else { return None };
        let (awake, until) = (AtomicUsize::new(0), AtomicU64::new(0));
        Some(Self { pool, start: Instant::now(), awake, until })
    }

    /// Does the first job here and the others on the crew's threads, which then stay awake. What none of
    /// them has begun when the first is done, is done here too: they may have no core of their own.
    pub(super) fn share<T: Send>(&'static self, first: T, others: Vec<T>, run: impl Fn(T) + Sync) {
        let (run, left) = (&run, &AtomicUsize::new(others.len()));
        let (turns, others) = (others.len(), &Mutex::new(others.into_iter()));
        self.pool.in_place_scope(|scope| {
            for _ in 0..turns {
                scope.spawn(move |_| {
                    next(others).into_iter().for_each(run);
                    self.stay();
                    left.fetch_sub(1, Relaxed);
                });
            }
            run(first);
            iter::from_fn(|| next(others)).for_each(run);
            // The scope waits for all of them; a thread that falls asleep there has to be woken.
            for look in (1..=PATIENCE).take_while(|_| left.load(Relaxed) > 0) {
                if look % LOOKS == 0 { thread::yield_now() } else { spin_loop() }
            }
        });
    }

    /// Says whether threads are awake, and wakes them where this was asked within the time that they stay
    /// awake before: who asks twice will ask again.
    pub(super) fn rouse(&'static self) -> bool {
        if self.awake.load(Relaxed) > 0 {
            return true;
        }
        let now = self.now();
        let before = self.until.swap(now + LINGER.as_nanos() as u64, Relaxed);
        if now < before {
            (0..self.pool.current_num_threads()).for_each(|_| self.stay());
        }
        false
    }

    /// Keeps one more thread awake, and those that are for longer.
    fn stay(&'static self) {
        self.until.store(self.now() + LINGER.as_nanos() as u64, Relaxed);
        if self.awake.fetch_add(1, Relaxed) >= self.pool.current_num_threads() {
            self.awake.fetch_sub(1, Relaxed);
            return;
        }
        self.pool.spawn(|| {
            let mut looks = 0;
            while self.now() < self.until.load(Relaxed) {
                if rayon::yield_now() == Some(Yield::Executed) {
                    continue;
                }
                (0..PAUSES).for_each(|_| spin_loop());
                looks += 1;
                if looks % LOOKS == 0 {
                    thread::yield_now();
                }
            }
            self.awake.fetch_sub(1, Relaxed);
        });
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }
}

/// The next job that nobody has begun.
fn next<T>(jobs: &Mutex<vec::IntoIter<T>>) -> Option<T> {
    locked(jobs).next()
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use super::*;

    fn crew(threads: usize) -> &'static Crew {
        Box::leak(Box::new(Crew::new(threads).unwrap()))
    }

    #[test]
    fn every_job_is_done_and_the_crew_sleeps_in_the_end() {
        let crew = crew(2);
        let done = AtomicUsize::new(0);
        for _ in 0..1000 {
            crew.share(1, vec![2, 4, 8], |n| {
                done.fetch_add(n, Relaxed);
            });
        }
        assert_eq!(done.into_inner(), 15_000);
        let deadline = Instant::now() + Duration::from_secs(60);
        while crew.awake.load(Relaxed) > 0 {
            assert!(Instant::now() < deadline, "the crew never sleeps");
            thread::sleep(LINGER);
        }
    }

    #[test]
    fn who_asks_again_and_again_finds_it_awake() {
        let crew = crew(1);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !crew.rouse() {
            assert!(Instant::now() < deadline, "the crew never wakes");
        }
        assert!(Crew::new(0).is_none());
    }

    #[test]
    fn what_nobody_has_begun_is_done_by_the_caller() {
        let crew = crew(1);
        let (met, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(60);
        // Whoever does the second job waits for the last one, and so does not do it.
        crew.share(0, vec![1, 2, 3], |n| {
            done.fetch_add(1 << n, Relaxed);
            met.fetch_add(n % 2, Relaxed);
            while n % 2 == 1 && met.load(Relaxed) < 2 {
                assert!(Instant::now() < deadline, "a job waits for a thread that is busy");
                thread::yield_now();
            }
        });
        assert_eq!(done.into_inner(), 0b1111);
    }

    #[test]
    fn what_panics_in_a_job_reaches_the_caller() {
        let crew = crew(2);
        let run = |n| assert_ne!(n, 2, "the third job");
        let share = |others| {
            let share = AssertUnwindSafe(|| crew.share(0, others, run));
            std::panic::catch_unwind(share).is_ok()
        };
        assert_eq!((share(vec![1, 2]), share(vec![1])), (false, true));
    }
}
