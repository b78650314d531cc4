//! Functions of integers and floating-point numbers, and the traits of all functions.

/// Functions of all numbers but truth values.
pub trait Number: Copy {
    /// The type of an absolute value.
    type Real;
    /// [`Func::Abs`](super::Func::Abs).
    fn abs(self) -> Self::Real;
    /// [`Func::Sgn`](super::Func::Sgn); the sign of 0 and of -0 is 0.
    #[must_use]
    fn sgn(self) -> Self;
    /// [`Func::Conj`](super::Func::Conj).
    #[must_use]
    fn conj(self) -> Self;
    /// [`Func::Real`](super::Func::Real).
    fn real(self) -> Self::Real;
    /// [`Func::Imag`](super::Func::Imag).
    fn imag(self) -> Self::Real;
    /// [`Func::Pow`](super::Func::Pow).
    #[must_use]
    fn pow(self, power: Self) -> Self;
}

/// Functions of real numbers.
pub trait Ordered: Copy {
    /// [`Func::Signbit`](super::Func::Signbit).
    fn signbit(self) -> bool;
    /// [`Func::Floor`](super::Func::Floor).
    #[must_use]
    fn floor(self) -> Self;
    /// [`Func::Ceil`](super::Func::Ceil).
    #[must_use]
    fn ceil(self) -> Self;
    /// [`Func::Round`](super::Func::Round): halves to even.
    #[must_use]
    fn round(self) -> Self;
    /// [`Func::Trunc`](super::Func::Trunc).
    #[must_use]
    fn trunc(self) -> Self;
    /// [`Func::Rem`](super::Func::Rem); `None` for integers divided by zero.
    fn rem(self, divisor: Self) -> Option<Self>;
}

macro_rules! analytic {
    ($($method:ident $func:ident),*) => {
        /// Functions of floating-point and complex numbers.
        pub trait Analytic: Number {
            /// [`Func::Angle`](super::Func::Angle).
            fn angle(self) -> Self::Real;
            $(
                #[doc = concat!("[`Func::", stringify!($func), "`](super::Func::", stringify!($func), ").")]
                #[must_use]
                fn $method(self) -> Self;
            )*
        }
    };
}
analytic!(
    sqrt Sqrt, exp Exp, expm1 Expm1, log Log, log1p Log1p, sin Sin, cos Cos, tan Tan, asin Asin,
    acos Acos, atan Atan, sinh Sinh, cosh Cosh, tanh Tanh, asinh Asinh, acosh Acosh, atanh Atanh
);

/// Functions of floating-point numbers.
pub trait Float: Analytic + Ordered {
    /// [`Func::Erf`](super::Func::Erf).
    #[must_use]
    fn erf(self) -> Self;
    /// [`Func::Erfinv`](super::Func::Erfinv): infinite at -1 and 1, NaN beyond.
    #[must_use]
    fn erfinv(self) -> Self;
    /// [`Func::Atan2`](super::Func::Atan2).
    #[must_use]
    fn atan2(self, x: Self) -> Self;
}

macro_rules! integers {
    ($($ty:ty, $abs:expr, $negative:expr;)*) => {$(
        impl Number for $ty {
            type Real = Self;
            fn abs(self) -> Self { ($abs)(self) }
            fn sgn(self) -> Self {
                if ($negative)(self) { (0 as $ty).wrapping_sub(1) } else { (self != 0).into() }
            }
            fn conj(self) -> Self { self }
            fn real(self) -> Self { self }
            fn imag(self) -> Self { 0 }
            fn pow(self, power: Self) -> Self {
                if ($negative)(power) {
                    return match self {
                        1 => 1,
                        _ if ($negative)(self) && self.wrapping_add(1) == 0 => {
                            if power & 1 == 0 { 1 } else { self }
                        }
                        _ => 0,
                    };
                }
                let (mut result, mut square, mut left): ($ty, $ty, $ty) = (1, self, power);
                while left != 0 {
                    if left & 1 == 1 {
                        result = result.wrapping_mul(square);
                    }
                    square = square.wrapping_mul(square);
                    left >>= 1;
                }
                result
            }
        }

        impl Ordered for $ty {
            fn signbit(self) -> bool { ($negative)(self) }
            fn floor(self) -> Self { self }
            fn ceil(self) -> Self { self }
            fn round(self) -> Self { self }
            fn trunc(self) -> Self { self }
            fn rem(self, divisor: Self) -> Option<Self> {
                (divisor != 0).then(|| self.wrapping_rem(divisor))
            }
        }
    )*};
}
integers! {
    i8, i8::wrapping_abs, i8::is_negative;
    i16, i16::wrapping_abs, i16::is_negative;
    i32, i32::wrapping_abs, i32::is_negative;
    i64, i64::wrapping_abs, i64::is_negative;
    u8, std::convert::identity, |_| false;
    u16, std::convert::identity, |_| false;
    u32, std::convert::identity, |_| false;
    u64, std::convert::identity, |_| false;
}

macro_rules! floats {
    ($($ty:ident, $asinh:ident, $acosh:ident, $atanh:ident, $erf:ident;)*) => {$(
        impl Number for $ty {
            type Real = Self;
            fn abs(self) -> Self { <$ty>::abs(self) }
            fn sgn(self) -> Self {
                if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else { self + 0.0 }
            }
            fn conj(self) -> Self { self }
            fn real(self) -> Self { self }
            fn imag(self) -> Self { 0.0 }
            fn pow(self, power: Self) -> Self { self.powf(power) }
        }

        impl Ordered for $ty {
            fn signbit(self) -> bool { self.is_sign_negative() }
            fn floor(self) -> Self { <$ty>::floor(self) }
            fn ceil(self) -> Self { <$ty>::ceil(self) }
            fn round(self) -> Self { self.round_ties_even() }
            fn trunc(self) -> Self { <$ty>::trunc(self) }
            fn rem(self, divisor: Self) -> Option<Self> { Some(self % divisor) }
        }

        impl Analytic for $ty {
            fn angle(self) -> Self { <$ty>::atan2(0.0, self) }
            fn sqrt(self) -> Self { <$ty>::sqrt(self) }
            fn exp(self) -> Self { <$ty>::exp(self) }
            fn expm1(self) -> Self { self.exp_m1() }
            fn log(self) -> Self { self.ln() }
            fn log1p(self) -> Self { self.ln_1p() }
            fn sin(self) -> Self { <$ty>::sin(self) }
            fn cos(self) -> Self { <$ty>::cos(self) }
            fn tan(self) -> Self { <$ty>::tan(self) }
            fn asin(self) -> Self { <$ty>::asin(self) }
            fn acos(self) -> Self { <$ty>::acos(self) }
            fn atan(self) -> Self { <$ty>::atan(self) }
            fn sinh(self) -> Self { <$ty>::sinh(self) }
            fn cosh(self) -> Self { <$ty>::cosh(self) }
            fn tanh(self) -> Self { <$ty>::tanh(self) }
            // The standard library's functions lose digits near the ends of their ranges.
            fn asinh(self) -> Self { libm::$asinh(self) }
            // Below -1, that of `libm` is not NaN.
            fn acosh(self) -> Self { if self < 1.0 { <$ty>::NAN } else { libm::$acosh(self) } }
            fn atanh(self) -> Self { libm::$atanh(self) }
        }

        impl Float for $ty {
            fn erf(self) -> Self { libm::$erf(self) }
            // An `f32` is computed in `f64` and rounded.
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
            fn erfinv(self) -> Self { super::erf::inverse(self as f64) as $ty }
            fn atan2(self, x: Self) -> Self { <$ty>::atan2(self, x) }
        }
    )*};
}
floats! {
    f32, asinhf, acoshf, atanhf, erff;
    f64, asinh, acosh, atanh, erf;
}
