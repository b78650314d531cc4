//! SuiteSparse:GraphBLAS, whose matrices are opaque: it chooses formats itself, and takes part where
//! the operand is in CSR.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use libloading::os::unix::Library;
use ust::Tensor;

use super::{function, load};
use crate::contenders::loops::Real;
use crate::matrix::case::Case;
use crate::matrix::contender::with_real;
use crate::matrix::contender::{Contender, Prepared, Rows, Surroundings, Version, remade};

inventory::submit! { Contender {
    name: "graphblas", about: "SuiteSparse:GraphBLAS, where its library is found", prepare,
}}

inventory::submit! { Version { contender: "graphblas", of: version } }

/// The version of the interface that the library has: the library's own is told where it is installed alone.
fn version(around: &Surroundings) -> Option<String> {
    type Tell = unsafe extern "C" fn(*mut c_uint, *mut c_uint) -> c_int;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the type is that of the library's header.
    let told = unsafe {
        let tell: Tell = function(library(around)?, "GrB_getVersion").ok()?;
        tell(&raw mut major, &raw mut minor)
    };
    (told == 0).then(|| format!("(C API {major}.{minor})"))
}

/// The library's own OpenMP comes before any that is loaded already.
const DEEP: c_int = 8;

type Object = *mut c_void;
/// `GxB_NTHREADS` of the library since version 9.
const THREADS: c_int = 7086;
const MATERIALIZE: c_int = 1;

/// Numbers that the library has functions for, and the end of their names.
trait Number: Real {
    const NAME: &str;
}

impl Number for f64 {
    const NAME: &str = "FP64";
}

impl Number for f32 {
    const NAME: &str = "FP32";
}

type New = unsafe extern "C" fn(*mut Object, Object, u64, u64) -> c_int;
type Build<T> =
    unsafe extern "C" fn(Object, *const u64, *const u64, *const T, u64, Object) -> c_int;
type Extract<T> = unsafe extern "C" fn(*mut u64, *mut u64, *mut T, *mut u64, Object) -> c_int;
type Product =
    unsafe extern "C" fn(Object, Object, Object, Object, Object, Object, Object) -> c_int;
type SetInt = unsafe extern "C" fn(Object, i32, c_int) -> c_int;

fn library(around: &Surroundings) -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<Library>> = OnceLock::new();
    let start = || {
        let library = load(around, "libgraphblas", DEEP)?;
        // SAFETY: the type is that of the library's header; it is called once in the process.
        unsafe {
            let init = library.get::<unsafe extern "C" fn(c_int) -> c_int>(b"GrB_init").ok()?;
            // Blocking: each call ends with its work done.
            (init(1) == 0).then_some(())?;
        }
        Some(library)
    };
    LIBRARY.get_or_init(start).as_ref()
}

fn status(code: c_int, what: &str) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{what} ended with status {code}")) }
}

/// One of the library's predefined objects.
fn object(library: &'static Library, name: &str) -> Result<Object, String> {
    // SAFETY: these names stand for variables that hold a pointer.
    unsafe { function::<*const Object>(library, name).map(|at| *at) }
}

/// A matrix of the library's. Vectors are matrices of one column.
struct Matrix {
    handle: Object,
    library: &'static Library,
}

impl Drop for Matrix {
    fn drop(&mut self) {
        type Free = unsafe extern "C" fn(*mut Object) -> c_int;
        // SAFETY: the handle was made by the library, and is used no more.
        unsafe {
            if let Ok(free) = function::<Free>(self.library, "GrB_Matrix_free") {
                free(&raw mut self.handle);
            }
        }
    }
}

impl Matrix {
    fn new<T: Number>(library: &'static Library, shape: [usize; 2]) -> Result<Self, String> {
        let kind = object(library, &format!("GrB_{}", T::NAME))?;
        let mut handle = null_mut();
        // SAFETY: the type is that of the library's header.
        unsafe {
            let new: New = function(library, "GrB_Matrix_new")?;
            let code = new(&raw mut handle, kind, shape[0] as u64, shape[1] as u64);
            status(code, "GrB_Matrix_new")?;
        }
        Ok(Self { handle, library })
    }

    /// A copy of a tensor's entries.
    fn of<T: Number>(library: &'static Library, tensor: &Tensor) -> Result<Self, String> {
        let coo = tensor.to_coo().map_err(|e| e.to_string())?;
        let words = |column: &Vec<i64>| column.iter().map(|&c| c as u64).collect::<Vec<_>>();
        let rows = words(&coo.crd[0]);
        let columns = coo.crd.get(1).map_or_else(|| vec![0; rows.len()], words);
        let values = coo.values.typed::<T>().map_err(|e| e.to_string())?;
        let extent = coo.shape.get(1).copied().unwrap_or(1);
        let matrix = Self::new::<T>(library, [coo.shape[0], extent])?;
        let plus = object(library, &format!("GrB_PLUS_{}", T::NAME))?;
        let n = values.len() as u64;
        // SAFETY: the types are those of the library's header, the arrays have n elements each.
        unsafe {
            let build: Build<T> = function(library, &format!("GrB_Matrix_build_{}", T::NAME))?;
            let (rows, columns, values) = (rows.as_ptr(), columns.as_ptr(), values.as_ptr());
            status(build(matrix.handle, rows, columns, values, n, plus), "GrB_Matrix_build")?;
        }
        matrix.wait()?;
        Ok(matrix)
    }

    /// The handle. A closure that asks for it keeps the matrix; one that reads the field does not.
    fn raw(&self) -> Object {
        self.handle
    }

    fn wait(&self) -> Result<(), String> {
        type Wait = unsafe extern "C" fn(Object, c_int) -> c_int;
        // SAFETY: the type is that of the library's header.
        unsafe {
            let wait: Wait = function(self.library, "GrB_Matrix_wait")?;
            status(wait(self.handle, MATERIALIZE), "GrB_Matrix_wait")
        }
    }

    fn outcome<T: Number>(&self, shape: &[usize]) -> Result<Vec<f64>, String> {
        type Count = unsafe extern "C" fn(*mut u64, Object) -> c_int;
        let mut n = 0;
        // SAFETY: the types are those of the library's header; the arrays have room for all.
        let (rows, columns, values) = unsafe {
            let count: Count = function(self.library, "GrB_Matrix_nvals")?;
            status(count(&raw mut n, self.handle), "GrB_Matrix_nvals")?;
            let (mut rows, mut columns) = (vec![0; n as usize], vec![0; n as usize]);
            let mut values = vec![T::zero(); n as usize];
            let name = format!("GrB_Matrix_extractTuples_{}", T::NAME);
            let extract: Extract<T> = function(self.library, &name)?;
            let arrays = (rows.as_mut_ptr(), columns.as_mut_ptr(), values.as_mut_ptr());
            let code = extract(arrays.0, arrays.1, arrays.2, &raw mut n, self.handle);
            status(code, "GrB_Matrix_extractTuples")?;
            (rows, columns, values)
        };
        let mut sums = Rows::new(shape[0]);
        for ((row, column), value) in rows.into_iter().zip(columns).zip(values) {
            match shape.len() {
                1 => sums.set(row as usize, value.into()),
                _ => sums.add(row as usize, column as usize, value.into()),
            }
        }
        Ok(sums.numbers())
    }
}

fn prepare(case: &Case<'_>, around: &Surroundings) -> Prepared {
    let taken = ["spmv", "spmm32", "spmm128", "spgemm", "spadd"].contains(&case.op.name);
    if !taken || case.format != "CSR" {
        return Ok(None);
    }
    let Some(library) = library(around) else { return Ok(None) };
    with_real!(case.dtype, T => ready::<T>(case, library))
}

fn ready<T: Number>(case: &Case<'_>, library: &'static Library) -> Prepared {
    let a = Matrix::of::<T>(library, case.first())?;
    let b = match case.operands.get(1) {
        Some((_, tensor)) => Some(Matrix::of::<T>(library, tensor)?),
        None => None,
    };
    let adds = case.op.name == "spadd";
    let (name, with) = match adds {
        true => ("GrB_Matrix_eWiseAdd_BinaryOp", format!("GrB_PLUS_{}", T::NAME)),
        false => ("GrB_mxm", format!("GrB_PLUS_TIMES_SEMIRING_{}", T::NAME)),
    };
    let with = object(library, &with)?;
    // SAFETY: the types are those of the library's header; both functions have the same.
    let (compute, set): (Product, SetInt) =
        unsafe { (function(library, name)?, function(library, "GrB_Global_set_INT32")?) };
    let global = object(library, "GrB_GLOBAL")?;
    let shape = case.shape.clone();
    let extents = [shape[0], shape.get(1).copied().unwrap_or(1)];
    let threads = case.threads as i32;
    let make = move || {
        let result = Matrix::new::<T>(library, extents)?;
        let nothing: Object = null::<c_void>().cast_mut();
        let right = b.as_ref().map_or(a.raw(), Matrix::raw);
        // SAFETY: the handles are the library's, and live in this runner.
        unsafe {
            status(set(global, threads, THREADS), "GrB_Global_set_INT32")?;
            let code = compute(result.handle, nothing, nothing, with, a.raw(), right, nothing);
            status(code, name)?;
        }
        result.wait()?;
        Ok(result)
    };
    remade(make, move |out: &Matrix| out.outcome::<T>(&shape))
}
