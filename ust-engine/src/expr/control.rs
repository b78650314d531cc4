//! Options of a run (threads, memory limit, cancellation), and its timings.

use std::time::Duration;

use crate::storage::Tensor;

/// The options of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) threads: usize,
    pub(crate) limit: u64,
    /// Whether the run may be cancelled: it is in the scope of a token.
    pub(crate) cancels: bool,
}

impl Run {
    /// The same options, with the limit reduced by the memory of tensors that were made for the run.
    pub(crate) fn beside<'t>(self, made: impl IntoIterator<Item = &'t Tensor>) -> Self {
        let bytes = made.into_iter().map(|tensor| tensor.bytes() as u64).sum();
        Self { limit: self.limit.saturating_sub(bytes), ..self }
    }
}

/// The times of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Planning, compiling and conversions.
    pub prepared_in: Duration,
    /// The loops, and the assembly of the result.
    pub run_in: Duration,
}
