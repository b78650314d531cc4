//! Index notation: expressions of tensors, summed over the indices that the result does not have.
//!
//! `y(i) = A(i,j) * x(j)` is read by [`Expression::parse`]; [`Expression::check`] finds out what it
//! means with given tensors, an [`Assignment`]. Nothing here knows how it is
//! computed.
//!
//! Of truth values, the sum over an index that the result does not have is a truth value, whether any
//! is true: `s = A(i) > 0`. An explicit sum counts them: `s = sum(i, A(i) > 0)`.
//!
//! | module | what |
//! |---|---|
//! | [`mod@parse`] | the text, with errors that point into it, and what is summed |
//! | [`syntax`] | the tree that it is read into |
//! | [`functions`] | the functions |
//! | [`semiring`] | what `+` and `*` mean |
//! | [`check`] | from the tree to what it means: names, extents, dtypes |
//! | [`term`] | what it means |
//! | [`operator`] | operators and functions, as IR |
//! | [`control`] | threads, limits, cancelling, timings |

pub mod check;
pub mod control;
pub mod functions;
pub mod operator;
pub mod parse;
pub mod semiring;
pub mod syntax;
pub mod term;

use std::ops::Range;

pub use check::{CheckOptions, GivenInput};
pub use control::{CancelToken, Timing};
pub use operator::{Operator, Sym, UserOperator};
pub use semiring::Semiring;
pub use syntax::{Access, Expression};
pub use term::Assignment;

/// Index notation that cannot be read or evaluated.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// The text is wrong at one place.
    #[error("{message}\n  {text}\n  {}{}{}", " ".repeat(*.column), "^".repeat((*.width).max(1)), .help.as_ref().map(|h| format!("\nhelp: {h}")).unwrap_or_default())]
    Text {
        /// The expression; of a very long one the part around the place.
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
    Tensor(#[from] crate::error::Error),
}

ust_level_api::debug_shows_message!(OpError);

/// Texts longer than this are not shown whole, in characters.
const SHOWN: usize = 1024;

impl OpError {
    /// An error at a place of a text, in bytes.
    fn at(text: &str, span: &Range<usize>, message: String, help: Option<String>) -> Self {
        // One line, tabs as blanks: the caret then stands below its place.
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
