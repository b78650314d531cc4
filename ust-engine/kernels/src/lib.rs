//! Native code: kernels that compiled loops or providers call, and passes over whole columns.
//!
//! | module | what |
//! |---|---|
//! | `blocks` | dense blocks times a vector or a dense matrix |
//! | `diagonals` | diagonals times a vector or a dense matrix |
//! | `groups` | 2:4 groups times a vector or a dense matrix |
//! | `micro` | innermost loops with wide vectors, which machine code calls |
//! | [`moving`] | columns moved and sorted, for conversions |
//! | `panel` | the loops that products with a dense matrix share; a matrix stored in full |
//! | [`pool`] | the threads that share work |
//! | `text` | digits and blanks among the bytes of a text |
//! | `tuning` | thresholds, prefetch distances and costs |
//! | `vector` | vectors of each instruction set behind one trait |
// Vector loads and stores through pointers, and writes of several threads to one buffer.
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
#[cfg_attr(not(all(feature = "micro", target_arch = "x86_64")), allow(dead_code))]
mod tuning;
#[cfg_attr(not(all(feature = "micro", target_arch = "x86_64")), allow(dead_code, unused_imports))]
mod vector;

pub use vector::{Number, prefetch_elements};
