//! The leaders of the contest, measured again in turns.

use ust_engine::ops::OpError;

use super::measure::{Contender, Contest};
use super::timed::Timed;
use super::turns;

/// The share of the budget until which they are measured.
const UNTIL: f64 = 0.88;
/// Sittings, each with arrays in another place of memory: how fast arrays are depends on where they are, too.
const SITTINGS: usize = 4;
/// Rounds of a sitting: at least, and at most.
const ROUNDS: (usize, usize) = (2, 150);
/// After so many sittings, those that are slower by this factor are left behind.
const SOME: usize = 2;
const BEHIND: f64 = 1.15;
/// Arrays are made anew where that takes no more than this share of the budget.
const RENEWED: f64 = 0.01;

/// The times of one leader, in rounds that it shares with all others that are measured as long.
struct Leader {
    at: usize,
    times: Vec<f64>,
}

impl Contest<'_> {
    /// Measures the leaders again, one after another, round after round: what disturbs the machine
    /// for a while disturbs them all. Those that fall behind are measured no further.
    pub(super) fn take_turns(&mut self) -> Result<(), OpError> {
        let mut leading = self.ranked();
        leading.retain(|&at| self.holds(at));
        // What there is now is what others are compared with.
        if !leading.contains(&0) {
            leading.push(0);
        }
        let mut leaders: Vec<Leader> =
            leading.into_iter().map(|at| Leader { at, times: Vec::new() }).collect();
        let begun = self.spent().min(UNTIL);
        for sitting in 0..SITTINGS {
            let best = fastest(&leaders);
            let rounds = leaders[best].times.len();
            let stays = |leader: &Leader| {
                let compared = turns::compare(&leader.times, &leaders[best].times);
                leader.times.len() == rounds
                    && (sitting < SOME || compared.ratio - compared.off <= BEHIND)
            };
            let active: Vec<usize> =
                (0..leaders.len()).filter(|&one| stays(&leaders[one])).collect();
            if sitting > 0 {
                for &one in &active {
                    self.renew(leaders[one].at)?;
                }
            }
            let until = begun + (UNTIL - begun) * (sitting + 1) as f64 / SITTINGS as f64;
            for round in 0..ROUNDS.1 {
                if round >= ROUNDS.0 && self.spent() > until {
                    break;
                }
                for &one in &active {
                    let seconds = self.once(leaders[one].at)?;
                    leaders[one].times.push(seconds);
                }
            }
        }
        self.settle(&leaders);
        Ok(())
    }

    /// One measurement of a leader.
    fn once(&mut self, at: usize) -> Result<f64, OpError> {
        (self.progress)(&self.contenders[at].candidate.text, self.spent().min(1.0));
        let Some(trial) = &self.contenders[at].trial else { return Ok(f64::INFINITY) };
        let tensor = trial.tensor.as_ref().filter(|_| at != 0).unwrap_or(self.source);
        trial.timed.seconds(self.operation, tensor, &mut self.room)
    }

    /// Makes the arrays of a leader anew, beside the old ones and hence elsewhere.
    fn renew(&mut self, at: usize) -> Result<(), OpError> {
        let Contender { candidate, trial: Some(trial), .. } = &mut self.contenders[at] else {
            return Ok(());
        };
        let most = RENEWED * self.budget.as_secs_f64();
        if at != 0 && trial.measured.convert_seconds <= most {
            let tensor = self.operation.convert(self.source, &candidate.format)?;
            trial.timed = Timed::new(self.operation, &tensor, &mut self.room)?.0;
            trial.tensor = Some(tensor);
        }
        Ok(())
    }

    /// Notes what the leaders took, and what the others would have taken beside them.
    fn settle(&mut self, leaders: &[Leader]) {
        let best = &leaders[fastest(leaders)].times;
        let least = turns::low(best);
        for Leader { at, times } in leaders {
            let compared = turns::compare(times, best);
            if let Some(trial) = &mut self.contenders[*at].trial {
                let measured = &mut trial.measured;
                measured.seconds = compared.ratio * least;
                measured.off = compared.off * least;
                (measured.spread, measured.rounds) = (turns::spread(times), times.len());
                measured.leads = times.len() == best.len();
            }
        }
        let trials = || self.contenders.iter().filter_map(|contender| contender.trial.as_ref());
        let now = trials().filter(|trial| trial.measured.leads);
        let mut busier: Vec<f64> = now.map(|trial| trial.measured.seconds / trial.score).collect();
        busier.sort_by(f64::total_cmp);
        let Some(&busier) = busier.get(busier.len() / 2) else { return };
        for (at, contender) in self.contenders.iter_mut().enumerate() {
            let is_leader = leaders.iter().any(|leader| leader.at == at);
            if let Some(trial) = contender.trial.as_mut().filter(|_| !is_leader) {
                trial.measured.seconds = trial.score * busier;
            }
        }
    }
}

/// The one with the least time, of those that were measured most often.
fn fastest(leaders: &[Leader]) -> usize {
    let rounds = leaders.iter().map(|leader| leader.times.len()).max().unwrap_or(0);
    let all = (0..leaders.len()).filter(|&at| leaders[at].times.len() == rounds);
    let low = |at: usize| turns::low(&leaders[at].times);
    all.min_by(|&a, &b| low(a).total_cmp(&low(b))).unwrap_or(0)
}
