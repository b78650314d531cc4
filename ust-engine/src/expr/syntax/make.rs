//! Trees that were not read from a text: their nodes stand at no place.

use super::{Kind, Literal, Node, Sign};

impl Node {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, span: 0..0 }
    }

    pub(crate) fn int(value: u64) -> Self {
        Self::new(Kind::Literal(Literal::Int(value)))
    }

    pub(crate) fn name(name: &str) -> Self {
        Self::new(Kind::Name(name.to_owned()))
    }

    /// A tensor with its indices, or a call.
    pub(crate) fn apply(name: &str, args: Vec<Self>) -> Self {
        Self::new(Kind::Apply { name: name.to_owned(), stored: false, over: None, args })
    }

    /// A tensor with its indices; a scalar as a bare name.
    pub(crate) fn element(tensor: &str, indices: &[String]) -> Self {
        match indices {
            [] => Self::name(tensor),
            indices => Self::apply(tensor, indices.iter().map(|index| Self::name(index)).collect()),
        }
    }

    /// A reduction over some indices.
    pub(crate) fn reduction(function: &str, over: &[String], body: Self) -> Self {
        Self::apply(function, over.iter().map(|index| Self::name(index)).chain([body]).collect())
    }

    /// `where(condition, a, b)`
    pub(crate) fn choice(condition: Self, a: Self, b: Self) -> Self {
        Self::apply("where", vec![condition, a, b])
    }

    pub(crate) fn unary(sign: Sign, a: Self) -> Self {
        Self::new(Kind::Unary(sign, Box::new(a)))
    }

    pub(crate) fn binary(sign: Sign, a: Self, b: Self) -> Self {
        Self::new(Kind::Binary(sign, Box::new(a), Box::new(b)))
    }
}
