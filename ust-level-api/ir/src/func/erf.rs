//! The inverse of the error function.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// The argument for which `erf` is `x`. Winitzki's approximation by elementary functions gives a
/// start with two correct digits. Then follow three Halley steps, each of which triples the number
/// of correct digits. For `|x|` between 1/2 and 1, the steps use `erfc` and `1 - x`, which is exact
/// there, so that no digit is lost near 1.
pub(super) fn inverse(x: f64) -> f64 {
    let size = x.abs();
    if size >= 1.0 || size.is_nan() {
        return if size == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    let mut y = start(size);
    for _ in 0..3 {
        let slope = FRAC_2_SQRT_PI * (-y * y).exp();
        let beyond = if size < 0.5 { libm::erf(y) - size } else { (1.0 - size) - libm::erfc(y) };
        let step = beyond / slope;
        // A Halley step: the second derivative is -2 y times the first.
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

fn start(size: f64) -> f64 {
    // Two terms of the series: near 0, the formula below would lose digits by cancellation.
    let linear = size / FRAC_2_SQRT_PI;
    if size < 0.1 {
        return linear * (1.0 + size * size * PI / 12.0);
    }
    let a = 0.147;
    let log = ((1.0 - size) * (1.0 + size)).ln();
    let half = 2.0 / (PI * a) + log / 2.0;
    ((half * half - log / a).sqrt() - half).sqrt()
}
