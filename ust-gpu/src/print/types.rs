//! Types and constants as CUDA C++ has them.

use ust_level_api::ir::schedule::Vector;
use ust_level_api::ir::{Elem, Ty};
use ust_level_api::{Dtype, IndexKind, Scalar};

use crate::there::width;

/// The type of a variable.
pub(super) fn variable(ty: Ty) -> &'static str {
    match ty {
        Ty::Int => "i64",
        Ty::Bool => "bool",
        Ty::Val(dtype) => held(dtype),
    }
}

/// The type in which a number is computed.
pub(super) fn held(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F16 | Dtype::Bf16 => "float",
        dtype => stored(Elem::Value(dtype)),
    }
}

/// The type of an array's elements.
pub(crate) fn stored(elem: Elem) -> &'static str {
    match elem {
        Elem::Index(IndexKind::U2 | IndexKind::U8) | Elem::Value(Dtype::U8) => "u8",
        Elem::Index(IndexKind::U16) | Elem::Value(Dtype::U16) => "u16",
        Elem::Index(IndexKind::U32) | Elem::Value(Dtype::U32) => "u32",
        Elem::Index(IndexKind::U64) | Elem::Value(Dtype::U64) => "u64",
        Elem::Index(IndexKind::I8) | Elem::Value(Dtype::I8) => "i8",
        Elem::Index(IndexKind::I16) | Elem::Value(Dtype::I16) => "i16",
        Elem::Index(IndexKind::I32) | Elem::Value(Dtype::I32) => "i32",
        Elem::Index(IndexKind::I64) | Elem::Value(Dtype::I64) => "i64",
        Elem::Value(Dtype::Bool) => "bool",
        Elem::Value(Dtype::F16) => "f16",
        Elem::Value(Dtype::Bf16) => "bf16",
        Elem::Value(Dtype::F32) => "float",
        Elem::Value(Dtype::F64) => "double",
        Elem::Value(Dtype::Complex64) => "c64",
        Elem::Value(Dtype::Complex128) => "c128",
    }
}

/// The number of bytes of which the address of an array is a multiple, if its elements are accessed side by side.
pub(crate) fn alignment(vector: &Vector, elem: Elem) -> u64 {
    // As `ust_at_once` in the prelude.
    (u64::from(vector.count) * width(elem) as u64).min(16)
}

/// Whether numbers are held in another form than they are stored in.
pub(super) fn is_half(elem: Elem) -> bool {
    matches!(elem, Elem::Value(Dtype::F16 | Dtype::Bf16))
}

pub(super) fn is_integer(dtype: Dtype) -> bool {
    !dtype.is_float() && !dtype.is_complex() && dtype != Dtype::Bool
}

/// A constant integer.
pub(super) fn int(value: i64) -> String {
    match value {
        i64::MIN => "(-9223372036854775807ll - 1)".to_owned(),
        // What fits an `int` needs no suffix: it stands beside something of 64 bits.
        value if i32::try_from(value).is_ok() => value.to_string(),
        value => format!("{value}ll"),
    }
}

fn float(value: f64, shown: String, ty: &str) -> String {
    match value {
        v if v.is_nan() => format!("ust_nan<{ty}>()"),
        v if v.is_infinite() && v < 0.0 => format!("-ust_infinity<{ty}>()"),
        v if v.is_infinite() => format!("ust_infinity<{ty}>()"),
        _ => shown,
    }
}

fn single(value: f32) -> String {
    float(value.into(), format!("{value:?}f"), "float")
}

fn double(value: f64) -> String {
    float(value, format!("{value:?}"), "double")
}

/// A constant number. An operand may be put before or behind it.
pub(super) fn constant(value: Scalar) -> String {
    match value {
        Scalar::Bool(v) => v.to_string(),
        Scalar::I8(v) => format!("(i8){v}"),
        Scalar::I16(v) => format!("(i16){v}"),
        Scalar::I32(v) => format!("(i32){}", int(v.into())),
        Scalar::I64(v) => format!("(i64){}", int(v)),
        Scalar::U8(v) => format!("(u8){v}"),
        Scalar::U16(v) => format!("(u16){v}"),
        Scalar::U32(v) => format!("{v}u"),
        Scalar::U64(v) => format!("{v}ull"),
        Scalar::F16(v) => single(v.to_f32()),
        Scalar::Bf16(v) => single(v.to_f32()),
        Scalar::F32(v) => single(v),
        Scalar::F64(v) => double(v),
        Scalar::Complex64(v) => format!("c64{{{}, {}}}", single(v.re), single(v.im)),
        Scalar::Complex128(v) => format!("c128{{{}, {}}}", double(v.re), double(v.im)),
    }
}
