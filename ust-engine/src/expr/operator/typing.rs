//! The dtypes of arguments and results of operators.

use ust_level_api::Dtype;
use ust_level_api::ir::Func;

use super::Operator;
use super::emit::real;

/// The common dtype of two dtypes, by NumPy's rules: bool < integers < floating point < complex.
///
/// For a signed and an unsigned integer, it is the narrowest dtype that holds both; for `u64` and a signed
/// integer, `f64`. For an integer and a floating-point number, it holds the integer: 8 bits fit any
/// floating-point dtype, 16 bits fit `f32`, wider integers need `f64`. For `f16` and `bf16`, it is `f32`.
#[must_use]
pub fn promote(a: Dtype, b: Dtype) -> Dtype {
    match (a, b) {
        _ if a == b => a,
        (Dtype::Bool, other) | (other, Dtype::Bool) => other,
        _ if a.is_complex() || b.is_complex() => match promote(real(a), real(b)) {
            Dtype::F64 => Dtype::Complex128,
            _ => Dtype::Complex64,
        },
        _ if a.is_float() && b.is_float() => match a.bytes().max(b.bytes()) {
            8 => Dtype::F64,
            _ => Dtype::F32,
        },
        _ if a.is_float() => meet(b, a),
        _ if b.is_float() => meet(a, b),
        _ if is_signed(a) == is_signed(b) => {
            if a.bytes() > b.bytes() {
                a
            } else {
                b
            }
        }
        _ if is_signed(a) => mixed(a, b),
        _ => mixed(b, a),
    }
}

fn meet(integer: Dtype, float: Dtype) -> Dtype {
    match (integer.bytes(), float.bytes()) {
        (1, _) | (2, 4) | (_, 8) => float,
        (2, _) => Dtype::F32,
        _ => Dtype::F64,
    }
}

fn mixed(signed: Dtype, unsigned: Dtype) -> Dtype {
    if signed.bytes() > unsigned.bytes() {
        return signed;
    }
    match unsigned {
        Dtype::U8 => Dtype::I16,
        Dtype::U16 => Dtype::I32,
        Dtype::U32 => Dtype::I64,
        _ => Dtype::F64,
    }
}

pub(crate) fn is_integer(dtype: Dtype) -> bool {
    dtype != Dtype::Bool && !dtype.is_float() && !dtype.is_complex()
}

fn is_signed(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64)
}

/// Whether a dtype holds every number of another dtype, up to rounding to floating point.
#[must_use]
pub fn holds(from: Dtype, to: Dtype) -> bool {
    match (from, to) {
        _ if from == to || from == Dtype::Bool => true,
        (_, Dtype::Bool) => false,
        _ if is_integer(from) && is_integer(to) => promote(from, to) == to,
        _ if is_integer(to) => false,
        _ => to.is_complex() || !from.is_complex(),
    }
}

impl Operator {
    /// For arguments with the common dtype `of`: the dtype that they are cast to, and that of the result.
    /// `None` if the operator does not take such numbers.
    ///
    /// The condition of [`Operator::Where`] is always a bool; the dtypes are those of its sides.
    #[must_use]
    pub fn signature(&self, of: Dtype) -> Option<(Dtype, Dtype)> {
        use Operator::{
            Add, And, Cast, Div, Eq, First, IsInf, IsNan, IsNegInf, IsPosInf, Le, Lift, Lt, Max,
            Min, Mul, Ne, Neg, Not, Or, Pair, Relu, Second, Sigmoid, Sub, Times, User, Where,
        };
        let float = if of.is_float() || of.is_complex() { of } else { Dtype::F64 };
        let ordered = !of.is_complex();
        match self {
            Add | Mul | Where | Cast | First | Second | Pair | Lift { .. } => Some((of, of)),
            Sub | Neg => (of != Dtype::Bool).then_some((of, of)),
            Div => Some((float, float)),
            Min | Max | Relu => ordered.then_some((of, of)),
            And | Or | Not => Some((Dtype::Bool, Dtype::Bool)),
            Eq | Ne | IsInf | IsNan => Some((of, Dtype::Bool)),
            Lt | Le | IsPosInf | IsNegInf => ordered.then_some((of, Dtype::Bool)),
            Sigmoid => ordered.then_some((float, float)),
            Operator::Func(func) => func_signature(*func, of, float),
            Times { op, plus } => plus.identity(of).and(op.signature(of)),
            User(user) => user.result(of).map(|to| (of, to)),
        }
    }
}

fn func_signature(func: Func, of: Dtype, float: Dtype) -> Option<(Dtype, Dtype)> {
    let ordered = !of.is_complex();
    match func {
        Func::Abs | Func::Real | Func::Imag => Some((of, real(of))),
        Func::Conj | Func::Sgn => Some((of, of)),
        Func::Signbit => ordered.then_some((of, Dtype::Bool)),
        Func::Floor | Func::Ceil | Func::Round | Func::Trunc => ordered.then_some((of, of)),
        Func::Angle => Some((float, real(float))),
        Func::Pow if of == Dtype::Bool => Some((Dtype::I64, Dtype::I64)),
        Func::Pow => Some((of, of)),
        Func::Erf | Func::Erfinv | Func::Atan2 => ordered.then_some((float, float)),
        Func::Rem => (ordered && of != Dtype::Bool).then_some((of, of)),
        _ => Some((float, float)),
    }
}
