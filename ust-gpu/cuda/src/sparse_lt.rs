//! Products of 2:4 matrices and dense matrices by NVIDIA's library, cuSPARSELt.
//!
//! A [`SparseLt`] gives work to a stream. A [`Product`] is prepared once for matrices of some extents. It compresses a
//! 2:4 matrix into memory of its own, in the layout that the library has for the device, and is then run with any
//! dense factors.

use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;

use crate::bound::{self, library};
use crate::error::{CudaError, Result};
use crate::libraries;
use crate::memory::Memory;
use crate::sparse::{Dense, Number, Order};
use crate::stream::Stream;

const NAME: &str = "cuSPARSELt";
const FILE: &str = "libcusparseLt.so";

library! {
    Functions: "cuSPARSELt", "libcusparseLt.so", "0", "nvidia-cusparselt-cu13";
    fn cusparseLtInit(handle: *mut Opaque) -> Status;
    fn cusparseLtDestroy(handle: *const Opaque) -> Status;
    fn cusparseLtGetProperty(which: c_int, value: *mut c_int) -> Status;
    fn cusparseLtGetErrorName(status: Status) -> *const c_char;
    fn cusparseLtDenseDescriptorInit(
        handle: *const Opaque, matrix: *mut Opaque, rows: i64, columns: i64, stride: i64, alignment: u32, numbers: u32,
        order: u32,
    ) -> Status;
    fn cusparseLtStructuredDescriptorInit(
        handle: *const Opaque, matrix: *mut Opaque, rows: i64, columns: i64, stride: i64, alignment: u32, numbers: u32,
        order: u32, sparsity: u32,
    ) -> Status;
    fn cusparseLtMatDescriptorDestroy(matrix: *const Opaque) -> Status;
    fn cusparseLtMatmulDescriptorInit(
        handle: *const Opaque, product: *mut Opaque, of_a: u32, of_b: u32, a: *const Opaque, b: *const Opaque,
        c: *const Opaque, d: *const Opaque, computed: u32,
    ) -> Status;
    fn cusparseLtMatmulAlgSelectionInit(
        handle: *const Opaque, algorithm: *mut Opaque, product: *const Opaque, which: u32,
    ) -> Status;
    fn cusparseLtMatmulAlgSelectionDestroy(algorithm: *const Opaque) -> Status;
    fn cusparseLtMatmulPlanInit(
        handle: *const Opaque, plan: *mut Opaque, product: *const Opaque, algorithm: *const Opaque,
    ) -> Status;
    fn cusparseLtMatmulPlanDestroy(plan: *const Opaque) -> Status;
    fn cusparseLtMatmulGetWorkspace(handle: *const Opaque, plan: *const Opaque, bytes: *mut usize) -> Status;
    fn cusparseLtSpMMACompressedSize(
        handle: *const Opaque, plan: *const Opaque, bytes: *mut usize, room: *mut usize,
    ) -> Status;
    fn cusparseLtSpMMACompress(
        handle: *const Opaque, plan: *const Opaque, dense: *const c_void, compressed: *mut c_void, room: *mut c_void,
        stream: *mut c_void,
    ) -> Status;
    fn cusparseLtMatmul(
        handle: *const Opaque, plan: *const Opaque, alpha: *const c_void, a: *const c_void, b: *const c_void,
        beta: *const c_void, c: *const c_void, d: *mut c_void, room: *mut c_void, streams: *mut *mut c_void,
        count: i32,
    ) -> Status;
}

type Status = c_int;

/// A structure of the library, as large as its header says.
#[repr(C, align(16))]
struct Opaque([u8; 512]);

/// The first version whose structures and numbers are those here.
const FIRST: (u32, u32) = (0, 8);
/// Sums are formed in 32 bits: the library's numbers for that.
const COMPUTE_32I: u32 = 0;
const COMPUTE_32F: u32 = 2;
/// What addresses are multiples of.
const ALIGNMENT: u32 = 16;

const START: &str = "start";
const DESCRIBE: &str = "describe a product";
const COMPRESS: &str = "compress a 2:4 matrix";
const MULTIPLY: &str = "multiply a 2:4 matrix by a dense matrix";

/// The library, which works in the order of a stream. Clones are the same.
#[derive(Clone)]
pub struct SparseLt(Arc<Inner>);

struct Inner {
    /// It is dropped before the stream.
    handle: Made,
    functions: &'static Functions,
    stream: Stream,
}

/// A structure that the library has filled. It stays where it is: others may point to it.
struct Made {
    at: Box<Opaque>,
    destroy: Option<unsafe extern "C" fn(*const Opaque) -> Status>,
}

// SAFETY: structures belong to no thread, and are not changed once they are made.
unsafe impl Send for Made {}
// SAFETY: as above.
unsafe impl Sync for Made {}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: the library filled it; it is destroyed once.
            let _ = unsafe { destroy(&raw const *self.at) };
        }
    }
}

/// Loads the library, once; its version, major and minor. [`SparseLt::new`] loads it, too.
///
/// # Errors
///
/// [`CudaError::NoLibrary`] without libcusparseLt, [`CudaError::Outdated`] before version 0.8.
pub fn version() -> Result<(u32, u32)> {
    let functions = Functions::get()?;
    let property = |which| {
        let mut value = 0;
        // SAFETY: the library is loaded.
        let status = unsafe { (functions.cusparseLtGetProperty)(which, &mut value) };
        functions.check(status, "tell its version")?;
        Ok(value.unsigned_abs())
    };
    let version = (property(0)?, property(1)?);
    match version < FIRST {
        true => Err(CudaError::Outdated { library: FILE, symbol: "structure of version 0.8" }),
        false => Ok(version),
    }
}

/// The file of the library, if it was found and the system tells.
#[must_use]
pub fn file() -> Option<PathBuf> {
    version().ok()?;
    libraries::file_of(FILE)
}

impl Functions {
    /// Makes an error of the library's answer; `what` completes "cuSPARSELt cannot ...".
    fn check(&self, status: Status, what: &'static str) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the library is loaded; its names live for ever.
        let name = unsafe { bound::text((self.cusparseLtGetErrorName)(status)) };
        Err(CudaError::Library { library: NAME, what, name, code: status.unsigned_abs() })
    }

    fn make(
        &self,
        what: &'static str,
        destroy: Option<unsafe extern "C" fn(*const Opaque) -> Status>,
        make: impl FnOnce(*mut Opaque) -> Status,
    ) -> Result<Made> {
        let mut at = Box::new(Opaque([0; 512]));
        self.check(make(&raw mut *at), what)?;
        Ok(Made { at, destroy })
    }
}

impl Made {
    fn raw(&self) -> *const Opaque {
        &raw const *self.at
    }
}

/// What extents of a 2:4 matrix of such numbers, and those of dense ones, are multiples of.
#[must_use]
pub fn multiples(number: Number) -> [usize; 2] {
    match number {
        Number::I8 => [32, 16],
        _ => [16, 8],
    }
}

fn size(of: usize) -> Result<i64> {
    i64::try_from(of).map_err(|_| CudaError::argument(format!("{of} is no size of a matrix")))
}

impl SparseLt {
    /// Starts the library for a stream.
    ///
    /// # Errors
    ///
    /// Those of [`version`], and [`CudaError::Library`] if the library does not start.
    pub fn new(stream: &Stream) -> Result<Self> {
        version()?;
        let functions = Functions::get()?;
        stream.device().enter()?;
        let handle = functions.make(START, Some(functions.cusparseLtDestroy), |to| {
            // SAFETY: a context is current.
            unsafe { (functions.cusparseLtInit)(to) }
        })?;
        Ok(Self(Arc::new(Inner { handle, functions, stream: stream.clone() })))
    }

    /// The stream.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.0.stream
    }

    /// Prepares `c = a b`, where `a` is a 2:4 matrix. `a` describes it as it is before it is compressed: by rows, with
    /// all of its zeros; two of every four neighbours in a row may be others. Nothing is computed. All three have the
    /// same numbers, of 16 bits; or `a` and `b` have integers of 8 bits, `b` by columns, and `c` has their sums of 32
    /// bits. No address is looked at.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if shapes or types do not match, if extents of `a` are no positive [multiples],
    /// or those of the others; [`CudaError::Library`] for what the library does not have; [`CudaError::OutOfMemory`].
    pub fn product(&self, a: &Dense, b: &Dense, c: &Dense) -> Result<Product> {
        let number = a.number;
        let numbers = [a.number, b.number, c.number];
        let [sparse, dense] = match numbers {
            [Number::I8, Number::I8, Number::I32] if b.order == Order::Columns => multiples(number),
            [Number::F16 | Number::Bf16, ..] if numbers == [number; 3] => multiples(number),
            _ => {
                return Err(CudaError::argument(format!(
                    "a product of types {numbers:?}, the second by {:?}",
                    b.order
                )));
            }
        };
        let fits = (a.columns, c.rows, c.columns) == (b.rows, a.rows, b.columns);
        let whole = |extent: usize, by: usize| extent > 0 && extent.is_multiple_of(by);
        let sizes = whole(a.rows, sparse) && whole(a.columns, sparse) && whole(b.columns, dense);
        if !fits || !sizes || a.order != Order::Rows {
            let [a, b, c] = [a, b, c].map(|of| format!("{} x {}", of.rows, of.columns));
            return Err(CudaError::argument(format!(
                "no product of {a} and {b} has {c} numbers: extents of the first are multiples of {sparse}, and others \
                 of {dense}"
            )));
        }
        self.stream().device().enter()?;
        let parts = Parts::new(self, [a, b, c])?;
        let (functions, handle) = (self.0.functions, self.0.handle.raw());
        let [mut bytes, mut compressed, mut while_compressing] = [0; 3];
        // SAFETY: the structures live.
        unsafe {
            let plan = parts.plan.raw();
            let asked = (functions.cusparseLtMatmulGetWorkspace)(handle, plan, &mut bytes);
            functions.check(asked, DESCRIBE)?;
            let asked = (functions.cusparseLtSpMMACompressedSize)(
                handle,
                plan,
                &mut compressed,
                &mut while_compressing,
            );
            functions.check(asked, DESCRIBE)?;
        }
        let stream = self.stream();
        let (room, compressed) = (stream.alloc(bytes.max(1))?, stream.alloc(compressed.max(1))?);
        Ok(Product { library: self.clone(), parts, number, room, while_compressing, compressed })
    }
}

/// What the library is told of a product, in the order in which it is given up.
struct Parts {
    plan: Made,
    _algorithm: Made,
    _product: Made,
    _matrices: [Made; 3],
}

impl Parts {
    fn new(library: &SparseLt, [a, b, c]: [&Dense; 3]) -> Result<Self> {
        let (functions, handle) = (library.0.functions, library.0.handle.raw());
        let matrix = |of: &Dense, sparse: bool| {
            let (rows, columns, stride) = (size(of.rows)?, size(of.columns)?, size(of.stride)?);
            let (numbers, order) = (of.number.raw() as u32, of.order.raw() as u32);
            let destroy = Some(functions.cusparseLtMatDescriptorDestroy);
            functions.make(DESCRIBE, destroy, |to| {
                // SAFETY: fills a structure.
                unsafe {
                    match sparse {
                        true => (functions.cusparseLtStructuredDescriptorInit)(
                            handle, to, rows, columns, stride, ALIGNMENT, numbers, order, 0,
                        ),
                        false => (functions.cusparseLtDenseDescriptorInit)(
                            handle, to, rows, columns, stride, ALIGNMENT, numbers, order,
                        ),
                    }
                }
            })
        };
        let numbers = a.number;
        let [a, b, c] = [matrix(a, true)?, matrix(b, false)?, matrix(c, false)?];
        let computed = if numbers == Number::I8 { COMPUTE_32I } else { COMPUTE_32F };
        let product = functions.make(DESCRIBE, None, |to| {
            let [a, b, c] = [&a, &b, &c].map(Made::raw);
            // SAFETY: the structures live, as they do below.
            unsafe {
                (functions.cusparseLtMatmulDescriptorInit)(handle, to, 0, 0, a, b, c, c, computed)
            }
        })?;
        let destroy = Some(functions.cusparseLtMatmulAlgSelectionDestroy);
        let algorithm = functions.make(DESCRIBE, destroy, |to| {
            // SAFETY: as above.
            unsafe { (functions.cusparseLtMatmulAlgSelectionInit)(handle, to, product.raw(), 0) }
        })?;
        let destroy = Some(functions.cusparseLtMatmulPlanDestroy);
        let plan = functions.make(DESCRIBE, destroy, |to| {
            let (product, algorithm) = (product.raw(), algorithm.raw());
            // SAFETY: as above.
            unsafe { (functions.cusparseLtMatmulPlanInit)(handle, to, product, algorithm) }
        })?;
        Ok(Self { plan, _algorithm: algorithm, _product: product, _matrices: [a, b, c] })
    }
}

/// A product, ready to run, with a compressed matrix and the working memory of the library.
pub struct Product {
    // Given up before the handle.
    parts: Parts,
    library: SparseLt,
    number: Number,
    room: Memory,
    while_compressing: usize,
    compressed: Memory,
}

fn pointer(address: u64) -> *mut c_void {
    ptr::without_provenance_mut(address as usize)
}

impl Product {
    /// Compresses a 2:4 matrix, which is at this address with all of its zeros, for the runs to come. It does not wait.
    ///
    /// # Errors
    ///
    /// [`CudaError::Library`], [`CudaError::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// There are as many numbers at the address as the description says, at most two of every four neighbours in a
    /// row are not 0, and the address is a multiple of 16. The numbers live, and nothing else writes them, until
    /// the stream has come behind this. The product itself is nobody else's until then.
    pub unsafe fn compress(&mut self, dense: u64) -> Result<()> {
        self.stream().device().enter()?;
        let room = self.stream().alloc(self.while_compressing.max(1))?;
        // SAFETY: the structures live; the rest is the caller's duty. Memory is freed in the order of the stream.
        let status = unsafe {
            (self.library.0.functions.cusparseLtSpMMACompress)(
                self.library.0.handle.raw(),
                self.parts.plan.raw(),
                pointer(dense),
                pointer(self.compressed.address()),
                pointer(room.address()),
                self.stream().handle().cast(),
            )
        };
        self.noted(status, COMPRESS)
    }

    /// Multiplies what was compressed last, after all that the stream was given so far, and does not wait for it.
    /// `values` are the addresses of the numbers of the dense factor and of the result.
    ///
    /// # Errors
    ///
    /// [`CudaError::Library`].
    ///
    /// # Safety
    ///
    /// A matrix was compressed. There are as many numbers at the addresses as the descriptions say, and they are
    /// multiples of 16. The factor lives, and nothing else writes it, until the stream has come behind this. The result, and the
    /// product itself, are nobody else's until then.
    pub unsafe fn run(&mut self, values: [u64; 2]) -> Result<()> {
        let [factor, result] = values.map(pointer);
        let [one, zero] = self.number.one_and_zero();
        let mut streams = [self.stream().handle().cast()];
        self.stream().device().enter()?;
        // SAFETY: the structures live; the rest is the caller's duty.
        let status = unsafe {
            (self.library.0.functions.cusparseLtMatmul)(
                self.library.0.handle.raw(),
                self.parts.plan.raw(),
                one,
                pointer(self.compressed.address()),
                factor,
                zero,
                result,
                result,
                pointer(self.room.address()),
                streams.as_mut_ptr(),
                1,
            )
        };
        self.noted(status, MULTIPLY)
    }

    fn noted(&self, status: Status, what: &'static str) -> Result<()> {
        self.library.0.functions.check(status, what)?;
        self.stream().note(&Arc::from(what));
        Ok(())
    }

    /// The stream that it runs on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.library.stream()
    }

    /// The compressed matrix, in the layout that the library has for the device.
    #[must_use]
    pub fn compressed(&self) -> &Memory {
        &self.compressed
    }
}

impl fmt::Debug for SparseLt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SparseLt({:?})", self.0.stream)
    }
}

impl fmt::Debug for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Product({MULTIPLY}, {} bytes compressed)", self.compressed.len())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.stream.device().enter();
    }
}
