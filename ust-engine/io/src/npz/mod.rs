//! NumPy's `.npz` archives, and SciPy's layout of sparse matrices in them.
//!
//! | member | csr, csc | bsr | coo | dia |
//! |---|---|---|---|---|
//! | `format` | text | text | text | text |
//! | `shape` | `[rows, columns]` (csr: or `[size]`) | `[rows, columns]` | the shape | `[rows, columns]` |
//! | `data` | values | `[blocks, r, c]` | values | `[diagonals, length]` |
//! | `indptr`, `indices` | positions, coordinates | same, of blocks | | |
//! | `row`, `col` or `coords` | | | coordinates | |
//! | `offsets` | | | | column less row |
//!
//! SciPy 1.13 and later store the coordinates of arrays of ranks other than 2 in `coords`, of shape
//! `[rank, entries]`. A csr array of rank 1 is stored as a matrix of one row; it is read as
//! coordinates.
//!
//! In SciPy, coordinates within a row may be unsorted and have duplicates, and `data` and `indices` may
//! be longer than `indptr` says. Both are kept as they are.
//!
//! # Trust
//! [`parse`] checks the archive and its arrays, and that the members of a sparse matrix have the ranks
//! and kinds of the table. The numbers, such as coordinates, are checked when a tensor is made of them.
//! Unpacking stops at a limit (see [`ReadOptions::max_bytes`]).
//!
//! Source: `scipy.sparse.save_npz`, `scipy.sparse.load_npz`; PKWARE's APPNOTE for the archive.

mod archive;
mod entries;
mod scipy;
mod tensor;

use std::fs::File;
use std::io::{self, BufReader, Cursor, Write};
use std::path::Path;

use ust_engine::Coo;
use ust_level_api::IndexArray;

use super::{DenseArray, FileError, ReadOptions, sink, source};
pub(super) use archive::Told;
pub use archive::{Member, Members};
pub(super) use scipy::index_array;
pub(super) use tensor::{archive, read_tensor};

/// The content of an archive.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Archive {
    /// A matrix compressed by rows.
    Csr(Compressed),
    /// A matrix compressed by columns.
    Csc(Compressed),
    /// Coordinates of any rank, within the shape; also those of a csr array of rank 1.
    Coo(Coo),
    /// A matrix of dense blocks, compressed by rows of blocks.
    Bsr(Blocks),
    /// A matrix of diagonals.
    Dia(Diagonals),
    /// Arrays that are no sparse matrix: there is no member `format`.
    Plain(Members),
}

/// The arrays of a compressed matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    /// Rows and columns.
    pub shape: [usize; 2],
    /// The row (column) pointers: the position at which each row starts; then that at which the last
    /// one ends.
    pub indptr: IndexArray,
    /// The column (row) of each value.
    pub indices: IndexArray,
    /// The values.
    pub data: ust_engine::Values,
}

/// The arrays of a matrix of blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// Rows and columns of the matrix.
    pub shape: [usize; 2],
    /// The row pointers, of rows of blocks.
    pub indptr: IndexArray,
    /// The column, in blocks, of each block.
    pub indices: IndexArray,
    /// The values, an array of rank 3: block, row within the block, column within the block.
    pub data: DenseArray,
}

/// The arrays of a matrix of diagonals.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagonals {
    /// Rows and columns.
    pub shape: [usize; 2],
    /// The offset of each diagonal: column less row.
    pub offsets: IndexArray,
    /// The values, an array of rank 2: diagonal, *column* of the value.
    pub data: DenseArray,
}

/// Reads a file.
///
/// Cost: O(bytes unpacked).
///
/// # Errors
/// [`FileError::Binary`], with the member, for a damaged archive, a malformed array, or members that do
/// not make the sparse matrix that `format` names; [`FileError::Unsupported`] for members and sparse
/// formats that this program does not read, and for decompression bombs; [`FileError::Io`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Archive, FileError> {
    scipy::interpret(read_members(path, options)?, path)
}

/// Reads the members of an archive, without interpreting them.
///
/// # Errors
/// As [`read`], except for errors of the sparse matrix.
pub fn read_members(path: &Path, options: &ReadOptions) -> Result<Members, FileError> {
    let (file, bytes) = source::open(path)?;
    archive::read(BufReader::new(file), bytes, path, options)
}

/// What an archive says of its members before their values.
pub(super) fn look(path: &Path) -> Result<Vec<Told>, FileError> {
    let (file, _) = source::open(path)?;
    archive::look(BufReader::new(file), path)
}

/// Reads the bytes of a file. `name` is the name of the file in messages.
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: &[u8], name: &Path, options: &ReadOptions) -> Result<Archive, FileError> {
    let members = archive::read(Cursor::new(bytes), bytes.len() as u64, name, options)?;
    scipy::interpret(members, name)
}

/// Writes a file as SciPy does, whole or not at all.
///
/// # Errors
/// [`FileError::Unsupported`] for bf16, which NumPy does not know, and for coordinates of rank 0;
/// [`FileError::Tensor`] for coordinate columns that do not fit together; [`FileError::Io`].
pub fn write(path: &Path, archive: Archive) -> Result<(), FileError> {
    if let Archive::Coo(coo) = &archive
        && coo.shape.is_empty()
    {
        let reason = "SciPy has no sparse arrays of rank 0: write .npy or .ust.npz";
        return Err(FileError::unsupported(path, reason));
    }
    let members = scipy::members(archive).map_err(FileError::tensor(path))?;
    write_members(path, &members)
}

/// Writes the members as an archive, whole or not at all.
///
/// # Errors
/// [`FileError::Unsupported`] for an array that NumPy cannot hold; [`FileError::Io`].
pub fn write_members(path: &Path, members: &Members) -> Result<(), FileError> {
    archive::check(members).map_err(|reason| FileError::unsupported(path, reason))?;
    sink::write(path, |out| {
        let file: &File = out.get_ref();
        let seekable = file.metadata()?.is_file();
        if seekable {
            return archive::write(out, members);
        }
        // The archive's writer seeks, which a pipe does not allow.
        let mut whole = Cursor::new(Vec::new());
        archive::write(&mut whole, members)?;
        out.write_all(&whole.into_inner())
    })
}

/// As [`write_members`], to any stream.
///
/// # Errors
/// Errors of the stream; [`io::ErrorKind::InvalidInput`] for members that [`write_members`] refuses.
pub fn write_members_to(out: &mut dyn Write, members: &Members) -> io::Result<()> {
    archive::check(members).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let mut whole = Cursor::new(Vec::new());
    archive::write(&mut whole, members)?;
    out.write_all(&whole.into_inner())
}

#[cfg(test)]
mod tests;
