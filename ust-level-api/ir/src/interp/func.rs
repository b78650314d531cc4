//! Functions and casts on registers. Each calls its [definition](crate::func); the dtype is
//! resolved when code is compiled.

use super::number::{Binary, Divide, Number as Held, Raw, Stored, Unary};
use crate::func::{Analytic, Cast, Float, Number, Ordered, cast};
use crate::scalar::{Complex, Dtype};
use crate::{Func, with_dtype};

/// To `int` or `bool`.
pub(super) type ToInt = fn(Raw) -> i64;
/// From `int` or `bool`.
pub(super) type OfInt = fn(i64) -> Raw;

macro_rules! one {
    ($trait:ident::$method:ident) => {
        |a| $trait::$method(T::from_raw(a)).to_raw()
    };
}
macro_rules! two {
    ($trait:ident::$method:ident) => {
        |a, b| $trait::$method(T::from_raw(a), T::from_raw(b)).to_raw()
    };
}

fn number<T: Held + Number<Real: Held>>(func: Func) -> Option<Unary> {
    Some(match func {
        Func::Abs => one!(Number::abs),
        Func::Sgn => one!(Number::sgn),
        Func::Conj => one!(Number::conj),
        Func::Real => one!(Number::real),
        Func::Imag => one!(Number::imag),
        _ => return None,
    })
}

fn ordered<T: Held + Ordered>(func: Func) -> Option<Unary> {
    Some(match func {
        Func::Floor => one!(Ordered::floor),
        Func::Ceil => one!(Ordered::ceil),
        Func::Round => one!(Ordered::round),
        Func::Trunc => one!(Ordered::trunc),
        _ => return None,
    })
}

fn analytic<T: Held + Analytic<Real: Held>>(func: Func) -> Option<Unary> {
    Some(match func {
        Func::Angle => one!(Analytic::angle),
        Func::Sqrt => one!(Analytic::sqrt),
        Func::Exp => one!(Analytic::exp),
        Func::Expm1 => one!(Analytic::expm1),
        Func::Log => one!(Analytic::log),
        Func::Log1p => one!(Analytic::log1p),
        Func::Sin => one!(Analytic::sin),
        Func::Cos => one!(Analytic::cos),
        Func::Tan => one!(Analytic::tan),
        Func::Asin => one!(Analytic::asin),
        Func::Acos => one!(Analytic::acos),
        Func::Atan => one!(Analytic::atan),
        Func::Sinh => one!(Analytic::sinh),
        Func::Cosh => one!(Analytic::cosh),
        Func::Tanh => one!(Analytic::tanh),
        Func::Asinh => one!(Analytic::asinh),
        Func::Acosh => one!(Analytic::acosh),
        Func::Atanh => one!(Analytic::atanh),
        _ => return None,
    })
}

fn float<T: Held + Float<Real: Held>>(func: Func) -> Option<Unary> {
    match func {
        Func::Erf => Some(one!(Float::erf)),
        Func::Erfinv => Some(one!(Float::erfinv)),
        _ => number::<T>(func).or(ordered::<T>(func)).or(analytic::<T>(func)),
    }
}

fn of_two<T: Held + Number>(func: Func) -> Option<Binary> {
    (func == Func::Pow).then_some(two!(Number::pow))
}

fn of_two_floats<T: Held + Float>(func: Func) -> Option<Binary> {
    if func == Func::Atan2 { Some(two!(Float::atan2)) } else { of_two::<T>(func) }
}

/// Instantiates a function for a dtype: one form for integers, one for floats, one for complex
/// numbers. `None` for truth values.
macro_rules! by_kind {
    ($dtype:expr, $int:ident, $float:ident $(, $complex:ident)?; $args:tt) => {
        match $dtype {
            Dtype::I8 => $int::<i8> $args,
            Dtype::I16 => $int::<i16> $args,
            Dtype::I32 => $int::<i32> $args,
            Dtype::I64 => $int::<i64> $args,
            Dtype::U8 => $int::<u8> $args,
            Dtype::U16 => $int::<u16> $args,
            Dtype::U32 => $int::<u32> $args,
            Dtype::U64 => $int::<u64> $args,
            Dtype::F16 | Dtype::Bf16 | Dtype::F32 => $float::<f32> $args,
            Dtype::F64 => $float::<f64> $args,
            $(
                Dtype::Complex64 => $complex::<Complex<f32>> $args,
                Dtype::Complex128 => $complex::<Complex<f64>> $args,
            )?
            _ => None,
        }
    };
}

/// A function of one number, with a number as result.
pub(super) fn unary(func: Func, dtype: Dtype) -> Option<Unary> {
    fn int<T: Held + Number<Real: Held> + Ordered>(func: Func) -> Option<Unary> {
        number::<T>(func).or(ordered::<T>(func))
    }
    fn complex<T: Held + Analytic<Real: Held>>(func: Func) -> Option<Unary> {
        number::<T>(func).or(analytic::<T>(func))
    }
    by_kind!(dtype, int, float, complex; (func))
}

/// A function of two numbers that cannot fail.
pub(super) fn binary(func: Func, dtype: Dtype) -> Option<Binary> {
    by_kind!(dtype, of_two, of_two_floats, of_two; (func))
}

/// [`Func::Rem`].
pub(super) fn rem(dtype: Dtype) -> Option<Divide> {
    fn rem<T: Held + Ordered>() -> Option<Divide> {
        Some(|a, b| Ordered::rem(T::from_raw(a), T::from_raw(b)).map(Held::to_raw))
    }
    by_kind!(dtype, rem, rem; ())
}

/// [`Func::Signbit`].
pub(super) fn signbit(dtype: Dtype) -> Option<ToInt> {
    fn signbit<T: Held + Ordered>() -> Option<ToInt> {
        Some(|a| T::from_raw(a).signbit().into())
    }
    by_kind!(dtype, signbit, signbit; ())
}

fn cast_raw<A: Held + Cast, B: Held + Cast>(raw: Raw) -> Raw {
    cast::<A, B>(A::from_raw(raw)).to_raw()
}

/// A cast between dtypes, on registers.
pub(super) fn casts(from: Dtype, to: Dtype) -> Unary {
    fn from_held<A: Held + Cast>(to: Dtype) -> Unary {
        with_dtype!(to, B => cast_raw::<A, <B as Stored>::Held>)
    }
    with_dtype!(from, A => from_held::<<A as Stored>::Held>(to))
}

/// A cast of an `int`, or of a `bool` held as 0 or 1, to a dtype.
pub(super) fn of_int(to: Dtype) -> OfInt {
    with_dtype!(to, B => |int| cast::<i64, <B as Stored>::Held>(int).to_raw())
}

/// A cast of a dtype to `int`.
pub(super) fn to_int(from: Dtype) -> ToInt {
    with_dtype!(from, A => |raw| cast::<<A as Stored>::Held, i64>(Held::from_raw(raw)))
}
