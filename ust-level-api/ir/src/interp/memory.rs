//! Memory that is bound to a function's arrays, and values of its parameters.

use std::fmt;

use super::grow::Growable;
use crate::buffer::copy_around;
use crate::scalar::{Dtype, Element, Scalar};
use crate::{Elem, IndexArray, IndexKind, Ty, for_each_dtype};

/// Implements splitting and copying for slices of any element type.
macro_rules! moved {
    ($name:ident $($variant:ident)*) => {
        impl $name<'_> {
            /// Takes the first `len` elements off the front; `None` if there are fewer.
            fn split_off(&mut self, len: usize) -> Option<Self> {
                match self {
                    $(Self::$variant(slice) => slice.split_off_mut(..len).map(Self::$variant),)*
                }
            }

            /// Copies the first elements of `from` over all of these. `None` if `from` is shorter,
            /// or of another kind.
            fn copy_from(&mut self, from: &$name<'_>, around: bool) -> Option<()> {
                match (self, from) {
                    $((Self::$variant(to), $name::$variant(from)) => {
                        let from = from.get(..to.len())?;
                        if around { copy_around(to, from) } else { to.copy_from_slice(from) }
                        Some(())
                    })*
                    _ => None,
                }
            }
        }
    };
}

/// An [`Element`] whose slices can be bound to arrays of a function.
pub trait ValueElement: Element {
    /// Numbers to read.
    fn memory(slice: &[Self]) -> Memory<'_>;
    /// Numbers to read and write.
    fn memory_mut(slice: &mut [Self]) -> Memory<'_>;
}

macro_rules! define {
    ($(($variant:ident, $ty:ty, $name:literal, $kind:ident),)*) => {
        /// Numbers to read, of any dtype.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum ValuesRef<'a> {
            $(#[doc = concat!("`", $name, "`")] $variant(&'a [$ty]),)*
        }

        /// Numbers to read and write, of any dtype.
        #[derive(Debug, PartialEq)]
        pub enum ValuesMut<'a> {
            $(#[doc = concat!("`", $name, "`")] $variant(&'a mut [$ty]),)*
        }

        impl ValuesRef<'_> {
            /// The element type.
            #[must_use]
            pub fn dtype(&self) -> Dtype {
                match self { $(Self::$variant(_) => Dtype::$variant,)* }
            }

            /// Number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                match self { $(Self::$variant(slice) => slice.len(),)* }
            }
        }

        moved!(ValuesMut $($variant)*);

        $(impl ValueElement for $ty {
            fn memory(slice: &[Self]) -> Memory<'_> { Memory::values(slice) }
            fn memory_mut(slice: &mut [Self]) -> Memory<'_> { Memory::values_mut(slice) }
        })*

        impl<'a> ValuesMut<'a> {
            /// The same numbers, to read only.
            pub(super) fn into_ref(self) -> ValuesRef<'a> {
                match self { $(Self::$variant(slice) => ValuesRef::$variant(slice),)* }
            }
        }

        impl ValuesMut<'_> {
            /// A view of the same numbers, to read.
            #[must_use]
            pub fn as_ref(&self) -> ValuesRef<'_> {
                match self { $(Self::$variant(slice) => ValuesRef::$variant(slice),)* }
            }

            /// The same numbers, for a shorter lifetime.
            #[must_use]
            pub fn reborrow(&mut self) -> ValuesMut<'_> {
                match self { $(Self::$variant(slice) => ValuesMut::$variant(slice),)* }
            }
        }

        $(
            impl<'a> From<&'a [$ty]> for ValuesRef<'a> {
                fn from(slice: &'a [$ty]) -> Self { Self::$variant(slice) }
            }

            impl<'a> From<&'a mut [$ty]> for ValuesMut<'a> {
                fn from(slice: &'a mut [$ty]) -> Self { Self::$variant(slice) }
            }

            impl Slices for $ty {
                #[inline]
                fn of<'a>(values: &ValuesRef<'a>) -> Option<&'a [Self]> {
                    match values { ValuesRef::$variant(slice) => Some(slice), _ => None }
                }

                #[inline]
                fn of_mut<'a>(values: &'a mut ValuesMut<'_>) -> Option<&'a mut [Self]> {
                    match values { ValuesMut::$variant(slice) => Some(slice), _ => None }
                }

                #[inline]
                fn of_written<'a>(values: &'a ValuesMut<'_>) -> Option<&'a [Self]> {
                    match values { ValuesMut::$variant(slice) => Some(slice), _ => None }
                }
            }
        )*
    };
}
for_each_dtype!(define);

/// The slice of one element type, if the values are of that type.
pub(super) trait Slices: Element {
    fn of<'a>(values: &ValuesRef<'a>) -> Option<&'a [Self]>;
    fn of_mut<'a>(values: &'a mut ValuesMut<'_>) -> Option<&'a mut [Self]>;
    fn of_written<'a>(values: &'a ValuesMut<'_>) -> Option<&'a [Self]>;
}

macro_rules! indices {
    ($($variant:ident($ty:ty)),*) => {
        /// Indices to read and write, of any kind but the packed one.
        #[derive(Debug, PartialEq)]
        pub enum IndicesMut<'a> {
            $(#[doc = concat!("`", stringify!($ty), "`")] $variant(&'a mut [$ty]),)*
        }

        moved!(IndicesMut $($variant)*);

        impl IndicesMut<'_> {
            /// The kind of the indices.
            #[must_use]
            pub fn kind(&self) -> IndexKind {
                match self { $(Self::$variant(_) => IndexKind::$variant,)* }
            }

            /// Number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                match self { $(Self::$variant(slice) => slice.len(),)* }
            }

            /// Whether there are none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The same indices, for a shorter lifetime.
            #[must_use]
            pub fn reborrow(&mut self) -> IndicesMut<'_> {
                match self { $(Self::$variant(slice) => IndicesMut::$variant(slice),)* }
            }
        }

        $(
            impl<'a> From<&'a mut [$ty]> for IndicesMut<'a> {
                fn from(slice: &'a mut [$ty]) -> Self { Self::$variant(slice) }
            }
        )*
    };
}
indices!(U8(u8), U16(u16), U32(u32), U64(u64), I8(i8), I16(i16), I32(i32), I64(i64));

impl ValuesRef<'_> {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ValuesMut<'_> {
    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.as_ref().dtype()
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_ref().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The memory bound to one array of a function.
///
/// An array that grows needs [`Memory::Grow`]. Any other array that the function writes needs a
/// variant whose name ends in `Mut`. An array that is only read may have any variant.
#[derive(Debug)]
pub enum Memory<'a> {
    /// Positions or coordinates, as a level stores them.
    Index(&'a IndexArray),
    /// Indices to read, for an array declared as `i64`.
    Indices(&'a [i64]),
    /// Indices to read and write.
    IndicesMut(IndicesMut<'a>),
    /// Numbers to read.
    Values(ValuesRef<'a>),
    /// Numbers to read and write.
    ValuesMut(ValuesMut<'a>),
    /// Memory that can grow: a vector of indices, or [`GrowValues`](super::GrowValues).
    Grow(&'a mut (dyn Growable + 'static)),
}

impl<'a> Memory<'a> {
    /// The same memory, for a shorter lifetime. What grows has a fixed length meanwhile.
    #[must_use]
    pub fn reborrow(&mut self) -> Memory<'_> {
        match self {
            Memory::Index(array) => Memory::Index(array),
            Memory::Indices(slice) => Memory::Indices(slice),
            Memory::IndicesMut(indices) => Memory::IndicesMut(indices.reborrow()),
            Memory::Values(values) => Memory::Values(*values),
            Memory::ValuesMut(values) => Memory::ValuesMut(values.reborrow()),
            Memory::Grow(grows) => grows.memory(),
        }
    }

    /// Indices to read and write.
    #[must_use]
    pub fn indices_mut<T>(slice: &'a mut [T]) -> Self
    where
        IndicesMut<'a>: From<&'a mut [T]>,
    {
        Memory::IndicesMut(slice.into())
    }

    /// Numbers to read.
    #[must_use]
    pub fn values<T>(slice: &'a [T]) -> Self
    where
        ValuesRef<'a>: From<&'a [T]>,
    {
        Memory::Values(slice.into())
    }

    /// Numbers to read and write.
    #[must_use]
    pub fn values_mut<T>(slice: &'a mut [T]) -> Self
    where
        ValuesMut<'a>: From<&'a mut [T]>,
    {
        Memory::ValuesMut(slice.into())
    }

    /// Takes the first `len` elements off the front of writable memory, so that two threads can
    /// write the two parts. `None` if there are fewer elements, or the memory is read-only or
    /// grows.
    ///
    /// ```
    /// use ust_ir::interp::Memory;
    ///
    /// let mut row = [0.0, 0.0, 0.0];
    /// let mut rest = Memory::values_mut(&mut row[..]);
    /// let mut first = rest.split_off(2).unwrap();
    /// first.copy_from(&Memory::values_mut(&mut [1.0, 2.0, 3.0][..]), false).unwrap();
    /// assert_eq!((rest.len(), row), (1, [1.0, 2.0, 0.0]));
    /// ```
    #[must_use]
    pub fn split_off(&mut self, len: usize) -> Option<Self> {
        match self {
            Memory::IndicesMut(indices) => indices.split_off(len).map(Memory::IndicesMut),
            Memory::ValuesMut(values) => values.split_off(len).map(Memory::ValuesMut),
            _ => None,
        }
    }

    /// Copies the first elements of `from` over all of these. With `around`, the copy bypasses the
    /// caches, for elements that are not read soon. Returns `None` and changes nothing if `from` is
    /// shorter or of another kind, or if one of the two is read-only or grows.
    #[must_use]
    pub fn copy_from(&mut self, from: &Memory<'_>, around: bool) -> Option<()> {
        match (self, from) {
            (Memory::IndicesMut(to), Memory::IndicesMut(from)) => to.copy_from(from, around),
            (Memory::ValuesMut(to), Memory::ValuesMut(from)) => to.copy_from(from, around),
            _ => None,
        }
    }

    /// The element type that an array for it is declared with.
    #[must_use]
    #[inline]
    pub fn elem(&self) -> Elem {
        match self {
            Memory::Index(array) => Elem::Index(array.kind()),
            Memory::Indices(_) => Elem::Index(IndexKind::I64),
            Memory::IndicesMut(indices) => Elem::Index(indices.kind()),
            Memory::Values(values) => Elem::Value(values.dtype()),
            Memory::ValuesMut(values) => Elem::Value(values.dtype()),
            Memory::Grow(grows) => grows.elem(),
        }
    }

    /// Whether it can be written.
    #[must_use]
    #[inline]
    pub fn is_mut(&self) -> bool {
        matches!(self, Memory::IndicesMut(_) | Memory::ValuesMut(_) | Memory::Grow(_))
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Memory::Index(array) => array.len(),
            Memory::Indices(slice) => slice.len(),
            Memory::IndicesMut(indices) => indices.len(),
            Memory::Values(values) => values.len(),
            Memory::ValuesMut(values) => values.len(),
            Memory::Grow(grows) => grows.len(),
        }
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> From<&'a IndexArray> for Memory<'a> {
    fn from(array: &'a IndexArray) -> Self {
        Memory::Index(array)
    }
}

impl<'a> From<IndicesMut<'a>> for Memory<'a> {
    fn from(indices: IndicesMut<'a>) -> Self {
        Memory::IndicesMut(indices)
    }
}

impl<'a> From<ValuesRef<'a>> for Memory<'a> {
    fn from(values: ValuesRef<'a>) -> Self {
        Memory::Values(values)
    }
}

impl<'a> From<ValuesMut<'a>> for Memory<'a> {
    fn from(values: ValuesMut<'a>) -> Self {
        Memory::ValuesMut(values)
    }
}

/// The value of one parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Param {
    /// For an `int`.
    Int(i64),
    /// For a `bool`.
    Bool(bool),
    /// For a `val`.
    Val(Scalar),
}

impl Param {
    /// The type of the parameter.
    #[must_use]
    #[inline]
    pub fn ty(&self) -> Ty {
        match self {
            Param::Int(_) => Ty::Int,
            Param::Bool(_) => Ty::Bool,
            Param::Val(scalar) => Ty::Val(scalar.dtype()),
        }
    }
}

impl From<i64> for Param {
    fn from(value: i64) -> Self {
        Param::Int(value)
    }
}

impl From<bool> for Param {
    fn from(value: bool) -> Self {
        Param::Bool(value)
    }
}

impl From<Scalar> for Param {
    fn from(value: Scalar) -> Self {
        Param::Val(value)
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Param::Int(value) => value.fmt(f),
            Param::Bool(value) => value.fmt(f),
            Param::Val(value) => value.fmt(f),
        }
    }
}
