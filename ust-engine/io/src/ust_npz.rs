//! The project's own files, `.ust.npz`: a tensor in any format, without loss.
//!
//! The file is a NumPy archive, which `numpy.load` opens. Its members:
//!
//! | member | content |
//! |---|---|
//! | `version` | 1 |
//! | `format` | the canonical text of the format |
//! | `shape` | extent of each dimension, 64-bit integers |
//! | `dtype` | name of the values' dtype |
//! | `fill` | the fill value, an array of rank 0 |
//! | `values` | the stored values, padding included |
//! | `level0.pos`, `level0.crd`, `level1.pos`, ... | the arrays of each level, under their names |
//!
//! NumPy lacks two types. A bf16 value is stored as its 16 bits, in an unsigned integer (`dtype` says
//! `bf16`). Packed 2-bit indices are stored four to a byte, the first in the lowest bits; a member such
//! as `level1.crd.len` has their number.
//!
//! A sliced view is written as a tensor of its own, in the format without the slices.

use std::path::Path;

use half::bf16;
use ust_engine::tensor::{Parts, Values};
use ust_engine::{Error, Format, Tensor};
use ust_level_api::{Dtype, IndexArray, Packed, Scalar};

use super::npz::{self, Member, Members};
use super::{DenseArray, FileError, ReadOptions};

const VERSION: i64 = 1;

/// Reads a file, whatever its name.
///
/// # Errors
/// [`FileError::Binary`], with the member, if the file has another structure; [`FileError::Tensor`] if
/// the format's text is wrong or the arrays break a rule of the format; [`FileError::Unsupported`] for
/// another version; [`FileError::Io`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Tensor, FileError> {
    let reader = Reader { members: npz::read_members(path, options)?, path };
    reader.tensor()
}

/// Writes a file, whatever its name, whole or not at all.
///
/// # Errors
/// [`FileError::Io`]; [`FileError::Tensor`] when a sliced view cannot be built as a tensor.
pub fn write(path: &Path, tensor: &Tensor) -> Result<(), FileError> {
    let members = members(tensor).map_err(FileError::tensor(path))?;
    npz::write_members(path, &members)
}

fn single(values: impl Into<Values>) -> DenseArray {
    DenseArray { shape: Vec::new(), values: values.into() }
}

/// The members for a tensor.
fn members(tensor: &Tensor) -> Result<Members, Error> {
    if !tensor.view().is_whole() {
        let options =
            ust_engine::tensor::BuildOptions { fill: Some(tensor.fill()), ..Default::default() };
        let format = tensor.format().without_slices();
        return members(&Tensor::from_coo_with(&tensor.to_coo()?, &format, &options)?);
    }
    let mut members = Members::new();
    members.insert("version", single(vec![VERSION]));
    members.insert("format", &tensor.format().to_string()[..]);
    let shape: Result<Vec<i64>, _> = tensor.shape().iter().map(|&n| i64::try_from(n)).collect();
    let shape = shape.map_err(|_| Error::TooLarge(format!("shape {:?}", tensor.shape())))?;
    members.insert("shape", Values::from(shape));
    members.insert("dtype", tensor.dtype().name());
    members.insert("fill", single(to_numpy(Values::filled(tensor.fill(), 1))));
    members.insert("values", to_numpy(tensor.values().clone()));
    for (level, arrays) in tensor.levels().iter().enumerate() {
        let specs = tensor.format().levels()[level].ty.describe().arrays;
        for (spec, array) in specs.iter().zip(&arrays.0) {
            let name = format!("level{level}.{}", spec.name);
            if let IndexArray::U2(packed) = array {
                members.insert(format!("{name}.len"), single(vec![packed.len() as u64]));
            }
            members.insert(name, index_values(array));
        }
    }
    Ok(members)
}

/// Values in a dtype that NumPy knows.
fn to_numpy(values: Values) -> Values {
    match values {
        Values::Bf16(buffer) => buffer.iter().map(|v| v.to_bits()).collect::<Vec<u16>>().into(),
        other => other,
    }
}

fn index_values(array: &IndexArray) -> Values {
    match array.clone() {
        IndexArray::U2(packed) => packed.bytes().clone().into(),
        IndexArray::U8(buffer) => buffer.into(),
        IndexArray::U16(buffer) => buffer.into(),
        IndexArray::U32(buffer) => buffer.into(),
        IndexArray::U64(buffer) => buffer.into(),
        IndexArray::I8(buffer) => buffer.into(),
        IndexArray::I16(buffer) => buffer.into(),
        IndexArray::I32(buffer) => buffer.into(),
        IndexArray::I64(buffer) => buffer.into(),
    }
}

struct Reader<'a> {
    members: Members,
    path: &'a Path,
}

impl Reader<'_> {
    fn tensor(mut self) -> Result<Tensor, FileError> {
        match self.number("version")?.cast(Dtype::I64) {
            Ok(Scalar::I64(VERSION)) => {}
            _ => {
                let reason = "another version of the format than 1: read it with a newer program";
                return Err(FileError::unsupported(self.path, reason));
            }
        }
        let text = self.text("format")?;
        let format: Format =
            text.parse().map_err(|e| FileError::tensor(self.path)(Error::Format(e)))?;
        let shape = self.shape()?;
        let dtype = self.text("dtype")?;
        let dtype: Dtype = dtype.parse().map_err(|e| self.invalid("dtype", format!("{e}")))?;
        let fill = self.values("fill", 0, dtype)?.get(0);
        let values = self.values("values", 1, dtype)?;
        let mut levels = Vec::new();
        for (level, spec) in format.levels().iter().enumerate() {
            let arrays = spec.ty.describe().arrays;
            let arrays =
                arrays.iter().map(|array| self.indices(&format!("level{level}.{}", array.name)));
            levels.push(arrays.collect::<Result<Vec<_>, _>>()?);
        }
        if let Some((name, _)) = self.members.iter().next() {
            return Err(self.invalid(name, "the format has no place for this member"));
        }
        let parts = Parts { levels, values, fill };
        Tensor::from_parts(&format, &shape, parts).map_err(FileError::tensor(self.path))
    }

    fn invalid(&self, member: &str, reason: impl Into<String>) -> FileError {
        let (path, member) = (self.path.to_owned(), Some(member.to_owned()));
        FileError::Binary { path, member, reason: reason.into() }
    }

    fn text(&mut self, name: &str) -> Result<String, FileError> {
        match self.members.remove(name) {
            Some(Member::Text(text)) => Ok(text),
            Some(Member::Array(_)) => Err(self.invalid(name, "a text was expected")),
            None => Err(self.invalid(name, "the archive lacks this member")),
        }
    }

    fn array(&mut self, name: &str, rank: usize) -> Result<Values, FileError> {
        match self.members.remove(name) {
            Some(Member::Array(array)) if array.shape.len() == rank => Ok(array.values),
            Some(_) => Err(self.invalid(name, format!("an array of rank {rank} was expected"))),
            None => Err(self.invalid(name, "the archive lacks this member")),
        }
    }

    /// The value of an array of rank 0.
    fn number(&mut self, name: &str) -> Result<Scalar, FileError> {
        let values = self.array(name, 0)?;
        values.get(0).ok_or_else(|| self.invalid(name, "a number was expected"))
    }

    fn shape(&mut self) -> Result<Vec<usize>, FileError> {
        let sizes = self.array("shape", 1)?;
        let size = |scalar: Scalar| match scalar {
            Scalar::I64(size) => usize::try_from(size).ok(),
            _ => None,
        };
        let shape: Option<Vec<usize>> = sizes.iter().map(size).collect();
        shape.ok_or_else(|| self.invalid("shape", "sizes from 0 in 64-bit integers were expected"))
    }

    /// Values, which must have the dtype that the file names.
    fn values(&mut self, name: &str, rank: usize, dtype: Dtype) -> Result<Values, FileError> {
        let values = match (self.array(name, rank)?, dtype) {
            (Values::U16(bits), Dtype::Bf16) => {
                bits.iter().map(|&b| bf16::from_bits(b)).collect::<Vec<_>>().into()
            }
            (values, _) => values,
        };
        if values.dtype() != dtype {
            let found = values.dtype();
            return Err(self.invalid(name, format!("{found} values, where `dtype` says {dtype}")));
        }
        Ok(values)
    }

    /// An array of a level.
    fn indices(&mut self, name: &str) -> Result<IndexArray, FileError> {
        let length = format!("{name}.len");
        if self.members.get(&length).is_some() {
            let len = match self.number(&length)? {
                Scalar::U64(len) => usize::try_from(len).ok(),
                _ => None,
            };
            let packed = match (self.array(name, 1)?, len) {
                (Values::U8(bytes), Some(len)) => Packed::new(bytes, len),
                _ => None,
            };
            return packed.map(IndexArray::U2).ok_or_else(|| {
                self.invalid(name, "packed bytes were expected, one for four indices")
            });
        }
        let values = self.array(name, 1)?;
        npz::index_array(values)
            .map_err(|found| self.invalid(name, format!("integers were expected, not {found}")))
    }
}
