//! The format DSL: one line of text that says how a tensor is stored.
//!
//! ```text
//! (i, j) -> (i : dense, j : compressed)                                          CSR
//! (i, j) -> (j - i : compressed, i : range)                                      diagonals
//! (i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)    blocks
//! (i, j) -> (#i : dense, i : dense, j : singleton)                               ELL
//! (i : sorted, j) -> (#i : dense, i : band, j : singleton)                       jagged diagonals
//! #sparse_tensor.encoding<{ map = (i, j) -> (i : dense, j : compressed) }>       MLIR's spelling
//! BSR(2, 3), posWidth = 32                                                       a name
//! ```
//!
//! A level stores an expression over dimensions, or a counter: `#i` is the number of an entry among those with the same
//! `i`, from 0 (MLIR's `[c](i, j) -> (c * 3 * i : ..., ...)` means the same). How many numbers there are follows from
//! the entries, and not from the shape.
//!
//! A dimension that is [`sorted`](spec::Sorted) is stored in another order: in the levels, `i` is the place of a
//! coordinate among all, those with the most entries first. `i : sorted(64)` sorts within windows of 64 coordinates.
//!
//! Text goes through three steps. It is *parsed* into a syntax tree. The tree is *built* into a
//! [`Format`]: names are resolved, level types are made and placed, and the map is inverted. A
//! format is *bound* to a shape; the [`Bound`] has the coordinates of every level.
//!
//! | module | contents |
//! |---|---|
//! | [`expr`] | integer expressions over dimensions or levels |
//! | [`spec`] | dimensions, slices, counters, levels |
//! | [`named`] | the table of named formats |
//! | `lex`, `parse`, `parse_expr`, `syntax` | from text to a syntax tree |
//! | `build` | from a syntax tree to a checked format |
//! | `names` | what names in expressions stand for |
//! | `model` | [`Format`] itself |
//! | `form` | expressions as sums of digits, the form that is inverted |
//! | `inverse`, `tiling` | inference of the inverse map; digits that tile a form |
//! | `canonical` | canonical forms of expressions, for equality and proofs |
//! | `bind` | a format bound to a shape: sizes of levels |
//! | `permute` | permutations of dimensions |
//! | `given` | [`Given`]: a format, its text, or its name, where a function asks for a format |
//! | `read`, `print` | from any spelling, and back to canonical text |
//! | [`composition`] | sums of parts in different formats, and the rules that share entries among them |
//! | `outside` | checks of text whose level types are not all linked |
//! | `lookup` | from a name to a format and back |
//! | `error`, `suggest` | errors with a caret, and the nearest known name |

mod bind;
mod build;
mod canonical;
pub mod composition;
pub mod error;
pub mod expr;
mod form;
mod given;
mod inverse;
mod level_text;
mod lex;
mod lookup;
mod model;
pub mod named;
mod names;
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
pub use composition::{Compare, Composition, Measure, Rule};
pub use error::FormatError;
pub use expr::{IndexExpr, Spelling};
pub use given::Given;
pub use model::Format;
pub use named::NamedFormat;
pub use spec::{Counter, DimSpec, LevelSpec, Slice, Sorted};
