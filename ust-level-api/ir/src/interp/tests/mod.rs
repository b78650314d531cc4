//! The interpreter against plain Rust, against a tree walk, and against the clock.

mod bench;
mod cases;
mod growth;
mod kernels;
mod oracle;
mod oracle_func;
mod random;

use super::*;
