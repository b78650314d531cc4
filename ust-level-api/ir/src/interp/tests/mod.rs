//! The interpreter compared with plain Rust and with a tree walk; and its speed.

mod bench;
mod cases;
mod growth;
mod kernels;
mod oracle;
mod oracle_func;
mod random;

use super::*;
