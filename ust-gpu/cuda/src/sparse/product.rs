//! Products whose results have places before they are computed.

use std::ffi::c_void;
use std::fmt;
use std::ptr;

use cudarc::cusparse::sys::{self, cusparseOperation_t as Operation, cusparseStatus_t as Status};

use super::Sparse;
use super::describe::{Dense, MadeDense, MadeSparse, MadeVector, Matrix, Number, Vector};
use crate::error::{CudaError, Result};
use crate::memory::Memory;
use crate::stream::Stream;

/// A product, ready to run, with the working memory of the library.
pub struct Product {
    sparse: Sparse,
    terms: Terms,
    number: Number,
    buffer: Memory,
}

enum Terms {
    /// `y = op(a) x`.
    Vector { op: Operation, a: MadeSparse, x: MadeVector, y: MadeVector },
    /// `c = op(a) b`.
    Dense { op: Operation, a: MadeSparse, b: MadeDense, c: MadeDense },
    /// `c = a b` where `c` stores numbers.
    Sampled { a: MadeDense, b: MadeDense, c: MadeSparse },
}

/// What the library shall do.
#[derive(Clone, Copy)]
enum Step {
    /// Tell the bytes of working memory.
    Size(*mut usize),
    /// Look at the sparse matrix.
    Look(*mut c_void),
    /// Multiply.
    Run(*mut c_void),
}

fn operation(transposed: bool) -> Operation {
    match transposed {
        true => Operation::CUSPARSE_OPERATION_TRANSPOSE,
        false => Operation::CUSPARSE_OPERATION_NON_TRANSPOSE,
    }
}

/// Rows and columns, exchanged if so.
fn shape(rows: usize, columns: usize, transposed: bool) -> (usize, usize) {
    if transposed { (columns, rows) } else { (rows, columns) }
}

fn mismatch(what: &str, all: [(usize, usize); 3]) -> CudaError {
    let [a, b, c] = all.map(|(rows, columns)| format!("{rows} x {columns}"));
    CudaError::argument(format!("no {what} of {a} and {b} has {c} numbers"))
}

impl Sparse {
    /// Prepares `y = a x`, or `y = aT x`. Nothing is computed. The result of numbers of 16 bits has such, or
    /// those of 32 bits in which sums are formed.
    ///
    /// # Errors
    ///
    /// [`CudaError::Argument`] if lengths or types do not match; [`CudaError::Library`] for what the library
    /// does not have; [`CudaError::OutOfMemory`].
    pub fn spmv(&self, a: &Matrix, transposed: bool, x: &Vector, y: &Vector) -> Result<Product> {
        let (rows, columns) = shape(a.rows, a.columns, transposed);
        if (y.length, x.length) != (rows, columns) {
            let shapes = [(rows, columns), (x.length, 1), (y.length, 1)];
            return Err(mismatch("product", shapes));
        }
        let numbers = [a.number, x.number, y.number];
        let (op, a) = (operation(transposed), a.make()?);
        self.prepare(Terms::Vector { op, a, x: x.make()?, y: y.make()? }, numbers)
    }

    /// Prepares `c = a b`, or `c = aT b`. Nothing is computed.
    ///
    /// # Errors
    ///
    /// As [`Sparse::spmv`].
    pub fn spmm(&self, a: &Matrix, transposed: bool, b: &Dense, c: &Dense) -> Result<Product> {
        let (rows, inner) = shape(a.rows, a.columns, transposed);
        if (b.rows, (c.rows, c.columns)) != (inner, (rows, b.columns)) {
            let shapes = [(rows, inner), (b.rows, b.columns), (c.rows, c.columns)];
            return Err(mismatch("product", shapes));
        }
        let numbers = [a.number, b.number, c.number];
        let (op, a) = (operation(transposed), a.make()?);
        self.prepare(Terms::Dense { op, a, b: b.make()?, c: c.make()? }, numbers)
    }

    /// Prepares `c = a b`, of which only the numbers are computed that `c` stores. Nothing is computed.
    ///
    /// # Errors
    ///
    /// As [`Sparse::spmv`].
    pub fn sddmm(&self, a: &Dense, b: &Dense, c: &Matrix) -> Result<Product> {
        if (a.columns, (c.rows, c.columns)) != (b.rows, (a.rows, b.columns)) {
            let shapes = [(a.rows, a.columns), (b.rows, b.columns), (c.rows, c.columns)];
            return Err(mismatch("product", shapes));
        }
        let numbers = [a.number, b.number, c.number];
        self.prepare(Terms::Sampled { a: a.make()?, b: b.make()?, c: c.make()? }, numbers)
    }

    fn prepare(&self, terms: Terms, numbers: [Number; 3]) -> Result<Product> {
        let [number, other, result] = numbers;
        if other != number || ![number, number.computed()].contains(&result) {
            return Err(CudaError::argument(format!("a product of different types: {numbers:?}")));
        }
        let mut bytes = 0;
        self.call(terms.name(), |handle| {
            // SAFETY: the descriptions live; no memory of the device is touched.
            unsafe { terms.step(handle, number, Step::Size(&mut bytes)) }
        })?;
        // Without an address the library may take itself to be asked for the size.
        let buffer = self.stream().alloc(bytes.max(1))?;
        Ok(Product { sparse: self.clone(), terms, number, buffer })
    }
}

impl Terms {
    fn name(&self) -> &'static str {
        match self {
            Self::Vector { .. } => "multiply a matrix by a vector",
            Self::Dense { .. } => "multiply a matrix by a dense matrix",
            Self::Sampled { .. } => "multiply dense matrices where a sparse one stores numbers",
        }
    }

    /// # Safety
    ///
    /// What the library touches lives until it is done.
    unsafe fn step(&self, handle: sys::cusparseHandle_t, number: Number, step: Step) -> Status {
        let [one, zero] = number.one_and_zero();
        let sums = number.computed().raw();
        // SAFETY: the descriptions live, and have the numbers' type. The rest is the caller's duty.
        unsafe {
            match self {
                Self::Vector { op, a, x, y } => {
                    let (op, a, x, y) = (*op, a.0.cast_const(), x.0.cast_const(), y.0);
                    let how = sys::cusparseSpMVAlg_t::CUSPARSE_SPMV_ALG_DEFAULT;
                    match step {
                        Step::Size(to) => sys::cusparseSpMV_bufferSize(
                            handle, op, one, a, x, zero, y, sums, how, to,
                        ),
                        Step::Look(buffer) => sys::cusparseSpMV_preprocess(
                            handle, op, one, a, x, zero, y, sums, how, buffer,
                        ),
                        Step::Run(buffer) => {
                            sys::cusparseSpMV(handle, op, one, a, x, zero, y, sums, how, buffer)
                        }
                    }
                }
                Self::Dense { op, a, b, c } => {
                    let (op, a, b, c) = (*op, a.0.cast_const(), b.0.cast_const(), c.0);
                    let own = operation(false);
                    let how = sys::cusparseSpMMAlg_t::CUSPARSE_SPMM_ALG_DEFAULT;
                    match step {
                        Step::Size(to) => sys::cusparseSpMM_bufferSize(
                            handle, op, own, one, a, b, zero, c, sums, how, to,
                        ),
                        Step::Look(buffer) => sys::cusparseSpMM_preprocess(
                            handle, op, own, one, a, b, zero, c, sums, how, buffer,
                        ),
                        Step::Run(buffer) => sys::cusparseSpMM(
                            handle, op, own, one, a, b, zero, c, sums, how, buffer,
                        ),
                    }
                }
                Self::Sampled { a, b, c } => {
                    let (a, b, c) = (a.0.cast_const(), b.0.cast_const(), c.0);
                    let own = operation(false);
                    let how = sys::cusparseSDDMMAlg_t::CUSPARSE_SDDMM_ALG_DEFAULT;
                    match step {
                        Step::Size(to) => sys::cusparseSDDMM_bufferSize(
                            handle, own, own, one, a, b, zero, c, sums, how, to,
                        ),
                        Step::Look(buffer) => sys::cusparseSDDMM_preprocess(
                            handle, own, own, one, a, b, zero, c, sums, how, buffer,
                        ),
                        Step::Run(buffer) => sys::cusparseSDDMM(
                            handle, own, own, one, a, b, zero, c, sums, how, buffer,
                        ),
                    }
                }
            }
        }
    }
}

impl Product {
    /// Looks at the sparse matrix once, to make runs faster. It does nothing if the library knows no way to do so.
    ///
    /// # Errors
    ///
    /// [`CudaError::Library`].
    ///
    /// # Safety
    ///
    /// The arrays of all operands are what their descriptions say. They live, and nothing else writes them,
    /// until the stream has come behind this. The indices stay as they are as long as the product is run.
    pub unsafe fn preprocess(&mut self) -> Result<()> {
        let unsupported = Status::CUSPARSE_STATUS_NOT_SUPPORTED as u32;
        match self.launch(Step::Look(self.buffer())) {
            Err(CudaError::Library { code, .. }) if code == unsupported => Ok(()),
            looked => looked,
        }
    }

    /// Multiplies, after all that the stream was given so far, and does not wait for it. `values` are the
    /// addresses of the numbers of the two factors and of the result.
    ///
    /// # Errors
    ///
    /// [`CudaError::Library`].
    ///
    /// # Safety
    ///
    /// As for [`Product::preprocess`], with the numbers at these addresses. Those of the result, and the
    /// product itself, are nobody else's until then.
    pub unsafe fn run(&mut self, values: [u64; 3]) -> Result<()> {
        let [first, second, third] = values;
        match &mut self.terms {
            Terms::Vector { a, x, y, .. } => {
                a.set_values(first)?;
                x.set_values(second)?;
                y.set_values(third)?;
            }
            Terms::Dense { a, b, c, .. } => {
                a.set_values(first)?;
                b.set_values(second)?;
                c.set_values(third)?;
            }
            Terms::Sampled { a, b, c } => {
                a.set_values(first)?;
                b.set_values(second)?;
                c.set_values(third)?;
            }
        }
        let step = Step::Run(self.buffer());
        self.launch(step)
    }

    fn launch(&self, step: Step) -> Result<()> {
        let Self { sparse, terms, number, .. } = self;
        // SAFETY: the duty of the callers of the two functions above.
        sparse.launch(terms.name(), |handle| unsafe { terms.step(handle, *number, step) })
    }

    fn buffer(&self) -> *mut c_void {
        ptr::without_provenance_mut(self.buffer.address() as usize)
    }

    /// The stream that it runs on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.sparse.stream()
    }

    /// Bytes of working memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }
}

impl fmt::Debug for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Product({}, {} bytes of working memory)", self.terms.name(), self.bytes())
    }
}
