//! The syntax tree of an expression, before names are resolved.
//!
//! | module | what |
//! |---|---|
//! | this one | the tree |
//! | [`print`](mod@print) | the tree as text; read again it is the same tree |
//! | `make` | nodes of trees that were not read |
//! | [`names`] | which names are tensors, which are indices |

mod make;
pub mod names;
pub mod print;

use std::ops::Range;

use super::OpError;

/// A line of index notation, read but not checked: `C(i,j) = A(i,k) * B(k,j)`.
///
/// [`parse`](mod@super::parse) has the grammar. [`Expression::check`] checks the expression against given
/// tensors. Two expressions are equal if their trees are, whatever their blanks and parentheses.
#[derive(Clone, Debug)]
pub struct Expression {
    pub(crate) text: String,
    /// The left-hand side.
    pub result: Access,
    /// The mask, which restricts where the result is written.
    pub mask: Option<MaskAccess>,
    /// The sign between the two sides.
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

/// The mask: between `<` and `>` after the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskAccess {
    /// The tensor.
    pub access: Access,
    /// `structure`: the mask is true where an element is stored, whatever its value.
    pub structural: bool,
    /// `!`: the result is written where the mask is false.
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
    /// A bare name: a scalar, or an index that a reduction is over.
    Name(String),
    /// `name(args)`: a tensor with its indices, a function, or a reduction.
    Apply {
        /// The name.
        name: String,
        /// Whether `[stored]` follows the name.
        stored: bool,
        /// Index names in parentheses of their own, `sum((k, l), ...)`.
        over: Option<Vec<Node>>,
        /// The arguments after those indices.
        args: Vec<Node>,
    },
    /// One operand.
    Unary(Sign, Box<Node>),
    /// Two operands.
    Binary(Sign, Box<Node>, Box<Node>),
}

/// A literal. It takes its dtype from the other arguments of its operator.
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
    /// The sign as text.
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

    /// The precedence of the binary operator. Comparisons, 3, do not chain.
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

/// The precedence of unary operators: above `*`, below `^`.
pub(crate) const UNARY: u8 = 6;

impl Expression {
    /// Whether the assignment reads the old value of the result, as `+=` does.
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
