//! Native code: the innermost loops of machine code, and what moves the most memory.
//!
//! | module | what |
//! |---|---|
//! | `blocks` | dense blocks times a vector or a dense matrix |
//! | `diagonals` | diagonals times a vector or a dense matrix |
//! | `groups` | groups of which two of four are stored, times a vector or a dense matrix |
//! | `micro` | innermost loops that pay for wide vectors, which compiled loops call |
//! | [`moving`] | columns moved and sorted: what conversions do with most memory |
//! | `panel` | what the products with a dense matrix share; and a matrix that is stored in full |
//! | `text` | what bytes of a text are |
//! | `vector` | vectors of each instruction set behind one trait |
// Vector loads and stores through pointers, and writes to memory that is shared by parts.
#![allow(unsafe_code)]

pub(crate) mod blocks;
pub(crate) mod diagonals;
#[cfg(target_arch = "x86_64")]
pub(crate) mod groups;
#[cfg(feature = "jit")]
pub(crate) mod micro;
pub(crate) mod moving;
pub(crate) mod panel;
pub(crate) mod text;
#[cfg_attr(not(all(feature = "jit", target_arch = "x86_64")), allow(dead_code, unused_imports))]
mod vector;

pub(crate) use vector::{Number, ask_for};
