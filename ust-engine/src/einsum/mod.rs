//! The entry point: an expression with tensors, planned, compiled and run.
//!
//! | module | what |
//! |---|---|
//! | `builder` | [`einsum`] and its options |
//! | [`kernel`], `cache` | prepared kernels, kept by the process |
//! | [`operators`] | `&a + &b`, `dot`, `matmul` |
//! | [`oracle`] | a plain evaluation at every coordinate, for comparison |

mod builder;
mod cache;
pub mod kernel;
pub mod operators;
pub mod oracle;

pub use builder::{Argument, Einsum, einsum};
pub use cache::{CAPACITY, clear as clear_kernels};
pub use kernel::Kernel;
