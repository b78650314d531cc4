//! What formats take, measured.

use std::time::{Duration, Instant};

use ust_engine::ops::{Kernel, OpError};
use ust_engine::tensor::{Tensor, Values};

use super::catalogue::{Candidate, LeftOut};
use super::operation::Operation;
use super::predict::Prediction;
use super::{Measured, Progress};

/// A measurement is repeated until it takes so long: short, as what is compared is to meet the same
/// moods of a machine that others use as well.
const BATCH: f64 = 0.004;
/// Seconds for which a format is measured beside the best so far, and rounds of it, at least and at
/// most; of one that takes long there are fewer.
const TRIAL: f64 = 0.08;
const TRIAL_ROUNDS: (usize, usize) = (4, 20);
const TRIAL_ROUNDS_LONG: usize = 2;
const LONG: f64 = 0.25;
/// Formats this much slower than the best so far are measured no further.
const CLOSE: f64 = 1.35;
/// Formats that are predicted to be so much slower than the best measured are not tried.
const HOPELESS: f64 = 1.7;
/// Rounds of the leaders: at least, enough where they take long, and at most.
const ROUNDS: [usize; 3] = [5, 20, 100];
/// Seconds for which they are measured where there are more rounds than enough.
const TURNS: f64 = 3.0;
/// Leaders, at most.
const LEADERS: usize = 8;
/// Formats that get a second chance, at most, and how much slower than the best they may have been
/// predicted to be.
const CHANCES: usize = 3;
const ALIKE: f64 = 1.05;

/// A candidate with what is known about it.
pub(super) struct Contender {
    pub(super) candidate: Candidate,
    pub(super) prediction: Prediction,
    /// For one with narrow widths, which candidate it is otherwise.
    pub(super) base: Option<usize>,
    pub(super) trial: Option<Trial>,
}

/// A candidate that was tried.
pub(super) struct Trial {
    pub(super) measured: Measured,
    /// Seconds as they would have been when the first candidate was measured: comparable, however
    /// busy the machine is now.
    score: f64,
    kernel: Kernel,
    /// Kept of the leaders alone.
    pub(super) tensor: Option<Tensor>,
    /// How often it is run for one measurement.
    batch: u32,
    /// Whether its result is stored in full.
    full: bool,
}

/// The contest.
pub(super) struct Contest<'a> {
    pub(super) source: &'a Tensor,
    pub(super) operation: &'a Operation,
    pub(super) contenders: Vec<Contender>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) limit: u64,
    pub(super) budget: Duration,
    pub(super) began: Instant,
    pub(super) progress: Progress<'a>,
    /// Memory for results that are stored in full.
    pub(super) room: Option<Values>,
}

impl Contest<'_> {
    /// Measures the promising candidates, the first (what there is now) in any case; then the
    /// narrow ones of the good; some once more; then the best in turns.
    pub(super) fn run(&mut self) -> Result<(), OpError> {
        self.try_out(0)?;
        for (heat, share) in [(Heat::Families, 0.5), (Heat::Members, 0.65), (Heat::Narrow, 0.8)] {
            for at in self.order(heat) {
                if self.spent() > share {
                    break;
                }
                if self.is_promising(at)
                    && let Err(error) = self.try_out(at)
                {
                    let text = self.contenders[at].candidate.text.clone();
                    self.left_out.push(LeftOut { text, reason: first_line(&error.to_string()) });
                    self.contenders[at].prediction.seconds = f64::INFINITY;
                }
            }
        }
        self.try_again(0.9)?;
        self.take_turns()
    }

    /// Measures those once more that were to be as fast as the best and were far from it, while no more
    /// than a share of the time is spent: others may have kept the machine busy.
    fn try_again(&mut self, share: f64) -> Result<(), OpError> {
        let mut again = self.ranked();
        let predicted = |at: usize| self.contenders[at].prediction.seconds;
        let most = again.first().map_or(0.0, |&best| ALIKE * predicted(best));
        again.retain(|&at| at != 0 && !self.holds(at) && predicted(at) <= most);
        for at in again.into_iter().take(CHANCES) {
            if self.spent() > share {
                break;
            }
            let before = self.score(at).unwrap_or(f64::INFINITY);
            self.try_out(at)?;
            if let Some(trial) = &mut self.contenders[at].trial {
                trial.score = trial.score.min(before);
            }
        }
        Ok(())
    }

    /// Those that are not tried yet, the fastest predicted first. Of a family at first the fastest
    /// alone: it tells what the others may be.
    fn order(&self, heat: Heat) -> Vec<usize> {
        let mut order: Vec<usize> = (1..self.contenders.len()).collect();
        order.retain(|&at| self.contenders[at].trial.is_none());
        order.retain(|&at| self.contenders[at].base.is_some() == (heat == Heat::Narrow));
        let seconds = |&at: &usize| self.contenders[at].prediction.seconds;
        order.sort_by(|a, b| seconds(a).total_cmp(&seconds(b)));
        if heat == Heat::Families {
            let mut seen: Vec<&str> = Vec::new();
            order.retain(|&at| {
                let family = family(&self.contenders[at].candidate.text);
                let new = !seen.contains(&family);
                seen.push(family);
                new
            });
        }
        order
    }

    /// The tensor in the format that was fastest.
    pub(super) fn best_tensor(&self) -> Option<&Tensor> {
        let best = self.ranked().into_iter().find(|&at| self.holds(at))?;
        self.contenders[best].trial.as_ref()?.tensor.as_ref()
    }

    fn score(&self, at: usize) -> Option<f64> {
        Some(self.contenders[at].trial.as_ref()?.score)
    }

    fn best(&self) -> f64 {
        let all = (0..self.contenders.len()).filter_map(|at| self.score(at));
        all.fold(f64::INFINITY, f64::min)
    }

    fn spent(&self) -> f64 {
        self.began.elapsed().as_secs_f64() / self.budget.as_secs_f64().max(1e-9)
    }

    /// Whether a candidate may win, were its prediction as much too high as that of the others of
    /// its family, or of any so far where none of them was tried.
    fn is_promising(&self, at: usize) -> bool {
        let contender = &self.contenders[at];
        if let Some(base) = contender.base {
            return self.score(base).is_some_and(|score| score <= CLOSE * self.best());
        }
        let ratio = |contender: &Contender| {
            Some(contender.trial.as_ref()?.score / contender.prediction.seconds)
        };
        let name = family(&contender.candidate.text);
        let related = |known: &&Contender| family(&known.candidate.text) == name;
        let lowest = |ratios: &mut dyn Iterator<Item = f64>| ratios.fold(f64::INFINITY, f64::min);
        let lowest = match lowest(&mut self.contenders.iter().filter(related).filter_map(ratio)) {
            known if known.is_finite() => known,
            _ => lowest(&mut self.contenders.iter().filter_map(ratio)),
        };
        contender.prediction.seconds * lowest <= HOPELESS * self.best()
    }

    /// Converts, runs once to warm up, and measures a few times, in turns with the best so far.
    fn try_out(&mut self, at: usize) -> Result<(), OpError> {
        let candidate = &self.contenders[at].candidate;
        (self.progress)(&candidate.text, self.spent().min(1.0));
        let start = Instant::now();
        let tensor = self.source.convert(&candidate.format)?;
        let convert_seconds = start.elapsed().as_secs_f64();
        let kernel = self.operation.prepare(&tensor)?;
        // Warms up.
        let room = self.operation.room(&kernel, &tensor)?;
        let full = room.is_some();
        self.room = self.room.take().or(room);
        let mut trial = Trial {
            measured: Measured {
                bytes: tensor.bytes(),
                kept: 0,
                stored: tensor.nse(),
                convert_seconds,
                seconds: f64::INFINITY,
                rounds: 0,
                leads: false,
            },
            score: f64::INFINITY,
            kernel,
            tensor: None,
            batch: 1,
            full,
        };
        let (operation, room) = (self.operation, &mut self.room);
        let once = time(operation, &trial, &tensor, room)?;
        // What kernels made of its indices is kept beside them.
        trial.measured.kept = tensor.kept_bytes() as usize;
        trial.batch = (BATCH / once.max(1e-7)).clamp(1.0, 10_000.0) as u32;
        let fit = (TRIAL / once.max(BATCH)) as usize;
        let rounds = match once > LONG {
            true => TRIAL_ROUNDS_LONG,
            false => fit.clamp(TRIAL_ROUNDS.0, TRIAL_ROUNDS.1),
        };
        let (mut best, mut other) = (once, f64::INFINITY);
        let reference = self.ranked().into_iter().find(|&at| self.holds(at));
        let room = &mut self.room;
        for _ in 0..rounds {
            if let Some(trial) = reference.and_then(|at| self.contenders[at].trial.as_ref())
                && let Some(tensor) = &trial.tensor
            {
                other = other.min(time(operation, trial, tensor, room)?);
            }
            best = best.min(time(operation, &trial, &tensor, room)?);
        }
        (trial.measured.seconds, trial.measured.rounds) = (best, rounds + 1);
        trial.score = match reference.and_then(|at| self.score(at)) {
            Some(score) => best * score / other,
            None => best,
        };
        trial.tensor = Some(tensor);
        self.contenders[at].trial = Some(trial);
        self.forget_losers();
        Ok(())
    }

    /// Keeps the tensors of the leaders alone, as many as memory is given for.
    fn forget_losers(&mut self) {
        let most = CLOSE * self.best();
        let mut left = self.limit;
        let mut rank = 0;
        for at in self.ranked() {
            let Some(trial) = &mut self.contenders[at].trial else { continue };
            let bytes = trial.measured.bytes as u64;
            rank += 1;
            if trial.score > most || bytes > left || rank > LEADERS {
                trial.tensor = None;
            } else if trial.tensor.is_some() {
                left -= bytes;
            }
        }
    }

    /// Contenders that were tried, the fastest first.
    fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.contenders.len()).collect();
        order.retain(|&at| self.contenders[at].trial.is_some());
        let score = |&at: &usize| self.score(at).unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| score(a).total_cmp(&score(b)));
        order
    }

    /// Measures the leaders again, one after another, round after round: what disturbs the machine
    /// for a while disturbs them all.
    fn take_turns(&mut self) -> Result<(), OpError> {
        let mut leaders = self.ranked();
        leaders.retain(|&at| self.holds(at));
        // What there is now is what others are compared with.
        if !leaders.contains(&0) {
            leaders.push(0);
        }
        let mut samples: Vec<Vec<f64>> = vec![Vec::new(); leaders.len()];
        let [least, enough, most] = ROUNDS;
        let begun = Instant::now();
        for round in 0..most {
            let long =
                self.spent() > 1.0 || round >= enough && begun.elapsed().as_secs_f64() > TURNS;
            if round >= least && long {
                break;
            }
            for (&at, samples) in leaders.iter().zip(&mut samples) {
                (self.progress)(&self.contenders[at].candidate.text, self.spent().min(1.0));
                let Some(trial) = &self.contenders[at].trial else { continue };
                let tensor = if at == 0 { Some(self.source) } else { trial.tensor.as_ref() };
                if let Some(tensor) = tensor {
                    samples.push(time(self.operation, trial, tensor, &mut self.room)?);
                }
            }
        }
        for (&at, samples) in leaders.iter().zip(&mut samples) {
            samples.sort_by(f64::total_cmp);
            // Near the least: others on the machine only ever add to a time.
            if let (Some(trial), Some(&typical)) =
                (&mut self.contenders[at].trial, samples.get(samples.len() / 8))
            {
                (trial.measured.seconds, trial.measured.rounds) = (typical, samples.len());
                trial.measured.leads = true;
            }
        }
        // The others as they would have been now, beside those that were measured now.
        let trials = || self.contenders.iter().filter_map(|contender| contender.trial.as_ref());
        let now = trials().filter(|trial| trial.measured.leads);
        let mut busier: Vec<f64> = now.map(|trial| trial.measured.seconds / trial.score).collect();
        busier.sort_by(f64::total_cmp);
        if let Some(&busier) = busier.get(busier.len() / 2) {
            let trials = self.contenders.iter_mut().filter_map(|one| one.trial.as_mut());
            for trial in trials.filter(|trial| !trial.measured.leads) {
                trial.measured.seconds = trial.score * busier;
            }
        }
        Ok(())
    }

    fn holds(&self, at: usize) -> bool {
        self.contenders[at].trial.as_ref().is_some_and(|trial| trial.tensor.is_some())
    }
}

/// Seconds for the operation, of a batch of runs.
fn time(
    operation: &Operation,
    trial: &Trial,
    tensor: &Tensor,
    room: &mut Option<Values>,
) -> Result<f64, OpError> {
    let room = if trial.full { room } else { &mut None };
    // What was measured last has taken the place of this tensor in the caches.
    operation.run(&trial.kernel, tensor, room)?;
    let start = Instant::now();
    for _ in 0..trial.batch {
        operation.run(&trial.kernel, tensor, room)?;
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(trial.batch))
}

/// Which candidates are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heat {
    /// One of each family.
    Families,
    /// The rest of the families.
    Members,
    /// Narrow widths of the good ones.
    Narrow,
}

/// What instances of a named format with other numbers have in common: `BSR` of `BSR(2, 3)`.
fn family(text: &str) -> &str {
    match text.split_once('(') {
        Some((name, numbers)) if numbers.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => text,
    }
}

pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
