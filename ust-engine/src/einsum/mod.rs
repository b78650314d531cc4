//! The entry point: an expression with tensors, planned, compiled and run.
//!
//! | module | what |
//! |---|---|
//! | `builder`, `argument` | [`einsum`], its options, and what can be an operand |
//! | [`kernel`], `cache` | prepared kernels, kept by the process |
//! | [`parts`] | expressions of composed tensors, part by part |
//! | [`oracle`] | a plain evaluation at every coordinate, for comparison |

mod argument;
mod builder;
mod cache;
pub mod kernel;
pub mod oracle;
pub mod parts;

pub use argument::Argument;
pub use builder::{Einsum, einsum};
pub use cache::{CAPACITY, clear as clear_kernels};
pub use kernel::Kernel;
pub use parts::Operand;
