//! Known values, ends of ranges, signs of zeros.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

use super::*;
use crate::scalar::Complex;

type C = Complex<f64>;
const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Asserts equality up to `ulps` units in the last place. Zeros must have equal signs; NaN equals
/// NaN.
#[track_caller]
fn close(what: &str, given: f64, expected: f64, ulps: f64) {
    let same = given == expected && (given != 0.0 || given.signbit() == expected.signbit());
    let near = (given - expected).abs() <= ulps * f64::EPSILON * expected.abs();
    let ok = same || (expected != 0.0 && near) || (given.is_nan() && expected.is_nan());
    assert!(ok, "{what}: {given:e}, expected {expected:e}");
}

#[test]
fn real_functions_have_known_values() {
    type F = fn(f64) -> f64;
    type Row<'a> = (&'a str, F, &'a [(f64, f64)]);
    let table: &[Row<'_>] = &[
        ("sqrt", Analytic::sqrt, &[(2.25, 1.5), (-0.0, -0.0), (-1.0, NAN)]),
        ("exp", Analytic::exp, &[(0.0, 1.0), (-INF, 0.0), (INF, INF)]),
        ("expm1", Analytic::expm1, &[(1e-20, 1e-20), (-0.0, -0.0), (-INF, -1.0)]),
        ("log", Analytic::log, &[(1.0, 0.0), (0.0, -INF), (-1.0, NAN)]),
        ("log1p", Analytic::log1p, &[(1e-20, 1e-20), (-0.0, -0.0), (-1.0, -INF)]),
        ("tan", Analytic::tan, &[(FRAC_PI_4, 1.0), (-0.0, -0.0), (INF, NAN)]),
        ("asin", Analytic::asin, &[(1.0, FRAC_PI_2), (1.5, NAN)]),
        ("acos", Analytic::acos, &[(-1.0, PI), (1.0, 0.0)]),
        ("atan", Analytic::atan, &[(INF, FRAC_PI_2), (-1.0, -FRAC_PI_4)]),
        ("asinh", Analytic::asinh, &[(0.75, LN_2), (-1e-10, -1e-10), (-INF, -INF)]),
        ("acosh", Analytic::acosh, &[(1.25, LN_2), (1.0, 0.0), (0.5, NAN), (-2.0, NAN)]),
        // The result is about the square root of 2 * 2^-30.
        ("acosh", Analytic::acosh, &[(1.0 + 2_f64.powi(-30), 4.315837287180596e-5)]),
        ("atanh", Analytic::atanh, &[(0.6, LN_2), (-0.6, -LN_2), (-1.0, -INF), (2.0, NAN)]),
        ("floor", Ordered::floor, &[(-0.5, -1.0), (2.0, 2.0), (-INF, -INF)]),
        ("ceil", Ordered::ceil, &[(-0.5, -0.0), (0.5, 1.0)]),
        ("trunc", Ordered::trunc, &[(-1.75, -1.0), (1.75, 1.0)]),
        (
            "round",
            Ordered::round,
            &[(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-2.5, -2.0), (NAN, NAN)],
        ),
        ("sgn", Number::sgn, &[(-3.0, -1.0), (INF, 1.0), (-0.0, 0.0), (NAN, NAN)]),
        ("abs", Number::abs, &[(-0.0, 0.0), (-INF, INF)]),
        ("imag", Number::imag, &[(-3.0, 0.0)]),
        ("angle", Analytic::angle, &[(-3.0, PI), (3.0, 0.0), (-0.0, PI), (NAN, NAN)]),
        (
            "erf",
            Float::erf,
            &[(0.5, 0.520_499_877_813_046_5), (-1.0, -0.842_700_792_949_714_9), (INF, 1.0)],
        ),
        (
            "erfinv",
            Float::erfinv,
            &[(0.5, 0.476_936_276_204_469_9), (1.0, INF), (-1.0, -INF), (1.1, NAN), (-0.0, -0.0)],
        ),
    ];
    for (name, f, cases) in table {
        for &(x, expected) in *cases {
            close(&format!("{name}({x})"), f(x), expected, 4.0);
        }
    }
    for (x, y, expected) in [(2.0, -2.0, 0.25), (NAN, 0.0, 1.0), (-8.0, 1.0 / 3.0, NAN)] {
        close("pow", Number::pow(x, y), expected, 1.0);
    }
    close("atan2", Float::atan2(-0.0_f64, -1.0), -PI, 1.0);
    assert_eq!(Ordered::rem(-7.5_f64, 2.0), Some(-1.5));
    assert!(Ordered::rem(1.0_f64, 0.0).is_some_and(f64::is_nan));
    assert!(Analytic::acosh(-128.0_f32).is_nan() && Analytic::acosh(-1e20_f32).is_nan());
    assert!(Ordered::signbit(-0.0_f32) && !Ordered::signbit(0.0_f32));
}

#[test]
fn the_inverse_error_function_inverts() {
    for i in 1..2000 {
        let x = f64::from(i) / 2000.0;
        let y = Float::erfinv(x);
        assert_eq!(Float::erfinv(-x), -y);
        // Compared without cancellation, up to the change that an error of four ulps in y would
        // cause.
        let (back, there) = if x < 0.5 { (Float::erf(y), x) } else { (libm::erfc(y), 1.0 - x) };
        let slope = std::f64::consts::FRAC_2_SQRT_PI * (-y * y).exp();
        let allowed = 4.0 * f64::EPSILON * (y * slope + there);
        assert!((back - there).abs() <= allowed, "{x}: {back:e} {there:e}");
    }
    for x in [1e-300, 1e-20, 1e-9] {
        close("erfinv", Float::erfinv(x), x / std::f64::consts::FRAC_2_SQRT_PI, 4.0);
    }
    // The largest number below 1.
    close("erfinv", Float::erfinv(1.0 - f64::EPSILON / 2.0), 5.863_584_748_755_168, 8.0);
    assert_eq!(Float::erfinv(0.5_f32), 0.476_936_28);
}

#[test]
fn integers_wrap() {
    assert_eq!((Number::abs(i8::MIN), Number::sgn(-5_i8), Number::sgn(7_u8)), (i8::MIN, -1, 1));
    let pow = <i32 as Number>::pow;
    for (base, power, expected) in [
        (3, 4, 81),
        (7, 0, 1),
        (0, 0, 1),
        (2, 32, 0),
        (1, -5, 1),
        (-1, -5, -1),
        (-1, -4, 1),
        (2, -1, 0),
        (0, -1, 0),
    ] {
        assert_eq!(pow(base, power), expected, "{base} to the power {power}");
    }
    assert_eq!(Number::pow(3_u64, 41), 3_u64.wrapping_pow(41));
    assert_eq!((Ordered::rem(-7_i16, 2), Ordered::rem(1_i16, 0)), (Some(-1), None));
    assert_eq!(Ordered::rem(i64::MIN, -1), Some(0));
    assert_eq!((Ordered::signbit(-1_i8), Ordered::signbit(255_u8)), (true, false));
}

/// Each inverse returns a value of its branch, and inverts its function.
#[test]
fn complex_functions_invert_near_and_far() {
    type F = fn(C) -> C;
    let pairs: &[(&str, F, F, f64)] = &[
        ("sqrt", Analytic::sqrt, |z| z * z, 1e300),
        ("log", Analytic::log, Analytic::exp, 1e300),
        ("log1p", Analytic::log1p, Analytic::expm1, 1e300),
        ("asin", Analytic::asin, Analytic::sin, 1e300),
        ("acos", Analytic::acos, Analytic::cos, 1e300),
        ("asinh", Analytic::asinh, Analytic::sinh, 1e300),
        ("acosh", Analytic::acosh, Analytic::cosh, 1e300),
        ("atan", Analytic::atan, Analytic::tan, 1e3),
        ("atanh", Analytic::atanh, Analytic::tanh, 1e3),
    ];
    for size in [1e-300, 1e-30, 1e-9, 0.3, 0.9, 1.7, 30.0, 1e9, 1e150] {
        for step in 0..16 {
            let z = C::from_polar(size, 0.1 + f64::from(step) * PI / 8.0);
            for (name, inverse, function, most) in pairs {
                // Near 0, acos and acosh lose the digits of the argument.
                let flat = matches!(*name, "acos" | "acosh") && size < 0.1;
                if size > *most || flat {
                    continue;
                }
                let w = inverse(z);
                let back = function(w);
                let error = Number::abs(back - z) / size;
                let allowed = 1e-15 * (8.0 + Number::abs(w) + size.min(1e6));
                assert!(error <= allowed, "{name} of {z:e}: {w:e}, back {back:e}, {error:e}");
            }
        }
    }
}

#[test]
fn complex_functions_keep_to_their_side_of_the_cut() {
    let pairs = |given: C, re: f64, im: f64| {
        close("real part", given.re, re, 8.0);
        close("imaginary part", given.im, im, 8.0);
    };
    let acosh_2 = (2.0 + 3_f64.sqrt()).ln();
    for side in [0.0, -0.0] {
        let sign = 1_f64.copysign(side);
        pairs(Analytic::sqrt(C::new(-4.0, side)), 0.0, 2.0 * sign);
        pairs(Analytic::log(C::new(-1.0, side)), 0.0, PI * sign);
        pairs(Analytic::asin(C::new(2.0, side)), FRAC_PI_2, acosh_2 * sign);
        pairs(Analytic::acos(C::new(2.0, side)), 0.0, -acosh_2 * sign);
        pairs(Analytic::acosh(C::new(-2.0, side)), acosh_2, PI * sign);
        pairs(Analytic::atanh(C::new(2.0, side)), 3_f64.ln() / 2.0, FRAC_PI_2 * sign);
        pairs(Analytic::asinh(C::new(side, 2.0)), acosh_2 * sign, FRAC_PI_2);
        pairs(Analytic::atan(C::new(side, 2.0)), FRAC_PI_2 * sign, 3_f64.ln() / 2.0);
    }
    pairs(Analytic::tanh(C::new(800.0, 1.0)), 1.0, 0.0);
    // exp(710.6) overflows, the parts of the result do not.
    let (z, re, im) = (C::new(710.6, FRAC_PI_4), 1.4391757976662108e308, 1.4391757976662107e308);
    pairs(Analytic::cosh(z), re, im);
    pairs(Analytic::sinh(z), re, im);
    pairs(Analytic::cosh(-z), re, im);
    pairs(Analytic::sinh(-z), -re, -im);
    pairs(Analytic::cos(C::new(FRAC_PI_4, -710.6)), re, im);
    pairs(Analytic::sqrt(C::new(-1.0, 1e-20)), 5e-21, 1.0);
    pairs(Analytic::expm1(C::new(1e-20, 2e-20)), 1e-20, 2e-20);
    pairs(Analytic::log1p(C::new(1e-20, 2e-20)), 1e-20, 2e-20);
    pairs(Analytic::log(C::new(1.0, 1e-10)), 5e-21, 1e-10);
    pairs(Number::sgn(C::new(1.5e308, -1e308)), 0.832_050_294_337_843_7, -0.554_700_196_225_229_1);
    pairs(Number::sgn(C::new(0.0, -0.0)), 0.0, 0.0);
    pairs(Number::pow(C::new(0.0, 1.0), C::new(2.0, 0.0)), -1.0, 0.0);
    pairs(Number::pow(C::new(4.0, 0.0), C::new(0.5, 0.0)), 2.0, 0.0);
    pairs(Number::pow(C::new(0.0, 0.0), C::new(0.0, 0.0)), 1.0, 0.0);
    assert_eq!(Number::abs(Complex::new(3.0_f32, -4.0)), 5.0);
    assert_eq!(Analytic::angle(Complex::new(-1.0_f32, 0.0)), std::f32::consts::PI);
}

#[test]
fn casts_wrap_saturate_and_drop() {
    assert_eq!(cast::<f64, i8>(-1e9), -128);
    assert_eq!(cast::<f64, u8>(NAN), 0);
    assert_eq!(cast::<f32, u64>(f32::INFINITY), u64::MAX);
    assert_eq!(cast::<f64, i64>(-2.9), -2);
    assert_eq!(cast::<i64, u8>(-1), 255);
    assert_eq!(cast::<u64, i64>(u64::MAX), -1);
    assert_eq!(cast::<i64, f32>((1 << 53) + 1), 9_007_199_254_740_992.0);
    assert_eq!(cast::<u64, f64>(u64::MAX), 18_446_744_073_709_551_615.0);
    assert_eq!(cast::<f64, f32>(1e300), f32::INFINITY);
    assert_eq!(cast::<Complex<f64>, f32>(C::new(1.5, 7.0)), 1.5);
    assert_eq!(cast::<Complex<f64>, i32>(C::new(1.5, 7.0)), 1);
    assert_eq!(cast::<i8, Complex<f32>>(-3), Complex::new(-3.0, 0.0));
    assert!(cast::<Complex<f32>, bool>(Complex::new(0.0, 1.0)) && cast::<f64, bool>(NAN));
    assert!(!cast::<f64, bool>(-0.0) && cast::<i8, bool>(-128));
    assert_eq!((cast::<bool, f32>(true), cast::<bool, u8>(false)), (1.0, 0));
}

#[test]
fn a_function_takes_and_gives_what_it_says() {
    use Dtype::{Bool, Complex64, Complex128, F16, F32, F64, I32, U8};
    let taken = |func: Func| -> Vec<Dtype> {
        [Bool, U8, I32, F16, F64, Complex64].into_iter().filter(|&d| func.accepts(d)).collect()
    };
    for &func in Func::ALL {
        assert!(!func.accepts(Bool) && func.accepts(F16) && func.accepts(F32), "{func}");
        assert_eq!(func.arity() == 2, ["pow", "atan2", "rem"].contains(&func.name()));
    }
    assert_eq!(taken(Func::Abs), [U8, I32, F16, F64, Complex64]);
    assert_eq!(taken(Func::Exp), [F16, F64, Complex64]);
    assert_eq!(taken(Func::Erf), [F16, F64]);
    assert_eq!(taken(Func::Round), [U8, I32, F16, F64]);
    assert_eq!(Func::Abs.result(Complex64), Ty::Val(F32));
    assert_eq!(Func::Angle.result(Complex128), Ty::Val(F64));
    assert_eq!(Func::Abs.result(F16), Ty::Val(F16));
    assert_eq!(Func::Sgn.result(Complex64), Ty::Val(Complex64));
    assert_eq!(Func::Signbit.result(F32), Ty::Bool);
}
