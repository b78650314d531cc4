//! The loop IR of the Universal Sparse Tensor, and the memory that it runs on: scalars, index
//! arrays, columns, buffers. Level types emit the IR; every back end consumes it.
//!
//! # What it means
//!
//! A [`Function`] has *arrays* (level arrays, values, results), scalar *parameters*, and a body of
//! [`Stmt`]s. There are three types ([`Ty`]): `int` (a wrapping `i64`, for all index arithmetic),
//! `bool`, and `val` (a number of some dtype). An f16 or bf16 is computed in f32, and rounded when
//! it is stored.
//!
//! * An [`Expr`] is a tree without side effects. It is evaluated at each of its occurrences;
//!   [`Builder::bind`] evaluates it once and names the result. `and`/`or` evaluate both sides;
//!   [`Expr::Select`] evaluates only the chosen side.
//! * A variable is in scope in the block that declares it and in blocks within that one. Loop
//!   variables are not assigned.
//! * [`Stmt::For`] evaluates its bounds once and runs from `lo` up to `hi`, exclusive.
//! * [`Stmt::Reduce`] combines a value into memory. It is a statement of its own, not a load and a
//!   store, so that a parallel back end may choose an atomic or a private copy.
//! * Division and remainder of `int`s round towards minus infinity (`floordiv`, `mod`). The
//!   quotient of `val`s of an integer dtype rounds towards zero. Division of integers by zero is an
//!   error in the interpreter, and undefined elsewhere.
//! * The minimum or maximum of two floating-point numbers is NaN if one of them is; -0 is less than
//!   0 (IEEE 754-2019 `minimum` and `maximum`).
//! * A load beyond the end of an array is an error in the interpreter, and undefined elsewhere.
//!   Emitters rely on the checks that arrays passed before.
//! * An array that [`grows`](ArrayDecl::grows) starts with the caller's elements; [`Stmt::Reserve`]
//!   adds more. [`Expr::Len`] is its current length.
//! * The emitter ensures that a stored index fits the array's kind. An index that does not fit is
//!   an error in the interpreter, and truncated elsewhere.
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | this one | the types of the loop IR |
//! | [`func`] | functions of numbers |
//! | [`builder`] | writing IR: scopes, names, statements |
//! | [`mod@print`] | pseudo-C, for people and snapshots |
//! | [`validate`] | checks of types and scopes, made of every function before it runs |
//! | [`interp`] | the checked interpreter: the reference that back ends are compared with |
//! | [`scalar`] | element types (dtypes) and single values |
//! | [`buffer`] | shared, typed memory |
//! | [`index`] | arrays of positions and coordinates, 2 to 64 bits wide |
//! | [`mod@column`] | columns of coordinates and positions, each in a narrow form |
//! | [`parallel`] | parallel loops |
//! | [`cancel`] | work that ends early |
//! | [`process`] | threads and locks of processes that were forked |
//! | [`elsewhere`] | columns in the memory of a device |
//! | `serde` | numbers and arrays, written and read, with the feature `serde` |
//!
//! *Invariant: nothing in this crate knows what a level is.*
#![deny(unsafe_code)]

pub mod buffer;
pub mod builder;
pub mod cancel;
pub mod column;
pub mod elsewhere;
mod error;
pub mod func;
pub mod idiom;
pub mod index;
pub mod interp;
pub mod parallel;
pub mod print;
pub mod process;
pub mod scalar;
pub mod schedule;
#[cfg(feature = "serde")]
mod serde;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;
mod tree;
pub mod validate;

pub use buffer::{Buffer, GrowBuffer};
pub use builder::Builder;
pub use column::IndexColumn;
pub use elsewhere::Elsewhere;
pub use func::Func;
pub use index::{IndexArray, IndexKind, Packed};
pub use scalar::{Dtype, Element, Scalar};

/// The type of an expression or variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// Wrapping 64-bit signed integer: positions, coordinates, sizes.
    Int,
    /// Truth value.
    Bool,
    /// A number of this dtype.
    Val(Dtype),
}

/// A variable: an index into [`Function::vars`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(pub u32);

/// An array: an index into [`Function::arrays`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArrayId(pub u32);

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elem {
    /// Indices; loads give `int`.
    Index(IndexKind),
    /// Numbers; loads give `val`.
    Value(Dtype),
}

impl Elem {
    /// The type of a loaded element.
    #[must_use]
    pub fn ty(self) -> Ty {
        match self {
            Elem::Index(_) => Ty::Int,
            Elem::Value(dtype) => Ty::Val(dtype),
        }
    }
}

/// An array that a function works on. Its length is known at run time.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct ArrayDecl {
    /// A name for people, unique in the function, such as `A1_crd`.
    pub name: String,
    /// The type of its elements.
    pub elem: Elem,
    /// Whether the function stores into it. A written index array has any kind but the packed
    /// [`IndexKind::U2`].
    pub written: bool,
    /// Whether the function makes it longer, with [`Stmt::Reserve`]. Such an array is also
    /// `written`.
    pub grows: bool,
}

/// A variable's declaration.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct VarDecl {
    /// A name for people, unique in the function.
    pub name: String,
    /// Its type.
    pub ty: Ty,
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnOp {
    /// `-a`, int or val that is not bool dtype (wrapping for integers).
    Neg,
    /// `!a`, bool.
    Not,
    /// Number of ones among the 64 bits; int.
    CountOnes,
    /// Number of zeros below the lowest one of the 64 bits; 64 for 0; int.
    TrailingZeros,
}

/// Operators with two operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// `a + b`, int or val (wrapping for integers, `or` for bool dtype).
    Add,
    /// `a - b`, int or val that is not bool dtype (wrapping for integers).
    Sub,
    /// `a * b`, int or val (`and` for bool dtype).
    Mul,
    /// Quotient rounded towards minus infinity; int.
    FloorDiv,
    /// Remainder with the sign of the divisor; int.
    Mod,
    /// Quotient; val that is not bool dtype. Rounds towards zero and wraps for integer dtypes.
    Div,
    /// The smaller; int, or val that is not complex.
    Min,
    /// The larger; int, or val that is not complex.
    Max,
    /// Bitwise and; int.
    BitAnd,
    /// Arithmetic shift to the right by the lowest six bits of `b`; int.
    Shr,
    /// Logical and; bool.
    And,
    /// Logical or; bool.
    Or,
    /// Equal; int or val; gives bool.
    Eq,
    /// Not equal; int or val; gives bool.
    Ne,
    /// Less; int, or val that is not complex; gives bool.
    Lt,
    /// Less or equal; int, or val that is not complex; gives bool.
    Le,
}

/// An expression: a tree without side effects.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Expr {
    /// A constant integer.
    Int(i64),
    /// A constant truth value.
    Bool(bool),
    /// A constant number.
    Const(Scalar),
    /// The value of a variable or parameter.
    Var(Var),
    /// The length of an array, in elements.
    Len(ArrayId),
    /// An element of an array.
    Load(ArrayId, Box<Expr>),
    /// An operator with one operand.
    Unary(UnOp, Box<Expr>),
    /// An operator with two operands.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// `if cond { a } else { b }`; only the side taken is evaluated.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A function of one or two `val`s of one dtype that it [accepts](Func::accepts).
    Call(Func, Vec<Expr>),
    /// A number of this dtype, from an int, a bool or a `val`. A cast never fails. Between integers
    /// and floating-point numbers it is Rust's `as`: integers wrap, floats saturate, and NaN
    /// becomes 0. A cast to a real dtype drops the imaginary part, and a cast to bool is `!= 0`. A
    /// bool counts as 0 or 1. Floats round to nearest. A cast to f16 or bf16 is one to f32; the
    /// number is rounded further when it is stored.
    Cast(Dtype, Box<Expr>),
    /// An int from a `val`, as by a [`Cast`](Expr::Cast) to i64.
    ToInt(Box<Expr>),
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Stmt {
    /// Declares a variable with its first value.
    Let(Var, Expr),
    /// Gives a declared variable another value.
    Assign(Var, Expr),
    /// Writes an element.
    Store(ArrayId, Expr, Expr),
    /// Combines a value into an element: `array[index] = array[index] op value`, with one of the
    /// operators [`Add`](BinOp::Add), [`Mul`](BinOp::Mul), [`Min`](BinOp::Min),
    /// [`Max`](BinOp::Max), [`BitAnd`](BinOp::BitAnd).
    Reduce(BinOp, ArrayId, Expr, Expr),
    /// Extends an array that [`grows`](ArrayDecl::grows) to at least this length. It may get longer
    /// still, and may move. The contents of new elements are not specified (0 in the interpreter).
    /// This is a call: emit it only under the condition that [`Expr::Len`] is too small.
    Reserve(ArrayId, Expr),
    /// Sorts the elements from the first index up to the second, exclusive, in ascending order. The
    /// array is written, and of kind [`IndexKind::I64`]. Does nothing if the second index is not
    /// larger.
    Sort(ArrayId, Expr, Expr),
    /// `for var in lo..hi`.
    For {
        /// The loop variable, `int`, declared by the loop.
        var: Var,
        /// First value.
        lo: Expr,
        /// Bound, exclusive.
        hi: Expr,
        /// The statements of one iteration.
        body: Vec<Stmt>,
    },
    /// `while cond`.
    While {
        /// The condition, evaluated before each iteration.
        cond: Expr,
        /// The statements of one iteration.
        body: Vec<Stmt>,
    },
    /// `if cond {} else {}`.
    If {
        /// The condition.
        cond: Expr,
        /// Statements if it is true.
        then: Vec<Stmt>,
        /// Statements if it is false.
        otherwise: Vec<Stmt>,
    },
    /// A comment in the printed form.
    Comment(String),
}

/// A piece of code with its arrays, parameters and variables.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The arrays it works on; the caller binds one memory to each.
    pub arrays: Vec<ArrayDecl>,
    /// Number of scalar parameters, which are the first of `vars`. The caller gives their values.
    pub params: usize,
    /// Every variable, parameters first.
    pub vars: Vec<VarDecl>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// What loops of it compute, as far as whoever wrote them [declared](Builder::declare) it.
    pub idioms: Vec<idiom::Idiom>,
}

impl Function {
    /// The type of an expression of this function. Of an invalid expression (see [`validate`]) it
    /// is any type.
    ///
    /// # Panics
    /// If the expression names a variable or array that the function does not have.
    #[must_use]
    pub fn type_of(&self, expr: &Expr) -> Ty {
        type_of(&self.vars, &self.arrays, expr)
    }
}

fn type_of(vars: &[VarDecl], arrays: &[ArrayDecl], expr: &Expr) -> Ty {
    match expr {
        Expr::Int(_) | Expr::Len(_) => Ty::Int,
        Expr::Bool(_) => Ty::Bool,
        Expr::Const(scalar) => Ty::Val(scalar.dtype()),
        Expr::Var(var) => vars[var.0 as usize].ty,
        Expr::Load(array, _) => arrays[array.0 as usize].elem.ty(),
        Expr::Binary(op, ..) if op.is_truth() => Ty::Bool,
        Expr::Call(func, args) => match args.first().map(|arg| type_of(vars, arrays, arg)) {
            Some(Ty::Val(dtype)) => func.result(dtype),
            // Invalid: a function takes numbers. Any type will do.
            other => other.unwrap_or(Ty::Bool),
        },
        Expr::Cast(dtype, _) => Ty::Val(*dtype),
        Expr::ToInt(_) => Ty::Int,
        Expr::Unary(_, a) | Expr::Binary(_, a, _) | Expr::Select(_, a, _) => {
            type_of(vars, arrays, a)
        }
    }
}

macro_rules! operators {
    ($($trait:ident::$method:ident => $op:ident),*) => {$(
        impl std::ops::$trait for Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr { Expr::binary(BinOp::$op, self, other) }
        }
        impl std::ops::$trait<i64> for Expr {
            type Output = Expr;
            fn $method(self, other: i64) -> Expr { Expr::binary(BinOp::$op, self, Expr::Int(other)) }
        }
    )*};
}
operators!(Add::add => Add, Sub::sub => Sub, Mul::mul => Mul);

impl From<bool> for Expr {
    fn from(value: bool) -> Self {
        Expr::Bool(value)
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Self {
        Expr::Int(value)
    }
}

impl From<Var> for Expr {
    fn from(var: Var) -> Self {
        Expr::Var(var)
    }
}

impl Expr {
    /// An operator with two operands. Constant integers are folded and neutral operands dropped, to
    /// keep generated code readable.
    #[must_use]
    pub fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
        use BinOp::{Add, FloorDiv, Max, Min, Mod, Mul, Sub};
        match (op, &a, &b) {
            (_, Expr::Int(x), Expr::Int(y)) => {
                if let Some(folded) = fold(op, *x, *y) {
                    return folded;
                }
            }
            (Add, Expr::Int(0), _) | (Mul, Expr::Int(1), _) => return b,
            (Add | Sub, _, Expr::Int(0)) | (Mul | FloorDiv, _, Expr::Int(1)) => return a,
            (Mul, _, Expr::Int(0)) | (Mul, Expr::Int(0), _) | (Mod, _, Expr::Int(1)) => {
                return Expr::Int(0);
            }
            (Min | Max, x, y) if x == y => return a,
            _ => {}
        }
        Expr::Binary(op, Box::new(a), Box::new(b))
    }

    /// The sum with a number that may have been taken away before: `(p - by) + by` is `p`.
    #[must_use]
    pub fn plus_again(self, by: &Expr) -> Expr {
        match self {
            Expr::Binary(BinOp::Sub, a, b) if *b == *by => *a,
            Expr::Binary(BinOp::Add, a, c) => match *a {
                Expr::Binary(BinOp::Sub, a, b) if *b == *by => *a + *c,
                a => a + *c + by.clone(),
            },
            other => other + by.clone(),
        }
    }

    /// Whether evaluation succeeds for any contents of arrays and variables: the expression loads
    /// no element, and divides nothing. It may then be evaluated where the loops would not evaluate
    /// it.
    #[must_use]
    pub fn cannot_fail(&self) -> bool {
        match self {
            Expr::Load(..) => false,
            Expr::Binary(BinOp::FloorDiv | BinOp::Mod | BinOp::Div, ..) => false,
            Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::ToInt(a) => a.cannot_fail(),
            Expr::Call(func, args) => *func != Func::Rem && args.iter().all(Expr::cannot_fail),
            Expr::Binary(_, a, b) => a.cannot_fail() && b.cannot_fail(),
            Expr::Select(cond, a, b) => cond.cannot_fail() && a.cannot_fail() && b.cannot_fail(),
            Expr::Int(_) | Expr::Bool(_) | Expr::Const(_) | Expr::Var(_) | Expr::Len(_) => true,
        }
    }

    /// Quotient rounded towards minus infinity.
    #[must_use]
    pub fn floor_div(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::FloorDiv, self, other.into())
    }

    /// Remainder with the sign of the divisor.
    #[must_use]
    pub fn modulo(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Mod, self, other.into())
    }

    /// The smaller of two numbers.
    #[must_use]
    pub fn min(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Min, self, other.into())
    }

    /// The larger of two numbers.
    #[must_use]
    pub fn max(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Max, self, other.into())
    }

    /// Number of ones among the bits of an int.
    #[must_use]
    pub fn count_ones(self) -> Expr {
        Expr::Unary(UnOp::CountOnes, Box::new(self))
    }

    /// Number of zeros below the lowest one among the bits of an int.
    #[must_use]
    pub fn trailing_zeros(self) -> Expr {
        Expr::Unary(UnOp::TrailingZeros, Box::new(self))
    }

    /// Bitwise and.
    #[must_use]
    pub fn bit_and(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::BitAnd, self, other.into())
    }

    /// `self >> other`, see [`BinOp::Shr`].
    #[must_use]
    pub fn shifted(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Shr, self, other.into())
    }

    /// `self < other`.
    #[must_use]
    pub fn lt(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Lt, self, other.into())
    }

    /// `self <= other`.
    #[must_use]
    pub fn le(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Le, self, other.into())
    }

    /// `self == other`.
    #[must_use]
    pub fn equals(self, other: impl Into<Expr>) -> Expr {
        Expr::binary(BinOp::Eq, self, other.into())
    }

    /// `self && other`, simplified if a side is constant.
    #[must_use]
    pub fn and(self, other: Expr) -> Expr {
        match (&self, &other) {
            (Expr::Bool(true), _) | (_, Expr::Bool(false)) => other,
            (_, Expr::Bool(true)) | (Expr::Bool(false), _) => self,
            _ => Expr::binary(BinOp::And, self, other),
        }
    }

    /// A function of one or two numbers.
    #[must_use]
    pub fn call(func: Func, args: impl Into<Vec<Expr>>) -> Expr {
        Expr::Call(func, args.into())
    }

    /// The number as one of another dtype: [`Expr::Cast`].
    #[must_use]
    pub fn cast(self, dtype: Dtype) -> Expr {
        Expr::Cast(dtype, Box::new(self))
    }

    /// The `val` as an int: [`Expr::ToInt`].
    #[must_use]
    pub fn to_int(self) -> Expr {
        Expr::ToInt(Box::new(self))
    }

    /// `if self { a } else { b }`.
    #[must_use]
    pub fn select(self, a: impl Into<Expr>, b: impl Into<Expr>) -> Expr {
        Expr::Select(Box::new(self), Box::new(a.into()), Box::new(b.into()))
    }
}

fn fold(op: BinOp, x: i64, y: i64) -> Option<Expr> {
    Some(match op {
        BinOp::Add => Expr::Int(x.wrapping_add(y)),
        BinOp::Sub => Expr::Int(x.wrapping_sub(y)),
        BinOp::Mul => Expr::Int(x.wrapping_mul(y)),
        BinOp::FloorDiv if y != 0 => Expr::Int(floor_div(x, y)),
        BinOp::Mod if y != 0 => Expr::Int(floor_mod(x, y)),
        BinOp::Min => Expr::Int(x.min(y)),
        BinOp::Max => Expr::Int(x.max(y)),
        BinOp::Eq => Expr::Bool(x == y),
        BinOp::Ne => Expr::Bool(x != y),
        BinOp::Lt => Expr::Bool(x < y),
        BinOp::Le => Expr::Bool(x <= y),
        _ => return None,
    })
}

/// `a / b` rounded towards minus infinity. The quotient wraps if it does not fit. `b` is not 0.
#[must_use]
pub fn floor_div(a: i64, b: i64) -> i64 {
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// `a - b * floor_div(a, b)`. `b` is not 0.
#[must_use]
pub fn floor_mod(a: i64, b: i64) -> i64 {
    let remainder = a.wrapping_rem(b);
    if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder }
}
