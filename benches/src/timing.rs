//! Rounds of one piece of work, and their median.

use std::hint::black_box;
use std::time::Instant;

/// The seconds that one piece of work took, round by round.
pub(crate) struct Sample {
    pub(crate) seconds: Vec<f64>,
}

impl Sample {
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    }
}

/// Runs once to warm up, then times so many rounds.
pub(crate) fn time<T, E>(
    rounds: usize,
    mut work: impl FnMut() -> Result<T, E>,
) -> Result<Sample, E> {
    black_box(work()?);
    let mut seconds = Vec::with_capacity(rounds);
    for _ in 0..rounds.max(1) {
        let start = Instant::now();
        black_box(work()?);
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(Sample { seconds })
}
