//! Arithmetic of all dtypes on registers.
//!
//! A register holds 16 raw bytes. The compiler resolves the dtype: it selects functions made for
//! one type ([`Ops`]), so that no instruction tests a dtype at run time. f16 and bf16 are held as
//! f32 and rounded when stored.

use num_complex::Complex;

use super::memory::{Slices, ValuesMut, ValuesRef};
use crate::func::Cast;
use crate::scalar::{Dtype, Scalar, bf16, f16};
use crate::{BinOp, with_dtype};

/// The contents of a register of `val`.
pub(super) type Raw = [u64; 2];

pub(super) type Unary = fn(Raw) -> Raw;
pub(super) type Binary = fn(Raw, Raw) -> Raw;
/// Divides; `None` for division by zero.
pub(super) type Divide = fn(Raw, Raw) -> Option<Raw>;
pub(super) type Compare = fn(Raw, Raw) -> bool;
/// `None`: beyond the end.
pub(super) type Load = fn(&ValuesRef<'_>, usize) -> Option<Raw>;
/// `None`: beyond the end.
pub(super) type LoadWritten = fn(&ValuesMut<'_>, usize) -> Option<Raw>;
/// `None`: beyond the end.
pub(super) type Store = fn(&mut ValuesMut<'_>, usize, Raw) -> Option<()>;

/// A type that registers hold.
pub(super) trait Number: Copy + PartialEq {
    fn to_raw(self) -> Raw;
    fn from_raw(raw: Raw) -> Self;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Option<Self>;
    fn neg(self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn lt(self, other: Self) -> bool;
    fn le(self, other: Self) -> bool;
}

/// A type that arrays hold.
pub(super) trait Stored: Slices {
    /// The type in which registers hold it.
    type Held: Number + Cast;
    fn held(self) -> Self::Held;
    fn stored(held: Self::Held) -> Self;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            // Truncation undoes the widening. For unsigned types the cast loses nothing.
            #[allow(clippy::cast_lossless)]
            #[inline]
            fn to_raw(self) -> Raw { [self as u64, 0] }
            #[inline]
            fn from_raw(raw: Raw) -> Self { raw[0] as $ty }
            #[inline]
            fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline]
            fn sub(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline]
            fn mul(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline]
            fn div(self, other: Self) -> Option<Self> {
                (other != 0).then(|| self.wrapping_div(other))
            }
            #[inline]
            fn neg(self) -> Self { self.wrapping_neg() }
            #[inline]
            fn min(self, other: Self) -> Self { Ord::min(self, other) }
            #[inline]
            fn max(self, other: Self) -> Self { Ord::max(self, other) }
            #[inline]
            fn lt(self, other: Self) -> bool { self < other }
            #[inline]
            fn le(self, other: Self) -> bool { self <= other }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            #[inline]
            fn to_raw(self) -> Raw { [self.to_bits().into(), 0] }
            #[inline]
            fn from_raw(raw: Raw) -> Self { Self::from_bits(raw[0] as _) }
            #[inline]
            fn add(self, other: Self) -> Self { self + other }
            #[inline]
            fn sub(self, other: Self) -> Self { self - other }
            #[inline]
            fn mul(self, other: Self) -> Self { self * other }
            #[inline]
            fn div(self, other: Self) -> Option<Self> { Some(self / other) }
            #[inline]
            fn neg(self) -> Self { -self }
            #[inline]
            fn min(self, other: Self) -> Self {
                if self < other || (self == other && self.is_sign_negative()) { self }
                else if self >= other { other }
                // One of them is NaN, and so is the sum.
                else { self + other }
            }
            #[inline]
            fn max(self, other: Self) -> Self {
                if self > other || (self == other && self.is_sign_positive()) { self }
                else if self <= other { other }
                else { self + other }
            }
            #[inline]
            fn lt(self, other: Self) -> bool { self < other }
            #[inline]
            fn le(self, other: Self) -> bool { self <= other }
        }

        impl Number for Complex<$ty> {
            #[inline]
            fn to_raw(self) -> Raw { [self.re.to_bits().into(), self.im.to_bits().into()] }
            #[inline]
            fn from_raw(raw: Raw) -> Self {
                Complex::new(Number::from_raw(raw), Number::from_raw([raw[1], 0]))
            }
            #[inline]
            fn add(self, other: Self) -> Self { self + other }
            #[inline]
            fn sub(self, other: Self) -> Self { self - other }
            #[inline]
            fn mul(self, other: Self) -> Self { self * other }
            #[inline]
            fn div(self, other: Self) -> Option<Self> { Some(self / other) }
            #[inline]
            fn neg(self) -> Self { -self }
            // Complex numbers have no order; validation rejects these operators.
            fn min(self, _: Self) -> Self { self }
            fn max(self, _: Self) -> Self { self }
            fn lt(self, _: Self) -> bool { false }
            fn le(self, _: Self) -> bool { false }
        }
    )*};
}
floats!(f32, f64);

impl Number for bool {
    fn to_raw(self) -> Raw {
        [self.into(), 0]
    }
    fn from_raw(raw: Raw) -> Self {
        raw[0] != 0
    }
    fn add(self, other: Self) -> Self {
        self | other
    }
    fn mul(self, other: Self) -> Self {
        self & other
    }
    fn min(self, other: Self) -> Self {
        self & other
    }
    fn max(self, other: Self) -> Self {
        self | other
    }
    fn lt(self, other: Self) -> bool {
        !self & other
    }
    fn le(self, other: Self) -> bool {
        !self | other
    }
    // Truth values have no difference and no quotient; validation rejects these operators.
    fn sub(self, _: Self) -> Self {
        self
    }
    fn div(self, _: Self) -> Option<Self> {
        Some(self)
    }
    fn neg(self) -> Self {
        self
    }
}

macro_rules! held {
    (as themselves: $($ty:ty),*) => {$(
        impl Stored for $ty {
            type Held = $ty;
            #[inline]
            fn held(self) -> $ty { self }
            #[inline]
            fn stored(held: $ty) -> Self { held }
        }
    )*};
    (as f32: $($ty:ty),*) => {$(
        impl Stored for $ty {
            type Held = f32;
            fn held(self) -> f32 { self.to_f32() }
            fn stored(held: f32) -> Self { <$ty>::from_f32(held) }
        }
    )*};
}
held!(as themselves: bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, Complex<f32>, Complex<f64>);
held!(as f32: f16, bf16);

/// A scalar as the contents of a register.
pub(super) fn raw(scalar: Scalar) -> Raw {
    fn held<T: Stored>(scalar: Scalar) -> Option<Raw> {
        T::from_scalar(scalar).map(|value| value.held().to_raw())
    }
    with_dtype!(scalar.dtype(), T => held::<T>(scalar)).unwrap_or_default()
}

/// The functions of one dtype.
pub(super) struct Ops {
    pub(super) neg: Unary,
    pub(super) div: Divide,
    pub(super) load: Load,
    pub(super) load_written: LoadWritten,
    pub(super) store: Store,
    add: (Binary, Store),
    mul: (Binary, Store),
    min: (Binary, Store),
    max: (Binary, Store),
    sub: Binary,
    eq: Compare,
    ne: Compare,
    lt: Compare,
    le: Compare,
}

/// The functions of a dtype.
pub(super) fn ops(dtype: Dtype) -> &'static Ops {
    with_dtype!(dtype, T => <T as Functions>::OPS)
}

impl Ops {
    /// The function of an operator that has a number as result and cannot fail.
    pub(super) fn binary(&self, op: BinOp) -> Option<Binary> {
        Some(match op {
            BinOp::Add => self.add.0,
            BinOp::Sub => self.sub,
            BinOp::Mul => self.mul.0,
            BinOp::Min => self.min.0,
            BinOp::Max => self.max.0,
            _ => return None,
        })
    }

    /// The function of an operator that has a truth value as result.
    pub(super) fn compare(&self, op: BinOp) -> Option<Compare> {
        Some(match op {
            BinOp::Eq => self.eq,
            BinOp::Ne => self.ne,
            BinOp::Lt => self.lt,
            BinOp::Le => self.le,
            _ => return None,
        })
    }

    /// The function that combines into an element.
    pub(super) fn reduce(&self, op: BinOp) -> Option<Store> {
        Some(match op {
            BinOp::Add => self.add.1,
            BinOp::Mul => self.mul.1,
            BinOp::Min => self.min.1,
            BinOp::Max => self.max.1,
            _ => return None,
        })
    }
}

macro_rules! binary {
    ($method:ident) => {
        |a, b| Self::Held::from_raw(a).$method(Self::Held::from_raw(b)).to_raw()
    };
}

macro_rules! reduce {
    ($method:ident) => {
        |values, at, raw| {
            let element = Self::of_mut(values)?.get_mut(at)?;
            *element = Self::stored((*element).held().$method(Number::from_raw(raw)));
            Some(())
        }
    };
}

/// The functions of one dtype. They treat a slice of another dtype as empty; such slices do not
/// occur, because the interpreter compares memory with the declarations first.
trait Functions: Stored {
    const OPS: &'static Ops = &Ops {
        neg: |a| Self::Held::from_raw(a).neg().to_raw(),
        div: |a, b| Self::Held::from_raw(a).div(Self::Held::from_raw(b)).map(Number::to_raw),
        load: |values, at| Self::of(values)?.get(at).map(|v| v.held().to_raw()),
        load_written: |values, at| Self::of_written(values)?.get(at).map(|v| v.held().to_raw()),
        store: |values, at, raw| {
            *Self::of_mut(values)?.get_mut(at)? = Self::stored(Number::from_raw(raw));
            Some(())
        },
        add: (binary!(add), reduce!(add)),
        mul: (binary!(mul), reduce!(mul)),
        min: (binary!(min), reduce!(min)),
        max: (binary!(max), reduce!(max)),
        sub: binary!(sub),
        eq: |a, b| Self::Held::from_raw(a) == Self::Held::from_raw(b),
        ne: |a, b| Self::Held::from_raw(a) != Self::Held::from_raw(b),
        lt: |a, b| Self::Held::from_raw(a).lt(Self::Held::from_raw(b)),
        le: |a, b| Self::Held::from_raw(a).le(Self::Held::from_raw(b)),
    };
}
impl<T: Stored> Functions for T {}
