//! What was found out: rows, ranked.

use ust_format::Format;

use super::catalogue::{Candidate, LeftOut, Origin};
use super::measure::Contender;
use super::predict::{Prediction, ValueBytes};
use super::splits::Split;
use super::{Stats, words};

/// Formats nearer to the fastest than this are as fast: the one with the fewest bytes wins.
const ALIKE: f64 = 1.04;

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
    /// Seconds for the operation.
    pub seconds: f64,
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
    /// What it was expected to take.
    pub prediction: Prediction,
    /// What it took, where it was measured.
    pub measured: Option<Measured>,
    /// After how many operations converting has paid; `None` where it never does.
    pub break_even: Option<f64>,
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
        let Contender { candidate: Candidate { text, format, origin }, prediction, trial, .. } =
            contender;
        let measured = trial.map(|trial| trial.measured);
        let break_even = measured
            .filter(|measured| measured.seconds < now && origin != Origin::Now)
            .map(|measured| measured.convert_seconds / (now - measured.seconds));
        let reason = words::reason(&format, &prediction, measured.as_ref(), (stats, values));
        Row { text, format, origin, prediction, measured, break_even, reason }
    };
    let failed = |row: &Row| left_out.iter().any(|left_out| left_out.text == row.text);
    let mut rows: Vec<Row> = contenders.into_iter().map(row).collect();
    rows.retain(|row| row.measured.is_some() || !failed(row));
    let key = |row: &Row| match row.measured {
        Some(measured) => (0, measured.seconds),
        None => (1, row.prediction.seconds),
    };
    rows.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
    // Of the leaders that are as fast as the fastest, what is there already, or else the smallest.
    let leads = |row: &&Row| row.measured.is_some_and(|measured| measured.leads);
    let fastest = rows.iter().find(leads).map_or(f64::INFINITY, |row| key(row).1);
    let bytes = |row: &Row| row.measured.map_or(usize::MAX, |one| one.bytes + one.kept);
    let cost = |row: &Row| if row.origin == Origin::Now { 0 } else { bytes(row) };
    let alike = rows.iter().enumerate();
    let alike = alike.filter(|(_, row)| leads(row) && key(row).1 <= ALIKE * fastest);
    let chosen = alike.min_by_key(|(_, row)| cost(row)).map_or(0, |(at, _)| at);
    rows[..=chosen].rotate_right(1);
    rows
}
