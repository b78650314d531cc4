//! Options of a run (threads, memory limit, cancellation), and its timings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::storage::Tensor;

/// The options of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    pub(crate) threads: usize,
    pub(crate) limit: u64,
    pub(crate) cancel: Option<&'a CancelToken>,
}

impl<'a> Run<'a> {
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

/// Stops an evaluation from another thread. Clones are the same token.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends every evaluation that has the token, soon.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
