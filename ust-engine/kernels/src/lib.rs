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

pub mod blocks;
pub mod diagonals;
#[cfg(target_arch = "x86_64")]
pub mod groups;
#[cfg(feature = "micro")]
pub mod micro;
pub mod moving;
pub mod panel;
pub mod pool;
pub mod text;
#[cfg_attr(not(all(feature = "micro", target_arch = "x86_64")), allow(dead_code, unused_imports))]
mod vector;

pub use vector::{Number, prefetch_elements};
