//! The format DSL.

/// An error in format text (being written).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("format error")]
pub struct FormatError;

/// A format (being written).
#[derive(Clone, Debug)]
pub struct Format;
