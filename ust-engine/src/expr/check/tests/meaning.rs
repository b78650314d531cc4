use super::{body, check, check_with, given};
use crate::expr::operator::Operator;
use crate::expr::{CheckOptions, UserOperator};

#[test]
fn each_term_is_summed_over_what_the_result_lacks() {
    for (text, meaning) in [
        ("y(i) = A(i,j) * x(j)", "+{j}(*(A(i,j), x(j)))"),
        ("y(i) = A(i,j) * x(j) + b(i)", "+(+{j}(*(A(i,j), x(j))), b(i))"),
        ("y(i) = -(A(i,j) * x(j) - b(i))", "-(-(+{j}(*(A(i,j), x(j))), b(i)))"),
        ("y(i) = (A(i,j) - b(i))", "-(+{j}(A(i,j)), b(i))"),
        ("y(i) = A(i,j) * (x(j) + z(j))", "+{j}(*(A(i,j), +(x(j), z(j))))"),
        ("y(i) = exp(A(i,k))", "+{k}(exp(A(i,k)))"),
        ("y(i) = -A(i,k) * x(k)", "+{k}(*(-(A(i,k)), x(k)))"),
        ("y(i) = exp(sum(k, A(i,k)))", "exp(+{k}(A(i,k)))"),
        ("s1 = A(i,j) * A(i,j)", "+{i,j}(*(A(i,j), A(i,j)))"),
        ("s1 = S(i,i)", "+{i}(S(i,i))"),
        ("C(i,j) = A(i,j)", "A(i,j)"),
        ("C(j,i) = A(i,j)", "A(i,j)"),
        ("C(i,j) = b(i)", "b(i)"),
        ("C(i,k) = A(i,j) * Bt(j,k) + b(i)", "+(+{j}(*(A(i,j), Bt(j,k))), b(i))"),
        ("s1 = 2 * s + 1", "+(*(2f64, s()), 1f64)"),
        ("s1 = s() * t", "*(s(), t())"),
        ("y(i) = b(i) / s", "/(b(i), s())"),
        ("s1 = A(i,j) > 0", "+{i,j}(<(0f64, A(i,j)))"),
    ] {
        // A result that only broadcasting fills needs extents.
        let extents = vec![("j".to_owned(), 4)];
        let options = CheckOptions {
            extents: if text.starts_with("C(i,j) = b") { extents } else { Vec::new() },
            ..CheckOptions::default()
        };
        let checked = check_with(text, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(super::show(&checked, &checked.body), meaning, "{text}");
    }
}

#[test]
fn an_index_is_its_coordinate() {
    for (text, meaning) in [
        ("y(i) = b(i) * i", "*(b(i), f64(i))"),
        ("s1 = i * b(i)", "+{i}(*(f64(i), b(i)))"),
        ("s1 = sum(i, i * b(i))", "+{i}(*(f64(i), b(i)))"),
        ("y(i) = b(i) + max(0, i)", "+(b(i), f64(max(0i64, i)))"),
        ("y(i) = max(j, i * A(i,j) + j)", "max{j}(+(*(f64(i), A(i,j)), f64(j)))"),
        ("y(i) = b(i) + abs(i)", "+(b(i), f64(abs(i)))"),
        ("C(i,j) = A(i,j) * (i >= j)", "*(A(i,j), f64(<=(j, i)))"),
        ("y(i) = A(i,j) + j", "+(+{j}(A(i,j)), f64(+{j}(j)))"),
    ] {
        assert_eq!(body(text), meaning, "{text}");
    }
}

#[test]
fn reductions_are_told_from_functions() {
    for (text, meaning) in [
        ("y(i) = max(k, A(i,k))", "max{k}(A(i,k))"),
        ("s1 = max(s, t)", "max(s(), t())"),
        ("s1 = min(s, t, 2)", "min(min(s(), t()), 2f64)"),
        ("y(i) = max(b(i), c(i))", "max(b(i), c(i))"),
        ("y(i) = min(k, l, T(i,k,l))", "min{k,l}(T(i,k,l))"),
        ("y(i) = prod((k,l), T(i,k,l))", "*{k,l}(T(i,k,l))"),
        ("y(i) = any(k, A(i,k) > 0)", "|{k}(<(0f64, A(i,k)))"),
        ("y(i) = all(k, A(i,k))", "&{k}(bool(A(i,k)))"),
        ("y(i) = sum(k, A(i,k)) * sum(k, B(i,k))", "*(+{k}(A(i,k)), +{k}(B(i,k)))"),
        ("y(i) = sum(k, A(i,k) * sum(l, T(i,k,l)))", "+{k}(*(A(i,k), +{l}(T(i,k,l))))"),
        ("y(i) = sum(k, A(i,k) > 0)", "+{k}(i64(<(0f64, A(i,k))))"),
        ("y(i) = A(i,k) > 0", "+{k}(<(0f64, A(i,k)))"),
    ] {
        assert_eq!(body(text), meaning, "{text}");
    }
}

#[test]
fn functions_signs_and_stored_forms() {
    for (text, meaning) in [
        ("C(i,j) = exp[stored](A(i,j))", "exp[stored](A(i,j))"),
        ("C(i,j) = neg[stored](A(i,j) - 1)", "-[stored](-(A(i,j), 1f64))"),
        ("C(i,j) = isnan[stored](A(i,j))", "isnan[stored](A(i,j))"),
        ("C(i,j) = exp[stored](A_i32(i,j))", "exp[stored](f64(A_i32(i,j)))"),
        ("C(i,j) = A(i,j)^2", "pow(A(i,j), 2f64)"),
        ("C(i,j) = pow(A(i,j), B(i,j))", "pow(A(i,j), B(i,j))"),
        ("C(i,j) = where(M_bool(i,j), A(i,j), 0)", "where(M_bool(i,j), A(i,j), 0f64)"),
        ("C(i,j) = where(M(i,j), A(i,j), 0)", "where(bool(M(i,j)), A(i,j), 0f64)"),
        ("C(i,j) = A(i,j) >= B(i,j)", "<=(B(i,j), A(i,j))"),
        ("C(i,j) = A(i,j) & !B(i,j)", "&(bool(A(i,j)), !(bool(B(i,j))))"),
        ("C(i,j) = conj(A(i,j))", "conj(A(i,j))"),
        ("C(i,j) = f32(A(i,j))", "f32(A(i,j))"),
        ("C(i,j) = f64(A(i,j))", "A(i,j)"),
    ] {
        assert_eq!(body(text), meaning, "{text}");
    }
}

#[test]
fn indices_operands_and_uses_are_listed_once() {
    let checked = check("C(j,i) = A(i,k) * Bt(k,j) + A(i,k) * x(k) * s");
    let names: Vec<(&str, usize)> =
        checked.indices.iter().map(|index| (&*index.name, index.extent)).collect();
    assert_eq!(names, [("j", 3), ("i", 3), ("k", 4)]);
    assert_eq!(checked.operands.len(), 4);
    assert_eq!(checked.uses.len(), 5);
    assert_eq!(checked.uses[0].operand, checked.uses[2].operand);
    assert_eq!(checked.result.indices, [0, 1]);
    assert_eq!(checked.update, None);
}

#[test]
fn updates_and_masks() {
    for (sign, op) in [
        ("+=", Operator::Add),
        ("*=", Operator::Mul),
        ("min=", Operator::Min),
        ("max=", Operator::Max),
        ("|=", Operator::Or),
        ("&=", Operator::And),
    ] {
        let checked = check(&format!("y(i) {sign} b(i)"));
        assert_eq!(checked.update, Some(op.clone()), "{sign}");
        let is_logical = matches!(op, Operator::Or | Operator::And);
        assert_eq!(checked.result.dtype.name(), if is_logical { "bool" } else { "f64" });
    }
    for (mask, structural, complement) in [
        ("M(i,j)", false, false),
        ("structure M(i,j)", true, false),
        ("!M(i,j)", false, true),
        ("!structure M(i,j)", true, true),
    ] {
        let checked = check(&format!("C1(i,j)<{mask}> = A(i,j)"));
        let found = checked.mask.expect("there is a mask");
        assert_eq!((found.structural, found.complement), (structural, complement));
        assert_eq!(checked.operands[checked.uses[found.at].operand].name, "M");
    }
    assert!(check("C1(i,j)<b(i)> = A(i,j)").mask.is_some());
}

#[test]
fn the_users_operators_are_functions_and_reductions() {
    let hypot = UserOperator::new("hypot2", |x, y| (x.clone() * x + y.clone() * y).sqrt());
    let cube = UserOperator::unary("cube", |x| x.clone() * x.clone() * x);
    let options =
        CheckOptions { operators: vec![hypot.identity(0.0), cube], ..CheckOptions::default() };
    assert_eq!(given("s").map(|(shape, _)| shape), Some(vec![]));
    for (text, meaning) in [
        ("s1 = hypot2(s, t)", "hypot2(s(), t())"),
        ("y(i) = hypot2(b(i), 2)", "hypot2(b(i), 2f64)"),
        ("y(i) = hypot2(k, A(i,k))", "hypot2{k}(A(i,k))"),
        ("y(i) = hypot2(k, A_i32(i,k))", "hypot2{k}(f64(A_i32(i,k)))"),
        ("C(i,j) = cube[stored](A(i,j))", "cube[stored](A(i,j))"),
    ] {
        let checked = check_with(text, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(super::show(&checked, &checked.body), meaning, "{text}");
    }
}

#[test]
fn constants_are_folded_as_signs_bind() {
    for (text, value) in [
        ("2 + 3 * 4", "14i64"),
        ("-2^2", "-4i64"),
        ("2^3^2", "512i64"),
        ("7 / 2", "3.5f64"),
        ("10 - 3 - 2", "5i64"),
        ("16 / 4 / 2", "2f64"),
        ("1 < 2 & !(3 == 4)", "truebool"),
        ("false | 1 >= 2", "falsebool"),
        ("where(1 > 2, 5, 6.5)", "6.5f64"),
        ("2 * 1i * 1i", "-2+0icomplex128"),
        ("min(3, 1, 2)", "1i64"),
        ("i8(300.7)", "127i8"),
        ("sqrt(16) + abs(-1)", "5f64"),
        ("18446744073709551615", "18446744073709551615u64"),
    ] {
        assert_eq!(body(&format!("s1 = {text}")), value, "{text}");
    }
}
