//! The interpreter against plain Rust, against a tree walk, and against the clock.

mod bench;
mod cases;
mod kernels;
mod oracle;
mod random;

use super::*;
