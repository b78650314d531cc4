//! Functions of numbers: their types, and their definitions.
//!
//! [`Func`] names them; [`Expr::Call`](super::Expr::Call) applies them to `val`s of one dtype. Each
//! function is defined once, on Rust's numbers, as a method of one of four traits. The interpreter
//! calls these methods. A back end calls them, too, for functions that it has no instruction for.
//! f16 and bf16 are computed in f32.
//!
//! | trait | numbers | methods |
//! |---|---|---|
//! | [`Number`] | integers, floats, complex | abs, sgn, conj, real, imag, pow |
//! | [`Ordered`] | integers, floats | signbit, floor, ceil, round, trunc, rem |
//! | [`Analytic`] | floats, complex | angle, and sqrt to atanh |
//! | [`Float`] | floats | erf, erfinv, atan2 |
//!
//! `f64` and `f32` have inherent methods with some of these names, which take precedence and may
//! differ. Write `Ordered::round(x)`, not `x.round()`.
//!
//! [`cast`] defines casts.

mod cast;
mod complex;
mod erf;
mod real;
#[cfg(test)]
mod tests;

pub use cast::{Cast, Exact, cast};
pub use real::{Analytic, Float, Number, Ordered};

use std::fmt;

use super::Ty;
use crate::scalar::Dtype;

macro_rules! define {
    ($($(#[doc = $doc:literal])+ $func:ident, $name:literal;)*) => {
        /// A function of numbers. f16 and bf16 are computed in f32, and rounded when they are
        /// stored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Func {
            $($(#[doc = $doc])+ $func,)*
        }

        impl Func {
            /// Every function.
            pub const ALL: &'static [Func] = &[$(Func::$func),*];

            /// The name in printed code, such as `log1p`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Func::$func => $name,)* }
            }
        }
    };
}

define! {
    /// Absolute value; wraps for integers. The result for a complex argument is real.
    Abs, "abs";
    /// Square root; of the two roots, the one to the right of the imaginary axis.
    Sqrt, "sqrt";
    /// `e` to the power of the argument.
    Exp, "exp";
    /// `exp(a) - 1`, exact near 0.
    Expm1, "expm1";
    /// Natural logarithm.
    Log, "log";
    /// `log(1 + a)`, exact near 0.
    Log1p, "log1p";
    /// Sine.
    Sin, "sin";
    /// Cosine.
    Cos, "cos";
    /// Tangent.
    Tan, "tan";
    /// Inverse sine.
    Asin, "asin";
    /// Inverse cosine.
    Acos, "acos";
    /// Inverse tangent.
    Atan, "atan";
    /// Hyperbolic sine.
    Sinh, "sinh";
    /// Hyperbolic cosine.
    Cosh, "cosh";
    /// Hyperbolic tangent.
    Tanh, "tanh";
    /// Inverse hyperbolic sine.
    Asinh, "asinh";
    /// Inverse hyperbolic cosine.
    Acosh, "acosh";
    /// Inverse hyperbolic tangent.
    Atanh, "atanh";
    /// The largest whole number that is at most the argument.
    Floor, "floor";
    /// The smallest whole number that is at least the argument.
    Ceil, "ceil";
    /// The nearest whole number; of two, the even one.
    Round, "round";
    /// The argument rounded towards 0.
    Trunc, "trunc";
    /// Error function.
    Erf, "erf";
    /// Inverse error function.
    Erfinv, "erfinv";
    /// Complex conjugate; a real argument unchanged.
    Conj, "conj";
    /// Real part; a real argument unchanged.
    Real, "real";
    /// Imaginary part; 0 for a real argument.
    Imag, "imag";
    /// Angle to the positive real axis, `atan2(imag(a), real(a))`; real.
    Angle, "angle";
    /// Sign: -1, 0 or 1, and NaN for NaN. For a complex argument `a / abs(a)`, and 0 for 0.
    Sgn, "sgn";
    /// Whether the sign bit is set, also for zeros and NaN; the result is a `bool`.
    Signbit, "signbit";
    /// The first argument to the power of the second. Integers wrap. An integer to a negative power
    /// is truncated: 1 for 1, 1 or -1 for -1, else 0.
    Pow, "pow";
    /// Angle of the point (second, first) to the positive first axis.
    Atan2, "atan2";
    /// Remainder of the first argument divided by the second, with the sign of the first. Division
    /// of integers by zero is handled [as everywhere](crate#what-it-means).
    Rem, "rem";
}

impl Func {
    /// Number of arguments: 1 or 2.
    #[must_use]
    pub fn arity(self) -> usize {
        match self {
            Func::Pow | Func::Atan2 | Func::Rem => 2,
            _ => 1,
        }
    }

    /// Whether the function takes numbers of this dtype. None takes truth values.
    #[must_use]
    pub fn accepts(self, dtype: Dtype) -> bool {
        use Func::{
            Abs, Angle, Atan2, Ceil, Conj, Erf, Erfinv, Floor, Imag, Pow, Real, Rem, Round, Sgn,
            Signbit, Trunc,
        };
        match self {
            _ if dtype == Dtype::Bool => false,
            Abs | Conj | Real | Imag | Sgn | Pow => true,
            Floor | Ceil | Round | Trunc | Signbit | Rem => !dtype.is_complex(),
            Erf | Erfinv | Atan2 => dtype.is_float(),
            Angle => dtype.is_float() || dtype.is_complex(),
            // All other functions are analytic.
            _ => dtype.is_float() || dtype.is_complex(),
        }
    }

    /// The type of the result for arguments of this dtype.
    #[must_use]
    pub fn result(self, dtype: Dtype) -> Ty {
        match (self, dtype) {
            (Func::Signbit, _) => Ty::Bool,
            (Func::Abs | Func::Angle | Func::Real | Func::Imag, Dtype::Complex64) => {
                Ty::Val(Dtype::F32)
            }
            (Func::Abs | Func::Angle | Func::Real | Func::Imag, Dtype::Complex128) => {
                Ty::Val(Dtype::F64)
            }
            _ => Ty::Val(dtype),
        }
    }
}

impl fmt::Display for Func {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
