//! The format DSL: one line of text that says how a tensor is stored.
//!
//! ```text
//! (i, j) -> (i : dense, j : compressed)                                          CSR
//! (i, j) -> (j - i : compressed, i : range)                                      diagonals
//! (i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)    blocks
//! #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>       MLIR's spelling
//! BSR(2, 3), posWidth = 32                                                       a name
//! ```
//!
//! Text goes through three steps: it is *parsed* (what stands where), *built* (names resolved, level
//! types made and placed, the map inverted) into a [`Format`], and a format is *bound* to a shape
//! into a [`Bound`], which knows the coordinates of every level.
//!
//! | module | what |
//! |---|---|
//! | [`expr`] | integer expressions over dimensions or levels |
//! | [`spec`] | dimensions, slices, levels |
//! | [`named`] | the table of named formats |
//! | `lex`, `parse`, `parse_expr`, `syntax` | from text to a syntax tree |
//! | `build` | from a syntax tree to a checked format |
//! | `model` | [`Format`] itself |
//! | `form` | expressions as sums of digits, which is how they are inverted |
//! | `inverse`, `tiling` | the inverse map, inferred; digits that make up a form |
//! | `canonical` | one form for all expressions with the same values: equality and proofs |
//! | `bind` | a format and a shape: sizes of levels |
//! | `permute` | dimensions in another order |
//! | `read`, `print` | from any spelling, and back to canonical text |
//! | `outside` | text whose level types are not all linked, checked as far as can be |
//! | `lookup` | from a name to a format and back |
//! | `error`, `suggest` | errors with a caret, and the nearest known name |

mod bind;
mod build;
mod canonical;
pub mod error;
pub mod expr;
mod form;
mod inverse;
mod level_text;
mod lex;
mod lookup;
mod model;
pub mod named;
mod outside;
mod parse;
mod parse_expr;
mod permute;
mod print;
mod read;
pub mod spec;
pub mod suggest;
mod syntax;
mod tiling;

pub use bind::{Bound, LevelDomain};
pub use canonical::ExprKey;
pub use error::FormatError;
pub use expr::{IndexExpr, Spelling};
pub use model::Format;
pub use named::NamedFormat;
pub use spec::{DimSpec, LevelSpec, Slice};
