//! Symbolic numbers: the arguments of the closure of a [`UserOperator`](super::UserOperator).

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};
use std::sync::Arc;

use num_complex::Complex;
use ust_level_api::ir::Func;
use ust_level_api::{Dtype, Scalar};

use super::Operator;

/// Operators and arguments of a body, at most, counted with repetitions. Larger bodies are refused.
pub const MAX_SIZE: usize = 1024;

/// The depth of a body, at most. Deeper bodies are refused.
pub const MAX_DEPTH: usize = 32;

/// A symbolic number.
///
/// Arithmetic on it makes a tree, which is compiled into the loops that apply the operator. Literals take
/// their dtype from the symbolic numbers that they are combined with, as in index notation.
///
/// ```
/// use ust::ops::{Sym, UserOperator};
/// let clip = UserOperator::unary("clip", |x| x.max(-1.0).min(1.0));
/// let gate = UserOperator::new("gate", |x, y| Sym::select(x.clone().lt(y), 0.0, x));
/// assert_eq!((clip.arity(), gate.arity()), (1, 2));
/// ```
#[derive(Clone, Debug)]
pub struct Sym {
    pub(super) tree: Arc<Tree>,
    size: usize,
    depth: usize,
}

#[derive(Debug)]
pub(super) enum Tree {
    /// An argument of the operator.
    Arg(usize),
    /// A literal, which takes its dtype from the other argument.
    Number(Scalar),
    Call(Operator, Vec<Sym>),
    Cast(Dtype, Sym),
    /// In place of a tree that exceeds the limits.
    TooLarge,
}

impl Sym {
    pub(super) fn argument(at: usize) -> Self {
        Self { tree: Arc::new(Tree::Arg(at)), size: 1, depth: 1 }
    }

    fn node(tree: Tree) -> Self {
        let (mut size, mut depth) = (1_usize, 0);
        let args = match &tree {
            Tree::Call(_, args) => &args[..],
            Tree::Cast(_, arg) => std::slice::from_ref(arg),
            _ => &[],
        };
        for arg in args {
            size = size.saturating_add(arg.size);
            depth = depth.max(arg.depth);
        }
        let too_large = size > MAX_SIZE || depth >= MAX_DEPTH;
        // A tree that is too large stays too large, and grows no further.
        let (tree, size) = if too_large { (Tree::TooLarge, MAX_SIZE + 1) } else { (tree, size) };
        Self { tree: Arc::new(tree), size, depth: depth + 1 }
    }

    fn call(op: Operator, args: Vec<Sym>) -> Self {
        Self::node(Tree::Call(op, args))
    }

    /// `a` where the condition is not zero, else `b`.
    #[must_use]
    pub fn select(condition: impl Into<Sym>, a: impl Into<Sym>, b: impl Into<Sym>) -> Self {
        Self::call(Operator::Where, vec![condition.into(), a.into(), b.into()])
    }

    /// The number as another dtype, as Rust's `as` does.
    #[must_use]
    pub fn cast(self, dtype: Dtype) -> Self {
        Self::node(Tree::Cast(dtype, self))
    }
}

macro_rules! functions {
    ($($name:ident: $op:expr, $doc:literal;)*) => {
        impl Sym {
            $(#[doc = $doc] #[must_use]
            pub fn $name(self) -> Self { Self::call($op, vec![self]) })*
        }
    };
}
functions! {
    abs: Operator::Func(Func::Abs), "The absolute value.";
    sqrt: Operator::Func(Func::Sqrt), "The square root.";
    exp: Operator::Func(Func::Exp), "e to this power.";
    expm1: Operator::Func(Func::Expm1), "`exp(a) - 1`, precise near 0.";
    log: Operator::Func(Func::Log), "The natural logarithm.";
    log1p: Operator::Func(Func::Log1p), "`log(1 + a)`, precise near 0.";
    sin: Operator::Func(Func::Sin), "The sine.";
    cos: Operator::Func(Func::Cos), "The cosine.";
    tan: Operator::Func(Func::Tan), "The tangent.";
    tanh: Operator::Func(Func::Tanh), "The hyperbolic tangent.";
    atan: Operator::Func(Func::Atan), "The inverse tangent.";
    erf: Operator::Func(Func::Erf), "The error function.";
    floor: Operator::Func(Func::Floor), "The next integer below.";
    ceil: Operator::Func(Func::Ceil), "The next integer above.";
    round: Operator::Func(Func::Round), "The nearest integer, half to even.";
    trunc: Operator::Func(Func::Trunc), "Without the fraction.";
    sgn: Operator::Func(Func::Sgn), "The sign: -1, 0 or 1; `a / |a|` of a complex number.";
    conj: Operator::Func(Func::Conj), "The complex conjugate.";
    real: Operator::Func(Func::Real), "The real part.";
    imag: Operator::Func(Func::Imag), "The imaginary part.";
    is_nan: Operator::IsNan, "Whether it is no number.";
    is_inf: Operator::IsInf, "Whether it is infinite.";
    sigmoid: Operator::Sigmoid, "`1 / (1 + exp(-a))`.";
    relu: Operator::Relu, "`max(a, 0)`.";
}

macro_rules! of_two {
    ($($name:ident: $op:expr, $doc:literal;)*) => {
        impl Sym {
            $(#[doc = $doc] #[must_use]
            pub fn $name(self, other: impl Into<Sym>) -> Self {
                Self::call($op, vec![self, other.into()])
            })*
        }
    };
}
of_two! {
    min: Operator::Min, "The smaller.";
    max: Operator::Max, "The larger.";
    pow: Operator::Func(Func::Pow), "To a power.";
    atan2: Operator::Func(Func::Atan2), "The angle of the point (other, self).";
    equals: Operator::Eq, "`a == b`.";
    differs: Operator::Ne, "`a != b`.";
    lt: Operator::Lt, "`a < b`.";
    le: Operator::Le, "`a <= b`.";
}

impl Sym {
    /// `a > b`.
    #[must_use]
    pub fn gt(self, other: impl Into<Sym>) -> Self {
        other.into().lt(self)
    }

    /// `a >= b`.
    #[must_use]
    pub fn ge(self, other: impl Into<Sym>) -> Self {
        other.into().le(self)
    }
}

macro_rules! signs {
    ($($trait:ident::$method:ident => $op:ident;)*) => {$(
        impl<T: Into<Sym>> $trait<T> for Sym {
            type Output = Sym;
            fn $method(self, other: T) -> Sym {
                Sym::call(Operator::$op, vec![self, other.into()])
            }
        }
        impl $trait<Sym> for f64 {
            type Output = Sym;
            fn $method(self, other: Sym) -> Sym {
                Sym::call(Operator::$op, vec![self.into(), other])
            }
        }
    )*};
}
signs! {
    Add::add => Add;
    Sub::sub => Sub;
    Mul::mul => Mul;
    Div::div => Div;
}

macro_rules! logic {
    ($($trait:ident::$method:ident => $op:ident;)*) => {$(
        impl<T: Into<Sym>> $trait<T> for Sym {
            type Output = Sym;
            fn $method(self, other: T) -> Sym {
                Sym::call(Operator::$op, vec![self, other.into()])
            }
        }
    )*};
}
logic! {
    BitAnd::bitand => And;
    BitOr::bitor => Or;
}

impl Neg for Sym {
    type Output = Sym;
    fn neg(self) -> Sym {
        Sym::call(Operator::Neg, vec![self])
    }
}

impl Not for Sym {
    type Output = Sym;
    fn not(self) -> Sym {
        Sym::call(Operator::Not, vec![self])
    }
}

macro_rules! numbers {
    ($($ty:ty => |$value:ident| $scalar:expr;)*) => {$(
        impl From<$ty> for Sym {
            fn from($value: $ty) -> Self { Sym::node(Tree::Number($scalar)) }
        }
    )*};
}
numbers! {
    f64 => |value| Scalar::F64(value);
    i32 => |value| Scalar::I64(value.into());
    i64 => |value| Scalar::I64(value);
    bool => |value| Scalar::Bool(value);
    Complex<f64> => |value| Scalar::Complex128(value);
}
