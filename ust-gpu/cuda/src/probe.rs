//! Whether the driver and NVRTC are there.
//!
//! cudarc panics where a library is missing, so nothing calls it before it was asked here.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::{driver, nvrtc};

use crate::error::{CudaError, Result, check};
use crate::libraries;

static PROBED: AtomicBool = AtomicBool::new(false);

/// Whether somebody has asked for a library already.
#[cfg_attr(not(feature = "emulator"), allow(dead_code))]
pub(crate) fn was_probed() -> bool {
    PROBED.load(Ordering::SeqCst)
}

/// Loads the driver, once; its version as the driver counts: 1000 for each major version, 10 for each
/// minor one.
///
/// # Errors
///
/// [`CudaError::NoDriver`] without libcuda, and [`CudaError::Driver`] if it does not start, which is so
/// where the kernel module is missing.
pub fn driver_version() -> Result<u32> {
    static DRIVER: OnceLock<Result<u32>> = OnceLock::new();
    PROBED.store(true, Ordering::SeqCst);
    DRIVER
        .get_or_init(|| {
            // SAFETY: asks the loader only.
            if !unsafe { driver::sys::is_culib_present() } {
                return Err(CudaError::NoDriver);
            }
            let mut version = 0;
            // SAFETY: the library is there; the functions are as old as CUDA.
            unsafe {
                let started = driver::sys::cuInit(0);
                if started == driver::sys::CUresult::CUDA_ERROR_NO_DEVICE {
                    return Err(CudaError::NoDevice { ordinal: 0, count: 0 });
                }
                check(started, || String::from("start"))?;
                check(driver::sys::cuDriverGetVersion(&mut version), || {
                    String::from("tell its version")
                })?;
            }
            Ok(version.unsigned_abs())
        })
        .clone()
}

/// Loads NVRTC, once; its version.
///
/// # Errors
///
/// [`CudaError::NoCompiler`] if it is nowhere.
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
            let (mut major, mut minor) = (0, 0);
            // SAFETY: the library is there, and has had this function always.
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
