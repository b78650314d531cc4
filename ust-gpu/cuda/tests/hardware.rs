//! The same on a real device, where there is one.

#[path = "shared/blas.rs"]
mod blas;
mod common;
#[path = "shared/kernels.rs"]
mod kernels;
#[path = "shared/memory.rs"]
mod memory;
#[path = "shared/sparse.rs"]
mod sparse;
mod texts;

use ust_cuda::{CudaError, Device, compiler_version};

/// The first device; says so where there is none, or no compiler for it.
fn device() -> Option<Device> {
    match (Device::open(0), compiler_version()) {
        (Ok(device), Ok(_)) => Some(device),
        (
            Err(
                error @ (CudaError::NoDriver
                | CudaError::NoDevice { .. }
                | CudaError::Driver { .. }),
            ),
            _,
        )
        | (_, Err(error @ CudaError::NoCompiler)) => {
            eprintln!("SKIPPED: {error}");
            None
        }
        (Err(error), _) | (_, Err(error)) => panic!("{error}"),
    }
}
