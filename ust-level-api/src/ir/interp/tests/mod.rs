//! The interpreter against plain Rust, against a tree walk, and against the clock.

mod bench;
mod kernels;

use super::*;
