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
//! let csr = Tensor::from_coo(&entries, "CSR")?;
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
//! Build entry by entry, change and remove; choose a format at the end:
//!
//! ```
//! use ust::Builder;
//!
//! let mut builder = Builder::<f64>::new(&[1_000_000, 1_000_000]);
//! builder.insert(&[999_999, 3], 1.0)?;
//! builder.add(&[7, 42], 2.5)?;
//! builder.add(&[7, 42], 0.5)?;                              // 3.0 now
//! builder.remove(&[999_999, 3])?;
//! let csr = builder.freeze("CSR")?;
//! assert_eq!((csr.nse(), csr.get_as::<f64>(&[7, 42])?), (1, 3.0));
//! # Ok::<(), ust::Error>(())
//! ```
//!
//! From and to [`ndarray`](https://docs.rs/ndarray):
//!
//! ```
//! use ust::Tensor;
//!
//! let dense = ndarray::array![[1, 0, 2], [0, 0, 3]];
//! let csc = Tensor::from_dense(&dense, "CSC")?;
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
//! let error = Tensor::from_parts("CSR", &[2, 3], parts).unwrap_err();
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
//! let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "DIA-I")?;
//! let x = ndarray::array![10.0, 1.0];
//! let y = einsum("y(i) = A(i,j) * x(j)").arg("A", &a).arg("x", &x).run()?;
//! assert_eq!(y.values().typed::<f64>()?, [10.0, 23.0]);
//!
//! let c = einsum("C(i,j) = A(i,k) * A(k,j) + max(A(j,i), 0)").arg("A", &a).format("CSR").run()?;
//! assert_eq!(c.get_as::<f64>(&[0, 1])?, 2.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! or with operators and methods, where one is enough:
//!
//! ```
//! use ust::Tensor;
//!
//! let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR")?;
//! let twice = (&a + &a)?;
//! assert_eq!(twice.dot(&a)?.get_as::<f64>(&[1, 0])?, 16.0);
//! assert_eq!(a.dot(&[10.0, 1.0])?.values().typed::<f64>()?, [10.0, 23.0]);
//! assert_eq!(a.sum(1)?.values().typed::<f64>()?, [1.0, 5.0]);
//! let rows = a.take(vec![1, 0], 0)?;
//! assert_eq!(Tensor::vstack(&[&a, &rows])?.shape(), [4, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Slices
//!
//! A slice shares the tensor's arrays. It is read, converted and multiplied like any tensor:
//!
//! ```
//! use ust::{Tensor, einsum, ndarray::s};
//!
//! let a = Tensor::from_dense(&ndarray::array![[1, 0, 2], [0, 3, 0], [4, 0, 5]], "CSR")?;
//! let corner = a.slice(s![..;2, 1..])?;                     // rows 0 and 2, columns from 1 on
//! assert_eq!(corner.to_dense::<i32>()?, ndarray::array![[0, 2], [0, 5]].into_dyn());
//! let sums = einsum("s(i) = A(i,j)").arg("A", &corner).run()?;
//! assert_eq!(sums.values().typed::<i32>()?, [2, 5]);
//! let own_arrays = corner.convert("CSC")?;
//! assert_eq!(own_arrays.nse(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Entries, one after another
//!
//! [`Tensor::iter`] gives them in the order in which they are stored, [`Tensor::entries`] without types,
//! [`Tensor::to_coo`] as columns:
//!
//! ```
//! use ust::Tensor;
//!
//! let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSC")?;
//! for ([i, j], value) in a.iter::<f64, _>()? {
//!     println!("{i}, {j}: {value}");                         // 0, 0: 1, then 1, 0: 2, ...
//! }
//! let columns = a.to_coo()?;
//! assert_eq!(columns.crd, [[0, 1, 1], [0, 0, 1]]);
//! assert_eq!(columns.values.typed::<f64>()?, [1.0, 2.0, 3.0]);
//! # Ok::<(), ust::Error>(())
//! ```
//!
//! # Files
//!
//! The extension says which kind of file it is. `.ust.npz` holds any format without loss; `.npz` is
//! SciPy's, `.npy` NumPy's, `.mtx` Matrix Market's and `.tns` FROSTT's:
//!
//! ```
//! use ust::{Tensor, io};
//!
//! let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "BSR(2, 2)")?;
//! let path = std::env::temp_dir().join(format!("front-page-{}.ust.npz", std::process::id()));
//! io::write(&path, &a)?;
//! let again = io::read(&path, &io::ReadOptions::default())?;
//! assert_eq!(again.format(), a.format());
//! assert_eq!(again.values(), a.values());
//! # std::fs::remove_file(path)?;
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
//! | what NumPy, SciPy and PyTorch have, and how it is written here | [`arrays`] |
//! | entries one by one, in any order | [`Builder`]; of a tensor, [`Tensor::update`] |
//! | entries as columns | [`Coo`], [`coo`] |
//! | files: Matrix Market, FROSTT, NumPy, SciPy | [`io`] |
//! | generated tensors | [`mod@generate`] |
//! | pictures | [`draw`] |
//! | expressions in index notation | [`einsum`], [`ops`], and how they are written: [`ops::parse`] |
//! | prepared kernels | [`Kernel`] |
//! | which format suits a tensor | [`mod@advise`] |
//! | linear systems, eigenvalues, singular values | [`solve`] |
//! | matrices of sprs, nalgebra-sparse and faer; serde | [`neighbours`] |
//! | expressions on GPUs, and their source | [`mod@gpu`] |
//! | sums of parts in different formats | [`Composed`], [`composed_tensors`] |
//! | zeros, stored and not: what decides a result | [`what_zero_means`] |
//! | what can go wrong | [`error`], [`ops::OpError`], [`io::FileError`] |
//! | a level type of your own | [`level_api`] |
//! | level types from a shared library | [`plugin`] |
//! | a back end of your own | [`provider`] |
//!
//! # Features
//!
//! `jit` and `macros` are on by default. The others have to be asked for; `faer` and `gpu` take longer to build.
//!
//! | feature | with it | without it |
//! |---|---|---|
//! | `faer` | direct methods for linear systems, by the crate faer (`solve::direct`); its matrices from and to tensors ([`neighbours`]) | iterative methods alone |
//! | `gpu` | loops run on a GPU if asked to ([`mod@gpu`]), and are written as CUDA C++ and C++; nothing more is needed to build it | the back ends `cuda`, `cuda-text` and `cpp-text`, and those of NVIDIA's libraries, are not there |
//! | `jit` | loops are compiled to machine code | an interpreter runs them, and takes much longer |
//! | `macros` | [`format!`](macro@format): format text is checked by the compiler | format text is parsed when the program runs |
//! | `nalgebra-sparse`, `sprs` | matrices of these crates from and to tensors ([`neighbours`]) | their arrays, through [`Tensor::csr`] and [`Tensor::into_parts`] |
//! | `serde` | tensors, formats and numbers are written and read by serde ([`neighbours`]) | files alone ([`io`]) |
//!
#![doc = include_str!("../docs/coming-from.md")]
#![forbid(unsafe_code)]

// A crate that nobody names is dropped by the linker, and its level type with it.
use ust_level_band as _;
use ust_level_batch as _;
use ust_level_bits as _;
use ust_level_block2_4 as _;
use ust_level_blocks as _;
use ust_level_byte_map as _;
use ust_level_compressed as _;
use ust_level_delta as _;
use ust_level_dense as _;
use ust_level_dictionary as _;
use ust_level_ell as _;
use ust_level_hashed as _;
use ust_level_interval as _;
use ust_level_loose_compressed as _;
use ust_level_range as _;
use ust_level_run_length as _;
use ust_level_singleton as _;
use ust_level_sparse_run_length as _;

#[cfg(feature = "macros")]
mod macros;
#[doc = include_str!("../docs/arrays.md")]
pub mod arrays {}
#[doc = include_str!("../docs/what-zero-means.md")]
pub mod what_zero_means {}
#[doc = include_str!("../docs/composed.md")]
pub mod composed_tensors {}
#[doc = include_str!("../docs/patterns.md")]
pub mod patterns {}
#[doc = include_str!("../docs/plugins.md")]
pub mod plugin {
    pub use ust_plugin::{PluginError, load};
}
#[cfg(feature = "gpu")]
#[doc = include_str!("../docs/gpu.md")]
pub mod gpu {
    pub use ust_gpu::*;
}

/// Reads a tensor from a file, whose kind its extension says: see [`io::read`].
///
/// ```
/// use ust::{Dtype, Tensor};
/// let path = std::env::temp_dir().join(format!("read-{}.mtx", std::process::id()));
/// ust::write(&path, &Tensor::eye(3, "CSR", Dtype::F64)?)?;
/// assert_eq!(ust::read(&path)?.nnz(), 3);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`io::read`].
pub fn read(path: impl AsRef<std::path::Path>) -> Result<Tensor, io::FileError> {
    io::read(path.as_ref(), &io::ReadOptions::default())
}

/// Writes a tensor to a file, whose kind its extension says: see [`io::write`].
///
/// # Errors
/// As [`io::write`].
pub fn write(path: impl AsRef<std::path::Path>, tensor: &Tensor) -> Result<(), io::FileError> {
    io::write(path.as_ref(), tensor)
}

pub use ust_engine::*;
pub use ust_level_api as level_api;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub use ust_macros as __macros;
pub use {
    ust_advise as advise, ust_draw as draw, ust_generate as generate, ust_io as io,
    ust_solve as solve,
};

/// The examples in README.md run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
