//! What was measured, and the ways it is told.

pub(crate) mod baseline;
pub(crate) mod json;
mod machine;
pub(crate) mod page;
pub(crate) mod row;
pub(crate) mod run;
pub(crate) mod stored;
pub(crate) mod table;

use crate::matrix::case::Case;
use crate::matrix::measure::Entry;

/// The contender that this project is judged by. What begins so is this project's, too.
pub(crate) const OURS: &str = "ust";

/// One contender in one case.
pub(crate) struct Record {
    /// The operation's name.
    pub(crate) op: &'static str,
    /// The operation's text.
    pub(crate) text: String,
    /// The input's name.
    pub(crate) input: String,
    /// The input's text.
    pub(crate) source: String,
    /// Entries of the input.
    pub(crate) entries: usize,
    /// The format of the stored operands.
    pub(crate) format: String,
    /// Dtype of every operand.
    pub(crate) dtype: String,
    /// Threads allowed.
    pub(crate) threads: usize,
    /// Multiplications and additions.
    pub(crate) flops: f64,
    /// Bytes that must move at least.
    pub(crate) bytes: usize,
    /// Who, how fast, or why not.
    pub(crate) entry: Entry,
}

impl Record {
    /// What a contender did in a case of so many operations and bytes.
    pub(crate) fn new(case: &Case<'_>, entry: Entry, (flops, bytes): (f64, usize)) -> Self {
        Self {
            op: case.op.name,
            text: case.op.text(),
            input: case.input.name.clone(),
            source: case.input.text.clone(),
            entries: case.input.coo.len(),
            format: case.format.clone(),
            dtype: case.dtype.to_string(),
            threads: case.threads,
            flops,
            bytes,
            entry,
        }
    }

    /// Whether it is this project's.
    pub(crate) fn is_ours(&self) -> bool {
        self.entry.contender.starts_with(OURS)
    }

    /// What two records must share to be compared.
    pub(crate) fn group(&self) -> (&str, &str, &str, usize) {
        (self.op, &self.input, &self.dtype, self.threads)
    }

    /// One line that names it, in baselines.
    pub(crate) fn key(&self) -> String {
        let Self { op, input, format, dtype, threads, entry, .. } = self;
        format!("{op} | {input} | {format} | {dtype} | {threads} | {}", entry.contender)
    }
}

/// How often the quickest of others fits into this record's median: against those with the same
/// format, and against those with any. Below 1 this record is the quicker.
pub(crate) fn ratios(record: &Record, all: &[Record]) -> (Option<f64>, Option<f64>) {
    let Some(median) = record.entry.median() else { return (None, None) };
    let best = |same_format: bool| {
        all.iter()
            .filter(|other| other.group() == record.group() && other.is_ours() != record.is_ours())
            .filter(|other| !same_format || other.format == record.format)
            .filter_map(|other| other.entry.median())
            .min_by(f64::total_cmp)
            .map(|best| median / best)
    };
    (best(true), best(false))
}
