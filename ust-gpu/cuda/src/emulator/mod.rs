//! A virtual device, for machines without a GPU and for checks that no GPU makes.
//!
//! [`install`] compiles libraries with the compiler of the host, and loads them in the place of the
//! driver, of NVRTC, of cuSPARSE, of cuBLASLt and of cuSPARSELt: everything else here runs unchanged.
//! The kernels' texts, unchanged as well, become shared libraries, and threads of a block coroutines in an order that is different each time. Every
//! access of a kernel is looked at:
//!
//! * does it lie in an allocation, or in memory of the thread or of the block?
//! * was what it reads ever written?
//! * can another thread touch the same bytes at the same time, and one of the two writes them?
//!
//! Barriers that some threads never come to are found as well, indices outside of arrays, and streams that
//! use memory of another without waiting for it. What is found ends the launch; the next wait for its
//! stream says what it was, and the device stays usable.
//!
//! What it cannot tell is anything about speed, and what follows from weaker orders of memory than the host's.
//!
//! | file | what it holds |
//! |---|---|
//! | `build.rs` | how the libraries are made, and kept |
//! | `driver.cc` | the functions of the driver |
//! | `memory.h`, `streams.h` | allocations, and who has waited for whom |
//! | `modules.h` | compiled kernels and their variables |
//! | `races.h`, `threads.h`, `checks.h` | notes of accesses, threads as coroutines, and the checks |
//! | `compiler.cc` | the functions of NVRTC |
//! | `products.h` | what libraries of products have in common: numbers, and checked accesses |
//! | `sparse.cc`, `sparse.h` | the functions of cuSPARSE, and the types that they speak in |
//! | `blas.cc`, `sparse_lt.cc` | the functions of cuBLASLt, and of cuSPARSELt |
//! | `kernel.h` | what kernels find: the words, types and functions of CUDA |

mod build;

use std::ffi::{CStr, c_char};
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::Library;

use crate::error::{CudaError, Result};
use crate::probe;

static DRIVER: OnceLock<&'static Library> = OnceLock::new();

/// Puts the virtual device in the place of the driver, of NVRTC and of the libraries of products, for the rest of the
/// process. It does nothing the second time. It takes a few seconds once on a machine, and then no time.
///
/// # Errors
///
/// [`CudaError::NoEmulator`] without a C++ compiler (`$CXX`, `g++` or `clang++`), or if somebody has asked
/// for one of them before.
pub fn install() -> Result<()> {
    static INSTALLED: Mutex<Option<Result<()>>> = Mutex::new(None);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    installed.get_or_insert_with(load).clone()
}

/// Whether devices of this process are virtual.
#[must_use]
pub fn is_installed() -> bool {
    DRIVER.get().is_some()
}

fn load() -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Err(CudaError::NoEmulator(String::from("it needs Linux")));
    }
    if probe::was_probed() {
        return Err(CudaError::NoEmulator(String::from("the driver was asked for before")));
    }
    let folder = build::libraries()?;
    let compiler = open(&folder.join(build::COMPILER))?;
    let driver = open(&folder.join(build::DRIVER))?;
    // They find functions of the driver.
    let products = [build::SPARSE, build::BLAS, build::SPARSE_LT];
    let products = products.map(|name| open(&folder.join(name)));
    for library in products {
        std::mem::forget(library?);
    }
    std::mem::forget(compiler);
    let _ = DRIVER.set(Box::leak(Box::new(driver)));
    Ok(())
}

/// Loads a library so that kernels, and whoever asks for its name, find it.
#[cfg(unix)]
fn open(path: &std::path::Path) -> Result<Library> {
    use libloading::os::unix::{Library as Unix, RTLD_GLOBAL, RTLD_NOW};
    // SAFETY: libraries of this crate, whose constructors do nothing but make empty tables.
    let library = unsafe { Unix::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
    library.map(Library::from).map_err(|e| CudaError::NoEmulator(e.to_string()))
}

#[cfg(not(unix))]
fn open(_: &std::path::Path) -> Result<Library> {
    Err(CudaError::NoEmulator(String::from("it needs Linux")))
}

/// Sets the size of the device's memory, and of what its pool and allocations may take together.
pub fn set_memory(bytes: usize) {
    let Some(driver) = DRIVER.get() else { return };
    // SAFETY: a function of the emulator's driver with this signature.
    unsafe {
        if let Ok(set) = driver.get::<extern "C" fn(usize)>("ust_emulator_memory") {
            set(bytes);
        }
    }
}

/// Calls of the driver that may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Allocations of memory: there is no room.
    Allocations,
    /// Copies to the host.
    Downloads,
}

/// After `before` more calls of a kind, lets `count` of them fail.
pub fn fail_calls(of: Calls, before: u64, count: u64) {
    let Some(driver) = DRIVER.get() else { return };
    // SAFETY: a function of the emulator's driver with this signature.
    unsafe {
        if let Ok(set) = driver.get::<extern "C" fn(i32, u64, u64)>("ust_emulator_fail_calls") {
            set(of as i32, before, count);
        }
    }
}

/// How many calls are still to come before [some fail](fail_calls).
#[must_use]
pub fn calls_left(of: Calls) -> u64 {
    let Some(driver) = DRIVER.get() else { return u64::MAX };
    // SAFETY: as above.
    unsafe {
        let left = driver.get::<extern "C" fn(i32) -> u64>("ust_emulator_calls_left");
        left.map_or(u64::MAX, |left| left(of as i32))
    }
}

/// Says whether devices opened from now on have pools of memory.
pub fn set_pools(pools: bool) {
    let Some(driver) = DRIVER.get() else { return };
    // SAFETY: as above.
    unsafe {
        if let Ok(set) = driver.get::<extern "C" fn(i32)>("ust_emulator_pools") {
            set(i32::from(pools));
        }
    }
}

/// Sets what the order of threads follows from. `$UST_EMULATOR_SEED` does so, too.
pub fn set_seed(seed: u64) {
    let Some(driver) = DRIVER.get() else { return };
    // SAFETY: as above.
    unsafe {
        if let Ok(set) = driver.get::<extern "C" fn(u64)>("ust_emulator_seed") {
            set(seed);
        }
    }
}

/// What the virtual device says about the last error that it gave this thread.
pub(crate) fn message() -> Option<String> {
    let driver = DRIVER.get()?;
    // SAFETY: as above; the text lives until the thread's next error.
    unsafe {
        let message =
            driver.get::<extern "C" fn() -> *const c_char>("ust_emulator_message").ok()?();
        Some(CStr::from_ptr(message).to_string_lossy().into_owned()).filter(|text| !text.is_empty())
    }
}
