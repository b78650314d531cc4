//! Products of sparse matrices by NVIDIA's library, cuSPARSE.
//!
//! A [`Sparse`] gives work to a stream. Matrices and vectors are described by their sizes and the addresses
//! of their arrays: [`Matrix`], [`Dense`], [`Vector`]. A [`Product`] is prepared once, and then run with any
//! values: it keeps the library's working memory, so that a run allocates nothing. [`Sparse::spgemm`]
//! allocates its result.
//!
//! | file | what it holds |
//! |---|---|
//! | `describe.rs` | matrices and vectors, as the library is told of them |
//! | `product.rs` | products whose results have places: SpMV, SpMM, SDDMM |
//! | `gemm.rs` | the product of two sparse matrices |

mod describe;
mod gemm;
mod product;

use std::ffi::CStr;
use std::fmt;
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::cusparse::sys::{self, cusparseStatus_t as Status};

pub use describe::{Dense, Index, Matrix, Number, Order, Storage, Vector};
pub use gemm::Rows;
pub use product::Product;

use crate::error::{CudaError, Result};
use crate::stream::Stream;
use crate::{libraries, probe};

/// The library, which works in the order of a stream. Clones are the same.
#[derive(Clone)]
pub struct Sparse(Arc<Inner>);

struct Inner {
    /// One thread at a time may use a handle. It is dropped before the stream.
    handle: Mutex<Handle>,
    stream: Stream,
    version: u32,
}

struct Handle(sys::cusparseHandle_t);

// SAFETY: a handle belongs to no thread.
unsafe impl Send for Handle {}

/// Loads the library, once; its version, major and minor. [`Sparse::new`] loads it, too.
///
/// # Errors
///
/// [`CudaError::NoLibrary`] without libcusparse, [`CudaError::Outdated`] if it is too old.
pub fn version() -> Result<(u32, u32)> {
    probe::sparse_library()?;
    let property = |which| {
        let mut value = 0;
        // SAFETY: the library has the function.
        check(unsafe { sys::cusparseGetProperty(which, &mut value) }, "tell its version")?;
        Ok(value.unsigned_abs())
    };
    let (major, minor) =
        (sys::libraryPropertyType::MAJOR_VERSION, sys::libraryPropertyType::MINOR_VERSION);
    Ok((property(major)?, property(minor)?))
}

/// The file of the library, if it was found and the system tells.
#[must_use]
pub fn file() -> Option<PathBuf> {
    version().ok()?;
    libraries::file_of("libcusparse.so")
}

impl Sparse {
    /// Starts the library for a stream.
    ///
    /// # Errors
    ///
    /// Those of [`version`], and [`CudaError::Library`] if the library does not start.
    pub fn new(stream: &Stream) -> Result<Self> {
        probe::sparse_library()?;
        stream.device().enter()?;
        let (mut handle, mut version) = (ptr::null_mut(), 0);
        // SAFETY: the library has the functions, and a context is current. The handle is used after it was
        // made.
        let handle = unsafe {
            check(sys::cusparseCreate(&mut handle), "start")?;
            let handle = Handle(handle);
            check(sys::cusparseSetStream(handle.0, stream.handle().cast()), "use a stream")?;
            check(sys::cusparseGetVersion(handle.0, &mut version), "tell its version")?;
            handle
        };
        let (stream, handle) = (stream.clone(), Mutex::new(handle));
        Ok(Self(Arc::new(Inner { handle, stream, version: version.unsigned_abs() })))
    }

    /// The stream.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.0.stream
    }

    /// The library's version: 1000 for each major version, 100 for each minor one.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.0.version
    }

    /// Calls the library; `what` completes "cuSPARSE cannot ...".
    fn call(
        &self,
        what: &'static str,
        call: impl FnOnce(sys::cusparseHandle_t) -> Status,
    ) -> Result<()> {
        self.0.stream.device().enter()?;
        let handle = self.0.handle.lock().unwrap_or_else(PoisonError::into_inner);
        check(call(handle.0), what)
    }

    /// Calls the library for work on the stream, whose name is remembered for the message if it fails.
    fn launch(
        &self,
        what: &'static str,
        call: impl FnOnce(sys::cusparseHandle_t) -> Status,
    ) -> Result<()> {
        self.call(what, call)?;
        self.0.stream.note(&Arc::from(what));
        Ok(())
    }
}

/// Makes an error of the library's answer.
fn check(status: Status, what: &'static str) -> Result<()> {
    if status == Status::CUSPARSE_STATUS_SUCCESS {
        return Ok(());
    }
    // SAFETY: the library is loaded, since it gave this answer; its names live for ever.
    let name = unsafe {
        let name = sys::cusparseGetErrorName(status);
        match name.is_null() {
            true => String::from("unknown"),
            false => CStr::from_ptr(name).to_string_lossy().into_owned(),
        }
    };
    Err(CudaError::Library { library: "cuSPARSE", what, name, code: status as u32 })
}

impl fmt::Debug for Sparse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sparse({}, {:?})", self.0.version, self.0.stream)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.stream.device().enter();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by `Sparse::new`, destroyed once. `Inner` has made the context current.
        let _ = unsafe { sys::cusparseDestroy(self.0) };
    }
}
