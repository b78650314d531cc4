use ust_level_api::{Dtype, Scalar};

use super::{check, check_with, is_error, zero};
use crate::expr::operator::Operator;
use crate::expr::{CheckOptions, Semiring, UserOperator};

#[test]
fn a_semiring_rereads_sums_and_products() {
    for (text, meaning) in [
        ("y(i) = A(i,k) * x(k) using min_plus", "min{k}(+(A(i,k), x(k)))"),
        ("y(i) = A(i,k) * x(k) + b(i) using max_plus", "max(max{k}(+(A(i,k), x(k))), b(i))"),
        ("y(i) = A(i,k) * x(k) using max_min", "max{k}(min(A(i,k), x(k)))"),
        ("y(i) = A(i,k) * x(k) using or_and", "|{k}(&(bool(A(i,k)), bool(x(k))))"),
        ("y(i) = A(i,k) * x(k) using plus_pair", "+{k}(pair(A(i,k), x(k)))"),
        ("y(i) = A(i,k) * x(k) using plus_times", "+{k}(*(A(i,k), x(k)))"),
        ("y(i) = sum(k, A(i,k) * x(k)) using min_plus", "+{k}(+(A(i,k), x(k)))"),
        ("y(i) = A_i32(i,k) * x(k) using min_plus", "min{k}(+(cast(A_i32(i,k)), x(k)))"),
        ("y(i) = A_f32(i,k) * x(k) using min_plus", "min{k}(+(f64(A_f32(i,k)), x(k)))"),
    ] {
        assert_eq!(super::body(text), meaning, "{text}");
    }
}

#[test]
fn what_is_not_stored_is_the_semirings_zero() {
    let infinity = Scalar::F64(f64::INFINITY);
    let fills = |text: &str| -> Vec<(String, Scalar)> {
        check(text).operands.into_iter().map(|input| (input.name, input.fill)).collect()
    };
    let named = |list: &[(&str, Scalar)]| -> Vec<(String, Scalar)> {
        list.iter().map(|(name, fill)| ((*name).to_owned(), *fill)).collect()
    };
    let f64_zero = zero(Dtype::F64);
    // Vectors are stored in full here.
    assert_eq!(
        fills("y(i) = A(i,k) * x(k) using min_plus"),
        named(&[("A", infinity), ("x", f64_zero)])
    );
    assert_eq!(fills("y(i) = A_i8(i,k) using min_plus"), named(&[("A_i8", Scalar::I8(127))]));
    assert_eq!(fills("y(i) = A(i,k) using or_and"), named(&[("A", f64_zero)]));
    // A mask keeps its fill value, also if its tensor is an operand as well.
    assert_eq!(
        fills("C1(i,k)<A(i,k)> = A(i,k) using min_plus"),
        named(&[("A", infinity), ("A", f64_zero)])
    );
}

#[test]
fn updates_are_the_semirings() {
    assert_eq!(check("y(i) += b(i) using min_plus").update, Some(Operator::Min));
    let times = check("y(i) *= b(i) using min_plus").update;
    assert!(matches!(times, Some(Operator::Times { .. })));
}

#[test]
fn a_semiring_may_be_given() {
    let norm = UserOperator::new("hypot2", |x, y| (x.clone() * x + y.clone() * y).sqrt());
    let semiring = Some(Semiring::new(norm.identity(0.0), Operator::Mul));
    let options = CheckOptions { semiring, ..CheckOptions::default() };
    let checked = check_with("y(i) = A(i,k) * x(k)", &options).unwrap();
    assert_eq!(super::show(&checked, &checked.body), "hypot2{k}(*(A(i,k), x(k)))");
    let both = check_with("y(i) = b(i) using min_plus", &options);
    is_error(both, 18, 8, "another semiring");
}

#[test]
fn all_names_are_semirings_with_a_zero() {
    for name in Semiring::names() {
        let semiring = Semiring::named(&name).expect(&name);
        assert!(semiring.plus().identity(Dtype::F32).is_some(), "{name}");
    }
    assert_eq!(Semiring::named("plus_times").unwrap().times(), &Operator::Mul);
    assert_eq!(Semiring::named("plus"), None);
}
