use half::f16;
use num_complex::Complex;
use proptest::prelude::*;
use ust_level_api::ir::Func;
use ust_level_api::{Dtype, Scalar};

use super::{Operator, UserOperator};
use crate::expr::Semiring;
use crate::expr::functions::{Meaning, meaning};

fn near(a: Scalar, b: Scalar) -> bool {
    let parts = |value: Scalar| match value.cast(Dtype::Complex128) {
        Ok(Scalar::Complex128(z)) => [z.re, z.im],
        _ => [f64::NAN; 2],
    };
    let (x, y) = (parts(a), parts(b));
    let size = y[0].hypot(y[1]);
    let close =
        |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-13 * size;
    a.dtype() == b.dtype() && close(x[0], y[0]) && close(x[1], y[1])
}

fn apply(op: &Operator, args: &[Scalar]) -> Scalar {
    let of = args.last().unwrap().dtype();
    let (arg, to) = op.signature(of).unwrap_or_else(|| panic!("{} takes no {of}", op.name()));
    let args: Vec<Scalar> = args.iter().map(|value| value.cast(arg).unwrap_or(*value)).collect();
    op.eval(&args, to).unwrap_or_else(|| panic!("{} of {args:?} has no value", op.name()))
}

fn function(name: &str) -> Operator {
    match meaning(name) {
        Some(Meaning::Call(op, _) | Meaning::Fold(op)) => op,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn functions_have_their_values() {
    use std::f64::consts::{FRAC_PI_2, LN_2, PI};
    let inf = f64::INFINITY;
    for (name, x, y) in [
        ("abs", -2.5, 2.5),
        ("acos", -1.0, PI),
        ("acosh", 1.0, 0.0),
        ("angle", -3.0, PI),
        ("angle", 3.0, 0.0),
        ("angle", -0.0, 0.0),
        ("asin", 1.0, FRAC_PI_2),
        ("asinh", 0.75, LN_2),
        ("atan", inf, FRAC_PI_2),
        ("atanh", 0.6, LN_2),
        ("ceil", 1.2, 2.0),
        ("conj", -1.5, -1.5),
        ("conj_physical", 2.0, 2.0),
        ("cos", PI, -1.0),
        ("cosh", LN_2, 1.25),
        ("erf", 0.5, 0.520_499_877_813_046_5),
        ("erfinv", 0.520_499_877_813_046_5, 0.5),
        ("erfinv", 1.0, inf),
        ("exp", 1.0, std::f64::consts::E),
        ("expm1", 1e-10, 1.000_000_000_05e-10),
        ("floor", -1.2, -2.0),
        ("imag", 3.0, 0.0),
        ("log", 2.0, LN_2),
        ("log1p", 1.0, LN_2),
        ("neg", 2.0, -2.0),
        ("real", 3.0, 3.0),
        ("relu", -3.0, 0.0),
        ("relu", 3.0, 3.0),
        ("round", 2.5, 2.0),
        ("round", 3.5, 4.0),
        ("sgn", -0.1, -1.0),
        ("sign", 0.0, 0.0),
        ("sigmoid", 0.0, 0.5),
        ("sigmoid", -1000.0, 0.0),
        ("sin", FRAC_PI_2, 1.0),
        ("sinh", LN_2, 0.75),
        ("sqrt", 2.25, 1.5),
        ("tan", 0.0, 0.0),
        ("tanh", LN_2, 0.6),
        ("trunc", -1.7, -1.0),
        ("relu", f64::NAN, f64::NAN),
    ] {
        let found = apply(&function(name), &[Scalar::F64(x)]);
        assert!(near(found, Scalar::F64(y)), "{name}({x}) is {found}, not {y}");
    }
    for (name, x, y, value) in [
        ("pow", 2.0, 10.0, 1024.0),
        ("pow", 2.0, -1.0, 0.5),
        ("atan2", 1.0, -1.0, 0.75 * PI),
        ("min", 2.0, -1.0, -1.0),
        ("max", 2.0, f64::NAN, f64::NAN),
    ] {
        let found = apply(&function(name), &[Scalar::F64(x), Scalar::F64(y)]);
        assert!(near(found, Scalar::F64(value)), "{name}({x}, {y}) is {found}, not {value}");
    }
}

#[test]
fn predicates_and_comparisons_give_bools() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (name, x, value) in [
        ("isinf", -inf, true),
        ("isinf", nan, false),
        ("isnan", nan, true),
        ("isnan", inf, false),
        ("isposinf", inf, true),
        ("isposinf", -inf, false),
        ("isneginf", -inf, true),
        ("isneginf", 0.0, false),
        ("signbit", -0.0, true),
        ("signbit", 0.0, false),
        ("not", 0.0, true),
        ("not", nan, false),
    ] {
        let mut arg = Scalar::F64(x);
        if name == "not" {
            arg = Operator::Cast.eval(&[arg], Dtype::Bool).unwrap();
        }
        assert_eq!(apply(&function(name), &[arg]), Scalar::Bool(value), "{name}({x})");
    }
    let z = |re, im| Scalar::Complex128(Complex::new(re, im));
    assert_eq!(apply(&Operator::IsInf, &[z(1.0, -inf)]), Scalar::Bool(true));
    assert_eq!(apply(&Operator::IsInf, &[z(f64::MAX, f64::MAX)]), Scalar::Bool(false));
    assert_eq!(apply(&Operator::IsNan, &[z(1.0, nan)]), Scalar::Bool(true));
    assert_eq!(apply(&Operator::IsNan, &[Scalar::I8(3)]), Scalar::Bool(false));
    for (op, values) in [
        (Operator::Eq, [false, true, false]),
        (Operator::Ne, [true, false, true]),
        (Operator::Lt, [true, false, false]),
        (Operator::Le, [true, true, false]),
    ] {
        let found = [1.0, 2.0, nan].map(|x| apply(&op, &[Scalar::F64(x), Scalar::F64(2.0)]));
        assert_eq!(found, values.map(Scalar::Bool), "{op:?}");
    }
}

#[test]
fn other_dtypes_follow_their_own_rules() {
    let z = |re, im| Scalar::Complex128(Complex::new(re, im));
    for (name, args, value) in [
        ("abs", vec![z(3.0, 4.0)], Scalar::F64(5.0)),
        ("real", vec![z(3.0, 4.0)], Scalar::F64(3.0)),
        ("imag", vec![z(3.0, 4.0)], Scalar::F64(4.0)),
        ("conj", vec![z(3.0, 4.0)], z(3.0, -4.0)),
        ("sgn", vec![z(3.0, 4.0)], z(0.6, 0.8)),
        ("angle", vec![z(0.0, 2.0)], Scalar::F64(std::f64::consts::FRAC_PI_2)),
        ("sqrt", vec![z(-4.0, 0.0)], z(0.0, 2.0)),
        ("abs", vec![Scalar::I8(-128)], Scalar::I8(-128)),
        ("abs", vec![Scalar::Bool(true)], Scalar::Bool(true)),
        ("floor", vec![Scalar::I16(-3)], Scalar::I16(-3)),
        ("round", vec![Scalar::Bool(true)], Scalar::Bool(true)),
        ("signbit", vec![Scalar::U8(200)], Scalar::Bool(false)),
        ("signbit", vec![Scalar::I8(-1)], Scalar::Bool(true)),
        ("sgn", vec![Scalar::I32(-7)], Scalar::I32(-1)),
        ("relu", vec![Scalar::I8(-7)], Scalar::I8(0)),
        ("pow", vec![Scalar::I32(3), Scalar::I32(4)], Scalar::I32(81)),
        ("pow", vec![Scalar::I32(3), Scalar::I32(-1)], Scalar::I32(0)),
        ("pow", vec![Scalar::Bool(true), Scalar::Bool(false)], Scalar::I64(1)),
        ("sqrt", vec![Scalar::I32(9)], Scalar::F64(3.0)),
        ("sqrt", vec![Scalar::F16(f16::from_f32(2.25))], Scalar::F16(f16::from_f32(1.5))),
        ("min", vec![Scalar::Bool(true), Scalar::Bool(false)], Scalar::Bool(false)),
    ] {
        let found = apply(&function(name), &args);
        assert!(near(found, value), "{name} of {args:?} is {found}, not {value}");
    }
    let three = [Scalar::Bool(false), Scalar::F32(1.0), Scalar::F32(2.0)];
    assert_eq!(Operator::Where.eval(&three, Dtype::F32), Some(Scalar::F32(2.0)));
    let add = [Scalar::U8(200), Scalar::U8(100)];
    assert_eq!(Operator::Add.eval(&add, Dtype::U8), Some(Scalar::U8(44)));
    assert_eq!(Operator::Cast.eval(&[Scalar::F64(-3.7)], Dtype::I8), Some(Scalar::I8(-3)));
    assert_eq!(Operator::Cast.eval(&[Scalar::F64(1e9)], Dtype::U8), Some(Scalar::U8(255)));
}

#[test]
fn a_semirings_zero_stays_its_zero() {
    let min_plus = Semiring::named("min_plus").unwrap();
    let times = min_plus.times();
    let max = Scalar::I32(i32::MAX);
    assert_eq!(times.eval(&[max, Scalar::I32(5)], Dtype::I32), Some(max));
    assert_eq!(times.eval(&[Scalar::I32(2), Scalar::I32(5)], Dtype::I32), Some(Scalar::I32(7)));
    let lift = Operator::Lift { plus: Box::new(Operator::Min) };
    assert_eq!(lift.eval(&[max], Dtype::F64), Some(Scalar::F64(f64::INFINITY)));
    assert_eq!(lift.eval(&[Scalar::I32(2)], Dtype::F64), Some(Scalar::F64(2.0)));
    let pair = Semiring::named("plus_pair").unwrap();
    let of = |a, b| pair.times().eval(&[Scalar::F32(a), Scalar::F32(b)], Dtype::F32);
    assert_eq!((of(3.0, 4.0), of(3.0, 0.0)), (Some(Scalar::F32(1.0)), Some(Scalar::F32(0.0))));
}

#[test]
fn the_users_operators_are_compiled_inline() {
    let hypot = UserOperator::new("hypot2", |x, y| (x.clone() * x + y.clone() * y).sqrt());
    let three = Scalar::F64(3.0);
    let op = Operator::from(hypot.clone());
    assert_eq!(op.eval(&[three, Scalar::F64(4.0)], Dtype::F64), Some(Scalar::F64(5.0)));
    assert!(op.repeats(0, Dtype::F64) && op.repeats(1, Dtype::F64));
    assert_eq!(hypot.result(Dtype::I32), Some(Dtype::F64));
    assert_eq!(hypot.result(Dtype::F32), Some(Dtype::F32));

    let same = UserOperator::new("hypot2", |a, b| (a.clone() * a + b.clone() * b).sqrt());
    assert_eq!(hypot, same);
    assert_ne!(hypot, same.clone().identity(0.0));
    assert_ne!(hypot, UserOperator::new("hypot2", |a, b| a.clone() * a + b.clone() * b));
    assert_ne!(hypot, UserOperator::new("hypot3", |a, b| (a.clone() * a + b.clone() * b).sqrt()));
    assert_eq!(Operator::from(same).key(), op.key());

    let mean = UserOperator::new("mean", |x, y| 0.5 * (x + y)).annihilator(f64::NAN);
    assert_eq!(mean.result(Dtype::F16), Some(Dtype::F16));
    let op = Operator::from(mean);
    assert!(!op.repeats(0, Dtype::F64));
    let nan = Scalar::F64(f64::NAN);
    assert!(op.annihilates(1, nan, Dtype::F64).unwrap().same(&nan));
    assert_eq!(op.annihilates(1, three, Dtype::F64), None);
}

/// Operators of two arguments of one dtype.
fn operators() -> Vec<Operator> {
    let mut all = vec![
        Operator::Add,
        Operator::Sub,
        Operator::Mul,
        Operator::Div,
        Operator::Min,
        Operator::Max,
        Operator::And,
        Operator::Or,
        Operator::First,
        Operator::Second,
        Operator::Pair,
        Operator::Func(Func::Pow),
        Operator::from(UserOperator::new("plus", |x, y| x + y).identity(0.0)),
        Operator::from(UserOperator::new("times", |x, y| x * y).annihilator(0.0).identity(1)),
    ];
    all.extend(Semiring::names().iter().map(|name| Semiring::named(name).unwrap().times().clone()));
    all
}

fn small(dtype: Dtype, value: i8) -> Scalar {
    Operator::Cast.eval(&[Scalar::I8(value)], dtype).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// The facts about an operator agree with its evaluation.
    #[test]
    fn facts_hold(
        op in prop::sample::select(operators()),
        dtype in prop::sample::select(Dtype::ALL.to_vec()),
        other in -5_i8..=5,
        at in 0_usize..2,
    ) {
        let Some((of, to)) = op.signature(dtype) else { return Ok(()) };
        let other = small(of, other);
        let mut special = vec![of.zero(), of.one(), small(of, 3)];
        special.extend(super::facts::extreme(of, false));
        special.extend(super::facts::extreme(of, true));
        for value in special {
            let args = if at == 0 { [value, other] } else { [other, value] };
            let found = op.eval(&args, to);
            // Except for zero divided by zero.
            if let (Some(rest), false) = (
                op.annihilates(at, value, to),
                op == Operator::Div && other.same(&of.zero()),
            ) {
                prop_assert!(found.unwrap().same(&rest), "{:?} {:?}: {:?}", op, args, found);
            }
            if of == to && op.is_neutral(at, value, of) {
                prop_assert!(found.unwrap().same(&other), "{:?} {:?}: {:?}", op, args, found);
                prop_assert_eq!(op.picks(at, value, of), Some(1 - at));
            }
        }
        if let Some(identity) = op.identity(of)
            && of == to
            && !matches!(op, Operator::Times { .. })
        {
            prop_assert!(op.is_neutral(at, identity, of), "{:?}", op);
        }
    }
}
