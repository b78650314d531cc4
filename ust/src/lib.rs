//! Universal Sparse Tensor: a sparse tensor's layout is one line of text.
#![forbid(unsafe_code)]

// A crate that nobody names is dropped by the linker, and its level type with it.
use ust_level_block2_4 as _;
use ust_level_compressed as _;
use ust_level_dense as _;
use ust_level_loose_compressed as _;
use ust_level_range as _;
use ust_level_singleton as _;

pub use ust_engine::*;
pub use ust_level_api as level_api;
