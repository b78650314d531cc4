//! Element types (dtypes), single values, and the trait that ties Rust types to both.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use bytemuck::{CheckedBitPattern, NoUninit};
#[doc(no_inline)]
pub use half::{bf16, f16};
#[doc(no_inline)]
pub use num_complex::Complex;
use num_traits::{FromPrimitive, ToPrimitive};

/// Calls a macro with every element type: variant, Rust type, canonical name, kind (`bool`, `int`,
/// `float` or `complex`). This is the only list of dtypes in the project.
#[macro_export]
macro_rules! for_each_dtype {
    ($callback:ident $(, $($extra:tt)*)?) => {
        $callback! { $($($extra)*)?
            (Bool, bool, "bool", bool),
            (I8, i8, "i8", int),
            (I16, i16, "i16", int),
            (I32, i32, "i32", int),
            (I64, i64, "i64", int),
            (U8, u8, "u8", int),
            (U16, u16, "u16", int),
            (U32, u32, "u32", int),
            (U64, u64, "u64", int),
            (F16, $crate::scalar::f16, "f16", float),
            (Bf16, $crate::scalar::bf16, "bf16", float),
            (F32, f32, "f32", float),
            (F64, f64, "f64", float),
            (Complex64, $crate::scalar::Complex<f32>, "complex64", complex),
            (Complex128, $crate::scalar::Complex<f64>, "complex128", complex),
        }
    };
}

/// Evaluates an expression with `$T` bound to the Rust type of a [`Dtype`].
///
/// ```
/// use ust_ir::{Dtype, with_dtype};
/// fn size(dtype: Dtype) -> usize {
///     with_dtype!(dtype, T => std::mem::size_of::<T>())
/// }
/// assert_eq!(size(Dtype::Complex64), 8);
/// ```
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::Dtype::Bool => {
                type $T = bool;
                $body
            }
            $crate::Dtype::I8 => {
                type $T = i8;
                $body
            }
            $crate::Dtype::I16 => {
                type $T = i16;
                $body
            }
            $crate::Dtype::I32 => {
                type $T = i32;
                $body
            }
            $crate::Dtype::I64 => {
                type $T = i64;
                $body
            }
            $crate::Dtype::U8 => {
                type $T = u8;
                $body
            }
            $crate::Dtype::U16 => {
                type $T = u16;
                $body
            }
            $crate::Dtype::U32 => {
                type $T = u32;
                $body
            }
            $crate::Dtype::U64 => {
                type $T = u64;
                $body
            }
            $crate::Dtype::F16 => {
                type $T = $crate::scalar::f16;
                $body
            }
            $crate::Dtype::Bf16 => {
                type $T = $crate::scalar::bf16;
                $body
            }
            $crate::Dtype::F32 => {
                type $T = f32;
                $body
            }
            $crate::Dtype::F64 => {
                type $T = f64;
                $body
            }
            $crate::Dtype::Complex64 => {
                type $T = $crate::scalar::Complex<f32>;
                $body
            }
            $crate::Dtype::Complex128 => {
                type $T = $crate::scalar::Complex<f64>;
                $body
            }
        }
    };
}

macro_rules! define {
    ($(($variant:ident, $ty:ty, $name:literal, $kind:ident),)*) => {
        /// An element type. `Complex64` is a pair of `f32`, `Complex128` a pair of `f64`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Dtype {
            $(
                #[doc = concat!("`", $name, "`")]
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $variant,
            )*
        }

        /// One value of any element type.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Scalar {
            $(
                #[doc = concat!("A `", $name, "`")]
                #[cfg_attr(feature = "serde", serde(rename = $name, with = "crate::serde::one"))]
                $variant($ty),
            )*
        }

        impl Dtype {
            /// Every element type.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant),*];

            /// The canonical name, such as `f64` or `complex128`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Dtype::$variant => $name),* }
            }

            /// Bytes of one element.
            #[must_use]
            pub fn bytes(self) -> usize {
                match self { $(Dtype::$variant => size_of::<$ty>()),* }
            }

            /// Zero of this type (`false` for bool).
            #[must_use]
            pub fn zero(self) -> Scalar {
                match self { $(Dtype::$variant => Scalar::$variant(<$ty as Element>::ZERO)),* }
            }

            /// One of this type (`true` for bool).
            #[must_use]
            pub fn one(self) -> Scalar {
                match self { $(Dtype::$variant => Scalar::$variant(<$ty as Element>::ONE)),* }
            }
        }

        impl Scalar {
            /// The element type of this value.
            #[must_use]
            pub fn dtype(&self) -> Dtype {
                match self { $(Scalar::$variant(_) => Dtype::$variant),* }
            }

            /// Equality in which NaN equals NaN. It tells padding from entries.
            #[must_use]
            pub fn same(&self, other: &Scalar) -> bool {
                match (self, other) {
                    $((Scalar::$variant(a), Scalar::$variant(b)) => a.same(*b),)*
                    _ => false,
                }
            }

            /// The same number as another element type.
            ///
            /// Rounding to the nearest floating-point number is allowed. Any other change of the
            /// number is an error.
            ///
            /// # Errors
            /// [`CastError`] if the type cannot hold the number: it is out of range, or a fraction
            /// or NaN for an integer type; or it is finite and would become infinite; or its
            /// imaginary part is not zero.
            pub fn cast(&self, to: Dtype) -> Result<Scalar, CastError> {
                let wide = self.widen();
                match to {
                    $(Dtype::$variant => <$ty as Element>::from_wide(wide).map(Scalar::$variant),)*
                }
                .ok_or(CastError { value: *self, to })
            }

            fn widen(&self) -> Wide {
                match *self { $(Scalar::$variant(v) => v.wide(),)* }
            }
        }

        /// Hashes the bits: 0 and -0 have different hashes.
        impl Hash for Scalar {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.dtype().hash(state);
                match self.widen() {
                    Wide::Int(v) => v.hash(state),
                    Wide::Float(v) => v.to_bits().hash(state),
                    Wide::Complex(re, im) => (re.to_bits(), im.to_bits()).hash(state),
                }
            }
        }

        impl fmt::Display for Scalar {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Scalar::$variant(v) => v.show(f),)* }
            }
        }

        $(
            impl Element for $ty {
                const DTYPE: Dtype = Dtype::$variant;
                define!(@body $variant, $ty, $kind);
            }
            impl From<$ty> for Scalar {
                fn from(value: $ty) -> Self { Scalar::$variant(value) }
            }
        )*
    };
    (@scalar $variant:ident) => {
        fn from_scalar(scalar: Scalar) -> Option<Self> {
            match scalar { Scalar::$variant(v) => Some(v), _ => None }
        }
        fn scalar(self) -> Scalar { Scalar::$variant(self) }
    };
    (@body $variant:ident, $ty:ty, bool) => {
        const ZERO: Self = false;
        const ONE: Self = true;
        define!(@scalar $variant);
        #[inline]
        fn same(self, other: Self) -> bool { self == other }
        #[inline]
        fn checked_plus(self, other: Self) -> Option<Self> { Some(self | other) }
        fn wide(self) -> Wide { Wide::Int(i128::from(self)) }
        fn from_wide(wide: Wide) -> Option<Self> {
            match wide.int()? { 0 => Some(false), 1 => Some(true), _ => None }
        }
        fn show(self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(&self, f) }
    };
    (@body $variant:ident, $ty:ty, int) => {
        const ZERO: Self = 0;
        const ONE: Self = 1;
        define!(@scalar $variant);
        #[inline]
        fn same(self, other: Self) -> bool { self == other }
        #[inline]
        fn checked_plus(self, other: Self) -> Option<Self> { self.checked_add(other) }
        fn wide(self) -> Wide { Wide::Int(i128::from(self)) }
        fn from_wide(wide: Wide) -> Option<Self> { <$ty>::try_from(wide.int()?).ok() }
        fn show(self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(&self, f) }
    };
    (@body $variant:ident, $ty:ty, float) => {
        const ZERO: Self = <$ty as FloatParts>::ZERO;
        const ONE: Self = <$ty as FloatParts>::ONE;
        define!(@scalar $variant);
        #[inline]
        fn same(self, other: Self) -> bool { self == other || (self.is_nan() && other.is_nan()) }
        #[inline]
        fn checked_plus(self, other: Self) -> Option<Self> { Some(self + other) }
        fn wide(self) -> Wide { Wide::Float(FloatParts::to_f64(self)) }
        fn from_wide(wide: Wide) -> Option<Self> { <$ty as FloatParts>::from_wide(wide.real()?) }
        fn show(self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(&self, f) }
    };
    (@body $variant:ident, $ty:ty, complex) => {
        const ZERO: Self = Complex { re: 0.0, im: 0.0 };
        const ONE: Self = Complex { re: 1.0, im: 0.0 };
        define!(@scalar $variant);
        #[inline]
        fn same(self, other: Self) -> bool { self.re.same(other.re) && self.im.same(other.im) }
        #[inline]
        fn checked_plus(self, other: Self) -> Option<Self> { Some(self + other) }
        fn wide(self) -> Wide { Wide::Complex(f64::from(self.re), f64::from(self.im)) }
        fn from_wide(wide: Wide) -> Option<Self> {
            match wide {
                Wide::Complex(re, im) => Some(Complex {
                    re: Element::from_wide(Wide::Float(re))?,
                    im: Element::from_wide(Wide::Float(im))?,
                }),
                real => Some(Complex { re: Element::from_wide(real)?, im: 0.0 }),
            }
        }
        fn show(self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(&self, f) }
    };
}

for_each_dtype!(define);

/// The widest number of each kind, through which casts go.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub enum Wide {
    Int(i128),
    Float(f64),
    Complex(f64, f64),
}

impl Wide {
    fn real(self) -> Option<Wide> {
        match self {
            Wide::Complex(re, 0.0) => Some(Wide::Float(re)),
            Wide::Complex(..) => None,
            other => Some(other),
        }
    }

    fn int(self) -> Option<i128> {
        match self.real()? {
            Wide::Int(v) => Some(v),
            Wide::Float(v) if v.fract() == 0.0 => v.to_i128(),
            _ => None,
        }
    }
}

/// Constants and conversions of the four floating-point types.
trait FloatParts: Copy {
    const ZERO: Self;
    const ONE: Self;
    fn to_f64(self) -> f64;
    fn from_wide(wide: Wide) -> Option<Self>;
}

macro_rules! float_parts {
    ($($ty:ty, $zero:expr, $one:expr;)*) => {$(
        impl FloatParts for $ty {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            fn to_f64(self) -> f64 { f64::from(self) }
            fn from_wide(wide: Wide) -> Option<Self> {
                let (rounded, finite) = match wide {
                    // Halves are made of 64 bits.
                    Wide::Int(v) => {
                        let rounded = <$ty as FromPrimitive>::from_i128(v);
                        (rounded.or_else(|| FromPrimitive::from_f64(v as f64))?, true)
                    }
                    Wide::Float(v) => (<$ty as FromPrimitive>::from_f64(v)?, v.is_finite()),
                    Wide::Complex(..) => return None,
                };
                (rounded.is_finite() || !finite).then_some(rounded)
            }
        }
    )*};
}
float_parts! {
    f16, f16::ZERO, f16::ONE;
    bf16, bf16::ZERO, bf16::ONE;
    f32, 0.0, 1.0;
    f64, 0.0, 1.0;
}

/// A Rust type that can be a tensor's element. Sealed: the list of dtypes is closed.
pub trait Element:
    NoUninit
    + CheckedBitPattern
    + Copy
    + PartialEq
    + fmt::Debug
    + fmt::Display
    + Send
    + Sync
    + 'static
    + Into<Scalar>
{
    /// The element type's name tag.
    const DTYPE: Dtype;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The value, if the scalar has exactly this type.
    fn from_scalar(scalar: Scalar) -> Option<Self>;
    /// This value as a scalar.
    fn scalar(self) -> Scalar;
    /// Equality in which NaN equals NaN.
    #[must_use]
    fn same(self, other: Self) -> bool;
    /// The sum, or `or` for bool. `None` if an integer type cannot hold it.
    #[must_use]
    fn checked_plus(self, other: Self) -> Option<Self>;
    #[doc(hidden)]
    fn wide(self) -> Wide;
    #[doc(hidden)]
    fn from_wide(wide: Wide) -> Option<Self>;
    #[doc(hidden)]
    fn show(self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A number that another element type cannot hold.
#[derive(Clone, Copy, PartialEq, thiserror::Error)]
#[error("{value} ({from}) cannot be held by {to} without loss", from = value.dtype())]
pub struct CastError {
    /// The number.
    pub value: Scalar,
    /// The type that cannot hold it.
    pub to: Dtype,
}

impl Dtype {
    /// Whether this is `Complex64` or `Complex128`.
    #[must_use]
    pub fn is_complex(self) -> bool {
        matches!(self, Dtype::Complex64 | Dtype::Complex128)
    }

    /// Whether this is one of the four floating-point types.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64)
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that is not the name of an element type.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown dtype `{0}`; known: bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, complex64, complex128"
)]
pub struct UnknownDtype(pub String);

crate::debug_shows_message!(CastError, UnknownDtype);

impl FromStr for Dtype {
    type Err = UnknownDtype;

    /// Reads a canonical name, or NumPy's spelling (`float64`, `int8`, `uint16`, `bfloat16`).
    fn from_str(text: &str) -> Result<Self, UnknownDtype> {
        if let Some(&dtype) = Dtype::ALL.iter().find(|d| d.name() == text) {
            return Ok(dtype);
        }
        let numpy = match text {
            "bfloat16" => Some("bf16".to_owned()),
            _ => [("float", "f"), ("uint", "u"), ("int", "i")]
                .iter()
                .find_map(|(long, short)| Some(format!("{short}{}", text.strip_prefix(long)?))),
        };
        numpy
            .and_then(|name| Dtype::ALL.iter().copied().find(|d| d.name() == name))
            .ok_or_else(|| UnknownDtype(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts_keep_the_number_or_fail() {
        let f = |v: f64| Scalar::F64(v);
        assert_eq!(f(3.0).cast(Dtype::I8), Ok(Scalar::I8(3)));
        assert_eq!(f(0.1).cast(Dtype::F32), Ok(Scalar::F32(0.1)));
        for (value, to) in [
            (f(3.5), Dtype::I32),
            (f(300.0), Dtype::U8),
            (f(f64::NAN), Dtype::I64),
            (f(1e300), Dtype::F32),
            (f(70000.0), Dtype::F16),
            (f(2.0), Dtype::Bool),
            (Scalar::I64(-1), Dtype::U64),
            (Scalar::U64(u64::MAX), Dtype::F16),
            (Scalar::Complex128(Complex::new(1.0, 2.0)), Dtype::F64),
        ] {
            assert!(value.cast(to).is_err(), "{value} as {to}");
        }
        assert!(f(f64::INFINITY).cast(Dtype::F16).is_ok());
        let rounded = Scalar::Bf16(bf16::from_f64(2.0_f64.powi(64)));
        assert_eq!(Scalar::U64(u64::MAX).cast(Dtype::Bf16), Ok(rounded));
        assert!(f(f64::NAN).cast(Dtype::Bf16).unwrap().same(&Scalar::Bf16(bf16::NAN)));
    }

    #[test]
    fn names_round_trip_and_numpy_spellings_are_read() {
        for &dtype in Dtype::ALL {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
        assert_eq!("float32".parse(), Ok(Dtype::F32));
        assert_eq!("uint8".parse(), Ok(Dtype::U8));
        assert!("f128".parse::<Dtype>().is_err());
    }
}
