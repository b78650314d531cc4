//! Functions of complex numbers.
//!
//! All are computed in `f64`. Square root, logarithm and the inverse functions follow W. Kahan,
//! "Branch Cuts for Complex Elementary Functions, or Much Ado About Nothing's Sign Bit" (1987): the
//! sign of a zero decides on which side of a cut a number lies, and nothing cancels far from the
//! cuts.

use std::f64::consts::{FRAC_PI_2, LN_2};

use super::{Analytic, Number};
use crate::scalar::Complex;

type C = Complex<f64>;

/// `i z`.
fn turn(z: C) -> C {
    C::new(-z.im, z.re)
}

/// `-i z`.
fn turn_back(z: C) -> C {
    C::new(z.im, -z.re)
}

/// A product in which 0 times infinity is 0.
fn times(a: f64, b: f64) -> f64 {
    if b == 0.0 && !a.is_nan() { b * 1_f64.copysign(a) } else { a * b }
}

fn sgn(z: C) -> C {
    let largest = z.re.abs().max(z.im.abs());
    if largest == 0.0 && !z.re.is_nan() && !z.im.is_nan() {
        return C::ZERO;
    }
    // Scaled, so that the absolute value neither overflows nor underflows.
    let z = C::new(z.re / largest, z.im / largest);
    let size = z.re.hypot(z.im);
    C::new(z.re / size, z.im / size)
}

fn sqrt(z: C) -> C {
    let (x, y) = (z.re, z.im);
    let largest = x.abs().max(y.abs());
    if y.is_infinite() {
        return C::new(f64::INFINITY, y);
    }
    if largest == 0.0 && !x.is_nan() && !y.is_nan() {
        return C::new(0.0, y);
    }
    if x.is_infinite() {
        let none = if y.is_nan() { y } else { 0.0 };
        let far = f64::INFINITY;
        return if x > 0.0 { C::new(far, none.copysign(y)) } else { C::new(none, far.copysign(y)) };
    }
    // Scaled by a power of 4, so that the absolute value neither overflows nor loses digits.
    let (scale, root) = match largest {
        l if l > 1e300 => (2_f64.powi(-4), 2_f64.powi(2)),
        l if l < 1e-290 => (2_f64.powi(108), 2_f64.powi(-54)),
        _ => (1.0, 1.0),
    };
    let (x, y) = (x * scale, y * scale);
    let long = ((x.abs() + x.hypot(y)) / 2.0).sqrt();
    let short = y.abs() / (2.0 * long);
    let (re, im) = if x >= 0.0 { (long, short) } else { (short, long) };
    C::new(re * root, im.copysign(y) * root)
}

/// The logarithm of the absolute value of `x + iy`.
fn log_size(x: f64, y: f64) -> f64 {
    let (x, y) = (x.abs(), y.abs());
    let (large, small) = if x >= y { (x, y) } else { (y, x) };
    if (0.5..2.0).contains(&large) {
        return ((large - 1.0) * (large + 1.0) + small * small).ln_1p() / 2.0;
    }
    if large > 1e300 { (x / 2.0).hypot(y / 2.0).ln() + LN_2 } else { x.hypot(y).ln() }
}

fn log(z: C) -> C {
    C::new(log_size(z.re, z.im), z.im.atan2(z.re))
}

fn log1p(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x.abs().max(y.abs()) < 0.5 {
        return C::new((x * (2.0 + x) + y * y).ln_1p() / 2.0, y.atan2(1.0 + x));
    }
    log(C::new(1.0 + x, y))
}

/// `scale * exp(z)`, for a `z` whose `exp(z.re)` may overflow although the parts of the product do
/// not. Multiplying twice by `exp(z.re / 2)` costs no significant digit.
fn exp_far(z: C, scale: f64) -> C {
    let (sin, cos) = z.im.sin_cos();
    let root = (z.re / 2.0).exp();
    C::new(root * (root * scale * cos), times(root, times(root * scale, sin)))
}

fn exp(z: C) -> C {
    let (sin, cos) = if z.im == 0.0 { (z.im, 1.0) } else { z.im.sin_cos() };
    if z.re == f64::NEG_INFINITY {
        return C::ZERO;
    }
    if z.re > 709.0 {
        return exp_far(z, 1.0);
    }
    let size = z.re.exp();
    C::new(size * cos, times(size, sin))
}

fn expm1(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x > 700.0 {
        return exp(z);
    }
    let half = (y / 2.0).sin();
    C::new(times(y.cos(), x.exp_m1()) - 2.0 * half * half, times(x.exp(), y.sin()))
}

fn sinh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    // exp(-|x|) is below the last digit of exp(|x|).
    if x.abs() > 709.0 {
        let far = exp_far(C::new(x.abs(), y), 0.5);
        return C::new(far.re * x.signum(), far.im);
    }
    C::new(times(y.cos(), x.sinh()), times(x.cosh(), y.sin()))
}

fn cosh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    if x.abs() > 709.0 {
        let far = exp_far(C::new(x.abs(), y), 0.5);
        return C::new(far.re, far.im * x.signum());
    }
    C::new(x.cosh() * y.cos(), times(x.sinh(), y.sin()))
}

fn tanh(z: C) -> C {
    let (x, y) = (z.re, z.im);
    // The real part differs from 1 by less than the last digit.
    if x.abs() > 40.0 && y.is_finite() {
        let rest = 4.0 * y.sin() * y.cos() * (-2.0 * x.abs()).exp();
        return C::new(1_f64.copysign(x), rest);
    }
    let tan = y.tan();
    let (sinh, slope) = (x.sinh(), 1.0 + tan * tan);
    let cosh = (1.0 + sinh * sinh).sqrt();
    let size = 1.0 + slope * sinh * sinh;
    C::new(slope * cosh * sinh / size, tan / size)
}

/// The roots of `1 - z` and `1 + z`, with signs of zeros kept.
fn roots(z: C) -> (C, C) {
    (sqrt(C::new(1.0 - z.re, -z.im)), sqrt(C::new(1.0 + z.re, z.im)))
}

/// The imaginary part of `conj(a) b`.
fn cross(a: C, b: C) -> f64 {
    a.re * b.im - a.im * b.re
}

fn asin(z: C) -> C {
    let (minus, plus) = roots(z);
    let re = z.re.atan2(minus.re * plus.re - minus.im * plus.im);
    C::new(re, Analytic::asinh(cross(minus, plus)))
}

fn acos(z: C) -> C {
    let (minus, plus) = roots(z);
    C::new(2.0 * minus.re.atan2(plus.re), Analytic::asinh(cross(plus, minus)))
}

fn acosh(z: C) -> C {
    let minus = sqrt(C::new(z.re - 1.0, z.im));
    let plus = sqrt(C::new(z.re + 1.0, z.im));
    let re = minus.re * plus.re + minus.im * plus.im;
    C::new(Analytic::asinh(re), 2.0 * minus.im.atan2(plus.re))
}

fn atanh(z: C) -> C {
    let side = 1_f64.copysign(z.re);
    let (x, y) = (z.re.abs(), z.im);
    let far = f64::MAX.sqrt() / 4.0;
    let near = 1.0 / far;
    let (re, im) = if x > far || y.abs() > far {
        let size = x.hypot(y);
        let re = if size.is_infinite() { 0.0 } else { x / size / size };
        (re, FRAC_PI_2.copysign(y))
    } else if x == 1.0 {
        let t = y.abs() + near;
        let re = ((4.0 + y * y).sqrt().sqrt() / t.sqrt()).ln();
        // For y = 0, this is an end of the cut.
        (
            if y == 0.0 { f64::INFINITY } else { re },
            (FRAC_PI_2 + (t / 2.0).atan()).copysign(y) / 2.0,
        )
    } else {
        let t = y.abs() + near;
        let re = (4.0 * x / ((1.0 - x) * (1.0 - x) + t * t)).ln_1p() / 4.0;
        (re, (2.0 * y).atan2((1.0 - x) * (1.0 + x) - t * t) / 2.0)
    };
    C::new(side * re, im)
}

/// Small whole powers by multiplication, others through the logarithm.
fn pow(z: C, power: C) -> C {
    if power == C::ZERO {
        return C::ONE;
    }
    if z == C::ZERO {
        return if power.re > 0.0 { C::ZERO } else { C::new(f64::NAN, f64::NAN) };
    }
    if power.im == 0.0 && power.re.fract() == 0.0 && power.re.abs() <= 64.0 {
        return z.powi(power.re as i32);
    }
    exp(power * log(z))
}

macro_rules! numbers {
    ($($part:ident),*) => {$(
        impl Number for Complex<$part> {
            type Real = $part;
            fn abs(self) -> $part { part!($part, part!(f64, self.re).hypot(part!(f64, self.im))) }
            fn sgn(self) -> Self { wide!($part, sgn, self) }
            fn conj(self) -> Self { Complex::new(self.re, -self.im) }
            fn real(self) -> $part { self.re }
            fn imag(self) -> $part { self.im }
            fn pow(self, power: Self) -> Self {
                narrow!($part, pow(widen!(self), widen!(power)))
            }
        }

        impl Analytic for Complex<$part> {
            fn angle(self) -> $part { self.im.atan2(self.re) }
            fn sqrt(self) -> Self { wide!($part, sqrt, self) }
            fn exp(self) -> Self { wide!($part, exp, self) }
            fn expm1(self) -> Self { wide!($part, expm1, self) }
            fn log(self) -> Self { wide!($part, log, self) }
            fn log1p(self) -> Self { wide!($part, log1p, self) }
            fn sin(self) -> Self { wide!($part, |z| turn_back(sinh(turn(z))), self) }
            fn cos(self) -> Self { wide!($part, |z| cosh(turn(z)), self) }
            fn tan(self) -> Self { wide!($part, |z| turn_back(tanh(turn(z))), self) }
            fn asin(self) -> Self { wide!($part, asin, self) }
            fn acos(self) -> Self { wide!($part, acos, self) }
            fn atan(self) -> Self { wide!($part, |z| turn_back(atanh(turn(z))), self) }
            fn sinh(self) -> Self { wide!($part, sinh, self) }
            fn cosh(self) -> Self { wide!($part, cosh, self) }
            fn tanh(self) -> Self { wide!($part, tanh, self) }
            fn asinh(self) -> Self { wide!($part, |z| turn(asin(turn_back(z))), self) }
            fn acosh(self) -> Self { wide!($part, acosh, self) }
            fn atanh(self) -> Self { wide!($part, atanh, self) }
        }
    )*};
}

// Casts a part from and to `f64`; for an `f64`, the cast does nothing.
macro_rules! part {
    ($to:ty, $part:expr) => {{
        #[allow(clippy::cast_lossless, clippy::unnecessary_cast)]
        let part = $part as $to;
        part
    }};
}
macro_rules! widen {
    ($z:expr) => {
        C::new(part!(f64, $z.re), part!(f64, $z.im))
    };
}
macro_rules! narrow {
    ($part:ident, $z:expr) => {{
        let z: C = $z;
        Complex::new(part!($part, z.re), part!($part, z.im))
    }};
}
macro_rules! wide {
    ($part:ident, $f:expr, $z:expr) => {
        narrow!($part, ($f)(widen!($z)))
    };
}
numbers!(f32, f64);
