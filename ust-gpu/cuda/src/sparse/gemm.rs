//! The product of two sparse matrices.

use std::ffi::c_void;
use std::ptr;

use cudarc::cusparse::sys::{self, cusparseOperation_t as Operation, cusparseStatus_t as Status};

use super::describe::{MadeSparse, Matrix, Number, Storage};
use super::{Sparse, check};
use crate::error::{CudaError, Result};
use crate::memory::Memory;

/// A sparse matrix as [`Storage::Csr`] that the library computed.
#[derive(Debug)]
pub struct Rows {
    /// Where each row begins, with the end of the last one.
    pub starts: Memory,
    /// The column of each number. Whether they ascend within a row is the library's choice.
    pub columns: Memory,
    /// The numbers.
    pub values: Memory,
    /// How many numbers there are.
    pub stored: usize,
}

/// What the library notes from one step to the next.
struct Notes(sys::cusparseSpGEMMDescr_t);

impl Drop for Notes {
    fn drop(&mut self) {
        // SAFETY: made below, destroyed once.
        let _ = unsafe { sys::cusparseSpGEMM_destroyDescr(self.0) };
    }
}

/// A product on its way.
struct Gemm<'a> {
    sparse: &'a Sparse,
    a: MadeSparse,
    b: MadeSparse,
    c: MadeSparse,
    number: Number,
    notes: Notes,
}

/// A function of the library that takes working memory, or tells how much it wants.
type Work = unsafe fn(
    sys::cusparseHandle_t,
    Operation,
    Operation,
    *const c_void,
    sys::cusparseConstSpMatDescr_t,
    sys::cusparseConstSpMatDescr_t,
    *const c_void,
    sys::cusparseSpMatDescr_t,
    sys::cudaDataType,
    sys::cusparseSpGEMMAlg_t,
    sys::cusparseSpGEMMDescr_t,
    *mut usize,
    *mut c_void,
) -> Status;

const WHAT: &str = "multiply two sparse matrices";
const OWN: Operation = Operation::CUSPARSE_OPERATION_NON_TRANSPOSE;
const HOW: sys::cusparseSpGEMMAlg_t = sys::cusparseSpGEMMAlg_t::CUSPARSE_SPGEMM_DEFAULT;

impl Sparse {
    /// Multiplies two matrices that are stored as [`Storage::Csr`], after all that the stream was given so
    /// far. The host waits to learn how many numbers there are.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if shapes or types do not match; [`CudaError::Library`] for what the library
    /// does not have; [`CudaError::OutOfMemory`].
    ///
    /// # Safety
    ///
    /// The arrays are what their descriptions say. They live, and nothing else writes them, until the stream
    /// has come behind this.
    pub unsafe fn spgemm(&self, a: &Matrix, b: &Matrix) -> Result<Rows> {
        let types = |of: &Matrix| (of.number, of.index, of.storage);
        if a.columns != b.rows || types(a) != types(b) || a.storage != Storage::Csr {
            return Err(CudaError::argument(format!("no product of {a:?} and {b:?}")));
        }
        let empty = Matrix {
            rows: a.rows,
            columns: b.columns,
            stored: 0,
            outer: 0,
            inner: 0,
            values: 0,
            ..*a
        };
        let mut notes = ptr::null_mut();
        // SAFETY: the library was loaded, since there is a handle.
        check(unsafe { sys::cusparseSpGEMM_createDescr(&mut notes) }, WHAT)?;
        let notes = Notes(notes);
        let (number, stream) = (a.number, self.stream());
        let gemm =
            Gemm { sparse: self, a: a.make()?, b: b.make()?, c: empty.make()?, number, notes };
        // The library wants the first working memory until the second step is done, and both for the copy.
        let _first = gemm.work(sys::cusparseSpGEMM_workEstimation)?;
        let _second = gemm.work(sys::cusparseSpGEMM_compute)?;
        let (mut rows, mut columns, mut stored) = (0, 0, 0);
        // SAFETY: the description lives.
        let asked = unsafe {
            sys::cusparseSpMatGetSize(gemm.c.0.cast_const(), &mut rows, &mut columns, &mut stored)
        };
        check(asked, "tell the size of a product")?;
        let stored = usize::try_from(stored)
            .map_err(|_| CudaError::argument("a product of a negative size"))?;
        let bytes = |count: usize, each: usize| {
            count.checked_mul(each).ok_or(CudaError::OutOfMemory { bytes: usize::MAX })
        };
        let rows = Rows {
            starts: stream.alloc(bytes(a.rows + 1, a.index.bytes())?)?,
            columns: stream.alloc(bytes(stored, a.index.bytes())?)?,
            values: stream.alloc(bytes(stored, number.bytes())?)?,
            stored,
        };
        gemm.copy(&rows)?;
        Ok(rows)
    }
}

impl Gemm<'_> {
    /// A step: how much working memory it wants, and then the step itself.
    fn work(&self, step: Work) -> Result<Memory> {
        let mut bytes = 0;
        self.call(step, &mut bytes, ptr::null_mut())?;
        let buffer = self.sparse.stream().alloc(bytes.max(1))?;
        let address = ptr::without_provenance_mut(buffer.address() as usize);
        self.call(step, &mut bytes, address)?;
        Ok(buffer)
    }

    fn call(&self, step: Work, bytes: &mut usize, buffer: *mut c_void) -> Result<()> {
        let [one, zero] = self.number.one_and_zero();
        let sums = self.number.computed().raw();
        self.sparse.launch(WHAT, |handle| {
            let (a, b) = (self.a.0.cast_const(), self.b.0.cast_const());
            // SAFETY: the descriptions live; what they describe is the duty of the caller of `spgemm`.
            unsafe {
                step(
                    handle,
                    OWN,
                    OWN,
                    one,
                    a,
                    b,
                    zero,
                    self.c.0,
                    sums,
                    HOW,
                    self.notes.0,
                    bytes,
                    buffer,
                )
            }
        })
    }

    /// Writes the product to its place.
    fn copy(&self, to: &Rows) -> Result<()> {
        let [starts, columns, values] = [&to.starts, &to.columns, &to.values]
            .map(|memory| ptr::without_provenance_mut(memory.address() as usize));
        // SAFETY: the description lives, and so does the memory.
        let set = unsafe { sys::cusparseCsrSetPointers(self.c.0, starts, columns, values) };
        check(set, "describe a product")?;
        let [one, zero] = self.number.one_and_zero();
        let sums = self.number.computed().raw();
        self.sparse.launch(WHAT, |handle| {
            let (a, b) = (self.a.0.cast_const(), self.b.0.cast_const());
            // SAFETY: as above.
            unsafe {
                sys::cusparseSpGEMM_copy(
                    handle,
                    OWN,
                    OWN,
                    one,
                    a,
                    b,
                    zero,
                    self.c.0,
                    sums,
                    HOW,
                    self.notes.0,
                )
            }
        })
    }
}
