//! The derivatives of functions, as text.
//!
//! In a rule, `a` and `b` are the arguments, and `g` is the derivative with respect to the function's value. A rule
//! gives the derivative with respect to one argument.

use crate::expr::OpError;
use crate::expr::syntax::{Expression, Node};

/// Functions of one argument.
const OF_ONE: [(&str, &str); 26] = [
    ("abs", "g * sgn(a)"),
    ("acos", "-(g / sqrt(1 - a * a))"),
    ("acosh", "g / sqrt(a * a - 1)"),
    ("asin", "g / sqrt(1 - a * a)"),
    ("asinh", "g / sqrt(1 + a * a)"),
    ("atan", "g / (1 + a * a)"),
    ("atanh", "g / (1 - a * a)"),
    ("conj", "g"),
    ("conj_physical", "g"),
    ("cos", "-(g * sin(a))"),
    ("cosh", "g * sinh(a)"),
    // 2 / sqrt(pi), and its inverse.
    ("erf", "g * (1.1283791670955126 * exp(-(a * a)))"),
    ("erfinv", "g * (0.886226925452758 * exp(erfinv(a)^2))"),
    ("exp", "g * exp(a)"),
    ("expm1", "g * exp(a)"),
    ("log", "g / a"),
    ("log1p", "g / (1 + a)"),
    ("neg", "-g"),
    ("real", "g"),
    ("relu", "where(a > 0, g, 0)"),
    ("sigmoid", "g * (sigmoid(a) * sigmoid(-a))"),
    ("sin", "g * cos(a)"),
    ("sinh", "g * cosh(a)"),
    ("sqrt", "g / (2 * sqrt(a))"),
    ("tan", "g * (1 + tan(a)^2)"),
    ("tanh", "g * (1 - tanh(a)^2)"),
];

/// Functions and signs of two arguments.
const OF_TWO: [(&str, [&str; 2]); 8] = [
    ("+", ["g", "g"]),
    ("-", ["g", "-g"]),
    ("*", ["g * b", "g * a"]),
    ("/", ["g / b", "-(g * a / (b * b))"]),
    ("atan2", ["g * b / (a * a + b * b)", "-(g * a / (a * a + b * b))"]),
    ("pow", ["where(b == 0, 0, g * b * a^(b - 1))", "where(a == 0, 0, g * a^b * log(a))"]),
    (
        "min",
        ["where(a == b, g / 2, where(a < b, g, 0))", "where(a == b, g / 2, where(b < a, g, 0))"],
    ),
    (
        "max",
        ["where(a == b, g / 2, where(a > b, g, 0))", "where(a == b, g / 2, where(b > a, g, 0))"],
    ),
];

/// Functions whose derivative is zero wherever it exists.
const STEPS: [&str; 14] = [
    "angle", "ceil", "floor", "imag", "isinf", "isnan", "isneginf", "isposinf", "not", "round",
    "sgn", "sign", "signbit", "trunc",
];

/// The derivative with respect to argument `at` of a function of so many arguments. `None` if there is no rule.
pub(super) fn rule(name: &str, arity: usize, at: usize) -> Option<&'static str> {
    match arity {
        1 => OF_ONE.iter().find(|(known, _)| *known == name).map(|(_, rule)| *rule),
        2 => OF_TWO.iter().find(|(known, _)| *known == name).map(|(_, rules)| rules[at]),
        _ => None,
    }
}

/// Whether the derivative is zero wherever it exists.
pub(super) fn is_step(name: &str) -> bool {
    STEPS.contains(&name)
}

/// A rule as a tree.
pub(super) fn read(rule: &str) -> Result<Node, OpError> {
    Ok(Expression::parse(&format!("d = {rule}"))?.body)
}
