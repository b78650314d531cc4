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
//! | `values` | the stored values, padding included; one, if it stands for all of them |
//! | `iso` | if one value stands for all: the number of stored values, an array of rank 0 |
//! | `level0.pos`, `level0.crd`, `level1.pos`, ... | the arrays of each level, under their names |
//!
//! NumPy lacks two types. A bf16 value is stored as its 16 bits, in an unsigned integer (`dtype` says
//! `bf16`). Packed 2-bit indices are stored four to a byte, the first in the lowest bits; a member such
//! as `level1.crd.len` has their number.
//!
//! A sliced view is written as a tensor of its own, in the format without the slices.
//!
//! A composed tensor has `version` 2, the number of its `parts`, and for each part the members from `format` on, under
//! names such as `part0.format` and `part1.level0.crd`.

use std::path::Path;

use half::bf16;
use ust_engine::tensor::{Parts, Values};
use ust_engine::{Composed, Error, Format, Tensor};
use ust_level_api::{Dtype, IndexArray, Packed, Scalar};

use super::npz::{self, Member, Members};
use super::{DenseArray, FileError, ReadOptions};

const VERSION: i64 = 1;
/// The version of composed tensors.
const COMPOSED: i64 = 2;
/// The most parts.
const MAX_PARTS: u64 = 1 << 10;

/// Reads a file, whatever its name. A composed tensor is converted to [one format](Composed::own_format).
///
/// # Errors
/// [`FileError::Binary`], with the member, if the file has another structure; [`FileError::Tensor`] if
/// the format's text is wrong or the arrays break a rule of the format; [`FileError::Unsupported`] for
/// another version; [`FileError::Io`].
pub fn read(path: &Path, options: &ReadOptions) -> Result<Tensor, FileError> {
    let composed = read_composed(path, options)?;
    match composed.parts() {
        [one] => Ok(one.clone()),
        _ => composed
            .own_format()
            .and_then(|format| composed.convert(&format))
            .map_err(FileError::tensor(path)),
    }
}

/// Reads a file, whatever its name, as a composed tensor: of one part, if it holds a tensor in one format.
///
/// # Errors
/// As [`read`], and [`FileError::Tensor`] if two parts store the same element.
pub fn read_composed(path: &Path, options: &ReadOptions) -> Result<Composed, FileError> {
    let members = npz::read_members(path, options)?;
    Reader { members, path, prefix: String::new(), limit: options.limit() }.all()
}

/// Writes a composed tensor to a file, whatever its name, whole or not at all.
///
/// # Errors
/// As [`write()`].
pub fn write_composed(path: &Path, composed: &Composed) -> Result<(), FileError> {
    if let [one] = composed.parts() {
        return write(path, one);
    }
    let mut all = Members::new();
    all.insert("version", single(vec![COMPOSED]));
    all.insert("parts", single(vec![composed.parts().len() as u64]));
    for (at, part) in composed.parts().iter().enumerate() {
        for (name, member) in members(part).map_err(FileError::tensor(path))?.into_vec() {
            if name != "version" {
                all.insert(format!("part{at}.{name}"), member);
            }
        }
    }
    npz::write_members(path, &all)
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
    if !tensor.view().shows_all() {
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
    let values = match tensor.iso_value() {
        Some(value) => {
            members.insert("iso", single(vec![tensor.nse() as u64]));
            Values::filled(value, 1)
        }
        None => tensor.values().clone(),
    };
    members.insert("values", to_numpy(values));
    for (dim, spec) in tensor.format().dims().iter().enumerate() {
        if let Some(order) = tensor.order(dim) {
            members.insert(format!("order.{}", spec.name), index_values(order));
        }
    }
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
    /// What the names of members begin with.
    prefix: String,
    /// Bytes that the values may take.
    limit: u64,
}

impl Reader<'_> {
    fn all(mut self) -> Result<Composed, FileError> {
        let parts = match self.number("version")?.cast(Dtype::I64) {
            Ok(Scalar::I64(VERSION)) => vec![self.tensor()?],
            Ok(Scalar::I64(COMPOSED)) => {
                let Scalar::U64(count @ 1..=MAX_PARTS) = self.number("parts")? else {
                    return Err(
                        self.invalid("parts", "a 64-bit number from 1 to 1024 was expected")
                    );
                };
                let part = |at: u64| {
                    self.prefix = format!("part{at}.");
                    self.tensor()
                };
                (0..count).map(part).collect::<Result<_, _>>()?
            }
            _ => {
                let reason =
                    "another version of the format than 1 and 2: read it with a newer program";
                return Err(FileError::unsupported(self.path, reason));
            }
        };
        self.prefix.clear();
        if let Some((name, _)) = self.members.iter().next() {
            return Err(self.invalid(name, "the format has no place for this member"));
        }
        match <[Tensor; 1]>::try_from(parts) {
            Ok([one]) => Ok(one.into()),
            Err(parts) => Composed::from_parts(parts).map_err(FileError::tensor(self.path)),
        }
    }

    fn tensor(&mut self) -> Result<Tensor, FileError> {
        let text = self.text("format")?;
        let format: Format =
            text.parse().map_err(|e| FileError::tensor(self.path)(Error::Format(e)))?;
        let shape = self.shape()?;
        let dtype = self.text("dtype")?;
        let dtype: Dtype = dtype.parse().map_err(|e| self.invalid("dtype", format!("{e}")))?;
        let fill = self.values("fill", 0, dtype)?.get(0);
        let values = self.values("values", 1, dtype)?;
        let values = if self.has("iso") { self.for_all(&values)? } else { values };
        let mut levels = Vec::new();
        for (level, spec) in format.levels().iter().enumerate() {
            let arrays = spec.ty.describe().arrays;
            let arrays =
                arrays.iter().map(|array| self.indices(&format!("level{level}.{}", array.name)));
            levels.push(arrays.collect::<Result<Vec<_>, _>>()?);
        }
        let sorted = format.dims().iter().filter(|dim| dim.sorted.is_some());
        let orders = sorted.map(|dim| self.indices(&format!("order.{}", dim.name)));
        let orders = orders.collect::<Result<Vec<_>, _>>()?;
        let mut left = self.members.iter().filter_map(|(name, _)| name.strip_prefix(&*self.prefix));
        if let Some(name) = left.next() {
            return Err(self.invalid(name, "the format has no place for this member"));
        }
        let parts = Parts { levels, orders, values, fill };
        Tensor::from_parts(&format, &shape, parts).map_err(FileError::tensor(self.path))
    }

    fn invalid(&self, member: &str, reason: impl Into<String>) -> FileError {
        let (path, member) = (self.path.to_owned(), Some(format!("{}{member}", self.prefix)));
        FileError::Binary { path, member, reason: reason.into() }
    }

    /// One value, for as many stored values as the file says.
    fn for_all(&mut self, values: &Values) -> Result<Values, FileError> {
        let (Scalar::U64(count), 1) = (self.number("iso")?, values.len()) else {
            return Err(self.invalid("iso", "a 64-bit number was expected, and one value for all"));
        };
        // Whoever looks at all of them makes them.
        let bytes = count.checked_mul(values.dtype().bytes() as u64);
        let count = usize::try_from(count).ok().filter(|_| bytes.is_some_and(|b| b <= self.limit));
        match (count, values.get(0)) {
            (Some(count), Some(value)) => Ok(Values::iso(value, count)),
            _ => Err(self.invalid("iso", "more values than the memory limit allows")),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.members.get(&format!("{}{name}", self.prefix)).is_some()
    }

    fn member(&mut self, name: &str) -> Option<Member> {
        self.members.remove(&format!("{}{name}", self.prefix))
    }

    fn text(&mut self, name: &str) -> Result<String, FileError> {
        match self.member(name) {
            Some(Member::Text(text)) => Ok(text),
            Some(Member::Array(_)) => Err(self.invalid(name, "a text was expected")),
            None => Err(self.invalid(name, "the archive lacks this member")),
        }
    }

    fn array(&mut self, name: &str, rank: usize) -> Result<Values, FileError> {
        match self.member(name) {
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
        if self.has(&length) {
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
