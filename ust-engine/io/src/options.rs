//! Options for reading files.

use std::borrow::Cow;

use ust_engine::format::Given;
use ust_engine::tensor::memory::default_limit;
use ust_engine::{Error, Format};

/// Options for reading a file. By default, shape and format follow from the file.
///
/// ```
/// use ust_io::ReadOptions;
/// let options = ReadOptions::default().with_shape([4, 6, 8]).with_progress(true);
/// assert_eq!(options.shape.as_deref(), Some(&[4, 6, 8][..]));
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The shape, for files that do not state it (`.tns`). A file with another shape is refused.
    pub shape: Option<Vec<usize>>,
    /// The format of the tensor. By default it follows from the file, as [`read`](fn@crate::read) says.
    pub format: Option<Given<'static>>,
    /// Whether to draw a progress bar on standard error while a large file is read. Nothing is drawn if
    /// standard error is no terminal.
    pub progress: bool,
    /// The most bytes that a compressed file may unpack to. The default for a text is 512 MiB, or a
    /// hundred times the size of the file if that is more: real data stay below, decompression bombs do
    /// not. The default for an archive is [`default_limit`]. Its arrays may shrink to less than a
    /// hundredth, since diagonals and blocks may be mostly zeros; but its members state their sizes.
    pub max_bytes: Option<u64>,
    /// The most bytes that the tensor may take; by default [`default_limit`].
    pub memory_limit: Option<u64>,
}

impl ReadOptions {
    /// With this shape.
    #[must_use]
    pub fn with_shape(mut self, shape: impl Into<Vec<usize>>) -> Self {
        self.shape = Some(shape.into());
        self
    }

    /// In this format.
    #[must_use]
    pub fn with_format<'f>(mut self, format: impl Into<Given<'f>>) -> Self {
        self.format = Some(format.into().into_owned());
        self
    }

    /// The format that is asked for, if any, for a tensor of this rank.
    pub(crate) fn format_for(&self, rank: usize) -> Result<Option<Format>, Error> {
        let given = self.format.clone().map(|given| given.resolve(Some(rank)));
        Ok(given.transpose()?.map(Cow::into_owned))
    }

    /// With or without a progress bar.
    #[must_use]
    pub fn with_progress(mut self, progress: bool) -> Self {
        self.progress = progress;
        self
    }

    /// With this limit on the unpacked size of a compressed file, in bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, max_bytes: u64) -> Self {
        self.max_bytes = Some(max_bytes);
        self
    }

    /// With this limit on the size of the tensor, in bytes.
    #[must_use]
    pub fn with_memory_limit(mut self, memory_limit: u64) -> Self {
        self.memory_limit = Some(memory_limit);
        self
    }

    /// The most bytes that the tensor may take.
    pub(super) fn limit(&self) -> u64 {
        self.memory_limit.unwrap_or_else(default_limit)
    }

    /// The most bytes that the members of an archive may unpack to.
    pub(super) fn archive_limit(&self) -> u64 {
        self.max_bytes.unwrap_or_else(default_limit)
    }

    /// The most bytes that a text of `packed` bytes may unpack to.
    pub(super) fn unpacked_limit(&self, packed: u64) -> u64 {
        self.max_bytes.unwrap_or_else(|| packed.saturating_mul(100).max(512 << 20))
    }
}
