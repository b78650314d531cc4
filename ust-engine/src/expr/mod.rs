//! Index notation: expressions of tensors, summed over the indices that the result does not have.
//!
//! [`Expression::parse`] reads `y(i) = A(i,j) * x(j)`. [`Expression::check`] checks it against given
//! tensors and makes an [`Assignment`]. Nothing here decides how the result is computed.
//!
//! An implicit sum of truth values is a truth value: `s = A(i) > 0` is whether any element is positive. An
//! explicit sum counts them: `s = sum(i, A(i) > 0)`.
//!
//! | module | what |
//! |---|---|
//! | [`mod@parse`] | the parser; the grammar, and the rule for implicit sums |
//! | [`syntax`] | the syntax tree |
//! | [`functions`] | the functions |
//! | [`semiring`] | the meaning of `+` and `*` |
//! | [`check`] | names, extents and dtypes: from the syntax tree to an assignment |
//! | [`term`] | the checked assignment |
//! | [`operator`] | operators and functions, as IR |
//! | [`mod@derivative`] | the expressions of gradients |
//! | `linear` | whether an expression is linear in an operand |
//! | [`control`] | threads, limits, cancelling, timings |

pub mod check;
pub mod control;
pub mod derivative;
pub mod functions;
mod linear;
pub mod operator;
pub mod parse;
pub mod semiring;
pub mod syntax;
pub mod term;

use std::ops::Range;

pub use check::{CheckOptions, GivenInput};
pub use control::Timing;
pub use derivative::{derivative, derivative_with};
pub use operator::{Operator, Sym, UserOperator};
pub use semiring::Semiring;
pub use syntax::{Access, Expression};
pub use term::Assignment;
pub use ust_level_api::ir::cancel::{CancelToken, Cancelled};

/// Index notation that cannot be read or evaluated.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// An error at one place of the text.
    #[error("{message}\n  {text}\n  {}{}{}", " ".repeat(*.column), "^".repeat((*.width).max(1)), .help.as_ref().map(|h| format!("\nhelp: {h}")).unwrap_or_default())]
    Text {
        /// The expression, or the part of a very long one around the error.
        text: String,
        /// Number of characters before the error.
        column: usize,
        /// Number of characters that are marked.
        width: usize,
        /// The error.
        message: String,
        /// A suggestion.
        help: Option<String>,
    },
    /// A tensor could not be converted, walked or stored.
    #[error(transparent)]
    Tensor(#[from] crate::error::Error),
}

ust_level_api::debug_shows_message!(OpError);

impl From<OpError> for crate::error::Error {
    fn from(error: OpError) -> Self {
        match error {
            OpError::Tensor(error) => error,
            text @ OpError::Text { .. } => Self::Expression(Box::new(text)),
        }
    }
}

impl From<Cancelled> for OpError {
    fn from(cancelled: Cancelled) -> Self {
        Self::Tensor(cancelled.into())
    }
}

/// Characters of a text that an error shows, at most.
const SHOWN: usize = 1024;

impl OpError {
    /// An error at a place of a text, in bytes.
    fn at(text: &str, span: &Range<usize>, message: String, help: Option<String>) -> Self {
        // One line, with blanks for tabs, so that the carets stand below the error.
        let clean = |c: char| if c.is_control() { ' ' } else { c };
        let column = text[..span.start].chars().count();
        let width = text[span.clone()].chars().count();
        let skipped = match text.chars().nth(SHOWN) {
            Some(_) => column.saturating_sub(SHOWN / 4),
            None => 0,
        };
        let shown: String = text.chars().skip(skipped).take(SHOWN).map(clean).collect();
        let column = column - skipped;
        let width = width.min(shown.chars().count().saturating_sub(column));
        Self::Text { text: shown, column, width, message, help }
    }
}
