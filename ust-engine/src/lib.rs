//! The engine of the Universal Sparse Tensor: from a line of format text to a stored, checked,
//! converted, drawn and multiplied tensor.
//!
//! # Where what lives
//!
//! | module | what |
//! |---|---|
//! | [`format`](mod@format) | the format DSL: parse, print, bind to a shape, invert, named formats |
//! | [`tensor`] | storage: `Tensor`, [`Values`], construction, checking, access |
//! | `jit` | machine code of loop IR (feature `jit`) |
//! | `kernels` | microkernels that machine code calls, and native code that moves columns |
//! | [`lower`] | walks and locates of whole formats as loop IR |
//! | [`ops`] | index notation |
//! | `plan` | from a checked assignment to loops |
//! | [`io`] | Matrix Market, FROSTT, NumPy, SciPy and `.ust.npz` files |
//! | [`generate`] | generated tensors, the same on every machine |
//! | [`draw`] | pictures of tensors, as text and SVG |
//! | [`mod@advise`] | which format suits a tensor |
//!
//! *Invariant: nothing in this crate names a level type.* Named formats are format text, in one
//! table ([`format::named`]).
#![deny(unsafe_code)]

pub mod coo;
pub mod error;
pub mod lower;
pub mod ops;
mod plan;
pub mod provider;
pub mod tensor;

pub use coo::Coo;
pub use error::Error;
pub use ndarray;
pub use ops::{Kernel, einsum};
pub use provider::Backend;
pub use tensor::{Tensor, Values};
pub use ust_format::{self as format, Format};
#[cfg(feature = "jit")]
pub use ust_jit as jit;
pub use ust_level_api::scalar::{Complex, bf16, f16};
pub use ust_level_api::{Buffer, Dtype, Element, IndexArray, IndexKind, Scalar};
