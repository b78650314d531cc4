//! Operators of index notation, and their meaning as IR.
//!
//! [`Operator::emit`] is the only definition of an operator. Constants are folded by running the code that
//! it emits.
//!
//! | module | what |
//! |---|---|
//! | this one | the operators |
//! | `emit` | their meaning, as IR |
//! | `facts` | identities, annihilators, and other facts for the planner |
//! | [`typing`] | dtypes of arguments and results |
//! | [`sym`], [`user`] | operators that a user declares |
//! | `written` | these as syntax |

mod emit;
mod facts;
pub mod sym;
#[cfg(test)]
mod tests;
pub mod typing;
pub mod user;
mod written;

use ust_level_api::Dtype;
use ust_level_api::ir::{BinOp, Elem, Func};

pub use sym::Sym;
pub use user::UserOperator;

/// An operator or function of numbers.
///
/// Sums, differences and products of integers wrap.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operator {
    /// `a + b`; or, for bool.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`; and, for bool.
    Mul,
    /// `a / b`, of floating-point or complex numbers.
    Div,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// `-a`.
    Neg,
    /// Both, of bools.
    And,
    /// Either, of bools.
    Or,
    /// `!a`, of a bool.
    Not,
    /// `a == b`, a bool.
    Eq,
    /// `a != b`, a bool.
    Ne,
    /// `a < b`, a bool.
    Lt,
    /// `a <= b`, a bool.
    Le,
    /// `where(mask, a, b)`: `a` where the bool is true, else `b`.
    Where,
    /// The number as the call's dtype, as Rust's `as` does: rounds, saturates, drops the imaginary
    /// part; anything to bool is "not zero".
    Cast,
    /// A function that the IR has.
    Func(Func),
    /// Whether a number, or a part of it, is infinite.
    IsInf,
    /// Whether a number, or a part of it, is no number.
    IsNan,
    /// Whether a number is +infinity.
    IsPosInf,
    /// Whether a number is -infinity.
    IsNegInf,
    /// `max(a, 0)`.
    Relu,
    /// `1 / (1 + exp(-a))`.
    Sigmoid,
    /// `a`, of two.
    First,
    /// `b`, of two.
    Second,
    /// 1, of two.
    Pair,
    /// A semiring's multiplication: `op`, but the semiring's zero, which is the identity of
    /// `plus`, annihilates.
    Times {
        /// The multiplication.
        op: Box<Operator>,
        /// The addition.
        plus: Box<Operator>,
    },
    /// [`Cast`](Operator::Cast) within a semiring: its zero stays its zero, as `i32::MAX` becomes
    /// infinity where `plus` is the minimum.
    Lift {
        /// The addition.
        plus: Box<Operator>,
    },
    /// Declared by the user.
    User(UserOperator),
}

impl From<UserOperator> for Operator {
    fn from(user: UserOperator) -> Self {
        Operator::User(user)
    }
}

impl Operator {
    /// A text that is equal exactly for equal operators, in every process: a key for kernels.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{self:?}")
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Operator::Add => "+".to_owned(),
            Operator::Sub | Operator::Neg => "-".to_owned(),
            Operator::Mul => "*".to_owned(),
            Operator::Div => "/".to_owned(),
            Operator::And => "&".to_owned(),
            Operator::Or => "|".to_owned(),
            Operator::Not => "!".to_owned(),
            Operator::Eq => "==".to_owned(),
            Operator::Ne => "!=".to_owned(),
            Operator::Lt => "<".to_owned(),
            Operator::Le => "<=".to_owned(),
            Operator::Func(func) => func.name().to_owned(),
            Operator::Times { op, .. } => op.name(),
            Operator::Lift { .. } => "cast".to_owned(),
            Operator::User(user) => user.name().to_owned(),
            simple => format!("{simple:?}").to_lowercase(),
        }
    }

    /// Number of arguments.
    #[must_use]
    pub fn arity(&self) -> usize {
        match self {
            Operator::Neg | Operator::Not | Operator::Cast | Operator::Lift { .. } => 1,
            Operator::IsInf | Operator::IsNan | Operator::IsPosInf | Operator::IsNegInf => 1,
            Operator::Relu | Operator::Sigmoid => 1,
            Operator::Func(func) => func.arity(),
            Operator::Where => 3,
            Operator::User(user) => user.arity(),
            _ => 2,
        }
    }

    /// The operator of [`Stmt::Reduce`](ust_level_api::ir::Stmt::Reduce), if it has one.
    #[must_use]
    pub fn reduction(&self, dtype: Dtype) -> Option<BinOp> {
        let op = match self {
            Operator::Add => BinOp::Add,
            Operator::Mul => BinOp::Mul,
            Operator::Min => BinOp::Min,
            Operator::Max => BinOp::Max,
            Operator::Or if dtype == Dtype::Bool => BinOp::Add,
            Operator::And if dtype == Dtype::Bool => BinOp::Mul,
            _ => return None,
        };
        op.accepts(Elem::Value(dtype).ty()).then_some(op)
    }

    /// Whether `op(a + b, c) = op(a, c) + op(b, c)` in argument `at`, up to rounding. Then duplicates of
    /// that argument need not be summed first.
    #[must_use]
    pub fn is_linear_in(&self, at: usize) -> bool {
        match self {
            Operator::Mul | Operator::Neg | Operator::And => true,
            Operator::Func(Func::Real | Func::Imag | Func::Conj) => true,
            Operator::Div => at == 0,
            _ => false,
        }
    }
}
