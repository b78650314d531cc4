//! The memory limit of a run.

use std::cell::Cell;

use ust_engine::Error;
use ust_engine::provider::Call;

/// What a run may take for its result and for working memory, together.
#[derive(Debug)]
pub(crate) struct Room {
    limit: u64,
    taken: Cell<u64>,
}

impl Room {
    pub(crate) fn new(call: &Call<'_>) -> Self {
        Self { limit: call.memory_limit(), taken: Cell::new(0) }
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> u64 {
        self.limit - self.taken.get()
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if fewer are left.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Error> {
        self.has(bytes)?;
        self.taken.set(self.taken.get() + bytes);
        Ok(())
    }

    /// Whether there is room for bytes that are soon given back.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if fewer are left.
    pub(crate) fn has(&self, bytes: u64) -> Result<(), Error> {
        if bytes > self.left() {
            let taken = self.taken.get();
            return Err(Error::TooLarge(format!(
                "{bytes} bytes for a result or working memory, beside {taken} bytes of the same run: the limit is {}",
                self.limit
            )));
        }
        Ok(())
    }
}
