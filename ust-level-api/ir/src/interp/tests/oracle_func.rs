//! Functions and casts of the oracle.

use super::oracle::{Number, Value, Zero, wrap};
use crate::Func;
use crate::scalar::{Complex, Dtype};

/// A number of another dtype.
pub(super) fn cast(value: Value, dtype: Dtype) -> Number {
    let (re, im, whole) = match value {
        Value::Int(v) => (0.0, 0.0, Some(v.into())),
        Value::Bool(v) | Value::Val(Number::Bool(v)) => (0.0, 0.0, Some(v.into())),
        Value::Val(Number::Int(v, ..)) => (0.0, 0.0, Some(v)),
        Value::Val(Number::F32(v)) => (v.into(), 0.0, None),
        Value::Val(Number::F64(v)) => (v, 0.0, None),
        Value::Val(Number::C32(v)) => (v.re.into(), v.im.into(), None),
        Value::Val(Number::C64(v)) => (v.re, v.im, None),
    };
    let int = |bits: u32, signed: bool| {
        let (lo, hi) = match signed {
            true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
            false => (0, (1_i128 << bits) - 1),
        };
        match whole {
            Some(whole) => wrap(whole, bits, signed),
            None if f64::is_nan(re) => Number::Int(0, bits, signed),
            None if re <= lo as f64 => Number::Int(lo, bits, signed),
            None if re >= hi as f64 => Number::Int(hi, bits, signed),
            None => Number::Int(re.trunc() as i128, bits, signed),
        }
    };
    let single = |part: f64| whole.map_or(part as f32, |whole: i128| whole as f32);
    let double = |part: f64| whole.map_or(part, |whole| whole as f64);
    match dtype {
        Dtype::Bool => Number::Bool(whole.map_or(re != 0.0 || im != 0.0, |whole| whole != 0)),
        Dtype::I8 => int(8, true),
        Dtype::I16 => int(16, true),
        Dtype::I32 => int(32, true),
        Dtype::I64 => int(64, true),
        Dtype::U8 => int(8, false),
        Dtype::U16 => int(16, false),
        Dtype::U32 => int(32, false),
        Dtype::U64 => int(64, false),
        Dtype::F16 | Dtype::Bf16 | Dtype::F32 => Number::F32(single(re)),
        Dtype::F64 => Number::F64(double(re)),
        Dtype::Complex64 => Number::C32(Complex::new(single(re), im as f32)),
        Dtype::Complex128 => Number::C64(Complex::new(double(re), im)),
    }
}

/// The functions that can be defined in one line. The others have tables of known values.
pub(super) fn of_one(func: Func, a: Number) -> Value {
    let sign = |v: i128| v.signum();
    Value::Val(match (func, a) {
        (Func::Signbit, Number::Int(v, ..)) => return Value::Bool(v < 0),
        (Func::Signbit, Number::F32(v)) => return Value::Bool(v.to_bits() >> 31 == 1),
        (Func::Signbit, Number::F64(v)) => return Value::Bool(v.to_bits() >> 63 == 1),
        (Func::Abs, Number::Int(v, bits, signed)) => wrap(v.abs(), bits, signed),
        (Func::Sgn, Number::Int(v, bits, signed)) => wrap(sign(v), bits, signed),
        (Func::Imag, Number::Int(_, bits, signed)) => Number::Int(0, bits, signed),
        (_, Number::Int(..)) => a,
        (Func::Conj | Func::Real, Number::F32(_) | Number::F64(_)) => a,
        (Func::Conj, Number::C32(v)) => Number::C32(Complex::new(v.re, -v.im)),
        (Func::Conj, Number::C64(v)) => Number::C64(Complex::new(v.re, -v.im)),
        (Func::Imag, Number::F32(_)) => Number::F32(0.0),
        (Func::Imag, Number::F64(_)) => Number::F64(0.0),
        (Func::Imag, Number::C32(v)) => Number::F32(v.im),
        (Func::Imag, Number::C64(v)) => Number::F64(v.im),
        (Func::Real, Number::C32(v)) => Number::F32(v.re),
        (Func::Real, Number::C64(v)) => Number::F64(v.re),
        (Func::Sqrt, Number::F32(v)) => Number::F32(v.sqrt()),
        (Func::Sqrt, Number::F64(v)) => Number::F64(v.sqrt()),
        (Func::Abs, Number::F32(v)) => Number::F32(if v.is_sign_negative() { -v } else { v }),
        (Func::Abs, Number::F64(v)) => Number::F64(if v.is_sign_negative() { -v } else { v }),
        (Func::Abs, Number::C32(v)) => Number::F32(f64::from(v.re).hypot(v.im.into()) as f32),
        (Func::Abs, Number::C64(v)) => Number::F64(v.re.hypot(v.im)),
        (Func::Floor, Number::F32(v)) => Number::F32(v.floor()),
        (Func::Floor, Number::F64(v)) => Number::F64(v.floor()),
        (Func::Round, Number::F32(v)) => Number::F32(v.round_ties_even()),
        (Func::Round, Number::F64(v)) => Number::F64(v.round_ties_even()),
        (func, a) => panic!("{func} of {a:?}"),
    })
}

pub(super) fn of_two(func: Func, a: Number, b: Number) -> Result<Number, Zero> {
    Ok(match (func, a, b) {
        (Func::Rem, Number::Int(..), Number::Int(0, ..)) => return Err(Zero),
        (Func::Rem, Number::Int(a, bits, signed), Number::Int(b, ..)) => wrap(a % b, bits, signed),
        (Func::Rem, Number::F32(a), Number::F32(b)) => Number::F32(a % b),
        (Func::Rem, Number::F64(a), Number::F64(b)) => Number::F64(a % b),
        (Func::Pow, Number::F32(a), Number::F32(b)) => Number::F32(a.powf(b)),
        (Func::Pow, Number::F64(a), Number::F64(b)) => Number::F64(a.powf(b)),
        (Func::Pow, Number::Int(a, bits, signed), Number::Int(b, ..)) if b < 0 => {
            let power = if b % 2 == 0 { 1 } else { a };
            Number::Int(if a.abs() == 1 { power } else { 0 }, bits, signed)
        }
        (Func::Pow, Number::Int(a, bits, signed), Number::Int(mut b, ..)) => {
            let modulus = 1_u128 << 64;
            let times = |a: u128, b: u128| (a % modulus).wrapping_mul(b % modulus) % modulus;
            let (mut result, mut square) = (1, a as u128);
            while b > 0 {
                result = if b % 2 == 1 { times(result, square) } else { result };
                (square, b) = (times(square, square), b / 2);
            }
            wrap(result as i128, bits, signed)
        }
        (func, a, b) => panic!("{func} of {a:?} and {b:?}"),
    })
}
