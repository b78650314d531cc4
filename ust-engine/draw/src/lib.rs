//! Pictures of tensors: text for a terminal, SVG for everything else.
//!
//! A picture shows the logical tensor (rows, matrices, slices of matrices) with what is stored, what
//! is padding, inside the shape or beyond its edge, and what is empty told apart; beside it the
//! arrays of each level and the values. What belongs together (a diagonal, a block, a row) has one
//! colour in both, and one element is traced from its cell through every array to its value.
//! Tensors too large to be drawn cell by cell are shown as a map of their density.
//!
//! | module | what |
//! |---|---|
//! | [`picture`] | what a picture shows, before anyone decides how: places, states, groups |
//! | [`arrays`] | level arrays, and which of their elements lead to a place |
//! | `walked`, `color` | where those come from: one walk over everything stored; colours of groups |
//! | [`density`] | a large tensor in few bins |
//! | `sheet` | cells laid out as rows, matrices and slices |
//! | `label` | numbers and texts that fit |
//! | [`text`] | for a terminal |
//! | [`svg`](mod@svg) | for a browser, or for print |
//!
//! Nothing here knows a level type: places come from the walk that the levels emit.

pub mod arrays;
mod color;
pub mod density;
mod label;
pub mod picture;
mod sheet;
pub mod svg;
pub mod text;
mod walked;

pub use picture::{Picture, PictureOptions, State};
pub use svg::{SvgOptions, svg};
pub use text::{Text, TextOptions};
