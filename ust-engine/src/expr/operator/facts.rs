//! Facts about operators that the planner uses to simplify terms.
//!
//! The rules are for unstored elements: an unstored zero annihilates any value, NaN and infinity included.

use half::{bf16, f16};
use ust_level_api::{Dtype, Element, Scalar};

use super::Operator;

impl Operator {
    /// The identity: the value of a reduction over nothing.
    #[must_use]
    pub fn identity(&self, dtype: Dtype) -> Option<Scalar> {
        match self {
            Operator::Add | Operator::Or => Some(dtype.zero()),
            Operator::Mul | Operator::And => Some(dtype.one()),
            Operator::Min => extreme(dtype, false),
            Operator::Max => extreme(dtype, true),
            Operator::Times { op, .. } => op.identity(dtype),
            Operator::User(user) => user.identity_as(dtype),
            _ => None,
        }
    }

    /// The dtype in which a reduction accumulates numbers of a dtype. It is wider than half precision,
    /// whose sums and products would be rounded at each step.
    pub(crate) fn accumulator(&self, dtype: Dtype) -> Dtype {
        match (self, dtype) {
            (Operator::Add | Operator::Mul, Dtype::F16 | Dtype::Bf16) => Dtype::F32,
            _ => dtype,
        }
    }

    /// The result, of dtype `dtype`, if argument `at` being this constant determines it.
    #[must_use]
    pub fn annihilates(&self, at: usize, value: Scalar, dtype: Dtype) -> Option<Scalar> {
        let of = value.dtype();
        let is = |other: Option<Scalar>| other.is_some_and(|other| value.same(&other));
        match self {
            Operator::Mul | Operator::And if is(Some(of.zero())) => Some(dtype.zero()),
            Operator::Div if at == 0 && is(Some(of.zero())) => Some(dtype.zero()),
            Operator::Add if of == Dtype::Bool && is(Some(of.one())) => Some(dtype.one()),
            Operator::Or if is(Some(of.one())) => Some(dtype.one()),
            Operator::Min if is(extreme(of, true)) => extreme(dtype, true),
            Operator::Max if is(extreme(of, false)) => extreme(dtype, false),
            Operator::Times { plus, .. } if is(plus.identity(of)) => plus.identity(dtype),
            Operator::User(user) if is(user.annihilator_as(of)) => user.annihilator_as(dtype),
            _ => None,
        }
    }

    /// Whether the result is the other argument if argument `at` is this constant.
    #[must_use]
    pub fn is_neutral(&self, at: usize, value: Scalar, dtype: Dtype) -> bool {
        let is = |other: Option<Scalar>| other.is_some_and(|other| value.same(&other));
        match self {
            Operator::Add
            | Operator::Or
            | Operator::Mul
            | Operator::And
            | Operator::Min
            | Operator::Max => is(self.identity(dtype)),
            Operator::User(user) => user.arity() == 2 && is(self.identity(dtype)),
            Operator::Sub => at == 1 && is(Some(dtype.zero())),
            Operator::Div => at == 1 && is(Some(dtype.one())),
            Operator::First => at == 1,
            Operator::Second => at == 0,
            Operator::Times { op, plus } => {
                // The semiring's zero annihilates, so it is not neutral.
                !is(plus.identity(dtype)) && op.is_neutral(at, value, dtype)
            }
            _ => false,
        }
    }

    /// The argument that is the result if argument `at` is this constant: the other argument if the
    /// constant [is neutral](Self::is_neutral), or a side of [`Where`](Operator::Where).
    #[must_use]
    pub fn picks(&self, at: usize, value: Scalar, dtype: Dtype) -> Option<usize> {
        match (self, at) {
            (Operator::Where, 0) => match value {
                Scalar::Bool(taken) => Some(if taken { 1 } else { 2 }),
                _ => None,
            },
            _ if self.arity() == 2 && self.is_neutral(at, value, dtype) => Some(1 - at),
            _ => None,
        }
    }
}

/// The lowest or the highest number of a dtype, if its numbers are ordered.
pub(super) fn extreme(dtype: Dtype, lowest: bool) -> Option<Scalar> {
    macro_rules! of {
        ($($dtype:ident: $ty:ty, $low:expr, $high:expr;)*) => {
            match dtype {
                $(Dtype::$dtype => {
                    let value: $ty = if lowest { $low } else { $high };
                    Some(value.scalar())
                })*
                Dtype::Complex64 | Dtype::Complex128 => None,
            }
        };
    }
    of! {
        Bool: bool, false, true;
        I8: i8, i8::MIN, i8::MAX;
        I16: i16, i16::MIN, i16::MAX;
        I32: i32, i32::MIN, i32::MAX;
        I64: i64, i64::MIN, i64::MAX;
        U8: u8, u8::MIN, u8::MAX;
        U16: u16, u16::MIN, u16::MAX;
        U32: u32, u32::MIN, u32::MAX;
        U64: u64, u64::MIN, u64::MAX;
        F16: f16, f16::NEG_INFINITY, f16::INFINITY;
        Bf16: bf16, bf16::NEG_INFINITY, bf16::INFINITY;
        F32: f32, f32::NEG_INFINITY, f32::INFINITY;
        F64: f64, f64::NEG_INFINITY, f64::INFINITY;
    }
}
