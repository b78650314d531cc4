//! A checked assignment: what an expression means, without its spelling.
//!
//! Implicit sums have become [`Term::Reduce`], every index has its extent, every node its dtype,
//! and numbers are cast where dtypes meet. The planner starts here.

use ust_level_api::{Dtype, Scalar};

use super::operator::Operator;

/// `result(i, ...) = body`, ready to be planned.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The index variables, those of the result first.
    pub indices: Vec<Index>,
    /// The distinct tensors on the right, by the name that they are given under. A tensor that is
    /// used with two fill values, as an operand in a semiring and as a mask, stands here twice.
    pub operands: Vec<Input>,
    /// Each use of a tensor on the right, the mask's included.
    pub uses: Vec<Use>,
    /// What is computed.
    pub result: Output,
    /// `None` for `=`; for `+=`, `min=`, `max=`, ... the operator that combines what is there with
    /// what is computed.
    pub update: Option<Operator>,
    /// Where the result may be written, if not everywhere.
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

/// A tensor on the right, as far as its values go.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// The dtype of its values.
    pub dtype: Dtype,
    /// What is not stored has this value in this expression: the tensor's fill value, or the
    /// semiring's zero.
    pub fill: Scalar,
}

/// A use of a tensor, `A(i, j)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Which of [`Assignment::operands`].
    pub operand: usize,
    /// For each dimension, which of [`Assignment::indices`].
    pub indices: Vec<usize>,
}

/// The left-hand side.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// For each dimension, which of [`Assignment::indices`]; each once.
    pub indices: Vec<usize>,
    /// The dtype of the values.
    pub dtype: Dtype,
    /// The zero of the semiring that the expression is read in, of that dtype: what is not stored in
    /// the result, and in what is there already.
    pub zero: Option<Scalar>,
}

/// Where a result may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask {
    /// Which of [`Assignment::uses`].
    pub at: usize,
    /// Whether what counts is that something is stored, not that its value is not zero.
    pub structural: bool,
    /// Whether the result is written where the mask is not.
    pub complement: bool,
}

/// An expression on numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A constant.
    Const(Scalar),
    /// The element of a use of a tensor: which of [`Assignment::uses`].
    Element(usize),
    /// Whether an element is stored: a bool.
    Present(usize),
    /// How many coordinates some of [`Assignment::indices`] have together, in a dtype: as integers
    /// it wraps, as floating-point numbers it is rounded.
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
    /// A function that passes by what is not stored: where no element below is stored, the value
    /// is that of the argument, cast to `dtype`. Constants count as not stored, what a reduction
    /// gives as stored.
    Stored {
        /// The function, of one argument.
        op: Operator,
        /// Its argument, of the dtype that the function takes.
        arg: Box<Term>,
        /// The dtype of the result.
        dtype: Dtype,
    },
    /// The argument at all values of some indices, combined.
    Reduce {
        /// What combines.
        op: Operator,
        /// Over which of [`Assignment::indices`].
        indices: Vec<usize>,
        /// What is combined.
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
            Term::Places(_, dtype) => *dtype,
            Term::Element(at) => self.operands[self.uses[*at].operand].dtype,
            Term::Call { dtype, .. } | Term::Stored { dtype, .. } => *dtype,
            Term::Reduce { body, .. } => self.dtype(body),
        }
    }
}

impl Term {
    /// The uses of tensors below, in the order of the text, each as often as it stands there.
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
            Term::Const(_) | Term::Element(_) | Term::Present(_) | Term::Places(..) => {}
            Term::Call { args, .. } => args.iter().for_each(|arg| arg.visit(f)),
            Term::Stored { arg, .. } => arg.visit(f),
            Term::Reduce { body, .. } => body.visit(f),
        }
    }
}
