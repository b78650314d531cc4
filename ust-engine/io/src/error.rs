//! Errors of reading and writing files, with messages that help to mend them.

use std::io;
use std::path::{Path, PathBuf};

use ust_engine::ops::Cancelled;

use super::kind::KNOWN;

/// An error of reading or writing a file. Every variant names the file.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused.
    #[error("{path}: cannot {action}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What was attempted, such as `read`.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The extension of the file is unknown.
    #[error("{path}: unknown extension; known are {KNOWN}")]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// Malformed text, with line and column.
    #[error("{path}:{line}:{column}: {reason}")]
    Text {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column within the line, in characters, from 1.
        column: usize,
        /// What is wrong there, and what was expected.
        reason: String,
    },
    /// A malformed binary file, or a malformed member of an archive.
    #[error("{path}{}: {reason}", .member.as_ref().map_or_else(String::new, |m| format!(", member `{m}`")))]
    Binary {
        /// The file.
        path: PathBuf,
        /// The member, if the file is an archive.
        member: Option<String>,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// The kind of file cannot hold the tensor, or this program does not read the content of the file.
    #[error("{path}: {reason}")]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What cannot be done, and what to do instead.
        reason: String,
    },
    /// The file is well formed, but its content is no valid tensor.
    #[error("{path}: {source}")]
    Tensor {
        /// The file.
        path: PathBuf,
        /// What is wrong with the tensor.
        source: Box<ust_engine::Error>,
    },
    /// The caller cancelled the work: see [`CancelToken`](ust_engine::ops::CancelToken).
    #[error("cancelled")]
    Cancelled,
}

impl From<Cancelled> for FileError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

ust_level_api::debug_shows_message!(FileError);

impl FileError {
    /// The file that the error is about. Empty where the work was cancelled.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Cancelled => Path::new(""),
            Self::Io { path, .. }
            | Self::Extension { path }
            | Self::Text { path, .. }
            | Self::Binary { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Tensor { path, .. } => path,
        }
    }

    /// The same error, of a file by another name: of a copy, as users know it.
    #[must_use]
    pub fn of(mut self, name: &Path) -> Self {
        match &mut self {
            Self::Cancelled => {}
            Self::Io { path, .. }
            | Self::Extension { path }
            | Self::Text { path, .. }
            | Self::Binary { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Tensor { path, .. } => name.clone_into(path),
        }
        self
    }

    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, action, source }
    }

    pub(super) fn binary(path: &Path, reason: impl Into<String>) -> Self {
        Self::Binary { path: path.to_owned(), member: None, reason: reason.into() }
    }

    pub(super) fn unsupported(path: &Path, reason: impl Into<String>) -> Self {
        Self::Unsupported { path: path.to_owned(), reason: reason.into() }
    }

    pub(super) fn tensor(path: &Path) -> impl FnOnce(ust_engine::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Tensor { path, source: Box::new(source) }
    }
}
