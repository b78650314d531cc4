//! Products of dense matrices by NVIDIA's library, cuBLASLt.
//!
//! A [`Blas`] gives work to a stream. A [`Product`] is prepared once, and then run with any values: it keeps the
//! algorithm that the library chose, and its working memory, so that a run allocates nothing.

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

const NAME: &str = "cuBLASLt";
const FILE: &str = "libcublasLt.so";

library! {
    Functions: "cuBLASLt", "libcublasLt.so", "13", "nvidia-cublas";
    fn cublasLtCreate(handle: *mut Raw) -> Status;
    fn cublasLtDestroy(handle: Raw) -> Status;
    fn cublasLtGetVersion() -> usize;
    fn cublasLtGetStatusName(status: Status) -> *const c_char;
    fn cublasLtMatrixLayoutCreate(layout: *mut Raw, numbers: u32, rows: u64, columns: u64, stride: i64) -> Status;
    fn cublasLtMatrixLayoutDestroy(layout: Raw) -> Status;
    fn cublasLtMatmulDescCreate(product: *mut Raw, computed: u32, scales: u32) -> Status;
    fn cublasLtMatmulDescDestroy(product: Raw) -> Status;
    fn cublasLtMatmulDescSetAttribute(product: Raw, what: u32, value: *const c_void, bytes: usize) -> Status;
    fn cublasLtMatmulPreferenceCreate(preference: *mut Raw) -> Status;
    fn cublasLtMatmulPreferenceDestroy(preference: Raw) -> Status;
    fn cublasLtMatmulPreferenceSetAttribute(preference: Raw, what: u32, value: *const c_void, bytes: usize) -> Status;
    fn cublasLtMatmulAlgoGetHeuristic(
        handle: Raw, product: Raw, a: Raw, b: Raw, c: Raw, d: Raw, preference: Raw, asked: c_int, found: *mut Found,
        count: *mut c_int,
    ) -> Status;
    fn cublasLtMatmul(
        handle: Raw, product: Raw, alpha: *const c_void, a: *const c_void, of_a: Raw, b: *const c_void, of_b: Raw,
        beta: *const c_void, c: *const c_void, of_c: Raw, d: *mut c_void, of_d: Raw, algorithm: *const [u64; 8],
        room: *mut c_void, bytes: usize, stream: *mut c_void,
    ) -> Status;
}

/// A handle or a description.
type Raw = *mut c_void;
type Status = c_int;

/// An algorithm that the library proposes, as its header has it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    algorithm: [u64; 8],
    bytes: usize,
    status: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// The library's numbers.
mod number {
    pub(super) const COMPUTE_32F: u32 = 68;
    pub(super) const COMPUTE_64F: u32 = 70;
    pub(super) const TRANSPOSE_A: u32 = 3;
    pub(super) const TRANSPOSE_B: u32 = 4;
    pub(super) const WORKSPACE: u32 = 1;
    /// Those of the other matrices follow.
    pub(super) const ALIGNMENT_OF_A: u32 = 5;
    pub(super) const NOT_SUPPORTED: i32 = 15;
}

/// What the library takes an address to be a multiple of, at most.
const MOST_ALIGNMENT: u64 = 256;

/// The library, which works in the order of a stream. Clones are the same.
#[derive(Clone)]
pub struct Blas(Arc<Inner>);

struct Inner {
    /// It is dropped before the stream.
    handle: Handle,
    stream: Stream,
}

struct Handle(Raw, &'static Functions);

// SAFETY: a handle belongs to no thread, and several may use it at the same time.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// Loads the library, once; its version, major and minor. [`Blas::new`] loads it, too.
///
/// # Errors
///
/// [`CudaError::NoLibrary`] without libcublasLt, [`CudaError::Outdated`] if it is too old.
pub fn version() -> Result<(u32, u32)> {
    let functions = Functions::get()?;
    // SAFETY: the library is loaded.
    let version = unsafe { (functions.cublasLtGetVersion)() };
    // It counts 10000 for each major version, and 100 for each minor one.
    Ok(((version / 10_000) as u32, (version / 100 % 100) as u32))
}

/// The file of the library, if it was found and the system tells.
#[must_use]
pub fn file() -> Option<PathBuf> {
    version().ok()?;
    libraries::file_of(FILE)
}

/// Makes an error of the library's answer; `what` completes "cuBLASLt cannot ...".
fn check(functions: &Functions, status: Status, what: &'static str) -> Result<()> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the library is loaded; its names live for ever.
    let name = unsafe { bound::text((functions.cublasLtGetStatusName)(status)) };
    Err(CudaError::Library { library: NAME, what, name, code: status.unsigned_abs() })
}

const DESCRIBE: &str = "describe a product";
const MULTIPLY: &str = "multiply two dense matrices";

impl Blas {
    /// Starts the library for a stream.
    ///
    /// # Errors
    ///
    /// Those of [`version`], and [`CudaError::Library`] if the library does not start.
    pub fn new(stream: &Stream) -> Result<Self> {
        let functions = Functions::get()?;
        stream.device().enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: a context is current.
        check(functions, unsafe { (functions.cublasLtCreate)(&mut handle) }, "start")?;
        Ok(Self(Arc::new(Inner { handle: Handle(handle, functions), stream: stream.clone() })))
    }

    /// The stream.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.0.stream
    }

    /// Prepares `c = a b`, with so many bytes of working memory at most. Nothing is computed. A result of numbers of
    /// 16 bits has such, or those of 32 bits in which sums are formed. The addresses of the descriptions say what the
    /// addresses of all runs are multiples of.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if shapes or types do not match, or an extent is 0; [`CudaError::Library`] for what
    /// the library does not have; [`CudaError::OutOfMemory`].
    pub fn product(&self, a: &Dense, b: &Dense, c: &Dense, workspace: usize) -> Result<Product> {
        let numbers = [a.number, b.number, c.number];
        if b.number != a.number || ![a.number, a.number.computed()].contains(&c.number) {
            return Err(CudaError::argument(format!("a product of different types: {numbers:?}")));
        }
        let fits = (a.columns, c.rows, c.columns) == (b.rows, a.rows, b.columns);
        if !fits || [a.rows, a.columns, b.columns].contains(&0) {
            let [a, b, c] = [a, b, c].map(|of| format!("{} x {}", of.rows, of.columns));
            return Err(CudaError::argument(format!("no product of {a} and {b} has {c} numbers")));
        }
        self.stream().device().enter()?;
        // The library is told of matrices stored by columns. One that is stored by rows is the transpose of one by
        // columns, and the transpose of the product is the product of the transposes in the other order.
        let (first, second, by_rows) = match c.order {
            Order::Columns => (a, b, Order::Rows),
            Order::Rows => (b, a, Order::Columns),
        };
        let Handle(handle, functions) = self.0.handle;
        let terms = Terms {
            product: functions.product(a.number, [first, second].map(|of| of.order == by_rows))?,
            first: functions.layout(first)?,
            second: functions.layout(second)?,
            result: functions.layout(c)?,
        };
        let addresses = [first.values, second.values, c.values];
        let preference = functions.preference(addresses.map(alignment), workspace)?;
        let (mut found, mut count) = (Found::default(), 0);
        // SAFETY: the descriptions live. No memory of the device is touched.
        let asked = unsafe {
            (functions.cublasLtMatmulAlgoGetHeuristic)(
                handle,
                terms.product.raw,
                terms.first.raw,
                terms.second.raw,
                terms.result.raw,
                terms.result.raw,
                preference.raw,
                1,
                &mut found,
                &mut count,
            )
        };
        check(functions, asked, MULTIPLY)?;
        check(functions, if count > 0 { found.status } else { number::NOT_SUPPORTED }, MULTIPLY)?;
        let room = self.stream().alloc(found.bytes.max(1))?;
        let swapped = c.order == Order::Rows;
        Ok(Product { blas: self.clone(), terms, number: a.number, swapped, found, room })
    }
}

/// What an address is a multiple of, as the library asks: at most 256.
#[must_use]
pub fn alignment(address: u64) -> u32 {
    (1 << address.trailing_zeros().min(MOST_ALIGNMENT.trailing_zeros())) as u32
}

/// A description that the library made.
struct Made {
    raw: Raw,
    destroy: unsafe extern "C" fn(Raw) -> Status,
}

// SAFETY: descriptions belong to no thread, and are not changed once they are made.
unsafe impl Send for Made {}
// SAFETY: as above.
unsafe impl Sync for Made {}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: made below, destroyed once.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

/// An attribute of a description: its number, and its value.
type Set = unsafe extern "C" fn(Raw, u32, *const c_void, usize) -> Status;

impl Functions {
    fn made(
        &self,
        destroy: unsafe extern "C" fn(Raw) -> Status,
        make: impl FnOnce(*mut Raw) -> Status,
    ) -> Result<Made> {
        let mut raw = ptr::null_mut();
        check(self, make(&mut raw), DESCRIBE)?;
        Ok(Made { raw, destroy })
    }

    fn set<T: Copy>(&self, set: Set, of: &Made, what: u32, value: T) -> Result<()> {
        // SAFETY: the description lives. The value is read at once.
        let status = unsafe { set(of.raw, what, (&raw const value).cast(), size_of_val(&value)) };
        check(self, status, DESCRIBE)
    }

    /// A matrix by columns, or the transpose of one by rows.
    fn layout(&self, of: &Dense) -> Result<Made> {
        let (along, lines) = match of.order {
            Order::Columns => (of.rows, of.columns),
            Order::Rows => (of.columns, of.rows),
        };
        if of.stride < along {
            return Err(CudaError::argument(format!(
                "{along} numbers in a stride of {}",
                of.stride
            )));
        }
        let stride = i64::try_from(of.stride);
        let stride = stride.map_err(|_| CudaError::argument("a stride that is too large"))?;
        self.made(self.cublasLtMatrixLayoutDestroy, |to| {
            // SAFETY: makes a description.
            unsafe {
                (self.cublasLtMatrixLayoutCreate)(
                    to,
                    of.number.raw() as u32,
                    along as u64,
                    lines as u64,
                    stride,
                )
            }
        })
    }

    fn product(&self, number: Number, transposed: [bool; 2]) -> Result<Made> {
        let computed = match number.computed() {
            Number::F64 | Number::Complex128 => number::COMPUTE_64F,
            _ => number::COMPUTE_32F,
        };
        let scales = number.computed().raw() as u32;
        let made = self.made(self.cublasLtMatmulDescDestroy, |to| {
            // SAFETY: makes a description.
            unsafe { (self.cublasLtMatmulDescCreate)(to, computed, scales) }
        })?;
        let set = self.cublasLtMatmulDescSetAttribute;
        self.set(set, &made, number::TRANSPOSE_A, u32::from(transposed[0]))?;
        self.set(set, &made, number::TRANSPOSE_B, u32::from(transposed[1]))?;
        Ok(made)
    }

    /// What an algorithm may use. The last matrix is both the one that is added and the result.
    fn preference(&self, [a, b, c]: [u32; 3], workspace: usize) -> Result<Made> {
        let made = self.made(self.cublasLtMatmulPreferenceDestroy, |to| {
            // SAFETY: makes a description.
            unsafe { (self.cublasLtMatmulPreferenceCreate)(to) }
        })?;
        let set = self.cublasLtMatmulPreferenceSetAttribute;
        self.set(set, &made, number::WORKSPACE, workspace as u64)?;
        for (what, alignment) in (number::ALIGNMENT_OF_A..).zip([a, b, c, c]) {
            self.set(set, &made, what, alignment)?;
        }
        Ok(made)
    }
}

struct Terms {
    product: Made,
    first: Made,
    second: Made,
    result: Made,
}

/// A product, ready to run, with the working memory of the library.
pub struct Product {
    blas: Blas,
    terms: Terms,
    number: Number,
    /// Whether the library is given the second factor first.
    swapped: bool,
    found: Found,
    room: Memory,
}

impl Product {
    /// Multiplies, after all that the stream was given so far, and does not wait for it. `values` are the addresses
    /// of the numbers of the two factors and of the result.
    ///
    /// # Errors
    ///
    /// [`CudaError::Library`].
    ///
    /// # Safety
    ///
    /// There are as many numbers at these addresses as the descriptions say, and the addresses are multiples of what
    /// those of the descriptions were. The factors live, and nothing else writes them, until the stream has come behind
    /// this. The result, and the product itself, are nobody else's until then.
    pub unsafe fn run(&mut self, values: [u64; 3]) -> Result<()> {
        let [mut first, mut second, result] =
            values.map(|address| ptr::without_provenance_mut::<c_void>(address as usize));
        if self.swapped {
            (first, second) = (second, first);
        }
        let [one, zero] = self.number.one_and_zero();
        let (stream, Handle(handle, functions)) = (self.stream(), &self.blas.0.handle);
        let room = ptr::without_provenance_mut(self.room.address() as usize);
        stream.device().enter()?;
        // SAFETY: the descriptions live; the rest is the caller's duty.
        let status = unsafe {
            (functions.cublasLtMatmul)(
                *handle,
                self.terms.product.raw,
                one,
                first,
                self.terms.first.raw,
                second,
                self.terms.second.raw,
                zero,
                result,
                self.terms.result.raw,
                result,
                self.terms.result.raw,
                &self.found.algorithm,
                room,
                self.found.bytes,
                stream.handle().cast(),
            )
        };
        check(functions, status, MULTIPLY)?;
        stream.note(&Arc::from(MULTIPLY));
        Ok(())
    }

    /// The stream that it runs on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.blas.stream()
    }

    /// Bytes of working memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.found.bytes
    }
}

impl fmt::Debug for Blas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blas({:?})", self.0.stream)
    }
}

impl fmt::Debug for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Product({MULTIPLY}, {} bytes of working memory)", self.bytes())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = self.stream.device().enter();
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by `Blas::new`, destroyed once. `Inner` has made the context current.
        let _ = unsafe { (self.1.cublasLtDestroy)(self.0) };
    }
}
