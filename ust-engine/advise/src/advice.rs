//! What was found out: rows, ranked.

use ust_format::Format;

use super::catalogue::{Candidate, LeftOut, Origin};
use super::measure::Contender;
use super::predict::{Prediction, ValueBytes};
use super::splits::Split;
use super::{Stats, words};

/// Formats nearer to the fastest than this are as fast: the simplest of them wins.
pub(super) const ALIKE: f64 = 1.05;
/// Formats nearer to the fastest than this may be as fast on another day, as those are that measurements cannot tell
/// apart.
const TIED: f64 = 1.1;

/// Others that keep more cores busy than this can be felt.
pub const DISTURBED: f64 = 0.2;

/// What a format took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Bytes of values and level arrays.
    pub bytes: usize,
    /// Bytes of what the operation keeps beside them, such as indices in the width that its kernels take.
    pub kept: usize,
    /// Values stored, padding included.
    pub stored: usize,
    /// Seconds to convert the tensor from the format it has now.
    pub convert_seconds: f64,
    /// Seconds for the operation, near the least that were measured.
    pub seconds: f64,
    /// How far the middle half of the measurements reaches, as a share of the seconds: others on the machine widen it.
    pub spread: f64,
    /// How many seconds the comparison with the fastest may be off, up or down. 0 where it was not measured in turns.
    pub off: f64,
    /// How often it was measured: more often among the leaders. The seconds of the others are those
    /// beside a leader, in proportion.
    pub rounds: usize,
    /// Whether it was measured in turns with the other leaders.
    pub leads: bool,
}

/// A format with what is known about it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name, or text: what to write after `--format`.
    pub text: String,
    /// The format.
    pub format: Format,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether most libraries have it. Such formats are measured in any case that there is memory for.
    pub usual: bool,
    /// What it was expected to take.
    pub prediction: Prediction,
    /// What it took, where it was measured.
    pub measured: Option<Measured>,
    /// After how many operations converting has paid; `None` where it never does.
    pub break_even: Option<f64>,
    /// Whether it is as fast as the fastest, as far as measurements can tell: within 10 percent, or within what they may
    /// be off.
    pub tied: bool,
    /// Whether there was no time to measure it. Others that were not measured are expected to be slower.
    pub out_of_time: bool,
    /// What stands behind the numbers, in words.
    pub reason: String,
}

/// What was found out.
#[derive(Clone, Debug)]
pub struct Advice {
    /// What the tensor looks like.
    pub stats: Stats,
    /// The operation.
    pub operation: String,
    /// What the tensor is called in it.
    pub operand: String,
    /// The best first; those that were not measured last, by prediction.
    pub rows: Vec<Row>,
    /// Sums of parts in different formats, the best first.
    pub splits: Vec<Split>,
    /// Formats that do not compete, and why.
    pub left_out: Vec<LeftOut>,
    /// The cores that others kept busy meanwhile, on the average, where the system tells it.
    pub others: Option<f64>,
    /// The threads that it was measured with, where those were fewer than there are: those asked for, or as many as
    /// others left cores free.
    pub threads: Option<usize>,
}

impl Advice {
    /// The format to choose.
    ///
    /// # Panics
    /// Never: what the tensor is stored in is always measured.
    #[must_use]
    pub fn best(&self) -> &Row {
        &self.rows[0]
    }

    /// The format that the tensor has now.
    #[must_use]
    pub fn now(&self) -> &Row {
        let now = self.rows.iter().find(|row| row.origin == Origin::Now);
        now.unwrap_or_else(|| self.best())
    }

    /// The best sum of parts in different formats, if it is faster than the best format by more than what does not
    /// count as a difference.
    #[must_use]
    pub fn best_split(&self) -> Option<&Split> {
        self.splits.first().filter(|split| split.relative * ALIKE < 1.0)
    }

    /// The formats that are as fast as the best, as far as measurements can tell. The best is chosen among them: what
    /// there is now, else a usual format, else the one with the fewest bytes.
    pub fn ties(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().skip(1).filter(|row| row.tied)
    }

    /// Why it is the best, in a sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        words::summary(self.best(), self.now())
    }
}

/// The rows of the table, in order.
pub(super) fn ranked(
    contenders: Vec<Contender>,
    left_out: &[LeftOut],
    stats: &Stats,
    values: ValueBytes,
) -> Vec<Row> {
    let now = contenders[0].trial.as_ref().map_or(f64::INFINITY, |trial| trial.measured.seconds);
    let row = |contender: Contender| {
        let Contender { candidate, prediction, trial, out_of_time, .. } = contender;
        let Candidate { text, format, origin, usual } = candidate;
        let measured = trial.map(|trial| trial.measured);
        let break_even = measured
            .filter(|measured| measured.seconds < now && origin != Origin::Now)
            .map(|measured| measured.convert_seconds / (now - measured.seconds));
        let reason = words::reason(&format, &prediction, measured.as_ref(), (stats, values));
        let (tied, out_of_time) = (false, out_of_time && measured.is_none());
        Row {
            text,
            format,
            origin,
            usual,
            prediction,
            measured,
            break_even,
            tied,
            out_of_time,
            reason,
        }
    };
    let failed = |row: &Row| left_out.iter().any(|left_out| left_out.text == row.text);
    let mut rows: Vec<Row> = contenders.into_iter().map(row).collect();
    rows.retain(|row| row.measured.is_some() || !failed(row));
    let key = |row: &Row| match row.measured {
        Some(measured) => (0, measured.seconds),
        None => (1, row.prediction.seconds),
    };
    rows.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
    let leads = |row: &Row| row.measured.is_some_and(|measured| measured.leads);
    let fastest = rows.iter().find(|row| leads(row)).map_or(f64::INFINITY, |row| key(row).1);
    let off = |row: &Row| row.measured.map_or(0.0, |measured| measured.off);
    // Of the leaders that are as fast as the fastest, what is there already, or else a usual one, or else the smallest.
    let within =
        |row: &Row, off: f64, share: f64| leads(row) && key(row).1 - off <= share * fastest;
    let alike =
        |row: &Row| within(row, 0.0, ALIKE) || within(row, 0.0, TIED) && within(row, off(row), 1.0);
    let bytes = |row: &Row| row.measured.map_or(usize::MAX, |one| one.bytes + one.kept);
    let cost = |row: &Row| match (&row.origin, row.usual) {
        (Origin::Now, _) => (0, 0),
        (_, true) => (1, bytes(row)),
        (_, false) => (2, bytes(row)),
    };
    let all = rows.iter().enumerate().filter(|(_, row)| alike(row));
    let chosen = all.min_by_key(|(_, row)| cost(row)).map_or(0, |(at, _)| at);
    for row in &mut rows {
        row.tied = within(row, 0.0, TIED) || within(row, 2.0 * off(row), ALIKE);
    }
    rows[..=chosen].rotate_right(1);
    rows
}
