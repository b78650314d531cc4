//! CUDA devices: the only door to the driver, to NVRTC and to NVIDIA's libraries of products.
//!
//! A [`Device`] is opened by number, and gives [`Stream`]s. A stream allocates [`Memory`], moves bytes, and
//! launches [`Kernel`]s, in its order; nothing waits but [`Stream::read`] and [`Stream::synchronize`].
//! Kernels are CUDA C++ as text, which NVRTC compiles for the device at run time; what it makes is kept in
//! memory and on disk.
//!
//! ```no_run
//! use ust_cuda::{Device, Grid, Source};
//!
//! let device = Device::open(0)?;
//! let stream = device.stream()?;
//! let memory = stream.upload(&[1, 2, 3, 4])?;
//! let text = r#"extern "C" __global__ void twice(unsigned char* m) { m[threadIdx.x] *= 2; }"#;
//! let kernel = device.module(&Source::new(text))?.kernel("twice")?;
//! // SAFETY: the kernel takes a pointer to as many bytes as there are threads.
//! unsafe { stream.launch(&kernel, Grid::new(1, 4), &[memory.address()])? };
//! let mut bytes = [0; 4];
//! stream.read(&memory, 0, &mut bytes)?;
//! assert_eq!(bytes, [2, 4, 6, 8]);
//! # Ok::<(), ust_cuda::CudaError>(())
//! ```
//!
//! A machine without driver, compiler or device gives a [`CudaError`], never a panic. With the feature
//! `emulator` kernels run without a GPU, and are checked while they run: see the module `emulator`.
//!
//! | file | what it holds |
//! |---|---|
//! | `probe.rs`, `libraries.rs` | whether driver, NVRTC and cuSPARSE are there, and where |
//! | `device.rs` | devices and what they can do |
//! | `stream.rs`, `event.rs` | order |
//! | `memory.rs`, `transfer.rs`, `staging.rs` | bytes of the device, and their way there and back |
//! | `compile.rs`, `disk.rs`, `module.rs`, `launch.rs` | kernels |
//! | `dlpack.rs` | arrays that other libraries own, or take |
//! | `sparse.rs`, `sparse/` | products of sparse matrices by cuSPARSE |
//! | `blas.rs` | products of dense matrices by cuBLASLt |
//! | `sparse_lt.rs` | products of 2:4 matrices by cuSPARSELt |
//! | `bound.rs` | libraries whose functions are bound by hand |
//! | `emulator/` | a virtual device |

pub mod blas;
mod bound;
mod compile;
mod device;
mod disk;
pub mod dlpack;
#[cfg(feature = "emulator")]
pub mod emulator;
mod error;
mod event;
mod hash;
mod launch;
mod libraries;
mod memory;
mod module;
mod probe;
pub mod sparse;
pub mod sparse_lt;
mod staging;
mod stream;
mod transfer;

pub use compile::{compile, compiler_log};
pub use device::{Device, Info};
pub use disk::{Cache, cache};
pub use error::CudaError;
pub use event::Event;
pub use launch::Grid;
pub use memory::Memory;
pub use module::{Kernel, Module, Resources, Source};
pub use probe::{compiler_library, compiler_version, driver_library, driver_version};
pub use stream::Stream;

#[cfg(test)]
mod tests {
    use super::*;

    /// Handles go from thread to thread, and are shared.
    #[test]
    fn handles_belong_to_no_thread() {
        fn is_free<T: Send + Sync>() {}
        is_free::<(Device, Stream, Event, Memory)>();
        is_free::<(Module, Kernel, CudaError)>();
        is_free::<(sparse::Sparse, sparse::Product, dlpack::Array)>();
        is_free::<(blas::Blas, blas::Product)>();
        is_free::<(sparse_lt::SparseLt, sparse_lt::Product)>();
    }
}
