//! Universal Sparse Tensor: a sparse tensor's layout is one line of text.
//!
//! ```text
//! (i, j) -> (i : dense, j : compressed)                                         CSR
//! (i, j) -> (j - i : compressed, i : range)                                     diagonals
//! (i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)   2x3 blocks
//! ```
//!
//! Everything follows from that line: storage, building, checking, conversion, drawing, files and
//! operations. Level types (`dense`, `compressed`, ...) are crates; this one links the standard
//! ones, and a crate of your own is linked with `use my_level as _;`.
//!
//! # A tour
//!
//! Build from coordinates, in any order; look at the arrays; convert:
//!
//! ```
//! use ust::{Coo, Format, Tensor};
//!
//! let entries = Coo::new(
//!     vec![4, 9],                                           // shape
//!     vec![vec![2, 0, 3, 0], vec![5, 1, 0, 7]],             // a column for each dimension
//!     vec![16.0, 2.0, 5.0, 3.0],                            // values
//! )?;
//! let csr = Tensor::from_coo(&entries, &"CSR".parse()?)?;
//! assert_eq!(csr.pos(1).unwrap().to_vec(), [0, 2, 2, 3, 4]);
//! assert_eq!(csr.crd(1).unwrap().to_vec(), [1, 7, 5, 0]);
//!
//! let blocks: Format =
//!     "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)".parse()?;
//! assert_eq!(blocks.name().as_deref(), Some("BSR(2, 3)"));
//! let bsr = csr.convert(&blocks)?;
//! assert_eq!(bsr.block_shape(), [4, 2, 3]);
//! assert_eq!(bsr.get_as::<f64>(&[2, 5])?, 16.0);
//!
//! let transposed = csr.transpose();                         // nothing is moved
//! assert_eq!(transposed.format().name().as_deref(), Some("CSC"));
//! # Ok::<(), ust::Error>(())
//! ```
//!
//! From and to [`ndarray`](https://docs.rs/ndarray):
//!
//! ```
//! use ust::Tensor;
//!
//! let dense = ndarray::array![[1, 0, 2], [0, 0, 3]];
//! let csc = Tensor::from_dense(&dense, &"CSC".parse()?)?;
//! assert_eq!(csc.values().typed::<i32>()?, [1, 2, 3]);
//! assert_eq!(csc.to_dense::<i32>()?, dense.into_dyn());
//! # Ok::<(), ust::Error>(())
//! ```
//!
//! Arrays from elsewhere are viewed without a copy, after a check that names what is wrong:
//!
//! ```
//! use ust::{Tensor, tensor::Parts};
//!
//! let pos = vec![0_i32, 1, 3];
//! let crd = vec![2_i32, 0, 9];
//! let parts = Parts::new(vec![vec![], vec![pos.into(), crd.into()]], vec![1.0, 2.0, 3.0]);
//! let error = Tensor::from_parts(&"CSR".parse()?, &[2, 3], parts).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "level 1 (`j : compressed`): crd[2] = 9: a coordinate lies in [0, 3)"
//! );
//! # Ok::<(), ust::Error>(())
//! ```
//!
//! Compute in index notation, each operand in its own format, the result in any:
//!
//! ```
//! use ust::{Tensor, einsum};
//!
//! let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], &"DIA-I".parse()?)?;
//! let x = ndarray::array![10.0, 1.0];
//! let y = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).run()?;
//! assert_eq!(y.values().typed::<f64>()?, [10.0, 23.0]);
//!
//! let c = einsum("C(i,j) = A(i,k) * A(k,j) + max(A(j,i), 0)").arg("A", &a).format("CSR").run()?;
//! assert_eq!(c.get_as::<f64>(&[0, 1])?, 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! or with operators, where one is enough:
//!
//! ```
//! use ust::Tensor;
//!
//! let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], &"CSR".parse()?)?;
//! let twice = (&a + &a)?;
//! assert_eq!(twice.dot(&a)?.get_as::<f64>(&[1, 0])?, 16.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to look
//!
//! | for | see |
//! |---|---|
//! | formats: text, names, sizes, inverse maps | [`Format`], [`format::named`] |
//! | format text that the compiler checks | [`format!`](macro@format) |
//! | tensors: build, access, convert, check | [`Tensor`], [`tensor`] |
//! | files: Matrix Market, FROSTT, NumPy, SciPy | [`io`] |
//! | generated tensors | [`generate`] |
//! | pictures | [`draw`] |
//! | expressions in index notation | [`einsum`], [`ops`], and how they are written: [`ops::parse`] |
//! | prepared kernels | [`Kernel`] |
//! | which format suits a tensor | [`mod@advise`] |
//! | zeros, stored and not: what decides a result | [`what_zero_means`] |
//! | a level type of your own | [`level_api`] |
#![forbid(unsafe_code)]

// A crate that nobody names is dropped by the linker, and its level type with it.
use ust_level_block2_4 as _;
use ust_level_compressed as _;
use ust_level_dense as _;
use ust_level_loose_compressed as _;
use ust_level_range as _;
use ust_level_singleton as _;

#[cfg(feature = "macros")]
mod macros;
#[doc = include_str!("../docs/what-zero-means.md")]
pub mod what_zero_means {}

pub use ust_engine::*;
pub use ust_level_api as level_api;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub use ust_macros as __macros;
pub use {ust_advise as advise, ust_draw as draw, ust_generate as generate, ust_io as io};
