//! Reading and writing an array: magic bytes, header, values.

use std::io::{self, Read, Write};
use std::path::Path;

use bytemuck::AnyBitPattern;
use half::{bf16, f16};
use num_complex::Complex;
use ust_engine::tensor::StoredElement;
use ust_level_api::buffer::Plain;
use ust_level_api::{Buffer, Dtype, with_dtype};

use super::super::FileError;
use super::super::dense::{DenseArray, count};
use super::header::{Element, Header, Reason};

const MAGIC: &[u8] = b"\x93NUMPY";

/// The content of an array file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// Numbers.
    Array(DenseArray),
    /// One text.
    Text(String),
}

/// Why bytes are no array. The error lacks the file and the member; [`Invalid::at`] adds them.
#[derive(Debug)]
pub(crate) enum Invalid {
    Malformed(String),
    Unsupported(String),
    Io(io::Error),
}

impl Invalid {
    /// The error, for a file or a member of an archive.
    pub(crate) fn at(self, path: &Path, member: Option<&str>) -> FileError {
        let path = path.to_owned();
        match (self, member) {
            (Self::Io(source), None) => FileError::Io { path, action: "read", source },
            (Self::Io(source), member) => {
                let reason = format!("cannot be read: {source}");
                FileError::Binary { path, member: member.map(str::to_owned), reason }
            }
            (Self::Malformed(reason), member) => {
                FileError::Binary { path, member: member.map(str::to_owned), reason }
            }
            (Self::Unsupported(reason), None) => FileError::Unsupported { path, reason },
            (Self::Unsupported(reason), Some(member)) => {
                FileError::Unsupported { path, reason: format!("member `{member}`: {reason}") }
            }
        }
    }
}

impl From<Reason> for Invalid {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Malformed(reason) => Self::Malformed(reason),
            Reason::Unsupported(reason) => Self::Unsupported(reason),
        }
    }
}

/// Reads an array from a stream of `available` bytes, all of which must belong to it.
pub(crate) fn read_from(from: &mut dyn Read, available: u64) -> Result<Content, Invalid> {
    let (header, data) = header_from(from, available)?;
    match header.element {
        Element::Number { dtype, swapped } => {
            let array = with_dtype!(dtype, T => numbers::<T>(from, header, data, swapped))?;
            Ok(Content::Array(array))
        }
        Element::Bytes(_) | Element::Characters { .. } => {
            let mut bytes = vec![0; data];
            fill(from, &mut bytes, "the text")?;
            text_of(&header, &bytes).map(Content::Text)
        }
    }
}

/// Reads the header of an array alone: its dtype, none for a text, and its shape.
pub(crate) fn look_at(
    from: &mut dyn Read,
    available: u64,
) -> Result<(Option<Dtype>, Vec<usize>), Invalid> {
    let (header, _) = header_from(from, available)?;
    let dtype = match header.element {
        Element::Number { dtype, .. } => Some(dtype),
        Element::Bytes(_) | Element::Characters { .. } => None,
    };
    Ok((dtype, header.shape))
}

/// The header, and the bytes that follow it.
fn header_from(from: &mut dyn Read, available: u64) -> Result<(Header, usize), Invalid> {
    let mut start = [0; 8];
    fill(from, &mut start, "the header")?;
    if start[..6] != *MAGIC {
        return Err(Invalid::Malformed(
            "no NumPy array: it does not start with `\\x93NUMPY`".into(),
        ));
    }
    let (major, minor) = (start[6], start[7]);
    let (bytes, prefix) = match major {
        1 => {
            let mut len = [0; 2];
            fill(from, &mut len, "the header")?;
            (u64::from(u16::from_le_bytes(len)), 10)
        }
        2 | 3 => {
            let mut len = [0; 4];
            fill(from, &mut len, "the header")?;
            (u64::from(u32::from_le_bytes(len)), 12)
        }
        _ => {
            let reason = format!("version {major}.{minor} of the format; supported are 1, 2 and 3");
            return Err(Invalid::Unsupported(reason));
        }
    };
    let left = available.saturating_sub(prefix);
    if bytes > left {
        let reason = format!("a header of {bytes} bytes where {left} follow");
        return Err(Invalid::Malformed(reason));
    }
    let mut text = vec![0; bytes as usize];
    fill(from, &mut text, "the header")?;
    // Headers of versions 1 and 2 are Latin-1. All that this program accepts is ASCII.
    let text = String::from_utf8_lossy(&text);
    let header = Header::parse(&text)?;
    let data =
        count(&header.shape).and_then(|n| n.checked_mul(header.element.bytes()?)).ok_or_else(
            || Invalid::Malformed(format!("shape {:?} cannot be addressed", header.shape)),
        )?;
    let left = left - bytes;
    if data as u64 != left {
        let shape = &header.shape;
        let reason = format!("shape {shape:?} takes {data} bytes, {left} follow the header");
        return Err(Invalid::Malformed(reason));
    }
    Ok((header, data))
}

fn fill(from: &mut dyn Read, to: &mut [u8], what: &str) -> Result<(), Invalid> {
    from.read_exact(to).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => Invalid::Malformed(format!("the file ends within {what}")),
        _ => Invalid::Io(e),
    })
}

fn numbers<T: FromBytes + StoredElement>(
    from: &mut dyn Read,
    header: Header,
    bytes: usize,
    swapped: bool,
) -> Result<DenseArray, Invalid> {
    let values = T::read(from, bytes, swapped)?;
    if header.fortran {
        return Ok(DenseArray::from_fortran(header.shape, &values));
    }
    Ok(DenseArray { shape: header.shape, values: T::wrap(values) })
}

/// Elements that can be read from bytes.
trait FromBytes: Plain {
    fn read(from: &mut dyn Read, bytes: usize, swapped: bool) -> Result<Buffer<Self>, Invalid>;
}

macro_rules! from_bytes {
    ($($ty:ty, $number:ty;)*) => {$(
        impl FromBytes for $ty {
            fn read(from: &mut dyn Read, bytes: usize, swapped: bool) -> Result<Buffer<Self>, Invalid> {
                read_plain(from, bytes, swapped.then_some(size_of::<$number>()))
            }
        }
    )*};
}
from_bytes! {
    i8, i8; i16, i16; i32, i32; i64, i64;
    u8, u8; u16, u16; u32, u32; u64, u64;
    f16, f16; bf16, bf16; f32, f32; f64, f64;
    Complex<f32>, f32; Complex<f64>, f64;
}

impl FromBytes for bool {
    fn read(from: &mut dyn Read, bytes: usize, _: bool) -> Result<Buffer<Self>, Invalid> {
        let bytes: Buffer<u8> = read_plain(from, bytes, None)?;
        if let Some(at) = bytes.iter().position(|&b| b > 1) {
            let reason = format!("value {at} is the byte {}, a bool is 0 or 1", bytes[at]);
            return Err(Invalid::Malformed(reason));
        }
        Ok(bytes.iter().map(|&b| b == 1).collect())
    }
}

/// Reads `bytes` bytes, and reverses each group of `swap` bytes.
fn read_plain<T>(
    from: &mut dyn Read,
    bytes: usize,
    swap: Option<usize>,
) -> Result<Buffer<T>, Invalid>
where
    T: AnyBitPattern + Plain,
{
    let mut values = Buffer::<T>::unspecified(bytes / size_of::<T>());
    let raw = bytemuck::cast_slice_mut(values.make_mut());
    fill(from, raw, "its values")?;
    if let Some(swap) = swap {
        raw.chunks_exact_mut(swap).for_each(<[u8]>::reverse);
    }
    Ok(values)
}

/// The text of an array of one element.
fn text_of(header: &Header, bytes: &[u8]) -> Result<String, Invalid> {
    if count(&header.shape) != Some(1) {
        return Err(Invalid::Unsupported("an array of texts, not of numbers".into()));
    }
    let text = match header.element {
        Element::Characters { swapped, .. } => bytes
            .chunks_exact(4)
            .map(|c| {
                let mut c = [c[0], c[1], c[2], c[3]];
                if swapped {
                    c.reverse();
                }
                char::from_u32(u32::from_ne_bytes(c))
            })
            .collect::<Option<String>>(),
        _ => String::from_utf8(bytes.to_vec()).ok(),
    };
    let text = text.ok_or_else(|| Invalid::Malformed("the text is no Unicode".into()))?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// Writes numbers. The caller has checked the shape and the dtype.
pub(super) fn write_array_to(out: &mut dyn Write, array: &DenseArray) -> io::Result<()> {
    let element = Element::Number { dtype: array.values.dtype(), swapped: false };
    write_header(out, &Header { element, fortran: false, shape: array.shape.clone() })?;
    with_dtype!(array.values.dtype(), T => {
        let values = array.values.typed::<T>().map_err(io::Error::other)?;
        out.write_all(bytemuck::cast_slice(values))
    })
}

/// Writes a text, as an array of rank 0.
pub(crate) fn write_text_to(out: &mut dyn Write, text: &str) -> io::Result<()> {
    // NumPy has no texts of length 0.
    let characters: Vec<u32> = text.chars().map(u32::from).collect();
    let characters = if characters.is_empty() { vec![0] } else { characters };
    let element = Element::Characters { len: characters.len(), swapped: false };
    write_header(out, &Header { element, fortran: false, shape: Vec::new() })?;
    out.write_all(bytemuck::cast_slice(&characters))
}

fn write_header(out: &mut dyn Write, header: &Header) -> io::Result<()> {
    let text = header.print();
    // The whole header takes a multiple of 64 bytes and ends with a line end.
    let padded = |prefix: usize| (prefix + text.len() + 1).next_multiple_of(64) - prefix;
    let mut start = MAGIC.to_vec();
    let len = if let Ok(len) = u16::try_from(padded(10)) {
        start.extend([1, 0]);
        start.extend(len.to_le_bytes());
        usize::from(len)
    } else {
        let len = padded(12);
        start.extend([2, 0]);
        start.extend(u32::try_from(len).map_err(io::Error::other)?.to_le_bytes());
        len
    };
    start.extend(text.as_bytes());
    start.resize(start.len() + len - 1 - text.len(), b' ');
    start.push(b'\n');
    out.write_all(&start)
}
