//! What can go wrong.

use std::ffi::CStr;

use cudarc::driver::sys::{self, CUresult};

/// Why something on a device, or for one, was not done.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// The library of the driver cannot be loaded.
    #[error("no CUDA driver: libcuda is not installed")]
    NoDriver,
    /// NVRTC cannot be loaded.
    #[error(
        "no CUDA compiler: libnvrtc is found neither by the system's loader, nor in $UST_CUDA_LIB_DIR, \
         nor in the Python of $VIRTUAL_ENV or $CONDA_PREFIX (pip install nvidia-cuda-nvrtc)"
    )]
    NoCompiler,
    /// A library of products cannot be loaded.
    #[error(
        "no {name}: {file} is found neither by the system's loader, nor in $UST_CUDA_LIB_DIR, \
         nor in the Python of $VIRTUAL_ENV or $CONDA_PREFIX (pip install {package})"
    )]
    NoLibrary {
        /// The library.
        name: &'static str,
        /// The beginning of the name of its file.
        file: &'static str,
        /// The Python package that has it.
        package: &'static str,
    },
    /// A library of products refuses something.
    #[error("{library} cannot {what}: {name} ({code})")]
    Library {
        /// The library.
        library: &'static str,
        /// What was attempted.
        what: &'static str,
        /// The library's name of the error.
        name: String,
        /// The library's number of the error.
        code: u32,
    },
    /// A library is older than this crate can use.
    #[error("{library} is too old: it has no {symbol}")]
    Outdated {
        /// The library.
        library: &'static str,
        /// A function that it lacks.
        symbol: &'static str,
    },
    /// There is no device of this number.
    #[error("no CUDA device {ordinal}: the driver finds {count}")]
    NoDevice {
        /// The number asked for.
        ordinal: usize,
        /// How many devices there are.
        count: usize,
    },
    /// The device has no room, even after the pool gave back what it kept.
    #[error("the device has no room for {bytes} bytes")]
    OutOfMemory {
        /// How many were asked for.
        bytes: usize,
    },
    /// NVRTC refuses a text.
    #[error("a kernel does not compile ({name}):\n{log}")]
    Compile {
        /// NVRTC's name of the error.
        name: String,
        /// What NVRTC says.
        log: String,
    },
    /// A kernel failed while it ran. It is known only when the host waits for it.
    #[error("a kernel failed ({kernels}): {message}")]
    KernelFailed {
        /// The kernels that the stream was given since the host waited for it last. One of them failed, or,
        /// where none is named, one of another stream.
        kernels: String,
        /// The driver's error, or what the emulator found.
        message: String,
    },
    /// The driver refuses something else.
    #[error("the CUDA driver cannot {what}: {name} ({code}) {message}")]
    Driver {
        /// What was attempted.
        what: String,
        /// The driver's name of the error.
        name: String,
        /// The driver's number of the error.
        code: u32,
        /// What the driver says about it.
        message: String,
    },
    /// An argument that no device could take.
    #[error("{0}")]
    Argument(String),
    /// The emulator cannot be installed.
    #[error("no emulator: {0}")]
    NoEmulator(String),
}

/// The result of everything here.
pub(crate) type Result<T> = std::result::Result<T, CudaError>;

impl CudaError {
    /// An argument that no device could take.
    pub(crate) fn argument(message: impl Into<String>) -> Self {
        Self::Argument(message.into())
    }
}

/// Makes an error of the driver's answer; `what` completes "the driver cannot ...".
pub(crate) fn check(result: CUresult, what: impl FnOnce() -> String) -> Result<()> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    if is_of_kernel(result) {
        return Err(of_kernel(result, String::from("of another stream")));
    }
    let (name, message) = (name(result), message(result));
    Err(CudaError::Driver { what: what(), name, code: result as u32, message })
}

/// The error of one of some kernels.
pub(crate) fn of_kernel(result: CUresult, kernels: String) -> CudaError {
    CudaError::KernelFailed { kernels, message: format!("{}: {}", name(result), message(result)) }
}

/// Whether the driver tells of a kernel that it ran before, whatever it was asked for now.
pub(crate) fn is_of_kernel(result: CUresult) -> bool {
    matches!(
        result,
        CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
    )
}

/// The driver's name of an error.
fn name(result: CUresult) -> String {
    // SAFETY: the driver is loaded, since it gave this result; its names live for ever.
    unsafe { said(|to| sys::cuGetErrorName(result, to)) }
}

/// What is known about an error.
fn message(result: CUresult) -> String {
    #[cfg(feature = "emulator")]
    if let Some(message) = crate::emulator::message() {
        return message;
    }
    // SAFETY: as above.
    unsafe { said(|to| sys::cuGetErrorString(result, to)) }
}

/// # Safety
///
/// `ask` leaves its argument as it is, or sets it to a text that lives for ever.
unsafe fn said(ask: impl FnOnce(*mut *const std::ffi::c_char) -> CUresult) -> String {
    let mut text = std::ptr::null();
    let known = ask(&mut text) == CUresult::CUDA_SUCCESS && !text.is_null();
    if !known {
        return String::from("unknown");
    }
    // SAFETY: a text of the driver.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
