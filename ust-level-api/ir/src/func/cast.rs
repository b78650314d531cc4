//! Casts between dtypes: the definition of [`Expr::Cast`](crate::Expr::Cast) and
//! [`Expr::ToInt`](crate::Expr::ToInt).

use crate::scalar::{Complex, bf16, f16};

/// A number of any dtype without loss, through which casts go.
#[derive(Clone, Copy, Debug)]
pub enum Exact {
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A floating-point number.
    Float(f64),
    /// A complex number.
    Complex(f64, f64),
}

/// A type that casts go from and to.
pub trait Cast: Copy {
    /// The same number.
    fn exact(self) -> Exact;
    /// Converts as Rust's `as` does: integers wrap, floats saturate and are rounded. An imaginary
    /// part is dropped.
    fn of(exact: Exact) -> Self;
}

/// Casts a number. It never fails.
///
/// ```
/// use ust_ir::func::cast;
///
/// assert_eq!(cast::<f64, u8>(-3.5), 0);
/// assert_eq!(cast::<i64, u8>(-3), 253);
/// assert_eq!(cast::<f32, bool>(0.25), true);
/// ```
#[inline]
#[must_use]
pub fn cast<A: Cast, B: Cast>(a: A) -> B {
    B::of(a.exact())
}

macro_rules! casts {
    ($($ty:ty => $variant:ident;)*) => {$(
        impl Cast for $ty {
            #[inline]
            fn exact(self) -> Exact { Exact::$variant(self.into()) }
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
            #[inline]
            fn of(exact: Exact) -> Self {
                match exact {
                    Exact::Signed(v) => v as $ty,
                    Exact::Unsigned(v) => v as $ty,
                    Exact::Float(v) | Exact::Complex(v, _) => v as $ty,
                }
            }
        }
    )*};
}
casts! {
    i8 => Signed; i16 => Signed; i32 => Signed; i64 => Signed;
    u8 => Unsigned; u16 => Unsigned; u32 => Unsigned; u64 => Unsigned;
    f32 => Float; f64 => Float;
}

macro_rules! halves {
    ($($ty:ty),*) => {$(
        impl Cast for $ty {
            #[inline]
            fn exact(self) -> Exact { Exact::Float(self.to_f64()) }
            #[inline]
            fn of(exact: Exact) -> Self { Self::from_f64(Cast::of(exact)) }
        }
    )*};
}
halves!(f16, bf16);

macro_rules! complex {
    ($($part:ty),*) => {$(
        impl Cast for Complex<$part> {
            #[inline]
            fn exact(self) -> Exact { Exact::Complex(self.re.into(), self.im.into()) }
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
            #[inline]
            fn of(exact: Exact) -> Self {
                match exact {
                    Exact::Complex(re, im) => Complex::new(re as $part, im as $part),
                    real => Complex::new(Cast::of(real), 0.0),
                }
            }
        }
    )*};
}
complex!(f32, f64);

impl Cast for bool {
    #[inline]
    fn exact(self) -> Exact {
        Exact::Unsigned(self.into())
    }
    #[inline]
    fn of(exact: Exact) -> Self {
        match exact {
            Exact::Signed(v) => v != 0,
            Exact::Unsigned(v) => v != 0,
            Exact::Float(v) => v != 0.0,
            Exact::Complex(re, im) => re != 0.0 || im != 0.0,
        }
    }
}
