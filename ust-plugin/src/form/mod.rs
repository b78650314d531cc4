//! The text form of a level's walk and of its search: loop IR as pseudo-C, the way that the IR prints it.
//!
//! | file | what |
//! |---|---|
//! | `lex` | words and signs |
//! | `parse` | text to form: lines, names and scopes |
//! | `expr` | expressions: precedence |
//! | `model` | the form, and the IR that is emitted from it |
//! | `valid` | the form is emitted once, and the IR validated |
//! | `print` | the walk of a level type of Rust as text |
//!
//! `ust_plugin.h` has the grammar.

mod expr;
mod lex;
mod model;
mod parse;
mod print;
#[cfg(test)]
mod tests;
mod valid;

pub(crate) use model::{Located, Walked};
pub(crate) use parse::{located, walked};
pub(crate) use print::{located as print_located, walked as print_walked};

/// Why a text is no walk or search.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormError {
    /// The text cannot be read.
    #[error("line {line}, column {column}: {message}")]
    Text { line: usize, column: usize, message: String },
    /// Types do not match.
    #[error(transparent)]
    Code(#[from] ust_level_api::ir::validate::ValidateError),
}
