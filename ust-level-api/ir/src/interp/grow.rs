//! Memory of growing arrays.

use std::collections::TryReserveError;
use std::fmt;

use super::memory::{IndicesMut, Memory, ValuesMut};
use crate::scalar::Dtype;
use crate::{Elem, GrowBuffer, IndexKind, for_each_dtype};

/// The memory of an array that [grows](crate::ArrayDecl::grows): a vector or [`GrowBuffer`] of
/// indices, or [`GrowValues`].
///
/// A back end keeps the address and the length, and asks for both again after each
/// [`reserve`](Growable::reserve); nothing else moves the elements.
pub trait Growable: Send {
    /// The type of its elements; never packed indices.
    fn elem(&self) -> Elem;

    /// Number of elements.
    fn len(&self) -> usize;

    /// Whether it has no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Extends it to at least `len` elements. The contents of new elements are not specified; they
    /// must be written before they are read. If the length grows, it at least doubles, memory
    /// permitting, so that appending costs amortised O(1) for each element.
    ///
    /// Returns false, and changes nothing, if there is not enough memory.
    #[must_use]
    fn reserve(&mut self, len: usize) -> bool;

    /// The present elements, typed, to read and write.
    fn memory(&mut self) -> Memory<'_>;

    /// A pointer to the first element. It dangles if there is none, and after the next
    /// [`reserve`](Growable::reserve).
    fn as_mut_ptr(&mut self) -> *mut u8;
}

impl fmt::Debug for dyn Growable + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Growable({}; {})", self.elem(), self.len())
    }
}

/// Extends a vector to at least `len` elements, and to twice its length if there is memory for
/// that.
fn reserve<T: Copy>(vec: &mut Vec<T>, len: usize, zero: T) -> bool {
    let old = vec.len();
    if len <= old {
        return true;
    }
    let mut resize = |len: usize| -> Result<(), TryReserveError> {
        vec.try_reserve_exact(len - old)?;
        vec.resize(len, zero);
        Ok(())
    };
    let twice = old.saturating_mul(2);
    (twice > len && resize(twice).is_ok()) || resize(len).is_ok()
}

macro_rules! indices {
    ($($variant:ident($ty:ty)),*) => {$(
        impl Growable for Vec<$ty> {
            fn elem(&self) -> Elem { Elem::Index(IndexKind::$variant) }
            fn len(&self) -> usize { self.len() }
            fn reserve(&mut self, len: usize) -> bool { reserve(self, len, 0) }
            fn memory(&mut self) -> Memory<'_> { Memory::IndicesMut(IndicesMut::$variant(self)) }
            fn as_mut_ptr(&mut self) -> *mut u8 { self.as_mut_slice().as_mut_ptr().cast() }
        }
        impl Growable for GrowBuffer<$ty> {
            fn elem(&self) -> Elem { Elem::Index(IndexKind::$variant) }
            fn len(&self) -> usize { self.len() }
            fn reserve(&mut self, len: usize) -> bool { self.reserve(len) }
            fn memory(&mut self) -> Memory<'_> {
                Memory::IndicesMut(IndicesMut::$variant(self.as_mut_slice()))
            }
            fn as_mut_ptr(&mut self) -> *mut u8 { self.as_mut_ptr().cast() }
        }
    )*};
}
indices!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64));

macro_rules! values {
    ($(($variant:ident, $ty:ty, $name:literal, $kind:ident),)*) => {
        /// A growing array of numbers of any dtype.
        ///
        /// ```
        /// use ust_ir::Dtype;
        /// use ust_ir::interp::{GrowValues, Growable};
        ///
        /// let mut values = GrowValues::new(Dtype::F64);
        /// assert!(values.reserve(3));
        /// assert!(matches!(values, GrowValues::F64(values) if values[..] == [0.0; 3]));
        /// ```
        #[derive(Debug, PartialEq)]
        pub enum GrowValues {
            $(#[doc = concat!("`", $name, "`")] $variant(GrowBuffer<$ty>),)*
        }

        impl GrowValues {
            /// No numbers, of a dtype.
            #[must_use]
            pub fn new(dtype: Dtype) -> Self {
                match dtype { $(Dtype::$variant => Self::$variant(GrowBuffer::default()),)* }
            }

            /// The element type.
            #[must_use]
            pub fn dtype(&self) -> Dtype {
                match self { $(Self::$variant(_) => Dtype::$variant,)* }
            }
        }

        impl Growable for GrowValues {
            fn elem(&self) -> Elem { Elem::Value(self.dtype()) }

            fn len(&self) -> usize {
                match self { $(Self::$variant(values) => values.len(),)* }
            }

            fn reserve(&mut self, len: usize) -> bool {
                match self { $(Self::$variant(values) => values.reserve(len),)* }
            }

            fn memory(&mut self) -> Memory<'_> {
                Memory::ValuesMut(match self {
                    $(Self::$variant(values) => ValuesMut::$variant(values.as_mut_slice()),)*
                })
            }

            fn as_mut_ptr(&mut self) -> *mut u8 {
                match self { $(Self::$variant(values) => values.as_mut_ptr().cast(),)* }
            }
        }

        $(
            impl From<Vec<$ty>> for GrowValues {
                fn from(vec: Vec<$ty>) -> Self { Self::$variant(vec.into()) }
            }
        )*
    };
}
for_each_dtype!(values);
