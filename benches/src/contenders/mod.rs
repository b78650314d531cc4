//! Contenders, a file each. A new one registers itself, and is named here.
//!
//! | file | who |
//! |---|---|
//! | `ours` | this project: prepared kernels, conversions, files |
//! | `composed` | this project, a matrix split into parts in different formats |
//! | `cuda` | this project on a GPU, with operands there |
//! | `loops` | plain loops written by hand, for each operation and format |
//! | `sprs`, `faer`, `nalgebra` | Rust crates, with the feature `crates` |
//! | `python` | SciPy, PyTorch and Numba, in a process of their own |
//! | `foreign` | MKL and GraphBLAS, loaded where their libraries are found |

mod composed;
pub(crate) mod cuda;
#[cfg(feature = "crates")]
mod faer;
mod foreign;
pub(crate) mod loops;
#[cfg(feature = "crates")]
mod nalgebra;
mod ours;
pub(crate) mod python;
#[cfg(feature = "crates")]
mod sprs;

/// Milliseconds for which threads of OpenMP may look for more work after work: for longer, they would
/// take a core from who is timed next.
const BLOCKTIME: u32 = 1;
