//! Matrices and vectors as they lie in a device's memory, and what the library makes of their descriptions.

use std::ffi::c_void;
use std::ptr;

use cudarc::cusparse::sys::{self, cudaDataType, cusparseIndexType_t, cusparseOrder_t};

use super::check;
use crate::error::{CudaError, Result};

/// The numbers of a matrix or a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Number {
    /// Integers of 8 bits. Sums are formed in 32 bits.
    I8,
    /// Integers of 32 bits.
    I32,
    /// 16 bits, IEEE. Sums are formed in 32 bits.
    F16,
    /// The upper half of 32 bits. Sums are formed in 32 bits.
    Bf16,
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
    /// Two of 32 bits.
    Complex64,
    /// Two of 64 bits.
    Complex128,
}

impl Number {
    /// Bytes of a number.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::F64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
        }
    }

    pub(crate) fn raw(self) -> cudaDataType {
        match self {
            Self::I8 => cudaDataType::CUDA_R_8I,
            Self::I32 => cudaDataType::CUDA_R_32I,
            Self::F16 => cudaDataType::CUDA_R_16F,
            Self::Bf16 => cudaDataType::CUDA_R_16BF,
            Self::F32 => cudaDataType::CUDA_R_32F,
            Self::F64 => cudaDataType::CUDA_R_64F,
            Self::Complex64 => cudaDataType::CUDA_C_32F,
            Self::Complex128 => cudaDataType::CUDA_C_64F,
        }
    }

    /// In which sums are formed.
    pub(crate) fn computed(self) -> Self {
        match self {
            Self::I8 => Self::I32,
            Self::F16 | Self::Bf16 => Self::F32,
            other => other,
        }
    }

    /// One and zero, in which sums are formed.
    pub(crate) fn one_and_zero(self) -> [*const c_void; 2] {
        // The imaginary part of one follows the real part.
        static SINGLE: [f32; 4] = [1.0, 0.0, 0.0, 0.0];
        static DOUBLE: [f64; 4] = [1.0, 0.0, 0.0, 0.0];
        match self.computed() {
            Self::F64 | Self::Complex128 => {
                [&raw const DOUBLE[0], &raw const DOUBLE[2]].map(<*const f64>::cast)
            }
            _ => [&raw const SINGLE[0], &raw const SINGLE[2]].map(<*const f32>::cast),
        }
    }
}

/// The indices of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Index {
    /// 32 bits, signed.
    I32,
    /// 64 bits, signed.
    I64,
}

impl Index {
    /// Bytes of an index.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::I32 => 4,
            Self::I64 => 8,
        }
    }

    /// The largest one.
    #[must_use]
    pub fn most(self) -> u64 {
        match self {
            Self::I32 => i32::MAX as u64,
            Self::I64 => i64::MAX as u64,
        }
    }

    fn raw(self) -> cusparseIndexType_t {
        match self {
            Self::I32 => cusparseIndexType_t::CUSPARSE_INDEX_32I,
            Self::I64 => cusparseIndexType_t::CUSPARSE_INDEX_64I,
        }
    }
}

/// Which numbers are neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// Those of a row.
    Rows,
    /// Those of a column.
    Columns,
}

impl Order {
    pub(crate) fn raw(self) -> cusparseOrder_t {
        match self {
            Self::Rows => cusparseOrder_t::CUSPARSE_ORDER_ROW,
            Self::Columns => cusparseOrder_t::CUSPARSE_ORDER_COL,
        }
    }

    /// The order of the transpose.
    #[must_use]
    pub fn transposed(self) -> Self {
        match self {
            Self::Rows => Self::Columns,
            Self::Columns => Self::Rows,
        }
    }
}

/// What the arrays of a sparse matrix say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Where each row begins, with the end of the last one; and columns.
    Csr,
    /// Where each column begins, with the end of the last one; and rows.
    Csc,
    /// Rows, ascending; and columns.
    Coo,
    /// As [`Storage::Csr`] of blocks. Rows and columns of the matrix are multiples of the blocks'.
    Bsr {
        /// Rows and columns of a block.
        size: [usize; 2],
        /// The order within a block.
        order: Order,
    },
}

/// A sparse matrix. Addresses are 0 for arrays without elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// What its arrays say.
    pub storage: Storage,
    /// Stored numbers; of blocks, the blocks.
    pub stored: usize,
    /// The type of numbers.
    pub number: Number,
    /// The type of indices.
    pub index: Index,
    /// The address of the first array of indices.
    pub outer: u64,
    /// The address of the second array of indices.
    pub inner: u64,
    /// The address of the numbers.
    pub values: u64,
}

/// A matrix that stores every number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dense {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// The order of numbers.
    pub order: Order,
    /// From one row to the next, or from one column to the next: numbers.
    pub stride: usize,
    /// The type of numbers.
    pub number: Number,
    /// The address of the numbers.
    pub values: u64,
}

impl Dense {
    /// A matrix without gaps.
    #[must_use]
    pub fn new(rows: usize, columns: usize, order: Order, number: Number, values: u64) -> Self {
        let stride = match order {
            Order::Rows => columns,
            Order::Columns => rows,
        };
        Self { rows, columns, order, stride, number, values }
    }
}

/// A vector that stores every number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Vector {
    /// How many numbers.
    pub length: usize,
    /// The type of numbers.
    pub number: Number,
    /// The address of the numbers.
    pub values: u64,
}

/// A size as the library counts.
pub(super) fn size(of: usize) -> Result<i64> {
    i64::try_from(of).map_err(|_| CudaError::argument(format!("{of} is no size of a matrix")))
}

fn pointer(address: u64) -> *mut c_void {
    ptr::without_provenance_mut(address as usize)
}

/// A description that the library made.
pub(super) struct Made<T: Raw>(pub(super) T);

/// A handle of a description.
pub(super) trait Raw: Copy {
    /// # Safety
    ///
    /// The library made it, and it is destroyed once.
    unsafe fn destroy(self);

    /// # Safety
    ///
    /// As [`Raw::destroy`].
    unsafe fn set_values(self, values: *mut c_void) -> sys::cusparseStatus_t;
}

impl<T: Raw> Made<T> {
    /// Says where the numbers are.
    pub(super) fn set_values(&mut self, values: u64) -> Result<()> {
        // SAFETY: the description lives.
        check(unsafe { self.0.set_values(pointer(values)) }, "describe values")
    }
}

impl<T: Raw> Drop for Made<T> {
    fn drop(&mut self) {
        // SAFETY: made below, destroyed once.
        unsafe { self.0.destroy() };
    }
}

// SAFETY: descriptions belong to no thread, and are changed by their owner only.
unsafe impl<T: Raw> Send for Made<T> {}
// SAFETY: as above.
unsafe impl<T: Raw> Sync for Made<T> {}

macro_rules! raw {
    ($($handle:ident: $destroy:ident, $set:ident;)*) => {$(
        impl Raw for sys::$handle {
            unsafe fn destroy(self) {
                // SAFETY: the caller's duty.
                let _ = unsafe { sys::$destroy(self) };
            }
            unsafe fn set_values(self, values: *mut c_void) -> sys::cusparseStatus_t {
                // SAFETY: the caller's duty.
                unsafe { sys::$set(self, values) }
            }
        }
    )*};
}

raw! {
    cusparseSpMatDescr_t: cusparseDestroySpMat, cusparseSpMatSetValues;
    cusparseDnMatDescr_t: cusparseDestroyDnMat, cusparseDnMatSetValues;
    cusparseDnVecDescr_t: cusparseDestroyDnVec, cusparseDnVecSetValues;
}

pub(super) type MadeSparse = Made<sys::cusparseSpMatDescr_t>;
pub(super) type MadeDense = Made<sys::cusparseDnMatDescr_t>;
pub(super) type MadeVector = Made<sys::cusparseDnVecDescr_t>;

impl Matrix {
    /// Why it cannot be; nothing if it can.
    fn check(&self) -> Result<()> {
        let Self { rows, columns, storage, stored, index, .. } = *self;
        if [rows, columns, stored].iter().any(|&count| count as u64 > index.most()) {
            return Err(CudaError::argument(format!(
                "indices of {} bytes for a matrix of {rows} x {columns} with {stored} entries",
                index.bytes()
            )));
        }
        if let Storage::Bsr { size: [height, width], .. } = storage
            && (height == 0
                || width == 0
                || !rows.is_multiple_of(height)
                || !columns.is_multiple_of(width))
        {
            return Err(CudaError::argument(format!(
                "blocks of {height} x {width} in a matrix of {rows} x {columns}"
            )));
        }
        Ok(())
    }

    pub(super) fn make(&self) -> Result<MadeSparse> {
        self.check()?;
        let [rows, columns, stored] = [size(self.rows)?, size(self.columns)?, size(self.stored)?];
        let [outer, inner, values] = [self.outer, self.inner, self.values].map(pointer);
        let (index, number) = (self.index.raw(), self.number.raw());
        let base = sys::cusparseIndexBase_t::CUSPARSE_INDEX_BASE_ZERO;
        let mut made = ptr::null_mut();
        // SAFETY: the library copies the addresses, and does not look at what is there.
        let asked = unsafe {
            match self.storage {
                Storage::Csr => sys::cusparseCreateCsr(
                    &mut made, rows, columns, stored, outer, inner, values, index, index, base,
                    number,
                ),
                Storage::Csc => sys::cusparseCreateCsc(
                    &mut made, rows, columns, stored, outer, inner, values, index, index, base,
                    number,
                ),
                Storage::Coo => sys::cusparseCreateCoo(
                    &mut made, rows, columns, stored, outer, inner, values, index, base, number,
                ),
                Storage::Bsr { size: [height, width], order } => {
                    let [height, width] = [size(height)?, size(width)?];
                    let (rows, columns) = (rows / height, columns / width);
                    sys::cusparseCreateBsr(
                        &mut made,
                        rows,
                        columns,
                        stored,
                        height,
                        width,
                        outer,
                        inner,
                        values,
                        index,
                        index,
                        base,
                        number,
                        order.raw(),
                    )
                }
            }
        };
        check(asked, "describe a sparse matrix")?;
        Ok(Made(made))
    }
}

impl Dense {
    pub(super) fn make(&self) -> Result<MadeDense> {
        let Self { rows, columns, order, stride, number, values } = *self;
        let along = match order {
            Order::Rows => columns,
            Order::Columns => rows,
        };
        if stride < along {
            return Err(CudaError::argument(format!("{along} numbers in a stride of {stride}")));
        }
        let mut made = ptr::null_mut();
        // SAFETY: as for a sparse matrix.
        let asked = unsafe {
            sys::cusparseCreateDnMat(
                &mut made,
                size(rows)?,
                size(columns)?,
                size(stride)?,
                pointer(values),
                number.raw(),
                order.raw(),
            )
        };
        check(asked, "describe a dense matrix")?;
        Ok(Made(made))
    }
}

impl Vector {
    pub(super) fn make(&self) -> Result<MadeVector> {
        let mut made = ptr::null_mut();
        // SAFETY: as for a sparse matrix.
        let asked = unsafe {
            sys::cusparseCreateDnVec(
                &mut made,
                size(self.length)?,
                pointer(self.values),
                self.number.raw(),
            )
        };
        check(asked, "describe a vector")?;
        Ok(Made(made))
    }
}
