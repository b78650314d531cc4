//! Matrix Market: `.mtx`, `.mtx.gz`.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real general
//! % a comment
//! 3 4 2
//! 1 1 0.5
//! 3 4 -2e3
//! ```
//!
//! # What is read
//! Both layouts (`coordinate`, `array`), all fields and all symmetries; the header in either case
//! of letters; comments, at the end of a line too, and blank lines anywhere after the first line.
//! A byte order mark at the start is skipped, and one `%` before `MatrixMarket` will do, as it does
//! for SciPy.
//!
//! | field | dtype |
//! |---|---|
//! | `real`, `double` | f64 |
//! | `integer` | i64 |
//! | `unsigned-integer` | u64 |
//! | `complex` | complex128 |
//! | `pattern` | f64, every entry one |
//!
//! Symmetric, skew-symmetric and Hermitian files are expanded: every entry off the diagonal is
//! followed by its mirror image at the end of the columns; the diagonal stands once. The entries
//! of such a file lie on one side of the diagonal: the format says the lower one, the upper one is
//! read as well, a file with entries on both sides is refused, since it would count them twice.
//! A skew-symmetric matrix has a zero diagonal, a Hermitian one a real diagonal; anything else is
//! refused.
//!
//! Entries that stand more than once are kept, as are stored zeros.
//!
//! # What is written
//! `coordinate general` with the field `real`, `integer` (`unsigned-integer` where a value needs
//! it) or `complex`; floating-point numbers in the fewest digits that read back as the same number.
//! Booleans become 0 and 1. The format has no wider choice of dtypes: narrower ones come back as
//! those of the table.
//!
//! Source: R. F. Boisvert, R. Pozo, K. A. Remington, *The Matrix Market Exchange Formats: Initial
//! Design*, NISTIR 5935, 1996.

mod expand;
mod header;
mod read;
mod write;

use std::io::{self, Write};
use std::path::Path;

use ust_engine::Coo;
use ust_engine::coo::Columns;

use super::progress::Progress;
use super::text::unmarked;
use super::{DenseArray, FileError, ReadOptions, sink, source};

/// What a Matrix Market file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// Coordinates and values, in the order of the file.
    Coordinate(Coo),
    /// Every value of the matrix.
    Array(DenseArray),
}

/// Reads a file; compressed with gzip where its name ends in `.gz`.
///
/// Cost: O(bytes), in parallel; memory for the text and the entries.
///
/// # Errors
/// [`FileError`]; malformed text with line and column.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Matrix, FileError> {
    load(path, options).map(Matrix::from)
}

/// What a file holds, as it is read.
#[derive(Debug)]
pub(super) enum Loaded {
    Coordinate(Columns),
    Array(DenseArray),
}

impl From<Loaded> for Matrix {
    fn from(loaded: Loaded) -> Self {
        match loaded {
            Loaded::Coordinate(columns) => Self::Coordinate(columns.into()),
            Loaded::Array(array) => Self::Array(array),
        }
    }
}

/// As [`read`](fn@read).
pub(super) fn load(path: &Path, options: &ReadOptions) -> Result<Loaded, FileError> {
    let gzip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let text = source::read_text(path, gzip, options)?;
    let progress = Progress::over(text.len() as u64, path, options.progress);
    parse_with(&text, path, &progress)
}

fn parse_with(text: &[u8], path: &Path, progress: &Progress) -> Result<Loaded, FileError> {
    let text = unmarked(text);
    read::parse(text, progress).map_err(|fault| fault.locate(path, text))
}

/// Reads text. `name` stands for the file in messages.
///
/// ```
/// use ust_io::mtx;
/// let text = b"%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 7\n2 1 9\n";
/// let mtx::Matrix::Coordinate(coo) = mtx::parse(text, "a.mtx".as_ref()).unwrap() else { panic!() };
/// assert_eq!(coo.crd, [[0, 1, 0], [0, 0, 1]]);
///
/// let error = mtx::parse(&text[..text.len() - 6], "a.mtx".as_ref()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "a.mtx:4:1: the file ends after 1 of the 2 entries that its header declares"
/// );
/// ```
///
/// # Errors
/// [`FileError::Text`] with line, column and reason.
pub fn parse(text: &[u8], name: &Path) -> Result<Matrix, FileError> {
    parse_with(text, name, &Progress::none()).map(Matrix::from)
}

/// Writes a matrix, or a vector as a matrix of one column; compressed where the name ends in `.gz`.
/// The file is replaced whole or not at all.
///
/// # Errors
/// [`FileError::Unsupported`] when the rank is neither 1 nor 2; [`FileError::Tensor`] when the
/// columns do not fit together; [`FileError::Io`].
pub fn write(path: &Path, coo: &Coo) -> Result<(), FileError> {
    if !matches!(coo.shape.len(), 1 | 2) {
        let rank = coo.shape.len();
        let reason = format!(
            "Matrix Market holds matrices, this tensor has rank {rank}: write .tns or .ust.npz"
        );
        return Err(FileError::unsupported(path, reason));
    }
    coo.check().map_err(FileError::tensor(path))?;
    let gzip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    sink::write_text(path, gzip, |mut out| write_to(&mut out, coo))
}

/// Writes to any stream what [`write`](fn@write) writes to a file.
///
/// # Errors
/// Those of the stream; [`io::ErrorKind::InvalidInput`] for what [`write`](fn@write) refuses.
pub fn write_to(out: &mut dyn Write, coo: &Coo) -> io::Result<()> {
    write::matrix(out, coo)
}

#[cfg(test)]
mod tests;
