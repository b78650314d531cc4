//! NumPy's `.npy`: one dense array.
//!
//! Format versions 1, 2 and 3 are read, in both byte orders, in C and Fortran order, of any rank.
//! Version 1 is written (version 2 if the header is too long for it), in the byte order of the machine
//! and in C order: the last dimension is the fastest.
//!
//! | dtype | NumPy |
//! |---|---|
//! | bool | `\|b1` |
//! | i8 ... i64, u8 ... u64 | `\|i1` ... `<i8`, `\|u1` ... `<u8` |
//! | f16, f32, f64 | `<f2`, `<f4`, `<f8` |
//! | complex64, complex128 | `<c8`, `<c16` |
//! | bf16 | none: refused on writing |
//!
//! Records, dates, long doubles, objects and text are refused.
//!
//! Source: NumPy Enhancement Proposal 1, *A Simple File Format for NumPy Arrays*.

mod data;
mod header;

use std::io::{self, BufReader, Write};
use std::path::Path;

use ust_level_api::Dtype;

use super::polled::Polled;
use super::{DenseArray, FileError, sink, source};
pub(super) use data::{Content, Invalid, look_at, read_from, write_text_to};

/// Reads a file.
///
/// Cost: O(bytes) time and memory.
///
/// # Errors
/// [`FileError::Binary`] if the header is malformed, or if the file is shorter or longer than it says;
/// [`FileError::Unsupported`] for a dtype that is not in the table; [`FileError::Io`].
pub fn read(path: &Path) -> Result<DenseArray, FileError> {
    let (file, bytes) = source::open(path)?;
    let content =
        read_from(&mut Polled(BufReader::new(file)), bytes).map_err(|e| e.at(path, None))?;
    array(content).map_err(|e| e.at(path, None))
}

/// Reads the bytes of a file. `name` is the name of the file in messages.
///
/// ```
/// use ust_io::{DenseArray, npy};
/// let array = DenseArray { shape: vec![2, 3], values: vec![1_i8, 2, 3, 4, 5, 6].into() };
/// let mut bytes = Vec::new();
/// npy::write_to(&mut bytes, &array).unwrap();
/// assert_eq!(npy::parse(&bytes, "a.npy".as_ref()).unwrap(), array);
/// assert!(npy::parse(&bytes[..bytes.len() - 1], "a.npy".as_ref()).is_err());
/// ```
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: &[u8], name: &Path) -> Result<DenseArray, FileError> {
    let content = read_from(&mut &*bytes, bytes.len() as u64).map_err(|e| e.at(name, None))?;
    array(content).map_err(|e| e.at(name, None))
}

fn array(content: Content) -> Result<DenseArray, Invalid> {
    match content {
        Content::Array(array) => Ok(array),
        Content::Text(_) => Err(Invalid::Unsupported("the array holds text, not numbers".into())),
    }
}

/// Writes a file, whole or not at all.
///
/// # Errors
/// [`FileError::Unsupported`] for bf16, which NumPy does not know; if the number of values is not the
/// product of the shape; and for an empty array if the product of its other extents is too large for
/// NumPy. [`FileError::Io`].
pub fn write(path: &Path, array: &DenseArray) -> Result<(), FileError> {
    check(array).map_err(|reason| FileError::unsupported(path, reason))?;
    sink::write(path, |out| write_to(&mut Polled(out), array))
}

/// As [`write`](fn@write), to any stream.
///
/// # Errors
/// Errors of the stream; [`io::ErrorKind::InvalidInput`] for an array that [`write`](fn@write) refuses.
pub fn write_to(out: &mut dyn Write, array: &DenseArray) -> io::Result<()> {
    check(array).map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))?;
    data::write_array_to(out, array)
}

/// Whether NumPy can hold the array.
pub(super) fn check(array: &DenseArray) -> Result<(), String> {
    if array.values.dtype() == Dtype::Bf16 {
        return Err("NumPy does not know bf16: cast to f32, or write .ust.npz".to_owned());
    }
    let (shape, values) = (&array.shape, array.values.len());
    if super::dense::count(shape) != Some(values) {
        return Err(format!("an array of shape {shape:?} does not have {values} values"));
    }
    // NumPy leaves extents of 0 out of this product.
    let full: Vec<usize> = shape.iter().map(|&extent| extent.max(1)).collect();
    let bytes =
        super::dense::count(&full).and_then(|n| n.checked_mul(array.values.dtype().bytes()));
    if bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(format!(
            "NumPy has no arrays of shape {shape:?}, even empty ones: the product of the other extents \
             is too large; write .tns or .ust.npz"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
