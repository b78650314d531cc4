//! How busy others keep the machine, where the system tells it.

use std::time::Duration;

/// Processor time so far, in ticks: of all, and of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    all: u64,
    busy: u64,
    own: u64,
    cores: usize,
}

impl Load {
    /// As it is now. `None` on systems that do not say it as Linux does.
    pub(super) fn now() -> Option<Self> {
        let all = std::fs::read_to_string("/proc/stat").ok()?;
        let own = std::fs::read_to_string("/proc/self/stat").ok()?;
        Self::read(&all, &own)
    }

    fn read(all: &str, own: &str) -> Option<Self> {
        let mut lines = all.lines();
        let ticks: Option<Vec<u64>> = lines
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .map(|word| word.parse().ok())
            .collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; those of guests are in the first two.
        let ticks = ticks?;
        let idle = ticks.get(3)? + ticks.get(4)?;
        let sum: u64 = ticks.iter().take(8).sum();
        let is_core = |line: &&str| {
            line.strip_prefix("cpu")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let cores = lines.filter(is_core).count();
        // The name of the process, in brackets, may have blanks.
        let words: Vec<&str> = own.rsplit_once(')')?.1.split_whitespace().collect();
        let own = words.get(11)?.parse::<u64>().ok()? + words.get(12)?.parse::<u64>().ok()?;
        Some(Self { all: sum, busy: sum - idle, own, cores })
    }

    /// The cores of the machine.
    pub(super) fn cores(self) -> usize {
        self.cores
    }

    /// The cores that others kept busy since then, on the average.
    pub(super) fn of_others_since(self, then: Self) -> Option<f64> {
        let all = self.all.checked_sub(then.all).filter(|&ticks| ticks > 0)? as f64;
        let busy = self.busy.saturating_sub(then.busy) as f64;
        let own = self.own.saturating_sub(then.own) as f64;
        Some((busy - own).max(0.0) / all * self.cores as f64)
    }
}

/// Looks for so long, and at most for this share of the budget.
const LOOK: Duration = Duration::from_millis(150);
const SHARE: f64 = 0.05;
/// Less than this is not looked for: the system counts in hundredths of a second.
const LEAST: Duration = Duration::from_millis(30);

/// The threads that find a core of their own beside what others do, if those are fewer than all. Threads that share a
/// core with others wait for each other, a hundred times as long as a small operation takes: what is measured then is
/// chance.
pub(super) fn free_threads(budget: Duration) -> Option<usize> {
    let look = LOOK.min(budget.mul_f64(SHARE));
    if look < LEAST {
        return None;
    }
    let then = Load::now()?;
    std::thread::sleep(look);
    let now = Load::now()?;
    let others = now.of_others_since(then)?;
    let threads = rayon::current_num_threads();
    let free = (now.cores() as f64 - others).round().max(1.0) as usize;
    (free < threads).then_some(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_keep_busy_is_what_is_neither_idle_nor_ours() {
        let stat = |user: u64, idle: u64| {
            format!("cpu  {user} 0 10 {idle} 5 0 0 0 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\n")
        };
        let own = |ticks: u64| format!("7 (a ) b) R 1 2 3 4 5 6 7 8 9 10 {ticks} 20 0 0");
        let then = Load::read(&stat(1000, 500), &own(100)).unwrap();
        // 200 ticks of two cores: 150 busy, 100 of them ours.
        let now = Load::read(&stat(1150, 550), &own(200)).unwrap();
        assert_eq!(now.of_others_since(then), Some(0.5));
        assert_eq!(then.of_others_since(then), None);
        assert!(Load::read("", "").is_none() && Load::read("cpu 1 2", "1 (a) R").is_none());
    }
}
