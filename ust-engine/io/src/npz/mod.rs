//! NumPy's `.npz` archives, and the layout in which SciPy keeps sparse matrices in them.
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
//! `coords` (`[rank, entries]`) is how SciPy 1.13 and later keep arrays of other ranks than two. Its
//! csr of rank 1 is the one row of a matrix, and read as coordinates.
//! Coordinates within a row may stand in any order and more than once; `data` and `indices` may be
//! longer than `indptr` says. Both are legal, and kept as they are.
//!
//! # Trust
//! [`parse`] checks the archive and its arrays, and that the members of a sparse matrix have the
//! ranks and kinds of the table. What the numbers mean is checked where a tensor is made of them.
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
pub use archive::{Member, Members};
pub(super) use scipy::index_array;
pub(super) use tensor::{archive, read_tensor};

/// What an archive holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Archive {
    /// A matrix compressed by rows.
    Csr(Compressed),
    /// A matrix compressed by columns.
    Csc(Compressed),
    /// Coordinates, of any rank, within the shape; also those of a csr of rank 1.
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
    /// Where each row (column) starts and, last, where the last ends.
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
    /// Where each row of blocks starts and, last, where the last ends.
    pub indptr: IndexArray,
    /// The column, in blocks, of each block.
    pub indices: IndexArray,
    /// The blocks, of rank 3: which block, row within it, column within it.
    pub data: DenseArray,
}

/// The arrays of a matrix of diagonals.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagonals {
    /// Rows and columns.
    pub shape: [usize; 2],
    /// Column less row of each diagonal.
    pub offsets: IndexArray,
    /// Of rank 2: which diagonal, and the *column* of the value.
    pub data: DenseArray,
}

/// Reads a file.
///
/// Cost: O(bytes unpacked).
///
/// # Errors
/// [`FileError::Binary`], with the member, for a damaged archive, a malformed array, or members that
/// do not make the sparse matrix that `format` names; [`FileError::Unsupported`] for what this
/// program does not read, and for decompression bombs; [`FileError::Io`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Archive, FileError> {
    scipy::interpret(read_members(path, options)?, path)
}

/// Reads the members of an archive, whatever they mean.
///
/// # Errors
/// As [`read`], but for what the members mean.
pub fn read_members(path: &Path, options: &ReadOptions) -> Result<Members, FileError> {
    let (file, bytes) = source::open(path)?;
    archive::read(BufReader::new(file), bytes, path, options)
}

/// Reads bytes. `name` stands for the file in messages.
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
        // A pipe cannot be sought in, which the archive's directory needs.
        let mut whole = Cursor::new(Vec::new());
        archive::write(&mut whole, members)?;
        out.write_all(&whole.into_inner())
    })
}

/// Writes to any stream what [`write_members`] writes to a file.
///
/// # Errors
/// Those of the stream; [`io::ErrorKind::InvalidInput`] for what [`write_members`] refuses.
pub fn write_members_to(out: &mut dyn Write, members: &Members) -> io::Result<()> {
    archive::check(members).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
    let mut whole = Cursor::new(Vec::new());
    archive::write(&mut whole, members)?;
    out.write_all(&whole.into_inner())
}

#[cfg(test)]
mod tests;
