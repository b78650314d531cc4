//! Formats as callers give them: a [`Format`], its text, or its name.

use std::borrow::Cow;

use super::error::FormatError;
use super::model::Format;

/// A [`Format`], borrowed or owned, or its text or name: what functions take that ask for a format.
///
/// ```
/// use ust::{Format, format::{FormatError, Given}};
/// let csr: Format = "CSR".parse()?;
/// fn levels<'f>(format: impl Into<Given<'f>>) -> Result<usize, FormatError> {
///     Ok(format.into().resolve(Some(2))?.level_count())
/// }
/// assert_eq!(levels("CSR")?, 2);
/// assert_eq!(levels("(i, j) -> (i / 2 : dense, j : compressed, i % 2 : dense)")?, 3);
/// assert_eq!(levels(&csr)?, 2);
/// assert_eq!(levels(csr)?, 2);
/// # Ok::<(), FormatError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Given<'f> {
    /// A format.
    Format(Cow<'f, Format>),
    /// The text or the name of a format. A family of formats, such as `COO`, has the rank of the tensor.
    Text(Cow<'f, str>),
}

impl<'f> Given<'f> {
    /// The format, for a tensor of this rank, if that is known.
    ///
    /// # Errors
    /// As [`Format::resolve`], if it is given as text.
    pub fn resolve(self, rank: Option<usize>) -> Result<Cow<'f, Format>, FormatError> {
        match self {
            Self::Format(format) => Ok(format),
            Self::Text(text) => Format::resolve(&text, rank).map(Cow::Owned),
        }
    }

    /// The same, owned.
    #[must_use]
    pub fn into_owned(self) -> Given<'static> {
        match self {
            Self::Format(format) => Given::Format(Cow::Owned(format.into_owned())),
            Self::Text(text) => Given::Text(Cow::Owned(text.into_owned())),
        }
    }
}

impl<'f> From<&'f Format> for Given<'f> {
    fn from(format: &'f Format) -> Self {
        Self::Format(Cow::Borrowed(format))
    }
}

impl From<Format> for Given<'_> {
    fn from(format: Format) -> Self {
        Self::Format(Cow::Owned(format))
    }
}

impl<'f> From<&'f str> for Given<'f> {
    fn from(text: &'f str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'f> From<&'f String> for Given<'f> {
    fn from(text: &'f String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Given<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'f> From<&&'f Format> for Given<'f> {
    fn from(format: &&'f Format) -> Self {
        Self::from(*format)
    }
}

impl<'f> From<&&'f str> for Given<'f> {
    fn from(text: &&'f str) -> Self {
        Self::from(*text)
    }
}
