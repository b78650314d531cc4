//! Pictures of tensors: text for a terminal, SVG for everything else.
//!
//! A picture has two parts. One shows the logical tensor as cells: a row, a matrix, or a matrix for
//! each slice. It distinguishes entries, padding inside the shape, padding outside the shape, and
//! elements that are not stored. The other part shows the arrays of each level, and the values. A group
//! of elements (a diagonal, a block, a row) has the same colour in both parts. One element is traced
//! from its cell through the arrays to its value. A tensor that is too large for cells is shown as a
//! density map.
//!
//! | module | content |
//! |---|---|
//! | [`picture`] | the content of a picture, without its looks: places, states, groups |
//! | [`arrays`] | level arrays, and their elements on the path to a place |
//! | `walked`, `color` | the walk that finds all places; the colours of groups |
//! | [`density`] | the density map: entries counted in bins |
//! | `composed` | which part of a composed tensor stores each element |
//! | `sheet` | cells laid out as rows, matrices and slices |
//! | `label` | short texts of numbers, shapes and places |
//! | [`text`] | for a terminal |
//! | [`svg`](mod@svg) | for a browser, or for print |
//!
//! Nothing here knows a level type: places come from the walk that the levels emit.

pub mod arrays;
mod color;
mod composed;
pub mod density;
mod label;
pub mod picture;
mod sheet;
pub mod svg;
pub mod text;
mod walked;

pub use picture::{Picture, PictureOptions, State};
pub use svg::{SvgOptions, Theme, svg, svg_of_composed};
pub use text::{Text, TextOptions};
