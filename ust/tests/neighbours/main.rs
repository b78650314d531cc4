//! Matrices of other crates, from and to tensors; tensors, written and read. Each with the feature of its name.
#![cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "serde", feature = "sprs"))]

mod common;
#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "nalgebra-sparse")]
mod nalgebra;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "sprs")]
mod sprs;
