//! The functions of index notation, by name.
//!
//! * functions that map zero to zero: `abs asin asinh atan atanh ceil conj_physical (conj) erf erfinv expm1 floor
//!   imag isinf isnan isneginf isposinf log1p neg real relu round sgn (sign) signbit sin sinh sqrt
//!   tan tanh trunc`, and `angle` (of numbers that are not negative);
//! * functions that do not: `acos acosh cos cosh exp log sigmoid`;
//! * of two numbers: `atan2(y, x)`, `pow(a, b)` (also `a^b`); of two or more: `min`, `max`;
//! * `where(mask, a, b)` is `a` where the mask is not zero, else `b`;
//! * `stored(a)` is whether an operand in `a` stores an element, whatever its value;
//! * the name of a dtype, as in `f32(a)`, converts as Rust's `as` does;
//! * over indices: `sum(k, a)`, `prod`, `min`, `max`, `any`, `all`. `sum` and `prod` of bools count
//!   in `i64`, as in NumPy; other integers keep their dtype and wrap.
//!
//! A function with fractional results returns `f64` for integers.

use ust_format::suggest::nearest;
use ust_level_api::Dtype;
use ust_level_api::ir::Func;

use super::operator::Operator;

/// The meaning of a function's name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// A function with this number of arguments.
    Call(Operator, usize),
    /// A function of two or more arguments, or a reduction.
    Fold(Operator),
    /// A reduction.
    Reduce(Operator),
    /// A conversion.
    Cast(Dtype),
    /// Whether an element is stored.
    Stored,
}

const FUNCTIONS: [(&str, Func); 32] = [
    ("abs", Func::Abs),
    ("acos", Func::Acos),
    ("acosh", Func::Acosh),
    ("angle", Func::Angle),
    ("asin", Func::Asin),
    ("asinh", Func::Asinh),
    ("atan", Func::Atan),
    ("atanh", Func::Atanh),
    ("ceil", Func::Ceil),
    ("conj", Func::Conj),
    ("conj_physical", Func::Conj),
    ("cos", Func::Cos),
    ("cosh", Func::Cosh),
    ("erf", Func::Erf),
    ("erfinv", Func::Erfinv),
    ("exp", Func::Exp),
    ("expm1", Func::Expm1),
    ("floor", Func::Floor),
    ("imag", Func::Imag),
    ("log", Func::Log),
    ("log1p", Func::Log1p),
    ("real", Func::Real),
    ("round", Func::Round),
    ("sgn", Func::Sgn),
    ("sign", Func::Sgn),
    ("signbit", Func::Signbit),
    ("sin", Func::Sin),
    ("sinh", Func::Sinh),
    ("sqrt", Func::Sqrt),
    ("tan", Func::Tan),
    ("tanh", Func::Tanh),
    ("trunc", Func::Trunc),
];

const OPERATORS: [(&str, Meaning); 18] = [
    ("all", Meaning::Reduce(Operator::And)),
    ("any", Meaning::Reduce(Operator::Or)),
    ("atan2", Meaning::Call(Operator::Func(Func::Atan2), 2)),
    ("isinf", Meaning::Call(Operator::IsInf, 1)),
    ("isnan", Meaning::Call(Operator::IsNan, 1)),
    ("isneginf", Meaning::Call(Operator::IsNegInf, 1)),
    ("isposinf", Meaning::Call(Operator::IsPosInf, 1)),
    ("max", Meaning::Fold(Operator::Max)),
    ("min", Meaning::Fold(Operator::Min)),
    ("neg", Meaning::Call(Operator::Neg, 1)),
    ("not", Meaning::Call(Operator::Not, 1)),
    ("pow", Meaning::Call(Operator::Func(Func::Pow), 2)),
    ("prod", Meaning::Reduce(Operator::Mul)),
    ("relu", Meaning::Call(Operator::Relu, 1)),
    ("sigmoid", Meaning::Call(Operator::Sigmoid, 1)),
    ("stored", Meaning::Stored),
    ("sum", Meaning::Reduce(Operator::Add)),
    ("where", Meaning::Call(Operator::Where, 3)),
];

/// The meaning of a name, if it is that of a function.
pub(crate) fn meaning(name: &str) -> Option<Meaning> {
    let func = FUNCTIONS.iter().find(|(known, _)| *known == name);
    if let Some((_, func)) = func {
        return Some(Meaning::Call(Operator::Func(*func), 1));
    }
    if let Some((_, meaning)) = OPERATORS.iter().find(|(known, _)| *known == name) {
        return Some(meaning.clone());
    }
    Dtype::ALL.iter().find(|dtype| dtype.name() == name).map(|dtype| Meaning::Cast(*dtype))
}

/// The name of the function that an operator is, if it has one.
pub(crate) fn name(op: &Operator) -> Option<&'static str> {
    let is = |meaning: &Meaning| match meaning {
        Meaning::Call(known, _) | Meaning::Fold(known) => known == op,
        _ => false,
    };
    let funcs = FUNCTIONS.iter().filter(|(_, func)| *op == Operator::Func(*func));
    let others = OPERATORS.iter().filter(|(_, meaning)| is(meaning));
    funcs.map(|(name, _)| *name).chain(others.map(|(name, _)| *name)).next()
}

pub(crate) fn is_function(name: &str) -> bool {
    meaning(name).is_some()
}

/// Whether the function is always a reduction, so that its first arguments are indices.
pub(crate) fn is_reduction_only(name: &str) -> bool {
    matches!(meaning(name), Some(Meaning::Reduce(_)))
}

/// The function with the most similar name.
pub(crate) fn suggest<'a>(
    name: &str,
    others: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let known = FUNCTIONS.iter().map(|(known, _)| *known);
    let known = known.chain(OPERATORS.iter().map(|(known, _)| *known));
    nearest(name, known.chain(others))
}
