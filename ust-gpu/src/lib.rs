//! The Universal Sparse Tensor on GPUs: any format and any expression as generated CUDA.
//!
//! The loops of a plan are printed as CUDA C++ ([`print`](mod@print)), compiled for the device, and launched. Nothing here
//! knows a level type or a format. Without a device, everything still builds, and the back ends say what is
//! missing.
//!
//! | back end | what it does |
//! |---|---|
//! | `cuda` | runs plans on the first device |
//! | `cuda-text` | writes the CUDA C++ and runs nothing |
//! | `cpp-text` | writes the same loops as C++ for one thread, and runs nothing |
//! | `cusparse` | products of sparse matrices by NVIDIA's library, on the first device |
//! | `cublaslt` | products of dense matrices by NVIDIA's library, on the first device |
//! | `cusparselt` | products of 2:4 matrices and dense matrices by NVIDIA's library, on the first device |
#![deny(unsafe_code)]

mod cache;
mod cast;
mod convert;
mod dense;
mod exchange;
mod gpu;
mod launch;
mod library;
mod machine;
mod offer;
mod place;
pub mod prelude;
pub mod prims;
pub mod print;
mod product;
mod provider;
mod room;
mod semi_structured;
mod sparse;
mod tensor;
mod there;
mod tuning;
mod two_four;

pub use exchange::{Exchange, LevelArray};
pub use gpu::{Einsum, Gpu, Kernel};
pub use launch::{FullTable, Tally, conversion_text, tally};
pub use machine::{Library, Machine};
pub use provider::{Schedules, executable};
pub use semi_structured::{MetadataOrder, SemiStructured};
pub use sparse::prepared;
pub use tensor::{DeviceArray, DeviceParts, DeviceTensor};
pub use ust_cuda as cuda;
#[cfg(feature = "emulator")]
pub use ust_cuda::emulator;
use ust_cuda::{CudaError, Grid, Stream};

/// Launches a kernel that was printed, with what it says that it is called with.
#[allow(unsafe_code)]
pub(crate) fn run_kernel(
    kernel: &ust_cuda::Kernel,
    grid: Grid,
    words: &[u64],
    stream: &Stream,
) -> Result<(), CudaError> {
    // SAFETY: the kernel is code of the loop IR. It accesses the arrays that it is given, whose memory lives as
    // long as the stream's work, within their lengths: operands passed the checks of their levels. Or it is one of
    // the primitives (`prims`), whose functions compare the lengths of what they are given, and let streams wait
    // for each other; their kernels look at every index that they are given before they follow it.
    unsafe { stream.launch(kernel, grid, words) }
}
