//! What formats take, measured.

use std::time::{Duration, Instant};

use ust_engine::ops::OpError;
use ust_engine::tensor::{Tensor, Values};

use super::catalogue::{Candidate, LeftOut};
use super::operation::Operation;
use super::predict::Prediction;
use super::timed::{BATCH, Timed};
use super::{Measured, Options, Progress, turns};

/// The share of the budget for which a format is measured beside the reference, in seconds at least and at most; and
/// rounds of it, at least and at most.
const TRIAL_SHARE: f64 = 0.004;
const TRIAL: (f64, f64) = (0.01, 0.1);
const TRIAL_ROUNDS: (usize, usize) = (3, 60);
/// A trial ends after so many times the seconds that it takes where nobody else is on the machine.
const CROWDED: f64 = 3.0;
/// Formats this much slower than the best so far are measured no further. The same arrays in another place of memory may
/// take a third longer.
const CLOSE: f64 = 1.6;
/// Formats that are predicted to be so much slower than the best measured are not tried.
const HOPELESS: f64 = 1.7;
/// Shares of the budget until which formats are tried, one of each family, the others, and those with narrow widths;
/// some are tried again.
const TRIED_UNTIL: [f64; 3] = [0.45, 0.53, 0.6];
const AGAIN_UNTIL: f64 = 0.65;
/// Leaders, at most.
const LEADERS: usize = 10;
/// Formats that get a second chance, at most, and how much slower than the best they may have been
/// predicted to be.
const CHANCES: usize = 3;
const ALIKE: f64 = 1.05;
/// Seconds for each byte that conversions are expected to take before any was seen, and to prepare a kernel.
const CONVERT: f64 = 2e-9;
const PREPARE: f64 = 0.01;

/// A candidate with what is known about it.
pub(super) struct Contender {
    pub(super) candidate: Candidate,
    pub(super) prediction: Prediction,
    /// For one with narrow widths, which candidate it is otherwise.
    pub(super) base: Option<usize>,
    pub(super) trial: Option<Trial>,
    /// Whether there was no time for it.
    pub(super) out_of_time: bool,
}

impl Contender {
    pub(super) fn new(candidate: Candidate, prediction: Prediction, base: Option<usize>) -> Self {
        Self { candidate, prediction, base, trial: None, out_of_time: false }
    }
}

/// A candidate that was tried.
pub(super) struct Trial {
    pub(super) measured: Measured,
    /// Seconds as they would have been when the first candidate was measured: comparable, however
    /// busy the machine is now.
    pub(super) score: f64,
    pub(super) timed: Timed,
    /// Kept of the leaders alone.
    pub(super) tensor: Option<Tensor>,
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
    /// The candidate that all others are measured beside. Its tensor is kept.
    pub(super) reference: usize,
    /// Seconds for each byte that conversions took, of late.
    pub(super) rate: f64,
}

impl<'a> Contest<'a> {
    pub(super) fn new(
        (source, operation): (&'a Tensor, &'a Operation),
        (contenders, left_out): (Vec<Contender>, Vec<LeftOut>),
        options: &Options<'a>,
        began: Instant,
        progress: Progress<'a>,
    ) -> Self {
        let (limit, budget) = (options.memory_limit, options.budget);
        let (room, reference, rate) = (None, 0, CONVERT);
        Self {
            source,
            operation,
            contenders,
            left_out,
            limit,
            budget,
            began,
            progress,
            room,
            reference,
            rate,
        }
    }

    /// Measures what there is now, the first candidate, and the usual ones; then those that are promising; then the
    /// narrow ones of the good; some once more; then the best in turns.
    pub(super) fn run(&mut self) -> Result<(), OpError> {
        self.try_out(0)?;
        for at in self.usual() {
            self.attempt(at, 1.0);
        }
        // From now on beside the quickest of these: it costs the least.
        self.reference = self.ranked().into_iter().find(|&at| self.holds(at)).unwrap_or(0);
        for (heat, share) in
            [Heat::Families, Heat::Members, Heat::Narrow].into_iter().zip(TRIED_UNTIL)
        {
            for at in self.order(heat) {
                if self.is_promising(at) {
                    self.attempt(at, share);
                }
            }
        }
        self.try_again()?;
        self.take_turns()
    }

    /// Tries a candidate if that can be done until a share of the time is spent.
    fn attempt(&mut self, at: usize, share: f64) {
        let bytes = self.contenders[at].prediction.bytes.max(self.source.bytes() as f64);
        let takes = bytes * self.rate + PREPARE + 2.0 * self.trial_seconds();
        let left = share * self.budget.as_secs_f64() - self.began.elapsed().as_secs_f64();
        // A format that is to be measured in any case is, if it takes no more than all the time there is.
        let is_usual = self.contenders[at].candidate.usual && share >= 1.0;
        let there_is = if is_usual { self.budget.as_secs_f64() } else { left };
        if takes > there_is && !(is_usual && takes < 1.0) {
            self.contenders[at].out_of_time = true;
            return;
        }
        if let Err(error) = self.try_out(at) {
            let text = self.contenders[at].candidate.text.clone();
            self.left_out.push(LeftOut { text, reason: first_line(&error.to_string()) });
            self.contenders[at].prediction.seconds = f64::INFINITY;
        }
    }

    fn trial_seconds(&self) -> f64 {
        (TRIAL_SHARE * self.budget.as_secs_f64()).clamp(TRIAL.0, TRIAL.1)
    }

    /// The usual formats, of a family the one that is predicted to be the quickest.
    pub(super) fn usual(&self) -> Vec<usize> {
        let mut usual = self.order(Heat::Families);
        usual.retain(|&at| self.contenders[at].candidate.usual);
        usual
    }

    /// Measures those once more that were to be as fast as the best and were far from it: others may have kept the
    /// machine busy.
    fn try_again(&mut self) -> Result<(), OpError> {
        let mut again = self.ranked();
        let predicted = |at: usize| self.contenders[at].prediction.seconds;
        let most = again.first().map_or(0.0, |&best| ALIKE * predicted(best));
        again.retain(|&at| at != 0 && !self.holds(at) && predicted(at) <= most);
        for at in again.into_iter().take(CHANCES) {
            if self.spent() > AGAIN_UNTIL {
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
    pub(super) fn order(&self, heat: Heat) -> Vec<usize> {
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

    pub(super) fn spent(&self) -> f64 {
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

    /// Converts, runs once to warm up, and measures a few times, in turns with the reference.
    fn try_out(&mut self, at: usize) -> Result<(), OpError> {
        let candidate = &self.contenders[at].candidate;
        (self.progress)(&candidate.text, self.spent().min(1.0));
        let start = Instant::now();
        let tensor = self.operation.convert(self.source, &candidate.format)?;
        let convert_seconds = start.elapsed().as_secs_f64();
        if at != 0 {
            let bytes = tensor.bytes().max(self.source.bytes()).max(1) as f64;
            self.rate = (self.rate + convert_seconds / bytes) / 2.0;
        }
        let trial_seconds = self.trial_seconds();
        let (operation, room) = (self.operation, &mut self.room);
        let (timed, once) = Timed::new(operation, &tensor, room)?;
        let mut trial = Trial {
            measured: Measured {
                bytes: tensor.bytes(),
                kept: 0,
                stored: tensor.nse(),
                convert_seconds,
                seconds: f64::INFINITY,
                spread: 0.0,
                off: 0.0,
                rounds: 0,
                leads: false,
            },
            score: f64::INFINITY,
            timed,
            tensor: None,
        };
        // What kernels made of its indices is kept beside them.
        trial.measured.kept = tensor.kept_bytes() as usize;
        let fit = (trial_seconds / once.max(BATCH)) as usize;
        let rounds = fit.clamp(TRIAL_ROUNDS.0, TRIAL_ROUNDS.1);
        let reference = self.contenders[self.reference].trial.as_ref();
        let (mut own, mut others) = (Vec::new(), Vec::new());
        let began = Instant::now();
        for round in 0..rounds {
            // Others on the machine take most of the time there is.
            if round >= TRIAL_ROUNDS.0 && began.elapsed().as_secs_f64() > CROWDED * trial_seconds {
                break;
            }
            if let Some(reference) = reference {
                let tensor = reference.tensor.as_ref().unwrap_or(self.source);
                others.push(reference.timed.seconds(operation, tensor, room)?);
            }
            own.push(trial.timed.seconds(operation, &tensor, room)?);
        }
        (trial.measured.seconds, trial.measured.rounds) = (turns::low(&own), own.len());
        trial.measured.spread = turns::spread(&own);
        trial.score = match reference {
            Some(reference) => turns::compare(&own, &others).ratio * reference.score,
            None => trial.measured.seconds,
        };
        trial.tensor = Some(tensor);
        self.contenders[at].trial = Some(trial);
        self.forget_losers();
        Ok(())
    }

    /// Keeps the tensors of the leaders alone, as many as memory is given for, and that of the reference.
    fn forget_losers(&mut self) {
        let most = CLOSE * self.best();
        let mut left = self.limit;
        let mut rank = 0;
        for at in self.ranked() {
            let Some(trial) = &mut self.contenders[at].trial else { continue };
            let bytes = trial.measured.bytes as u64;
            rank += 1;
            let loses = trial.score > most || bytes > left || rank > LEADERS;
            if loses && at != self.reference {
                trial.tensor = None;
            } else if trial.tensor.is_some() {
                left = left.saturating_sub(bytes);
            }
        }
    }

    /// Contenders that were tried, the fastest first.
    pub(super) fn ranked(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.contenders.len()).collect();
        order.retain(|&at| self.contenders[at].trial.is_some());
        let score = |&at: &usize| self.score(at).unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| score(a).total_cmp(&score(b)));
        order
    }

    pub(super) fn holds(&self, at: usize) -> bool {
        self.contenders[at].trial.as_ref().is_some_and(|trial| trial.tensor.is_some())
    }
}

/// Which candidates are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heat {
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
