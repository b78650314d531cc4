//! What matrices of all crates have in common: compressed rows or columns, with indices of some type.

use ust_format::Format;
use ust_level_api::buffer::Plain;
use ust_level_api::{IndexArray, IndexKind};

use crate::error::Error;
use crate::storage::values::StoredElement;
use crate::storage::{Parts, Tensor};

/// Integers that are indices of matrices: `usize`, and integers of 8 to 64 bits.
pub trait Index: Plain + private::Sealed {
    /// How UST calls them.
    const KIND: IndexKind;
    /// An array of them, without a copy.
    #[doc(hidden)]
    fn array(indices: Vec<Self>) -> IndexArray;
    /// The indices of an array of this kind.
    #[doc(hidden)]
    fn slice(array: &IndexArray) -> Option<&[Self]>;
    /// The indices of an array of this kind; without a copy, if it is an unshared vector.
    #[doc(hidden)]
    fn vec(array: IndexArray) -> Option<Vec<Self>>;
}

mod private {
    pub trait Sealed {}
}

macro_rules! indices {
    ($($variant:ident($ty:ty)),*) => {$(
        impl private::Sealed for $ty {}
        impl Index for $ty {
            const KIND: IndexKind = IndexKind::$variant;
            fn array(indices: Vec<Self>) -> IndexArray {
                indices.into()
            }
            fn slice(array: &IndexArray) -> Option<&[Self]> {
                match array {
                    IndexArray::$variant(indices) => Some(indices),
                    _ => None,
                }
            }
            fn vec(array: IndexArray) -> Option<Vec<Self>> {
                match array {
                    IndexArray::$variant(indices) => Some(indices.into_vec()),
                    _ => None,
                }
            }
        }
    )*};
}
indices!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64));

/// The integer that has as many bits as a `usize`.
#[cfg(target_pointer_width = "64")]
type Word = u64;
#[cfg(not(target_pointer_width = "64"))]
type Word = u32;

impl private::Sealed for usize {}
impl Index for usize {
    const KIND: IndexKind = Word::KIND;
    fn array(indices: Vec<Self>) -> IndexArray {
        indices.into()
    }
    fn slice(array: &IndexArray) -> Option<&[Self]> {
        Word::slice(array).map(bytemuck::cast_slice)
    }
    fn vec(array: IndexArray) -> Option<Vec<Self>> {
        Word::vec(array).map(bytemuck::cast_vec)
    }
}

/// Compressed rows.
pub(super) fn rows() -> Result<Format, Error> {
    Ok(Format::resolve("CSR", Some(2))?)
}

/// Compressed columns.
pub(super) fn columns() -> Result<Format, Error> {
    Ok(Format::resolve("CSC", Some(2))?)
}

/// The arrays of a compressed matrix: positions where the entries of each row or column begin, their columns or rows,
/// and their values. Of a vector: two positions, coordinates, values.
pub(super) type Vectors<P, I, T> = (Vec<P>, Vec<I>, Vec<T>);
/// These arrays, lent.
pub(super) type Slices<'a, P, I, T> = (&'a [P], &'a [I], &'a [T]);

/// The extents of a tensor with so many dimensions.
pub(super) fn extents<const N: usize>(tensor: &Tensor) -> Result<[usize; N], Error> {
    <[usize; N]>::try_from(tensor.shape()).map_err(|_| Error::Shape {
        found: tensor.shape().to_vec(),
        expected: format!("what is asked for has {N} dimensions"),
    })
}

/// Refuses values of another type, and elements that are not stored and not zero.
pub(super) fn expect<T: StoredElement>(tensor: &Tensor) -> Result<(), Error> {
    tensor.values().expect::<T>()?;
    match tensor.fill().same(&T::ZERO.scalar()) {
        true => Ok(()),
        false => Err(Error::Unsupported(format!(
            "elements that are not stored are {}, and have to be zero in what is asked for",
            tensor.fill()
        ))),
    }
}

/// A tensor of compressed arrays in a format whose last level has them.
pub(super) fn tensor<P: Index, I: Index, T: StoredElement>(
    format: &Format,
    shape: &[usize],
    (pos, crd, values): Vectors<P, I, T>,
) -> Result<Tensor, Error> {
    let mut levels = vec![Vec::new(); format.level_count()];
    let last = levels.last_mut().expect("a format of vectors or matrices");
    *last = vec![P::array(pos), I::array(crd)];
    Tensor::from_parts(format, shape, Parts::new(levels, T::wrap(values.into())))
}

/// The arrays of a tensor in such a format, whatever format it has now.
pub(super) fn vectors<P: Index, I: Index, T: StoredElement>(
    format: &Format,
    tensor: Tensor,
) -> Result<Vectors<P, I, T>, Error> {
    expect::<T>(&tensor)?;
    let stored = match is_stored_as(&tensor, format) {
        true => tensor,
        false => tensor.convert(&format.with_widths(P::KIND.bits(), I::KIND.bits())?)?,
    };
    stored.fetch()?;
    let (_, _, mut parts) = stored.into_parts();
    let arrays = parts.levels.pop().and_then(|arrays| <[IndexArray; 2]>::try_from(arrays).ok());
    let Some([pos, crd]) = arrays else { return Err(without_arrays()) };
    let values = T::buffer_mut(&mut parts.values).map(std::mem::take).ok_or_else(without_arrays)?;
    Ok((in_kind(pos)?, in_kind(crd)?, values.into_vec()))
}

/// The arrays of a tensor, lent, if it is in such a format and indices have these types.
pub(super) fn slices<'a, P: Index, I: Index, T: StoredElement>(
    format: &Format,
    tensor: &'a Tensor,
) -> Result<Slices<'a, P, I, T>, Error> {
    let ([pos, crd], values) = arrays::<T>(format, tensor)?;
    Ok((lent(pos)?, lent(crd)?, values))
}

/// The arrays of a tensor in such a format.
pub(super) fn arrays<'a, T: StoredElement>(
    format: &Format,
    tensor: &'a Tensor,
) -> Result<([&'a IndexArray; 2], &'a [T]), Error> {
    expect::<T>(tensor)?;
    if !is_stored_as(tensor, format) {
        return Err(Error::Unsupported(format!(
            "a tensor in the format `{}` has no arrays of `{format}` to lend: convert it first",
            tensor.format()
        )));
    }
    tensor.fetch()?;
    let Some([pos, crd]) = tensor.levels().last().map(|level| &level.0[..]) else {
        return Err(without_arrays());
    };
    Ok(([pos, crd], tensor.values().typed::<T>()?))
}

/// The coordinates of all entries, a column for each dimension, and their values.
pub(super) fn entries<T: StoredElement, const N: usize>(
    tensor: &Tensor,
) -> Result<([Vec<i64>; N], Vec<T>), Error> {
    expect::<T>(tensor)?;
    extents::<N>(tensor)?;
    let mut coo = tensor.to_coo()?;
    let values = T::buffer_mut(&mut coo.values).map(std::mem::take).ok_or_else(without_arrays)?;
    let columns = <[Vec<i64>; N]>::try_from(coo.crd).map_err(|_| without_arrays())?;
    Ok((columns, values.into_vec()))
}

/// Whether the levels of a tensor are those of a format, whatever the widths of indices are.
fn is_stored_as(tensor: &Tensor, format: &Format) -> bool {
    let plain = tensor.format().with_widths(0, 0);
    tensor.view().shows_all() && plain.is_ok_and(|plain| plain == *format)
}

fn in_kind<I: Index>(array: IndexArray) -> Result<Vec<I>, Error> {
    let found = match array.kind() == I::KIND {
        // Not shared with the array that it was.
        true => Some(array),
        false => array.in_kind(I::KIND),
    };
    found.and_then(I::vec).ok_or_else(|| {
        Error::TooLarge(format!("a matrix or vector whose indices {} does not hold", I::KIND))
    })
}

pub(super) fn lent<I: Index>(array: &IndexArray) -> Result<&[I], Error> {
    I::slice(array).ok_or_else(|| {
        Error::Parts(format!(
            "indices are stored as {}, and {} are asked for: an owned matrix or vector may have them",
            array.kind(),
            I::KIND
        ))
    })
}

fn without_arrays() -> Error {
    Error::Parts("a compressed level without its two arrays".to_owned())
}

/// A full matrix of its elements, column by column, without a copy.
#[cfg(any(feature = "faer", feature = "nalgebra-sparse"))]
pub(super) fn of_columns<T: StoredElement>(
    [rows, columns]: [usize; 2],
    elements: Vec<T>,
) -> Result<Tensor, Error> {
    Ok(Tensor::full(&[columns, rows], T::wrap(elements.into()))?.transpose())
}

/// All elements of a matrix, column by column.
#[cfg(any(feature = "faer", feature = "nalgebra-sparse"))]
pub(super) fn by_columns<T: StoredElement>(tensor: &Tensor) -> Result<([usize; 2], Vec<T>), Error> {
    let shape = extents(tensor)?;
    Ok((shape, tensor.transpose().to_dense::<T>()?.into_raw_vec_and_offset().0))
}
