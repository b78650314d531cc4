//! Arrays of positions and coordinates, 2 to 64 bits wide, signed or not.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use num_traits::{AsPrimitive, ToPrimitive, WrappingSub};

use bytemuck::Zeroable;

use crate::buffer::{FetchError, Plain};
use crate::column::{BLOCK, IndexColumn, chunk_len, expanded, in_blocks};
use crate::{Buffer, Elsewhere, parallel};

mod change;

/// How an index is stored: bits and sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// Four to a byte, the first in the lowest bits (NVIDIA's order of 2:4 metadata).
    U2,
    /// Unsigned, one byte.
    U8,
    /// Unsigned, two bytes.
    U16,
    /// Unsigned, four bytes.
    U32,
    /// Unsigned, eight bytes.
    U64,
    /// Signed, one byte.
    I8,
    /// Signed, two bytes.
    I16,
    /// Signed, four bytes.
    I32,
    /// Signed, eight bytes.
    I64,
}

impl IndexKind {
    /// The kind with this number of bits (2, 8, 16, 32, 64). `None` for other numbers, and for
    /// signed 2-bit indices.
    #[must_use]
    pub fn new(bits: u32, signed: bool) -> Option<Self> {
        Some(match (bits, signed) {
            (2, false) => Self::U2,
            (8, false) => Self::U8,
            (16, false) => Self::U16,
            (32, false) => Self::U32,
            (64, false) => Self::U64,
            (8, true) => Self::I8,
            (16, true) => Self::I16,
            (32, true) => Self::I32,
            (64, true) => Self::I64,
            _ => return None,
        })
    }

    /// Bits of one index.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::U2 => 2,
            Self::U8 | Self::I8 => 8,
            Self::U16 | Self::I16 => 16,
            Self::U32 | Self::I32 => 32,
            Self::U64 | Self::I64 => 64,
        }
    }

    /// Whether the kind has negative numbers.
    #[must_use]
    pub fn signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// The smallest and the largest index of this kind (that fit an `i64`).
    #[must_use]
    pub fn range(self) -> (i64, i64) {
        match self {
            Self::U64 => (0, i64::MAX),
            _ if self.signed() => (i64::MIN >> (64 - self.bits()), i64::MAX >> (64 - self.bits())),
            _ => (0, (1_i64 << self.bits()) - 1),
        }
    }

    /// Whether the kind has this index.
    #[must_use]
    pub fn holds(self, index: i64) -> bool {
        let (lo, hi) = self.range();
        (lo..=hi).contains(&index)
    }

    /// Bytes of `len` indices, which exist.
    #[must_use]
    pub fn bytes(self, len: usize) -> usize {
        self.checked_bytes(len).expect("indices that exist can be addressed")
    }

    /// Bytes of `len` indices. `None` if they are more than can be addressed.
    #[must_use]
    pub fn checked_bytes(self, len: usize) -> Option<usize> {
        match self {
            Self::U2 => Some(len.div_ceil(4)),
            _ => len.checked_mul(self.bits() as usize / 8),
        }
    }
}

impl fmt::Display for IndexKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.signed() { 'i' } else { 'u' }, self.bits())
    }
}

/// An array of positions or coordinates. Indices are read and written as `i64`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum IndexArray {
    /// Packed, four to a byte.
    U2(Packed),
    /// Unsigned, one byte.
    U8(Buffer<u8>),
    /// Unsigned, two bytes.
    U16(Buffer<u16>),
    /// Unsigned, four bytes.
    U32(Buffer<u32>),
    /// Unsigned, eight bytes. Checks of foreign arrays refuse values above `i64::MAX`.
    U64(Buffer<u64>),
    /// Signed, one byte.
    I8(Buffer<i8>),
    /// Signed, two bytes.
    I16(Buffer<i16>),
    /// Signed, four bytes.
    I32(Buffer<i32>),
    /// Signed, eight bytes.
    I64(Buffer<i64>),
}

/// Evaluates an expression over an [`IndexArray`]: the first with `$slice` bound to the typed
/// slice, the second for a packed array.
#[macro_export]
macro_rules! with_indices {
    ($array:expr, $slice:ident => $body:expr, packed($two_bits:ident) => $packed:expr) => {
        match $array {
            $crate::IndexArray::U2($two_bits) => $packed,
            $crate::IndexArray::U8($slice) => $body,
            $crate::IndexArray::U16($slice) => $body,
            $crate::IndexArray::U32($slice) => $body,
            $crate::IndexArray::U64($slice) => $body,
            $crate::IndexArray::I8($slice) => $body,
            $crate::IndexArray::I16($slice) => $body,
            $crate::IndexArray::I32($slice) => $body,
            $crate::IndexArray::I64($slice) => $body,
        }
    };
}

/// Two-bit indices, four to a byte, the first in the lowest bits.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "crate::serde::Bits")
)]
pub struct Packed {
    bytes: Buffer<u8>,
    len: usize,
}

impl Packed {
    /// `len` indices. `None` unless the number of bytes is the number that they need.
    #[must_use]
    pub fn new(bytes: impl Into<Buffer<u8>>, len: usize) -> Option<Self> {
        let bytes = bytes.into();
        (bytes.len() == len.div_ceil(4)).then_some(Self { bytes, len })
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &Buffer<u8> {
        &self.bytes
    }

    /// Number of indices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The index at `at`; beyond the end, `None`.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<i64> {
        (at < self.len).then(|| i64::from(self.bytes[at / 4] >> (at % 4 * 2) & 3))
    }
}

/// An index that does not fit the width of its array.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{array}: the value {value} does not fit {kind}; choose a wider {width} (8, 16, 32, 64, or 0 for the default)"
)]
pub struct WidthError {
    /// Name of the array.
    pub array: String,
    /// The value.
    pub value: i128,
    /// The element kind, such as `u8`.
    pub kind: String,
    /// The format attribute to change: `posWidth` or `crdWidth`.
    pub width: &'static str,
}

crate::debug_shows_message!(WidthError);

/// Why a column is not stored as an array.
#[derive(thiserror::Error)]
pub enum StoreError {
    /// A number does not fit.
    #[error(transparent)]
    Width(#[from] WidthError),
    /// Numbers that are elsewhere cannot be fetched.
    #[error(transparent)]
    Unfetched(#[from] FetchError),
}

crate::debug_shows_message!(StoreError);

impl IndexArray {
    /// Stores indices in the given kind. Cost: O(length).
    ///
    /// # Errors
    /// [`WidthError`] if an index does not fit. It names `array` and `attribute` (`posWidth`,
    /// `crdWidth`).
    pub fn store(
        kind: IndexKind,
        indices: &[i64],
        array: &str,
        attribute: &'static str,
    ) -> Result<Self, WidthError> {
        if let Some(&value) = indices.iter().find(|&&v| !kind.holds(v)) {
            return Err(WidthError {
                array: array.to_owned(),
                value: value.into(),
                kind: kind.to_string(),
                width: attribute,
            });
        }
        macro_rules! narrow {
            ($($variant:ident($ty:ty)),*) => {
                match kind {
                    IndexKind::U2 => {
                        let mut bytes = Buffer::<u8>::zeroed(indices.len().div_ceil(4));
                        let packed = bytes.make_mut();
                        for (at, &index) in indices.iter().enumerate() {
                            packed[at / 4] |= (index as u8) << (at % 4 * 2);
                        }
                        IndexArray::U2(Packed { bytes, len: indices.len() })
                    }
                    $(IndexKind::$variant => {
                        let mut stored = Buffer::<$ty>::unspecified(indices.len());
                        for (to, &from) in stored.make_mut().iter_mut().zip(indices) {
                            *to = from as $ty;
                        }
                        IndexArray::$variant(stored)
                    })*
                }
            };
        }
        Ok(narrow!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64)))
    }

    /// Stores a column in the given kind, without a copy if the column already has it. Parallel.
    /// Cost: O(length).
    ///
    /// # Errors
    /// As [`IndexArray::store`], and why numbers that are elsewhere cannot be fetched.
    pub fn store_column(
        kind: IndexKind,
        column: &IndexColumn,
        array: &str,
        attribute: &'static str,
    ) -> Result<Self, StoreError> {
        match (kind, column) {
            (IndexKind::U32, IndexColumn::U32(words)) => return Ok(Self::U32(words.clone())),
            (IndexKind::U32, IndexColumn::Runs(starts)) => return Ok(Self::U32(expanded(starts))),
            (IndexKind::I32, IndexColumn::I32(words)) => return Ok(Self::I32(words.clone())),
            (IndexKind::I64, IndexColumn::I64(words)) => return Ok(Self::I64(words.clone())),
            _ => {}
        }
        let (lo, hi) = column.extremes()?.unwrap_or((0, 0));
        let fits = kind.holds(lo) && kind.holds(hi);
        if let Some(place) = column.place().filter(|_| fits)
            && let Some(stored) = place.stored(column, kind)
        {
            return Ok(stored);
        }
        column.fetch()?;
        if !fits {
            // This finds the first index that does not fit.
            return Ok(Self::store(kind, &column.to_vec(), array, attribute)?);
        }
        macro_rules! narrow {
            ($($variant:ident($ty:ty)),*) => {
                match kind {
                    IndexKind::U2 => Self::store(kind, &column.to_vec(), array, attribute)?,
                    $(IndexKind::$variant => match column {
                        IndexColumn::U32(words) => cast::<u32, $ty>(words).into(),
                        IndexColumn::I32(words) => cast::<i32, $ty>(words).into(),
                        IndexColumn::I64(words) => cast::<i64, $ty>(words).into(),
                        _ => {
                            let read = |at: usize, out: &mut [i64]| column.read(at, out);
                            in_blocks(column.len(), &read, |v| v as $ty).into()
                        }
                    },)*
                }
            };
        }
        Ok(narrow!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64)))
    }

    /// An empty array of a kind.
    #[must_use]
    pub fn empty(kind: IndexKind) -> Self {
        Self::store(kind, &[], "", "").expect("no index, none that does not fit")
    }

    /// The kind of its indices.
    #[must_use]
    pub fn kind(&self) -> IndexKind {
        match self {
            Self::U2(..) => IndexKind::U2,
            Self::U8(_) => IndexKind::U8,
            Self::U16(_) => IndexKind::U16,
            Self::U32(_) => IndexKind::U32,
            Self::U64(_) => IndexKind::U64,
            Self::I8(_) => IndexKind::I8,
            Self::I16(_) => IndexKind::I16,
            Self::I32(_) => IndexKind::I32,
            Self::I64(_) => IndexKind::I64,
        }
    }

    /// Number of indices.
    #[must_use]
    pub fn len(&self) -> usize {
        with_indices!(self, s => s.len(), packed(p) => p.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where the indices are that were not fetched yet. `None` if they are here.
    #[must_use]
    pub fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        with_indices!(self, indices => indices.place(), packed(bits) => bits.bytes().place())
    }

    /// Bytes of memory that the indices take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.kind().bytes(self.len())
    }

    /// Whether a look at the indices fetches nothing, see [`Buffer::deferred`].
    #[must_use]
    pub fn is_here(&self) -> bool {
        with_indices!(self, indices => indices.is_here(), packed(bits) => bits.bytes().is_here())
    }

    /// Fetches the indices, if they are elsewhere: see [`Buffer::fetch`].
    ///
    /// # Errors
    /// Why they cannot be fetched.
    pub fn fetch(&self) -> Result<(), FetchError> {
        with_indices!(self, indices => indices.fetch(), packed(bits) => bits.bytes().fetch())
    }

    /// The index at `at`. `None` beyond the end, or if it is above `i64::MAX`.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<i64> {
        with_indices!(
            self,
            s => s.get(at).and_then(ToPrimitive::to_i64),
            packed(p) => p.get(at)
        )
    }

    /// A copy of all indices as `i64`. An unsigned value above `i64::MAX` wraps to a negative one,
    /// which no level accepts as a position.
    #[must_use]
    pub fn to_vec(&self) -> Vec<i64> {
        with_indices!(
            self,
            s => s.iter().map(|v| v.as_()).collect(),
            packed(p) => (0..p.len()).filter_map(|at| p.get(at)).collect()
        )
    }

    /// Copies the indices from `first` on to `out`, as [`IndexArray::to_vec`] gives them.
    ///
    /// # Panics
    /// If `first` is beyond the end.
    pub fn read(&self, first: usize, out: &mut [i64]) {
        with_indices!(
            self,
            s => out.iter_mut().zip(&s[first..]).for_each(|(to, from)| *to = from.as_()),
            packed(p) => {
                for (to, at) in out.iter_mut().zip(first..) {
                    *to = p.get(at).unwrap_or(0);
                }
            }
        );
    }

    /// The same indices in another kind. `None` where it does not hold all of them. Parallel. Cost:
    /// O(length), and nothing for the same kind.
    #[must_use]
    pub fn in_kind(&self, kind: IndexKind) -> Option<Self> {
        if self.kind() == kind {
            return Some(self.clone());
        }
        let len = self.len();
        let fits = |block: usize| {
            let mut indices = [0; BLOCK];
            let indices = &mut indices[..BLOCK.min(len - block * BLOCK)];
            self.read(block * BLOCK, indices);
            indices.iter().fold(true, |fits, &index| fits & kind.holds(index))
        };
        let (lo, hi) = self.kind().range();
        let holds_all = kind.holds(lo) && kind.holds(hi);
        if !holds_all && !parallel::every(len.div_ceil(BLOCK), 64, &fits) {
            return None;
        }
        Some(self.truncated(kind))
    }

    /// The low bits of each index in another kind: for arrays with elements that nobody reads, which need not fit.
    /// Parallel. Cost: O(length), and nothing for the same kind.
    #[must_use]
    pub fn truncated(&self, kind: IndexKind) -> Self {
        if self.kind() == kind {
            return self.clone();
        }
        macro_rules! stored {
            ($($variant:ident($ty:ty)),*) => {
                match kind {
                    IndexKind::U2 => {
                        let low: Vec<i64> = self.to_vec().iter().map(|index| index & 3).collect();
                        Self::store(kind, &low, "", "").expect("two bits each")
                    }
                    $(IndexKind::$variant => with_indices!(
                        self,
                        words => cast::<_, $ty>(words).into(),
                        packed(words) => {
                            let read = |at: usize, out: &mut [i64]| self.read(at, out);
                            in_blocks(words.len(), &read, |v| v as $ty).into()
                        }
                    ),)*
                }
            };
        }
        stored!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64))
    }

    /// The indices in an interval, each less `less`. `None` if the array is packed. Cost: O(1) if `less` is 0, which
    /// takes no copy; else O(length of the interval).
    ///
    /// ```
    /// use ust_ir::IndexArray;
    /// let pos = IndexArray::from(vec![0_u32, 2, 2, 5, 9]);
    /// assert_eq!(pos.part(1..4, 2).unwrap().to_vec(), [0, 0, 3]);
    /// ```
    ///
    /// # Panics
    /// If the interval reaches beyond the array.
    #[must_use]
    pub fn part(&self, range: Range<usize>, less: i64) -> Option<Self> {
        with_indices!(
            self,
            s => Some(match less {
                0 => s.part(range).into(),
                _ => s[range].iter().map(|v| v.wrapping_sub(&less.as_())).collect::<Vec<_>>().into(),
            }),
            packed(_p) => None
        )
    }

    /// The largest index, or `None` if the array is empty.
    #[must_use]
    pub fn max(&self) -> Option<i64> {
        self.to_vec().into_iter().max()
    }
}

/// The same numbers as words of another type, which holds them. Parallel.
fn cast<F, T>(words: &[F]) -> Buffer<T>
where
    F: AsPrimitive<T> + Sync,
    T: Plain + Zeroable,
{
    let mut made = Buffer::<T>::unspecified(words.len());
    let chunk = chunk_len(words.len());
    parallel::chunks(made.make_mut(), chunk, |number, out| {
        let words = &words[number * chunk..];
        out.iter_mut().zip(words).for_each(|(to, from)| *to = from.as_());
    });
    made
}

macro_rules! from_buffers {
    ($($variant:ident($ty:ty)),*) => {$(
        impl From<Buffer<$ty>> for IndexArray {
            fn from(buffer: Buffer<$ty>) -> Self { Self::$variant(buffer) }
        }
        impl From<Vec<$ty>> for IndexArray {
            fn from(vec: Vec<$ty>) -> Self { Self::$variant(vec.into()) }
        }
    )*};
}
from_buffers!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64));

impl From<Vec<usize>> for IndexArray {
    /// Of as many bits as a `usize` has. Cost: O(1) where these are 64.
    fn from(vec: Vec<usize>) -> Self {
        match bytemuck::try_cast_vec::<usize, u64>(vec) {
            Ok(vec) => vec.into(),
            Err((_, vec)) => vec.into_iter().map(|index| index as u64).collect::<Vec<_>>().into(),
        }
    }
}

/// Borrowed indices are copied.
impl<T: Plain> From<&[T]> for IndexArray
where
    Self: From<Vec<T>>,
{
    fn from(indices: &[T]) -> Self {
        indices.to_vec().into()
    }
}

impl<T: Plain> From<&Vec<T>> for IndexArray
where
    Self: From<Vec<T>>,
{
    fn from(indices: &Vec<T>) -> Self {
        indices.clone().into()
    }
}

impl<T: Plain, const N: usize> From<[T; N]> for IndexArray
where
    Self: From<Vec<T>>,
{
    fn from(indices: [T; N]) -> Self {
        indices.to_vec().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_stores_its_extremes_and_refuses_the_next() {
        for bits in [2, 8, 16, 32, 64] {
            for signed in [false, true] {
                let Some(kind) = IndexKind::new(bits, signed) else { continue };
                let (lo, hi) = kind.range();
                let array = IndexArray::store(kind, &[lo, hi, 0], "crd", "crdWidth").unwrap();
                assert_eq!(array.to_vec(), [lo, hi, 0], "{kind}");
                assert_eq!((array.get(1), array.get(3)), (Some(hi), None));
                if bits < 64 {
                    assert!(IndexArray::store(kind, &[hi + 1], "crd", "crdWidth").is_err());
                    assert!(IndexArray::store(kind, &[lo - 1], "crd", "crdWidth").is_err());
                }
            }
        }
    }

    #[test]
    fn two_bit_indices_are_packed_from_the_lowest_bits() {
        let array = IndexArray::store(IndexKind::U2, &[2, 3, 2, 3, 1], "crd", "crdWidth").unwrap();
        let IndexArray::U2(packed) = &array else { panic!("packed") };
        assert_eq!((packed.bytes()[..].to_vec(), packed.len()), (vec![0xEE, 0x01], 5));
    }

    #[test]
    fn packed_bytes_hold_the_indices_that_they_are_said_to_hold() {
        let packed = |bytes: Vec<u8>, len| Packed::new(bytes, len).is_some();
        assert!(packed(vec![], 0) && packed(vec![0], 1) && packed(vec![0, 0], 8));
        assert!(!packed(vec![0], 5) && !packed(vec![], 1) && !packed(vec![0, 0], 4));
    }
}
