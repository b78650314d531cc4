//! The tree of an expression, as it is written: nothing is looked up yet.
//!
//! | module | what |
//! |---|---|
//! | this one | the tree |
//! | [`print`](mod@print) | the tree as text; read again it is the same tree |
//! | [`names`] | which names are tensors, which are indices |

pub mod names;
pub mod print;

use std::ops::Range;

use super::OpError;

/// A line of index notation, read but not checked: `C(i,j) = A(i,k) * B(k,j)`.
///
/// How it is written, [`parse`](mod@super::parse) says; what it means with given tensors,
/// [`Expression::check`] finds out. Two expressions are equal when their trees are, however they
/// are spaced and parenthesised.
#[derive(Clone, Debug)]
pub struct Expression {
    pub(crate) text: String,
    /// The left-hand side.
    pub result: Access,
    /// Where the result may be written, if not everywhere.
    pub mask: Option<MaskAccess>,
    /// What is done with what is computed.
    pub assign: Assign,
    /// The right-hand side.
    pub body: Node,
    /// The name after `using`, and where it stands.
    pub semiring: Option<(String, Range<usize>)>,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        let semiring = |e: &Self| e.semiring.as_ref().map(|(name, _)| name.clone());
        self.result.same(&other.result)
            && match (&self.mask, &other.mask) {
                (Some(a), Some(b)) => {
                    a.access.same(&b.access)
                        && (a.structural, a.complement) == (b.structural, b.complement)
                }
                (None, None) => true,
                _ => false,
            }
            && self.assign == other.assign
            && self.body == other.body
            && semiring(self) == semiring(other)
    }
}

/// A tensor's name and the indices of its dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The name.
    pub name: String,
    /// One index for each dimension.
    pub indices: Vec<String>,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
}

impl Access {
    fn same(&self, other: &Self) -> bool {
        self.name == other.name && self.indices == other.indices
    }
}

/// What stands between `<` and `>` after the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskAccess {
    /// The tensor.
    pub access: Access,
    /// `structure`: what counts is that something is stored.
    pub structural: bool,
    /// `!`: the result is written where the mask is not.
    pub complement: bool,
}

/// The sign between the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Assign {
    /// `=`
    Set,
    /// `+=`
    Add,
    /// `*=`
    Mul,
    /// `min=`
    Min,
    /// `max=`
    Max,
    /// `|=`
    Or,
    /// `&=`
    And,
}

/// A part of the right-hand side. Equal parts may stand at different places.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// What a part of the right-hand side is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A number.
    Literal(Literal),
    /// A bare name: a scalar, or an index where a reduction wants one.
    Name(String),
    /// `name(args)`: a tensor with its indices, a function, or a reduction.
    Apply {
        /// The name.
        name: String,
        /// Whether `[stored]` follows the name.
        stored: bool,
        /// Index names in parentheses of their own, `sum((k, l), ...)`.
        over: Option<Vec<Node>>,
        /// What else stands between the parentheses.
        args: Vec<Node>,
    },
    /// One operand.
    Unary(Sign, Box<Node>),
    /// Two operands.
    Binary(Sign, Box<Node>, Box<Node>),
}

/// A number as it is written. It takes its dtype from what it meets.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// `true` or `false`.
    Bool(bool),
    /// `2`
    Int(u64),
    /// `0.5`, `1e-3`, `inf`, `nan`
    Float(f64),
    /// `2i`
    Imaginary(f64),
}

impl PartialEq for Literal {
    /// Bit by bit, so that NaN is itself.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Literal::Bool(a), Literal::Bool(b)) => a == b,
            (Literal::Int(a), Literal::Int(b)) => a == b,
            (Literal::Float(a), Literal::Float(b))
            | (Literal::Imaginary(a), Literal::Imaginary(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

/// An operator that is a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sign {
    /// `|`
    Or,
    /// `&`
    And,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+`
    Add,
    /// `-`, before one operand or between two
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `!`, before one operand
    Not,
    /// `^`
    Pow,
}

impl Sign {
    /// How it is written.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Sign::Or => "|",
            Sign::And => "&",
            Sign::Eq => "==",
            Sign::Ne => "!=",
            Sign::Lt => "<",
            Sign::Le => "<=",
            Sign::Gt => ">",
            Sign::Ge => ">=",
            Sign::Add => "+",
            Sign::Sub => "-",
            Sign::Mul => "*",
            Sign::Div => "/",
            Sign::Not => "!",
            Sign::Pow => "^",
        }
    }

    /// How tightly it binds between two operands; comparisons, 3, do not chain.
    pub(crate) fn strength(self) -> u8 {
        match self {
            Sign::Or => 1,
            Sign::And => 2,
            Sign::Eq | Sign::Ne | Sign::Lt | Sign::Le | Sign::Gt | Sign::Ge => 3,
            Sign::Add | Sign::Sub => 4,
            Sign::Mul | Sign::Div => 5,
            Sign::Not => UNARY,
            Sign::Pow => 7,
        }
    }
}

/// How tightly a sign before one operand binds: tighter than `*`, looser than `^`.
pub(crate) const UNARY: u8 = 6;

impl Expression {
    /// Whether the old value of the result takes part, as with `+=`.
    #[must_use]
    pub fn is_update(&self) -> bool {
        self.assign != Assign::Set
    }

    /// The text that was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// An error at a place of the text.
    #[must_use]
    pub fn error(&self, span: &Range<usize>, message: String, help: Option<String>) -> OpError {
        OpError::at(&self.text, span, message, help)
    }
}
