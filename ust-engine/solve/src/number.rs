//! The numbers that solvers compute with, and the few operations on vectors of them.

use num_complex::{Complex, ComplexFloat};
use num_traits::{Float, NumCast, ToPrimitive};
use ust_engine::tensor::values::StoredElement;

/// Numbers that systems are solved in: `f32`, `f64`, and complex numbers of these.
pub trait Number: StoredElement + ComplexFloat {}

impl Number for f32 {}
impl Number for f64 {}
impl Number for Complex<f32> {}
impl Number for Complex<f64> {}

/// Partial sums of a dot product: they are independent, so that processors form them side by side.
const LANES: usize = 8;

/// The sum of `conj(a[n]) * b[n]`.
pub(crate) fn dot<T: Number>(a: &[T], b: &[T]) -> T {
    let mut sums = [T::zero(); LANES];
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        for lane in 0..LANES {
            sums[lane] = sums[lane] + a[lane].conj() * b[lane];
        }
    }
    let rest = rest_a.iter().zip(rest_b).fold(T::zero(), |sum, (&a, &b)| sum + a.conj() * b);
    sums.iter().fold(rest, |sum, &part| sum + part)
}

/// The Euclidean norm. Squares of large elements do not overflow before their root does, nor do those of small ones
/// vanish.
pub(crate) fn norm<T: Number>(a: &[T]) -> f64 {
    let squares: f64 = a.iter().map(|&x| magnitude(x).powi(2)).sum();
    if squares.is_nan() || (squares.is_normal() && squares.is_finite()) {
        return squares.sqrt();
    }
    let largest = a.iter().map(|&x| magnitude(x)).fold(0.0, f64::max);
    if largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    largest * a.iter().map(|&x| (magnitude(x) / largest).powi(2)).sum::<f64>().sqrt()
}

/// `y += alpha * x`.
pub(crate) fn add_scaled<T: Number>(y: &mut [T], alpha: T, x: &[T]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y = *y + alpha * x);
}

/// `y = x + beta * y`.
pub(crate) fn scale_add<T: Number>(y: &mut [T], beta: T, x: &[T]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y = x + beta * *y);
}

/// `x *= alpha`.
pub(crate) fn scale<T: Number>(x: &mut [T], alpha: T) {
    x.iter_mut().for_each(|x| *x = alpha * *x);
}

/// `y = b - y`.
pub(crate) fn subtract_from<T: Number>(y: &mut [T], b: &[T]) {
    y.iter_mut().zip(b).for_each(|(y, &b)| *y = b - *y);
}

/// A real number as a number of the type.
pub(crate) fn real<T: Number>(value: f64) -> T {
    <T as NumCast>::from(value).unwrap_or_else(|| T::zero() / T::zero())
}

/// The absolute value.
pub(crate) fn magnitude<T: Number>(value: T) -> f64 {
    value.abs().to_f64().unwrap_or(f64::NAN)
}

/// The real part.
pub(crate) fn real_part<T: Number>(value: T) -> f64 {
    value.re().to_f64().unwrap_or(f64::NAN)
}

/// The distance from one to the next larger number.
pub(crate) fn epsilon<T: Number>() -> f64 {
    <T::Real as Float>::epsilon().to_f64().unwrap_or(f64::EPSILON)
}
