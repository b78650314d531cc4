//! The Universal Sparse Tensor on GPUs.
#![forbid(unsafe_code)]

pub mod prelude;
