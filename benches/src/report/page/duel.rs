//! Comparisons of this project with the best of the others, and what they come to in a sentence.

use std::collections::BTreeSet;

use super::super::OURS;
use super::super::row::{Row, Time};
use super::text::{escaped, times};

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    Faster,
    /// The quartiles overlap: the data do not tell who is faster.
    Tie,
    Slower,
}

/// This project and the best other, in what they both did.
#[derive(Clone, Copy)]
pub(super) struct Duel<'a> {
    pub(super) ours: &'a Row,
    pub(super) other: &'a Row,
    /// How many times as fast this project is.
    pub(super) ratio: f64,
    pub(super) outcome: Outcome,
}

impl<'a> Duel<'a> {
    /// Of two that were timed.
    pub(super) fn new(ours: &'a Row, other: &'a Row) -> Option<Self> {
        let (own, others) = (ours.time?, other.time?);
        let ratio = others.median / own.median;
        Some(Self { ours, other, ratio, outcome: outcome(own, others) })
    }
}

fn outcome(own: Time, other: Time) -> Outcome {
    if own.high < other.low {
        Outcome::Faster
    } else if other.high < own.low {
        Outcome::Slower
    } else {
        Outcome::Tie
    }
}

/// Everything that was done with one input, with one dtype and as many threads: all formats, all contenders.
pub(super) type Setting<'a> = (&'a str, &'a str, u64);

/// The setting of a row.
pub(super) fn setting(row: &Row) -> Setting<'_> {
    (&row.input, &row.dtype, row.threads)
}

/// The quickest of some rows.
pub(super) fn quickest<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<&'a Row> {
    let timed = rows.filter_map(|row| Some((row, row.time?.median)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(row, _)| row)
}

/// The best of this project in a setting against the best of all others, each in whatever format.
pub(super) fn in_any_format<'a>(rows: &[&'a Row], at: Setting<'_>) -> Option<Duel<'a>> {
    let here = || rows.iter().copied().filter(|row| setting(row) == at);
    Duel::new(
        quickest(here().filter(|row| row.contender == OURS))?,
        quickest(here().filter(|row| !row.is_ours()))?,
    )
}

/// A row against the best of the others that have the same format, in the same setting.
pub(super) fn in_same_format<'a>(row: &'a Row, rows: &[&'a Row]) -> Option<Duel<'a>> {
    let same = |other: &&Row| {
        !other.is_ours() && other.format == row.format && setting(other) == setting(row)
    };
    Duel::new(row, quickest(rows.iter().copied().filter(same))?)
}

/// What the rows of one operation say, in sentences of HTML.
pub(super) fn verdict(rows: &[&Row]) -> Vec<String> {
    let ours: Vec<&Row> =
        rows.iter().copied().filter(|row| row.contender == OURS && row.time.is_some()).collect();
    if ours.is_empty() {
        return vec![format!("No time of <b>{OURS}</b>.")];
    }
    let settings: BTreeSet<_> = ours.iter().map(|row| setting(row)).collect();
    let any: Vec<_> = settings.iter().filter_map(|&at| in_any_format(rows, at)).collect();
    let same: Vec<_> = ours.iter().filter_map(|row| in_same_format(row, rows)).collect();
    if any.is_empty() {
        return vec![format!("Nobody else was timed: nothing to compare <b>{OURS}</b> with.")];
    }
    // Of inputs with several dtypes or numbers of threads, each is one of its own.
    let inputs: BTreeSet<_> = settings.iter().map(|at| at.0).collect();
    let unit = if inputs.len() == settings.len() { "input" } else { "setting" };
    let best = counts(&any, unit, settings.len());
    let formats: BTreeSet<_> = rows.iter().map(|row| &row.format).collect();
    if formats.len() == 1 {
        return vec![format!("<b>{OURS}</b> is {best}.")];
    }
    let mut said = vec![format!("Best against best: <b>{OURS}</b> is {best}.")];
    if same.is_empty() {
        said.push("In no format was another timed as well.".to_owned());
    } else {
        said.push(format!("In the same format: {}.", counts(&same, "case", ours.len())));
        let slower = same.iter().filter(|duel| duel.outcome == Outcome::Slower);
        if let Some(Duel { ours, other, ratio, .. }) =
            slower.min_by(|a, b| a.ratio.total_cmp(&b.ratio))
        {
            said.push(format!(
                "The slowest case that is no tie: {} on {}, {} times as fast as {}.",
                escaped(&ours.format),
                escaped(&ours.input),
                times(*ratio),
                escaped(&other.contender)
            ));
        }
    }
    said
}

/// What all operations come to, as a paragraph, where there is anything to compare.
pub(super) fn lead(rows: &[Row], operations: &[&str]) -> String {
    let of_op = |op: &&str| {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.op == *op).collect();
        let settings: BTreeSet<_> = rows.iter().map(|row| setting(row)).collect();
        settings.into_iter().filter_map(|at| in_any_format(&rows, at)).collect::<Vec<_>>()
    };
    let all: Vec<_> = operations.iter().flat_map(of_op).collect();
    if all.is_empty() {
        return String::new();
    }
    format!(
        "<p class=\"lead\"><b class=\"ours\">{OURS}</b> against the best of all others, operation by operation and input \
         by input: {}.</p>\n",
        counts(&all, "comparison", all.len())
    )
}

/// `faster on 3 of 5 inputs, tied on 1 and slower on 1; 1.31 times as fast in the median (0.92 to 4.10)`. `all` is
/// how many there are, with those that nobody else did.
fn counts(duels: &[Duel<'_>], what: &str, all: usize) -> String {
    let count = |outcome| duels.iter().filter(|duel| duel.outcome == outcome).count();
    let told = [("faster", Outcome::Faster), ("tied", Outcome::Tie), ("slower", Outcome::Slower)];
    let mut told = told.map(|(word, outcome)| (word, count(outcome))).to_vec();
    told.retain(|&(_, n)| n > 0);
    let n = duels.len();
    let preposition = if what == "input" { "on" } else { "in" };
    let first = match told[..] {
        [(word, _)] if n == 1 => format!("{word} {preposition} the one {what}"),
        [(word, _)] if n == 2 => format!("{word} {preposition} both {what}s"),
        [(word, _)] => format!("{word} {preposition} all {n} {what}s"),
        _ => {
            let part = |(at, (word, count)): (usize, &(&str, usize))| match at {
                0 => format!("{word} {preposition} {count} of {n} {what}s"),
                _ => format!("{word} {preposition} {count}"),
            };
            told.iter().enumerate().map(part).collect::<Vec<_>>().join(", ")
        }
    };
    let alone = match all - n {
        0 => String::new(),
        1 => format!("; 1 more {what} has no other contender"),
        rest => format!("; {rest} more {what}s have no other contender"),
    };
    let mut ratios: Vec<f64> = duels.iter().map(|duel| duel.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let spread = match ratios[..] {
        [only] => format!("{} times as fast as the best other", times(only)),
        _ => format!(
            "in the median {} times as fast as the best other ({} to {})",
            times(median(&ratios)),
            times(ratios[0]),
            times(ratios[n - 1])
        ),
    };
    format!("{first}, {spread}{alone}")
}

/// The median of sorted ratios: of two in the middle, the geometric mean.
pub(super) fn median(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    (low * high).sqrt()
}
