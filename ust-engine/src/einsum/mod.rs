//! The way in: an expression and tensors, planned, compiled and run.
//!
//! | module | what |
//! |---|---|
//! | `builder` | [`einsum`] and its options |
//! | [`kernel`], `cache` | prepared kernels, kept by the process |
//! | [`operators`] | `&a + &b`, `dot`, `matmul` |
//! | [`oracle`] | a plain evaluation over every coordinate, to compare with |

mod builder;
mod cache;
pub mod kernel;
pub mod operators;
pub mod oracle;

pub use builder::{Argument, Einsum, einsum};
pub use cache::{CAPACITY, clear as clear_kernels};
pub use kernel::Kernel;
