//! Threads that poll for a while after their last job, so that the next job finds them awake.
//!
//! To wake a thread takes 5 to 100 microseconds, as long as a small kernel takes, and solvers run small
//! kernels again and again. OpenMP's threads poll in the same manner, for longer.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;
use std::{iter, thread};

use rayon::{ThreadPool, ThreadPoolBuilder, Yield};
use ust_ir::cancel::{self, ASKS};

use crate::tuning::{CALLER_POLLS, CREW_AWAKE, PAUSES_PER_POLL, POLLS_PER_YIELD};

/// A pool of its own: in rayon's global pool, a thread that polls would keep other jobs from running.
pub(super) struct Crew {
    pool: ThreadPool,
    start: Instant,
    /// Threads that poll, or are about to.
    awake: AtomicUsize,
    /// The time until which they poll, in nanoseconds since `start`.
    until: AtomicU64,
}

/// Counts a job as done, also when it panicked.
struct Done<'a>(&'a AtomicUsize);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Crew {
    /// A crew of so many threads: one less than the global pool has, as the caller works too. `None` where it would
    /// have no thread.
    pub(super) fn new(threads: usize) -> Option<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        let pool = if threads > 0 { pool.build().ok()? } else { return None };
        let (awake, until) = (AtomicUsize::new(0), AtomicU64::new(0));
        Some(Self { pool, start: Instant::now(), awake, until })
    }

    /// Runs jobs `0..count`: job 0 on the caller's thread and the others on the crew's threads, which then
    /// stay awake. When job 0 is done, the caller runs the jobs that no thread has begun: the crew may have
    /// no core of its own. While it waits, it may have to ask whether the work shall go on.
    pub(super) fn share(&'static self, count: usize, run: &(dyn Fn(usize) + Sync), asks: bool) {
        let (left, begun) = (&AtomicUsize::new(count - 1), &AtomicUsize::new(1));
        let next = || Some(begun.fetch_add(1, Relaxed)).filter(|&at| at < count);
        let next = &next;
        self.pool.in_place_scope(|scope| {
            for _ in 1..count {
                scope.spawn(move |_| {
                    let _done = Done(left);
                    next().into_iter().for_each(run);
                    self.stay();
                });
            }
            run(0);
            iter::from_fn(next).for_each(run);
            // The end of the scope waits for all jobs, asleep: polling first saves the time to wake up.
            for poll in (1..=CALLER_POLLS).take_while(|_| left.load(Relaxed) > 0) {
                if poll % POLLS_PER_YIELD == 0 { thread::yield_now() } else { spin_loop() }
            }
            while asks && left.load(Relaxed) > 0 {
                thread::sleep(ASKS / 10);
                cancel::poll();
            }
        });
    }

    /// Whether threads are awake. Wakes them on the second call within [`CREW_AWAKE`]: a caller with two
    /// jobs in short time will have more.
    pub(super) fn rouse(&'static self) -> bool {
        if self.awake.load(Relaxed) > 0 {
            return true;
        }
        let now = self.now();
        let before = self.until.swap(now + CREW_AWAKE.as_nanos() as u64, Relaxed);
        if now < before {
            (0..self.pool.current_num_threads()).for_each(|_| self.stay());
        }
        false
    }

    /// Keeps one more thread awake, and extends the time of those that are.
    fn stay(&'static self) {
        self.until.store(self.now() + CREW_AWAKE.as_nanos() as u64, Relaxed);
        if self.awake.fetch_add(1, Relaxed) >= self.pool.current_num_threads() {
            self.awake.fetch_sub(1, Relaxed);
            return;
        }
        self.pool.spawn(|| {
            let mut polls = 0;
            while self.now() < self.until.load(Relaxed) {
                if rayon::yield_now() == Some(Yield::Executed) {
                    continue;
                }
                (0..PAUSES_PER_POLL).for_each(|_| spin_loop());
                polls += 1;
                if polls % POLLS_PER_YIELD == 0 {
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

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::time::Duration;

    use super::*;

    fn crew(threads: usize) -> &'static Crew {
        Box::leak(Box::new(Crew::new(threads).unwrap()))
    }

    #[test]
    fn every_job_is_done_and_the_crew_sleeps_in_the_end() {
        let crew = crew(2);
        let done = AtomicUsize::new(0);
        for _ in 0..1000 {
            crew.share(
                4,
                &|n| {
                    done.fetch_add(1 << n, Relaxed);
                },
                false,
            );
        }
        assert_eq!(done.into_inner(), 15_000);
        let deadline = Instant::now() + Duration::from_secs(60);
        while crew.awake.load(Relaxed) > 0 {
            assert!(Instant::now() < deadline, "the crew never sleeps");
            thread::sleep(CREW_AWAKE);
        }
    }

    #[test]
    fn repeated_calls_wake_the_crew() {
        let crew = crew(1);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !crew.rouse() {
            assert!(Instant::now() < deadline, "the crew never wakes");
        }
        assert!(Crew::new(0).is_none());
    }

    #[test]
    fn the_caller_runs_jobs_that_no_thread_has_begun() {
        let crew = crew(1);
        let (met, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let deadline = Instant::now() + Duration::from_secs(60);
        // The thread of the second job waits for the last job, so another thread must run that.
        crew.share(
            4,
            &|n| {
                done.fetch_add(1 << n, Relaxed);
                met.fetch_add(n % 2, Relaxed);
                while n % 2 == 1 && met.load(Relaxed) < 2 {
                    assert!(Instant::now() < deadline, "a job waits for a thread that is busy");
                    thread::yield_now();
                }
            },
            false,
        );
        assert_eq!(done.into_inner(), 0b1111);
    }

    #[test]
    fn a_panic_in_a_job_reaches_the_caller() {
        let crew = crew(2);
        let run = |n| assert_ne!(n, 2, "the third job");
        let share = |count| {
            let share = AssertUnwindSafe(|| crew.share(count, &run, false));
            std::panic::catch_unwind(share).is_ok()
        };
        assert_eq!((share(3), share(2)), (false, true));
    }
}
