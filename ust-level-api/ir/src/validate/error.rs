//! The errors of an invalid function.

use super::MAX_DEPTH;
use crate::{BinOp, Elem, Func, Ty, UnOp};

/// Why a function is not valid.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// Two arrays or variables share a name.
    #[error("`{function}` declares the name `{name}` twice")]
    DuplicateName {
        /// The function.
        function: String,
        /// The name.
        name: String,
    },
    /// Parameters are the first variables, so there cannot be more of them.
    #[error("`{function}` has {params} parameters but only {vars} variables")]
    MissingParams {
        /// The function.
        function: String,
        /// Number of parameters.
        params: usize,
        /// Number of variables, parameters among them.
        vars: usize,
    },
    /// A packed index array is written.
    #[error("`{0}` is written and holds u2; indices that are written take whole bytes")]
    PackedWritten(String),
    /// An array that grows is not marked as written.
    #[error("`{0}` grows but is not declared as written")]
    GrowsUnwritten(String),
    /// A function extends an array that is not marked to grow.
    #[error("`{0}` is made longer but not declared to grow")]
    NotGrowing(String),
    /// The sorted array does not hold indices of kind i64.
    #[error("`{array}` is sorted but holds {elem}; sorted are only indices of kind i64")]
    Sorted {
        /// The array.
        array: String,
        /// The type of its elements.
        elem: Elem,
    },
    /// A statement names a variable that the function does not have.
    #[error("no variable number {0} is declared")]
    UnknownVar(u32),
    /// A statement names an array that the function does not have.
    #[error("no array number {0} is declared")]
    UnknownArray(u32),
    /// A `let` or a loop declares a variable that is a parameter, or declared already.
    #[error("`{0}` is declared twice; every `let` and every loop needs a variable of its own")]
    DeclaredTwice(String),
    /// A variable is assigned before its `let` or after the block that holds it.
    #[error("`{0}` is assigned where it is not in scope")]
    AssignedOutOfScope(String),
    /// A loop variable is assigned.
    #[error("`{0}` is a loop variable and cannot be assigned")]
    AssignedLoopVar(String),
    /// A loop variable is not an `int`.
    #[error("the loop variable `{name}` is declared {found}, not int")]
    LoopVarType {
        /// The variable.
        name: String,
        /// Its type.
        found: Ty,
    },
    /// A store into an array that is not marked as written.
    #[error("`{0}` is stored into but not declared as written")]
    NotWritten(String),
    /// A reduction into an array, with an operator that is no reduction on its elements.
    #[error("`{op}` does not reduce into `{array}`, which holds {elem}")]
    Reduction {
        /// The array.
        array: String,
        /// The type of its elements.
        elem: Elem,
        /// The operator.
        op: BinOp,
    },
    /// An expression has another type than is needed.
    #[error("{role} is `{expr}`, of type {found}; needed is {expected}")]
    Type {
        /// What the expression is for, such as "the condition of `if`".
        role: String,
        /// The expression.
        expr: String,
        /// The type that is needed.
        expected: Ty,
        /// The type that it has.
        found: Ty,
    },
    /// An expression is wrong in itself.
    #[error("in `{expr}`: {source}")]
    Expr {
        /// The innermost expression that is wrong.
        expr: String,
        /// The fault.
        source: ExprError,
    },
    /// Statements or expressions are nested deeper than [`MAX_DEPTH`].
    #[error("`{function}` is nested deeper than {MAX_DEPTH}; name parts of it with `let`")]
    TooDeep {
        /// The function.
        function: String,
    },
    /// More arrays, variables and constants than the interpreter's code can number.
    #[error("`{function}` needs more than {limit} {what}")]
    TooLarge {
        /// The function.
        function: String,
        /// What there is too much of, such as "arrays".
        what: &'static str,
        /// The largest number that is allowed.
        limit: usize,
    },
}

/// The fault of an expression.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExprError {
    /// A variable that the function does not have.
    #[error("no variable number {0} is declared")]
    UnknownVar(u32),
    /// An array that the function does not have.
    #[error("no array number {0} is declared")]
    UnknownArray(u32),
    /// A variable before its `let` or after the block that holds it.
    #[error("`{0}` is not in scope")]
    OutOfScope(String),
    /// An index that is not an `int`.
    #[error("the index of `{array}` is of type {found}, not int")]
    Index {
        /// The array.
        array: String,
        /// The index's type.
        found: Ty,
    },
    /// An operand of a type that the operator does not take.
    #[error("`{op}` does not take {found}")]
    UnaryOperand {
        /// The operator.
        op: UnOp,
        /// The operand's type.
        found: Ty,
    },
    /// Operands of a type that the operator does not take.
    #[error("`{op}` does not take {found}")]
    BinaryOperand {
        /// The operator.
        op: BinOp,
        /// The operands' type.
        found: Ty,
    },
    /// Operands of two types.
    #[error("`{op}` between {left} and {right}; both sides must be of one type")]
    Operands {
        /// The operator.
        op: BinOp,
        /// Type of the left one.
        left: Ty,
        /// Type of the right one.
        right: Ty,
    },
    /// A wrong number of arguments.
    #[error("`{func}` takes {} arguments, {given} are given", func.arity())]
    Arity {
        /// The function.
        func: Func,
        /// Number of arguments.
        given: usize,
    },
    /// Arguments of a type that the function does not take.
    #[error("`{func}` does not take {found}")]
    Argument {
        /// The function.
        func: Func,
        /// The arguments' type.
        found: Ty,
    },
    /// Arguments of two types.
    #[error("`{func}` of {left} and {right}; both arguments must be of one type")]
    Arguments {
        /// The function.
        func: Func,
        /// Type of the first.
        left: Ty,
        /// Type of the second.
        right: Ty,
    },
    /// A conversion to int of an expression that is no `val`.
    #[error("an int is made of {found}, not of a number")]
    ToInt {
        /// Its type.
        found: Ty,
    },
    /// A condition that is not a `bool`.
    #[error("the condition is of type {found}, not bool")]
    Condition {
        /// Its type.
        found: Ty,
    },
    /// A conditional whose sides are of two types.
    #[error("one side is of type {left}, the other of type {right}")]
    Sides {
        /// Type of the side for a true condition.
        left: Ty,
        /// Type of the side for a false condition.
        right: Ty,
    },
}

crate::debug_shows_message!(ValidateError, ExprError);
