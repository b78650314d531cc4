//! Rounds in which the contenders of a case take turns.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ust::tensor::memory::available_memory;

use super::case::Case;
use super::contender::{Contender, Prepared, Runner, Surroundings};

/// How long a sample takes at least: work that is quicker is repeated.
const SAMPLE: f64 = 2e-3;
/// Work up to so many seconds is done once before each sample. The caches, and a thread that slept
/// while another process computed, would otherwise be charged to whoever comes after which
/// contender.
const WARMED: f64 = 0.1;
/// For so long where there are several threads: those of the contender before wait for more work
/// without giving the core away, some milliseconds, and systems let threads share a core until these
/// have been busy for a while.
const WARMING: Duration = Duration::from_millis(10);
/// Memory that is left for one more contender, in terms of the most that one has kept: results are made
/// twice, and looked at.
const NEEDED: u64 = 5;

/// How a contender did in a case.
pub(crate) struct Entry {
    /// Its name.
    pub(crate) contender: &'static str,
    /// Seconds a call, sorted; nothing where it was not timed.
    pub(crate) seconds: Vec<f64>,
    /// The largest difference of its result from the first contender's, relative.
    pub(crate) error: f64,
    /// Bytes of the result, where it knows them.
    pub(crate) result_bytes: Option<usize>,
    /// Why it was not timed.
    pub(crate) failed: Option<String>,
}

impl Entry {
    /// The median, where it was timed.
    pub(crate) fn median(&self) -> Option<f64> {
        let n = self.seconds.len();
        match n % 2 {
            _ if n == 0 => None,
            1 => Some(self.seconds[n / 2]),
            _ => Some((self.seconds[n / 2 - 1] + self.seconds[n / 2]) / 2.0),
        }
    }

    /// The first and the third quartile.
    pub(crate) fn quartiles(&self) -> Option<(f64, f64)> {
        let last = self.seconds.len().checked_sub(1)?;
        Some((self.seconds[last / 4], self.seconds[last - last / 4]))
    }
}

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// Rounds after one to warm up.
    pub(crate) rounds: usize,
    /// Seconds for each contender in a case, about; at least one round is made.
    pub(crate) seconds: f64,
}

struct Ready {
    entry: Entry,
    runner: Box<dyn Runner>,
    calls: usize,
    /// Whether it is done once before each sample.
    warmed: bool,
}

/// Checks the contenders' results, then times them in turn. `reference` is what the result must be,
/// where it is known already, and is set by the first contender that has one. Where memory does not
/// hold what all of them need at once, they come in groups, and the first one with each of those.
pub(crate) fn measure(
    case: &Case<'_>,
    contenders: &[&'static Contender],
    around: &Surroundings,
    effort: Effort,
    reference: &mut Option<Vec<f64>>,
) -> Vec<Entry> {
    let mut done = Vec::new();
    let mut ready: Vec<Ready> = Vec::new();
    let mut most = 0;
    for contender in contenders {
        let before = available_memory();
        if ready.len() > 1 && before.is_some_and(|before| before < NEEDED * most) {
            take_turns(&mut ready, effort, case.threads);
            done.extend(ready.drain(1..).map(|r| r.entry));
        }
        let prepared = guarded(|| (contender.prepare)(case, around));
        match checked(case, contender, prepared, reference) {
            Some(Ok(one)) => ready.push(one),
            Some(Err(entry)) => done.push(entry),
            None => {}
        }
        let taken = |(before, after): (u64, u64)| before.saturating_sub(after);
        most = most.max(before.zip(available_memory()).map_or(0, taken));
    }
    take_turns(&mut ready, effort, case.threads);
    done.extend(ready.into_iter().map(|r| r.entry));
    for entry in &mut done {
        entry.seconds.sort_by(f64::total_cmp);
    }
    let place = |e: &Entry| contenders.iter().position(|c| c.name == e.contender);
    done.sort_by_key(place);
    done
}

/// Times those that are ready, in turn.
fn take_turns(ready: &mut [Ready], effort: Effort, threads: usize) {
    let n = ready.len();
    let mut spent = vec![0.0; n];
    for round in 0..effort.rounds.max(1) {
        for turn in 0..n {
            let at = (turn + round) % n;
            let Ready { entry, runner, calls, warmed } = &mut ready[at];
            if entry.failed.is_some() || (round > 0 && spent[at] > effort.seconds) {
                continue;
            }
            let sample = || {
                if *warmed {
                    warm(&mut **runner, threads > 1)?;
                }
                runner.time(*calls)
            };
            match guarded(sample) {
                Ok(seconds) => {
                    spent[at] += seconds;
                    entry.seconds.push(seconds / *calls as f64);
                }
                Err(reason) => entry.failed = Some(reason),
            }
        }
    }
}

/// Does the work before it is timed.
fn warm(runner: &mut dyn Runner, several: bool) -> Result<(), String> {
    let start = Instant::now();
    loop {
        runner.time(1)?;
        if !several || start.elapsed() > WARMING {
            return Ok(());
        }
    }
}

fn checked(
    case: &Case<'_>,
    contender: &Contender,
    prepared: Prepared,
    reference: &mut Option<Vec<f64>>,
) -> Option<Result<Ready, Entry>> {
    let mut entry = Entry {
        contender: contender.name,
        seconds: Vec::new(),
        error: 0.0,
        result_bytes: None,
        failed: None,
    };
    let get_ready = || {
        let Some(mut runner) = prepared? else { return Ok(None) };
        let outcome = runner.outcome()?;
        let expected = reference.get_or_insert_with(|| outcome.clone());
        entry.error = difference(expected, &outcome);
        let tolerance = if case.dtype.bytes() == 4 { 1e-4 } else { 1e-10 };
        if entry.error.is_nan() || entry.error > tolerance {
            return Err(format!("its result differs: relative error {:.1e}", entry.error));
        }
        entry.result_bytes = runner.result_bytes();
        // Once to warm up, which tells how often it is repeated.
        let once = runner.time(1)?;
        let calls = (SAMPLE / once.max(1e-9)).ceil().clamp(1.0, 100_000.0) as usize;
        Ok(Some((runner, calls, once <= WARMED)))
    };
    match guarded(get_ready) {
        Ok(None) => None,
        Ok(Some((runner, calls, warmed))) => Some(Ok(Ready { entry, runner, calls, warmed })),
        Err(reason) => Some(Err(Entry { failed: Some(reason), ..entry })),
    }
}

/// Has a contender do something: what panics has failed, as what says so.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let message = payload.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(format!("it panicked: {}", message.unwrap_or("no message")))
    })
}

/// The largest difference, relative to the largest number.
fn difference(expected: &[f64], found: &[f64]) -> f64 {
    if expected.len() != found.len() {
        return f64::INFINITY;
    }
    let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let mut most = 0.0_f64;
    for (x, y) in expected.iter().zip(found) {
        let off = (x - y).abs();
        // Not a number is not near anything.
        if off.is_nan() {
            return f64::NAN;
        }
        most = most.max(off);
    }
    if most == 0.0 { 0.0 } else { most / largest }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_result_that_was_not_written_is_not_near_any_other() {
        assert!(difference(&[1.0, 2.0], &[1.0, f64::NAN]).is_nan());
        assert_eq!(difference(&[1.0, 2.0], &[1.0, 1.0]), 0.5);
        assert_eq!(difference(&[0.0], &[0.0]), 0.0);
        assert_eq!(difference(&[0.0], &[]), f64::INFINITY);
    }
}
