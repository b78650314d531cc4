//! Functions of numbers that machine code has no instruction for: the reference implementation, in
//! the calling convention of C.

use ust_ir::func::{Analytic, Float, Number, Ordered};
use ust_ir::scalar::Complex;
use ust_ir::{Dtype, Func};

macro_rules! address {
    ($f:expr) => {
        Some($f as *const () as usize)
    };
}

macro_rules! real {
    ($name:ident, $ty:ty, unary $($func:ident $trait:ident::$method:ident),*; binary $($func2:ident $trait2:ident::$method2:ident),*) => {
        fn $name(func: Func) -> Option<usize> {
            match func {
                $(Func::$func => {
                    extern "C" fn f(a: $ty) -> $ty { <$ty as $trait>::$method(a) }
                    address!(f as extern "C" fn($ty) -> $ty)
                })*
                $(Func::$func2 => {
                    extern "C" fn f(a: $ty, b: $ty) -> $ty { <$ty as $trait2>::$method2(a, b) }
                    address!(f as extern "C" fn($ty, $ty) -> $ty)
                })*
                Func::Rem => {
                    extern "C" fn f(a: $ty, b: $ty) -> $ty {
                        // A remainder of floats never fails.
                        Ordered::rem(a, b).unwrap_or(<$ty>::NAN)
                    }
                    address!(f as extern "C" fn($ty, $ty) -> $ty)
                }
                _ => None,
            }
        }
    };
}

macro_rules! reals {
    ($($name:ident $ty:ty),*) => {$(
        real!(
            $name, $ty,
            unary Exp Analytic::exp, Expm1 Analytic::expm1, Log Analytic::log,
            Log1p Analytic::log1p, Sin Analytic::sin, Cos Analytic::cos, Tan Analytic::tan,
            Asin Analytic::asin, Acos Analytic::acos, Atan Analytic::atan, Sinh Analytic::sinh,
            Cosh Analytic::cosh, Tanh Analytic::tanh, Asinh Analytic::asinh,
            Acosh Analytic::acosh, Atanh Analytic::atanh, Angle Analytic::angle,
            Erf Float::erf, Erfinv Float::erfinv;
            binary Pow Number::pow, Atan2 Float::atan2
        );
    )*};
}
reals!(real_f32 f32, real_f64 f64);

/// A function of floats of one width: its arguments and its result have that width.
pub(super) fn of_floats(func: Func, dtype: Dtype) -> Option<usize> {
    if dtype == Dtype::F64 { real_f64(func) } else { real_f32(func) }
}

macro_rules! complex {
    ($name:ident, $part:ty, $($func:ident $trait:ident::$method:ident),*) => {
        fn $name(func: Func) -> Option<usize> {
            match func {
                $(Func::$func => {
                    extern "C" fn f(re: $part, im: $part, out: &mut [$part; 2]) {
                        let z = <Complex<$part> as $trait>::$method(Complex::new(re, im));
                        *out = [z.re, z.im];
                    }
                    address!(f as extern "C" fn($part, $part, &mut [$part; 2]))
                })*
                Func::Pow => {
                    // `pow` of the trait `Number`, not of the type.
                    extern "C" fn g(
                        re: $part,
                        im: $part,
                        power_re: $part,
                        power_im: $part,
                        out: &mut [$part; 2],
                    ) {
                        let power = Complex::new(power_re, power_im);
                        let z = Number::pow(Complex::new(re, im), power);
                        *out = [z.re, z.im];
                    }
                    address!(g as extern "C" fn($part, $part, $part, $part, &mut [$part; 2]))
                }
                _ => None,
            }
        }
    };
}

macro_rules! complexes {
    ($($name:ident $part:ty),*) => {$(
        complex!(
            $name, $part,
            Sgn Number::sgn, Sqrt Analytic::sqrt, Exp Analytic::exp, Expm1 Analytic::expm1,
            Log Analytic::log, Log1p Analytic::log1p, Sin Analytic::sin, Cos Analytic::cos,
            Tan Analytic::tan, Asin Analytic::asin, Acos Analytic::acos, Atan Analytic::atan,
            Sinh Analytic::sinh, Cosh Analytic::cosh, Tanh Analytic::tanh,
            Asinh Analytic::asinh, Acosh Analytic::acosh, Atanh Analytic::atanh
        );
    )*};
}
complexes!(complex_f32 f32, complex_f64 f64);

/// A function of complex numbers: takes both parts of each argument, and a pointer to both parts of the
/// result.
pub(super) fn of_complex(func: Func, dtype: Dtype) -> Option<usize> {
    if dtype == Dtype::Complex128 { complex_f64(func) } else { complex_f32(func) }
}

/// A function of the parts of a complex number with a real result: its absolute value or its angle.
pub(super) fn of_parts(func: Func, dtype: Dtype) -> Option<usize> {
    extern "C" fn abs_f32(re: f32, im: f32) -> f32 {
        Number::abs(Complex::new(re, im))
    }
    extern "C" fn abs_f64(re: f64, im: f64) -> f64 {
        Number::abs(Complex::new(re, im))
    }
    extern "C" fn angle_f32(re: f32, im: f32) -> f32 {
        Analytic::angle(Complex::new(re, im))
    }
    extern "C" fn angle_f64(re: f64, im: f64) -> f64 {
        Analytic::angle(Complex::new(re, im))
    }
    match (func, dtype) {
        (Func::Abs, Dtype::Complex64) => address!(abs_f32 as extern "C" fn(f32, f32) -> f32),
        (Func::Abs, Dtype::Complex128) => address!(abs_f64 as extern "C" fn(f64, f64) -> f64),
        (Func::Angle, Dtype::Complex64) => address!(angle_f32 as extern "C" fn(f32, f32) -> f32),
        (Func::Angle, Dtype::Complex128) => address!(angle_f64 as extern "C" fn(f64, f64) -> f64),
        _ => None,
    }
}

/// Powers of signed or unsigned integers of 64 bits. For narrower integers, the low bits of the result are
/// used.
pub(super) fn pow_of_integers(signed: bool) -> usize {
    extern "C" fn of_signed(a: i64, power: i64) -> i64 {
        Number::pow(a, power)
    }
    extern "C" fn of_unsigned(a: u64, power: u64) -> u64 {
        Number::pow(a, power)
    }
    if signed {
        of_signed as extern "C" fn(i64, i64) -> i64 as *const () as usize
    } else {
        of_unsigned as extern "C" fn(u64, u64) -> u64 as *const () as usize
    }
}
