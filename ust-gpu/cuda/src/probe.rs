//! Whether the driver, NVRTC and cuSPARSE are there.
//!
//! cudarc panics where a library or a function is missing, so nothing calls it before it was asked here.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::{cusparse, driver, nvrtc};
use libloading::Library;

use crate::error::{CudaError, Result, check};
use crate::libraries;

/// The functions of the driver that are called without a look at its version.
const OF_DRIVER: &[&str] = &[
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGetDefaultMemPool",
    "cuMemPoolSetAttribute",
    "cuMemPoolTrimTo",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuPointerGetAttribute",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuMemsetD16Async",
    "cuMemsetD32Async",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncGetAttribute",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuGetErrorName",
    "cuGetErrorString",
];
/// The functions of NVRTC that are called.
const OF_COMPILER: &[&str] = &[
    "nvrtcVersion",
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcDestroyProgram",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
];
/// The functions of cuSPARSE that are called.
const OF_SPARSE: &[&str] = &[
    "cusparseCreate",
    "cusparseDestroy",
    "cusparseGetVersion",
    "cusparseGetProperty",
    "cusparseGetErrorName",
    "cusparseSetStream",
    "cusparseCreateCsr",
    "cusparseCreateCsc",
    "cusparseCreateCoo",
    "cusparseCreateBsr",
    "cusparseDestroySpMat",
    "cusparseSpMatGetSize",
    "cusparseSpMatSetValues",
    "cusparseCsrSetPointers",
    "cusparseCreateDnVec",
    "cusparseDestroyDnVec",
    "cusparseDnVecSetValues",
    "cusparseCreateDnMat",
    "cusparseDestroyDnMat",
    "cusparseDnMatSetValues",
    "cusparseSpMV_bufferSize",
    "cusparseSpMV_preprocess",
    "cusparseSpMV",
    "cusparseSpMM_bufferSize",
    "cusparseSpMM_preprocess",
    "cusparseSpMM",
    "cusparseSDDMM_bufferSize",
    "cusparseSDDMM_preprocess",
    "cusparseSDDMM",
    "cusparseSpGEMM_createDescr",
    "cusparseSpGEMM_destroyDescr",
    "cusparseSpGEMM_workEstimation",
    "cusparseSpGEMM_compute",
    "cusparseSpGEMM_copy",
];

pub(crate) static PROBED: AtomicBool = AtomicBool::new(false);

/// Whether somebody has asked for a library already.
#[cfg_attr(not(feature = "emulator"), allow(dead_code))]
pub(crate) fn was_probed() -> bool {
    PROBED.load(Ordering::SeqCst)
}

/// Loads the driver, once, and starts it; its version as the driver counts: 1000 for each major version, 10 for each
/// minor one. A driver that does not start is asked again the next time.
///
/// # Errors
///
/// [`CudaError::NoDriver`] without libcuda, [`CudaError::Outdated`] if it is too old, and [`CudaError::Driver`] if it does not start, which is so
/// where the kernel module is missing.
pub fn driver_version() -> Result<u32> {
    static LOADED: OnceLock<Result<()>> = OnceLock::new();
    static STARTED: OnceLock<u32> = OnceLock::new();
    PROBED.store(true, Ordering::SeqCst);
    if let Some(version) = STARTED.get() {
        return Ok(*version);
    }
    let load = || {
        // SAFETY: asks the loader only.
        if !unsafe { driver::sys::is_culib_present() } {
            return Err(CudaError::NoDriver);
        }
        // SAFETY: the library is there.
        has_all(unsafe { driver::sys::culib() }, "libcuda", OF_DRIVER)
    };
    LOADED.get_or_init(load).clone()?;
    let mut version = 0;
    // SAFETY: the library has the functions.
    unsafe {
        let started = driver::sys::cuInit(0);
        if started == driver::sys::CUresult::CUDA_ERROR_NO_DEVICE {
            return Err(CudaError::NoDevice { ordinal: 0, count: 0 });
        }
        check(started, || String::from("start"))?;
        check(driver::sys::cuDriverGetVersion(&mut version), || String::from("tell its version"))?;
    }
    Ok(*STARTED.get_or_init(|| version.unsigned_abs()))
}

/// Loads NVRTC, once; its version.
///
/// # Errors
///
/// [`CudaError::NoCompiler`] if it is nowhere, [`CudaError::Outdated`] if it is too old.
pub fn compiler_version() -> Result<(u32, u32)> {
    static COMPILER: OnceLock<Result<(u32, u32)>> = OnceLock::new();
    PROBED.store(true, Ordering::SeqCst);
    COMPILER
        .get_or_init(|| {
            // SAFETY: asks the loader only.
            let present = || unsafe { nvrtc::sys::is_culib_present() };
            if !present() {
                libraries::load_compiler();
            }
            if !present() {
                return Err(CudaError::NoCompiler);
            }
            // SAFETY: the library is there.
            has_all(unsafe { nvrtc::sys::culib() }, "libnvrtc", OF_COMPILER)?;
            let (mut major, mut minor) = (0, 0);
            // SAFETY: the library has the function.
            let asked = unsafe { nvrtc::sys::nvrtcVersion(&mut major, &mut minor) };
            match asked {
                nvrtc::sys::nvrtcResult::NVRTC_SUCCESS => {
                    Ok((major.unsigned_abs(), minor.unsigned_abs()))
                }
                _ => Err(CudaError::NoCompiler),
            }
        })
        .clone()
}

/// The file of the driver's library, if it was found and the system tells.
#[must_use]
pub fn driver_library() -> Option<PathBuf> {
    driver_version().ok()?;
    libraries::file_of("libcuda.so")
}

/// The file of NVRTC, if it was found and the system tells.
#[must_use]
pub fn compiler_library() -> Option<PathBuf> {
    compiler_version().ok()?;
    libraries::file_of("libnvrtc.so")
}

/// Loads cuSPARSE, once.
///
/// # Errors
///
/// [`CudaError::NoLibrary`] if it is nowhere, [`CudaError::Outdated`] if it is too old.
pub(crate) fn sparse_library() -> Result<()> {
    static SPARSE: OnceLock<Result<()>> = OnceLock::new();
    PROBED.store(true, Ordering::SeqCst);
    SPARSE
        .get_or_init(|| {
            // SAFETY: asks the loader only.
            let present = || unsafe { cusparse::sys::is_culib_present() };
            if !present() {
                libraries::load_sparse();
            }
            if !present() {
                return Err(CudaError::NoLibrary {
                    name: "cuSPARSE",
                    file: "libcusparse.so",
                    package: "nvidia-cusparse",
                });
            }
            // SAFETY: the library is there.
            has_all(unsafe { cusparse::sys::culib() }, "libcusparse", OF_SPARSE)
        })
        .clone()
}

/// Whether a library has all functions that are called.
fn has_all(library: &Library, name: &'static str, symbols: &[&'static str]) -> Result<()> {
    for symbol in symbols {
        // SAFETY: nothing is called.
        if unsafe { library.get::<*const ()>(symbol.as_bytes()) }.is_err() {
            return Err(CudaError::Outdated { library: name, symbol });
        }
    }
    Ok(())
}
