//! The checked assignment, from which the planner starts.
//!
//! Implicit sums are explicit here ([`Term::Reduce`]). Every index has its extent and every node its
//! dtype, and casts bring the arguments of an operator to one dtype.

use ust_level_api::{Dtype, Scalar};

use super::operator::Operator;

/// `result(i, ...) = body`, ready to be planned.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The index variables, those of the result first.
    pub indices: Vec<Index>,
    /// The distinct tensors on the right, by name. A tensor that is accessed with two fill values, as an
    /// operand in a semiring and as a mask, is here twice.
    pub operands: Vec<Input>,
    /// Each access to a tensor on the right, with that of the mask.
    pub uses: Vec<Use>,
    /// The left-hand side.
    pub result: Output,
    /// For `+=`, `min=`, `max=`, ... the operator that combines the old value with the right-hand side.
    /// `None` for `=`.
    pub update: Option<Operator>,
    /// The mask, which restricts where the result is written.
    pub mask: Option<Mask>,
    /// The right-hand side. Its free indices are those of the result, or fewer (broadcasting).
    pub body: Term,
}

/// An index variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// It runs over `0 .. extent`.
    pub extent: usize,
}

/// A tensor on the right: the properties of its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The dtype of its values.
    pub dtype: Dtype,
    /// The value of unstored elements in this expression: the tensor's fill value, or the semiring's
    /// zero.
    pub fill: Scalar,
}

/// An access to a tensor, `A(i, j)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// The tensor: an index into [`Assignment::operands`].
    pub operand: usize,
    /// For each dimension, an index into [`Assignment::indices`].
    pub indices: Vec<usize>,
}

/// The left-hand side.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// For each dimension, an index into [`Assignment::indices`]. No two are equal.
    pub indices: Vec<usize>,
    /// The dtype of the values.
    pub dtype: Dtype,
    /// The zero of the expression's semiring, in that dtype: the value of unstored elements of the result,
    /// and of its old value.
    pub zero: Option<Scalar>,
}

/// A condition on the coordinates at which the result is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// The mask's tensor: an index into [`Assignment::uses`].
    pub at: usize,
    /// Whether the mask is true where an element is stored, instead of where its value is not zero.
    pub structural: bool,
    /// Whether the result is written where the mask is false.
    pub complement: bool,
}

/// An expression on numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A constant.
    Const(Scalar),
    /// The element of an access: an index into [`Assignment::uses`].
    Element(usize),
    /// Whether the element of an access is stored: a bool.
    Present(usize),
    /// The coordinate of an index variable, an `i64`: an index into [`Assignment::indices`].
    Index(usize),
    /// The number of combinations of coordinates of some [`Assignment::indices`], in a dtype. Integers
    /// wrap; floating-point numbers are rounded.
    Places(Vec<usize>, Dtype),
    /// An operator on arguments.
    Call {
        /// The operator.
        op: Operator,
        /// Its arguments, of the dtypes that it takes.
        args: Vec<Term>,
        /// The dtype of the result.
        dtype: Dtype,
    },
    /// A function of stored elements. Where no element below is stored, the value is that of the argument,
    /// cast to `dtype`. Constants count as unstored, results of reductions as stored.
    Stored {
        /// The function, of one argument.
        op: Operator,
        /// Its argument, of the dtype that the function takes.
        arg: Box<Term>,
        /// The dtype of the result.
        dtype: Dtype,
    },
    /// A reduction: the values of a term at all values of some indices, combined.
    Reduce {
        /// The operator that combines.
        op: Operator,
        /// The indices that it reduces over, as indices into [`Assignment::indices`].
        indices: Vec<usize>,
        /// The term.
        body: Box<Term>,
    },
}

impl Assignment {
    /// The dtype of a term.
    #[must_use]
    pub fn dtype(&self, term: &Term) -> Dtype {
        match term {
            Term::Const(value) => value.dtype(),
            Term::Present(_) => Dtype::Bool,
            Term::Index(_) => Dtype::I64,
            Term::Places(_, dtype) => *dtype,
            Term::Element(at) => self.operands[self.uses[*at].operand].dtype,
            Term::Call { dtype, .. } | Term::Stored { dtype, .. } => *dtype,
            Term::Reduce { body, .. } => self.dtype(body),
        }
    }
}

impl Term {
    /// The accesses below, in the order of the text, with repetitions.
    #[must_use]
    pub fn uses(&self) -> Vec<usize> {
        let mut uses = Vec::new();
        self.visit(&mut |term| {
            if let Term::Element(at) | Term::Present(at) = term {
                uses.push(*at);
            }
        });
        uses
    }

    /// The index variables whose coordinates are values in it, in the order of the text, each once.
    #[must_use]
    pub fn coordinates(&self) -> Vec<usize> {
        let mut found = Vec::new();
        self.visit(&mut |term| {
            if let Term::Index(v) = term
                && !found.contains(v)
            {
                found.push(*v);
            }
        });
        found
    }

    /// Whether there is a reduction in it.
    #[must_use]
    pub fn reduces(&self) -> bool {
        let mut found = false;
        self.visit(&mut |term| found |= matches!(term, Term::Reduce { .. }));
        found
    }

    /// Calls `f` for this term and every one below it.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a Term)) {
        f(self);
        match self {
            Term::Const(_)
            | Term::Element(_)
            | Term::Present(_)
            | Term::Index(_)
            | Term::Places(..) => {}
            Term::Call { args, .. } => args.iter().for_each(|arg| arg.visit(f)),
            Term::Stored { arg, .. } => arg.visit(f),
            Term::Reduce { body, .. } => body.visit(f),
        }
    }
}
