//! Index notation: products of tensors, summed over the indices that the result does not have.
//!
//! `y(i) = A(i,j) * x(j)` is read by [`Expression`], and evaluated by [`evaluate`] through the IR
//! interpreter: one operand is walked as it is stored, the others are looked up.
//!
//! | module | what |
//! |---|---|
//! | [`parse`] | the text, with errors that point into it |
//! | [`product`] | the loops |

pub mod parse;
pub mod product;

pub use parse::{Access, Expression};
pub use product::{Evaluation, evaluate};

/// Index notation that cannot be read or evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// The text is wrong at one place.
    #[error("{message}\n  {text}\n  {}{}{}", " ".repeat(*.column), "^".repeat((*.width).max(1)), .help.as_ref().map(|h| format!("\nhelp: {h}")).unwrap_or_default())]
    Text {
        /// The expression.
        text: String,
        /// Characters before the place.
        column: usize,
        /// Characters of the place.
        width: usize,
        /// What is wrong there.
        message: String,
        /// What to do.
        help: Option<String>,
    },
    /// A tensor could not be converted, walked or stored.
    #[error(transparent)]
    Tensor(#[from] crate::Error),
}
