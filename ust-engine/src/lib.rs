//! The engine of the Universal Sparse Tensor: from a line of format text to a stored, checked,
//! converted and multiplied tensor.
//!
//! # Where what lives
//!
//! Each folder uses those above it in this table, and no other.
//!
//! | folder | what |
//! |---|---|
//! | [`error`] | what can go wrong with a tensor |
//! | `storage` | a format, a shape, arrays, values; nothing here walks a level |
//! | `walk` | walks and locates of whole formats, as loop IR; single elements, all entries |
//! | `check` | foreign arrays, checked once |
//! | `convert` | from entries to storage, from one format to another |
//! | `composed` | tensors as sums of parts in different formats |
//! | `expr` | index notation: text, and what it means |
//! | [`provider`] | back ends: machine code, the interpreter, native kernels |
//! | `plan` | from a checked assignment to loops |
//! | `einsum` | evaluation of expressions: options, prepared kernels, the oracle |
//! | `array` | what arrays have: slices, sums along dimensions, joins; each short for an expression |
//! | [`neighbours`] | matrices of other crates; tensors, written and read |
//!
//! `tuning` has all tuning constants. [`tensor`] and [`ops`] say what of these is for users. Formats ([`mod@format`]), native kernels and
//! machine code are crates of their own (`ust-format`, `ust-kernels`, `ust-jit`), on which this one
//! stands; files, pictures, generators and advice are crates that stand on it.
//!
//! *Invariant: nothing in this crate names a level type.* Named formats are format text, in one
//! table ([`format::named`]).
#![deny(unsafe_code)]

mod array;
mod check;
mod composed;
mod convert;
mod einsum;
pub mod error;
mod expr;
pub mod neighbours;
mod plan;
pub mod provider;
pub mod schedule;
mod storage;
mod tuning;
#[doc(hidden)]
pub mod walk;

pub use array::reduce::Norm;
pub use composed::Composed;
pub use convert::builder::Builder;
pub use einsum::{Kernel, einsum};
pub use error::Error;
pub use ndarray;
pub use provider::Backend;
pub use storage::coo::{self, Coo};
pub use storage::{Tensor, Values};
pub use ust_format::{self as format, Format};
#[cfg(feature = "jit")]
#[doc(hidden)]
pub use ust_jit as jit;
pub use ust_level_api::scalar::{Complex, bf16, f16};
pub use ust_level_api::{Buffer, Dtype, Element, IndexArray, IndexKind, Scalar};

/// Tensors: storage, construction, checking, conversion, access.
pub mod tensor {
    pub use crate::array::dims::{self, Axes, Dim};
    pub use crate::array::iter::{self, Iter};
    pub use crate::array::reduce::{self, Norm};
    pub use crate::array::slicing::{self, Slicing};
    pub use crate::convert::build::{self, BuildOptions, Duplicates};
    pub use crate::convert::builder::Builder;
    pub use crate::convert::counted::{longest_first, order_kind};
    pub use crate::convert::dense;
    pub use crate::convert::way::{Detour, Way};
    pub use crate::storage::order::places_in;
    pub use crate::storage::view::{View, Window};
    pub use crate::storage::{
        Kept, Outline, Parts, StoredElement, Tensor, Values, memory, parts, values,
    };
    pub use crate::walk::access::{self, Entries, Entry};
}

pub mod ops {
    //! Index notation: expressions of tensors, summed over the indices that the result does not have.
    //!
    //! `y(i) = A(i,j) * x(j)` is read by [`Expression::parse`]; [`Expression::check`] finds out what it
    //! means with given tensors, an [`Assignment`]. [`einsum`] does all of this, plans, compiles and runs.
    //!
    //! Of truth values, the sum over an index that the result does not have is a truth value, whether any
    //! is true: `s = A(i) > 0`. An explicit sum counts them: `s = sum(i, A(i) > 0)`.
    //!
    //! | module | what |
    //! |---|---|
    //! | [`mod@parse`] | the text, with errors that point into it, and what is summed |
    //! | [`syntax`] | the tree that it is read into |
    //! | [`functions`] | the functions |
    //! | [`semiring`] | what `+` and `*` mean |
    //! | [`check`] | from the tree to what it means: names, extents, dtypes |
    //! | [`term`] | what it means |
    //! | [`operators`] | `&a + &b`, `dot`, `matmul` |
    //! | [`operator`] | operators and functions, as IR |
    //! | [`kernel`] | prepared kernels, kept by the process |
    //! | [`parts`] | composed tensors in expressions |
    //! | [`mod@derivative`] | the expressions of gradients |
    //! | [`control`] | threads, limits, cancelling, timings |
    //! | [`oracle`] | a plain evaluation over every coordinate, to compare with |
    pub use crate::array::operators;
    pub use crate::einsum::{
        Argument, CAPACITY, Einsum, Kernel, Operand, clear_kernels, einsum, kernel, oracle, parts,
    };
    pub use crate::expr::{
        Access, Assignment, CancelToken, Cancelled, CheckOptions, Expression, GivenInput, OpError,
        Operator, Semiring, Sym, Timing, UserOperator, check, control, derivative, derivative_with,
        functions, operator, parse, semiring, syntax, term,
    };
}
