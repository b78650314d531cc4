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
//! Both layouts (`coordinate`, `array`), all fields and all symmetries. The header may be in upper or
//! lower case. Comments and blank lines may stand anywhere after the first line, and a comment may end
//! any of these lines. A byte order mark at the start is skipped. One `%` before `MatrixMarket` is
//! enough, as for SciPy.
//!
//! | field | dtype |
//! |---|---|
//! | `real`, `double` | f64 |
//! | `integer` | i64 |
//! | `unsigned-integer` | u64 |
//! | `complex` | complex128 |
//! | `pattern` | f64, every value 1: [one value](ust_engine::tensor::Values::iso) is stored for all |
//!
//! Symmetric, skew-symmetric and Hermitian files are expanded: the mirror images of the entries off the
//! diagonal are appended to the entries of the file. All entries off the diagonal must lie on one side.
//! The format demands the lower side; the upper one is accepted as well. A file with entries on both
//! sides is refused, since they would count twice. A skew-symmetric matrix must have a zero diagonal, a
//! Hermitian one a real diagonal.
//!
//! Duplicates and stored zeros are kept.
//!
//! # What is written
//! `coordinate general`, with the field `real`, `integer` (`unsigned-integer` if a value needs it) or
//! `complex`. Floating-point numbers have the fewest digits that read back as the same number. Booleans
//! become 0 and 1. The file does not tell narrower dtypes from those of the table: they are read back
//! as these.
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

use super::about::About;
use super::progress::Progress;
use super::text::unmarked;
use super::{DenseArray, FileError, ReadOptions, sink, source};

/// The content of a Matrix Market file.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// Coordinates and values, in the order of the file.
    Coordinate(Coo),
    /// Every value of the matrix.
    Array(DenseArray),
}

/// Reads a file. A name that ends in `.gz` means that it is compressed with gzip.
///
/// Cost: O(bytes), in parallel; memory for the text and the entries.
///
/// # Errors
/// [`FileError`]; malformed text with line and column.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Matrix, FileError> {
    load(path, options).map(Matrix::from)
}

/// The content of a file, with coordinates in columns as they were read.
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

/// What a file says before its entries.
pub(super) fn look(path: &Path) -> Result<About, FileError> {
    let gzip = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let text = source::first_lines(path, gzip, header::COMMENT, 1)?;
    let text = unmarked(&text);
    let header = header::Header::parse(text).map_err(|fault| fault.locate(path, text))?;
    Ok(header.about())
}

/// Reads a text. `name` is the name of the file in messages.
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

/// Writes a matrix, or a vector as a matrix of one column. The file is compressed if its name ends in
/// `.gz`. It is replaced whole or not at all.
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

/// As [`write`](fn@write), to any stream, uncompressed.
///
/// # Errors
/// Errors of the stream; [`io::ErrorKind::InvalidInput`] for a tensor that [`write`](fn@write) refuses.
pub fn write_to(out: &mut dyn Write, coo: &Coo) -> io::Result<()> {
    write::matrix(out, coo)
}

#[cfg(test)]
mod tests;
