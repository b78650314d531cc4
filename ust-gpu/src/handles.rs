//! Handles of NVIDIA's libraries.

use std::sync::{Mutex, PoisonError};

use ust_cuda::{CudaError, Stream};

/// Handles that are kept: one for each stream that a library was used on last.
const MOST: usize = 8;

/// The handles of a library.
pub(crate) struct Handles<T>(Mutex<Vec<T>>);

impl<T: Clone> Handles<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The handle of a stream: one that is kept, or a new one.
    pub(crate) fn of(
        &self,
        stream: &Stream,
        stream_of: impl Fn(&T) -> &Stream,
        make: impl FnOnce(&Stream) -> Result<T, CudaError>,
    ) -> Result<T, CudaError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A handle keeps its stream: no other one has the same.
        let is_own = |made: &T| stream_of(made).handle() == stream.handle();
        let made = match last.iter().position(is_own) {
            Some(at) => last.remove(at),
            None => make(stream)?,
        };
        last.insert(0, made.clone());
        last.truncate(MOST);
        Ok(made)
    }
}
