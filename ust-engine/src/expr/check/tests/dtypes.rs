use ust_level_api::{Dtype, Scalar};

use super::{body, check_with, dtype_of, is_error};
use crate::expr::CheckOptions;
use crate::expr::operator::typing::{holds, promote};
use crate::expr::term::Term;

#[test]
fn dtypes_meet_as_in_numpy() {
    for (a, b, met) in [
        ("bool", "bool", "bool"),
        ("bool", "u8", "u8"),
        ("bool", "f16", "f16"),
        ("i8", "i32", "i32"),
        ("u8", "u32", "u32"),
        ("i8", "u8", "i16"),
        ("i16", "u8", "i16"),
        ("i32", "u32", "i64"),
        ("i64", "u32", "i64"),
        ("i8", "u64", "f64"),
        ("i8", "f16", "f16"),
        ("i16", "f16", "f32"),
        ("i32", "f16", "f64"),
        ("i8", "bf16", "bf16"),
        ("u16", "bf16", "f32"),
        ("i16", "f32", "f32"),
        ("i32", "f32", "f64"),
        ("i64", "f64", "f64"),
        ("f16", "bf16", "f32"),
        ("f16", "f32", "f32"),
        ("bf16", "f64", "f64"),
        ("f32", "complex64", "complex64"),
        ("f64", "complex64", "complex128"),
        ("i16", "complex64", "complex64"),
        ("i32", "complex64", "complex128"),
        ("complex64", "complex128", "complex128"),
    ] {
        let [a, b, met]: [Dtype; 3] = [a, b, met].map(|name| name.parse().unwrap());
        assert_eq!(promote(a, b), met, "{a} {b}");
        assert_eq!(promote(b, a), met, "{b} {a}");
    }
    for &a in Dtype::ALL {
        for &b in Dtype::ALL {
            assert!(holds(a, promote(a, b)), "{a} {b}");
            assert_eq!(promote(a, b), promote(b, a));
        }
    }
}

#[test]
fn results_have_the_dtype_that_follows() {
    for (text, dtype) in [
        ("C(i,j) = A_f32(i,j) * B_f32(i,j)", "f32"),
        ("C(i,j) = A_i8(i,j) + B_u8(i,j)", "i16"),
        ("C(i,j) = A_i32(i,j) / B_i32(i,j)", "f64"),
        ("C(i,j) = A_f16(i,j) / 2", "f16"),
        ("C(i,j) = sin(A_i32(i,j))", "f64"),
        ("C(i,j) = floor(A_i32(i,j))", "i32"),
        ("C(i,j) = abs(A_complex64(i,j))", "f32"),
        ("C(i,j) = angle(A_complex128(i,j))", "f64"),
        ("C(i,j) = signbit(A(i,j))", "bool"),
        ("C(i,j) = isnan(A_i8(i,j))", "bool"),
        ("C(i,j) = 2 * A_f32(i,j)", "f32"),
        ("C(i,j) = 2 * A_u8(i,j)", "u8"),
        ("C(i,j) = 0.5 * A_i32(i,j)", "f64"),
        ("C(i,j) = 0.5 * A_bf16(i,j)", "bf16"),
        ("C(i,j) = (2 * 0.5) * A_f32(i,j)", "f32"),
        ("C(i,j) = -1 + A_i8(i,j)", "i8"),
        ("C(i,j) = 2 * A_bool(i,j)", "i64"),
        ("C(i,j) = 2i * A_f32(i,j)", "complex64"),
        ("C(i,j) = 2i * A_i8(i,j)", "complex128"),
        ("C(i,j) = A_f32(i,j) * true", "f32"),
        ("C(i,j) = A_f32(i,j) < 1", "bool"),
        ("C(i,j) = where(A_f32(i,j), 1, 0)", "i64"),
        ("C(i,j) = where(A(i,j), B_f32(i,j), 0)", "f32"),
        ("C(i,j) = A_i32(i,j)^2", "i32"),
        ("C(i,j) = A_i32(i,j)^0.5", "f64"),
        ("y(i) = A_bool(i,k) * x_bool(k)", "bool"),
        ("y(i) = sum(k, A_bool(i,k))", "i64"),
        ("y(i) = sum(k, A_i8(i,k))", "i8"),
        ("s1 = 2", "i64"),
        ("s1 = 2.5", "f64"),
        ("s1 = 2 + 1i", "complex128"),
        ("s1 = true", "bool"),
        ("C(i,j) = i16(A(i,j))", "i16"),
    ] {
        assert_eq!(dtype_of(text).name(), dtype, "{text}");
    }
}

#[test]
fn casts_stand_where_dtypes_meet() {
    for (text, meaning) in [
        ("C(i,j) = A_f32(i,j) * B(i,j)", "*(f64(A_f32(i,j)), B(i,j))"),
        ("C(i,j) = A_i32(i,j) / 4", "/(f64(A_i32(i,j)), 4f64)"),
        ("C(i,j) = 2 * 3 * A_f32(i,j)", "*(6f32, A_f32(i,j))"),
        ("C(i,j) = A_f32(i,j) + inf", "+(A_f32(i,j), inff32)"),
    ] {
        assert_eq!(body(text), meaning, "{text}");
    }
}

fn into(dtype: Dtype) -> CheckOptions {
    CheckOptions { dtype: Some(dtype), ..CheckOptions::default() }
}

#[test]
fn the_result_is_cast_to_the_dtype_asked_for() {
    let checked = check_with("y(i) = b_f32(i)", &into(Dtype::F64)).unwrap();
    assert_eq!(super::show(&checked, &checked.body), "f64(b_f32(i))");
    let checked = check_with("y(i) = b(i)", &into(Dtype::F16)).unwrap();
    assert_eq!(checked.result.dtype, Dtype::F16);
    let checked = check_with("s1 = 2", &into(Dtype::U8)).unwrap();
    assert_eq!(checked.body, Term::Const(Scalar::U8(2)));
    let checked = check_with("y(i) |= b(i)", &into(Dtype::Bool)).unwrap();
    assert_eq!(super::show(&checked, &checked.body), "bool(b(i))");
}

#[test]
fn what_a_result_cannot_hold_is_an_error() {
    for (text, dtype, column, width, part) in [
        ("y(i) = b_complex64(i)", Dtype::F64, 7, 14, "`f64(...)` converts"),
        ("y(i) = b(i)", Dtype::I64, 7, 4, "this is f64"),
        ("y(i) = b_i64(i)", Dtype::I32, 7, 8, "this is i64"),
        ("y(i) = b_i8(i)", Dtype::U64, 7, 7, "this is i8"),
        ("y(i) = b(i)", Dtype::Bool, 7, 4, "this is f64"),
        ("s1 = 300", Dtype::U8, 5, 3, "the number 300 is no u8"),
        ("s1 = 0.5", Dtype::I8, 5, 3, "the number 0.5 is no i8"),
        ("y(i) |= b(i)", Dtype::F64, 0, 4, "combines bool"),
        ("y(i) min= b(i)", Dtype::Complex64, 10, 4, "`min` takes no complex64"),
    ] {
        is_error(check_with(text, &into(dtype)), column, width, part);
    }
}
