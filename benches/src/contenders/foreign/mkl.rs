//! Intel's Math Kernel Library: inspector-executor sparse BLAS, with and without hints.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL};
use ust::Tensor;

use super::{function, load};
use crate::contenders::loops::{Real, Rowwise};
use crate::matrix::case::Case;
use crate::matrix::contender::{Contender, Prepared, Rows, Surroundings, runner};
use crate::with_real;

inventory::submit! { Contender {
    name: "mkl", about: "Intel MKL, where its library is found",
    prepare: |case, around| prepare(case, around, false),
}}
inventory::submit! { Contender {
    name: "mkl-hint", about: "Intel MKL after mkl_sparse_set_*_hint and mkl_sparse_optimize",
    prepare: |case, around| prepare(case, around, true),
}}

type Handle = *mut c_void;
const PLAIN: c_int = 10;
const TRANSPOSED: c_int = 11;
const ROW_MAJOR: c_int = 101;
/// How often a hint says that an operation will be done.
const CALLS: c_int = 1000;

#[repr(C)]
#[derive(Clone, Copy)]
struct Description {
    kind: c_int,
    mode: c_int,
    diagonal: c_int,
}

const GENERAL: Description = Description { kind: 20, mode: 40, diagonal: 50 };

/// Numbers that MKL has functions for, and the letter in their names.
trait Number: Real {
    const LETTER: char;
}

impl Number for f64 {
    const LETTER: char = 'd';
}

impl Number for f32 {
    const LETTER: char = 's';
}

type Create<T> = unsafe extern "C" fn(
    *mut Handle,
    c_int,
    c_int,
    c_int,
    *const u32,
    *const u32,
    *const u32,
    *const T,
) -> c_int;
type CreateBlocks<T> = unsafe extern "C" fn(
    *mut Handle,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const u32,
    *const u32,
    *const u32,
    *const T,
) -> c_int;
type Vector<T> = unsafe extern "C" fn(c_int, T, Handle, Description, *const T, T, *mut T) -> c_int;
type Matrix<T> = unsafe extern "C" fn(
    c_int,
    T,
    Handle,
    Description,
    c_int,
    *const T,
    c_int,
    c_int,
    T,
    *mut T,
    c_int,
) -> c_int;
type Add<T> = unsafe extern "C" fn(c_int, Handle, T, Handle, *mut Handle) -> c_int;
type Export<T> = unsafe extern "C" fn(
    Handle,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut *mut i32,
    *mut *mut i32,
    *mut *mut i32,
    *mut *mut T,
) -> c_int;

fn library(around: &Surroundings) -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<(Option<Library>, Library)>> = OnceLock::new();
    // Its threads come from another library beside it, which it looks for by name.
    let pair = LIBRARY.get_or_init(|| {
        Some((load(around, "libiomp5.so", RTLD_GLOBAL), load(around, "libmkl_rt.so", RTLD_GLOBAL)?))
    });
    pair.as_ref().map(|(_, library)| library)
}

fn status(code: c_int, what: &str) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{what} ended with status {code}")) }
}

/// A matrix of MKL's, and the arrays that it looks at.
struct Sparse<T> {
    handle: Handle,
    library: &'static Library,
    _arrays: Option<Rowwise<T>>,
}

impl<T> Drop for Sparse<T> {
    fn drop(&mut self) {
        type Destroy = unsafe extern "C" fn(Handle) -> c_int;
        // SAFETY: the handle was made by the library, and is used no more.
        unsafe {
            if let Ok(destroy) = function::<Destroy>(self.library, "mkl_sparse_destroy") {
                destroy(self.handle);
            }
        }
    }
}

impl<T: Number> Sparse<T> {
    /// The handle. A closure that asks for it keeps the matrix; one that reads the field does not.
    fn raw(&self) -> Handle {
        self.handle
    }

    fn of(
        library: &'static Library,
        tensor: &Tensor,
        format: &str,
    ) -> Result<Option<Self>, String> {
        if !["CSR", "CSC", "BSR(4, 4)"].contains(&format) || tensor.nse() > i32::MAX as usize {
            return Ok(None);
        }
        let Some(arrays) = Rowwise::<T>::of(tensor) else { return Ok(None) };
        let (rows, columns) = (tensor.shape()[0] as c_int, tensor.shape()[1] as c_int);
        let (start, crd, values) =
            (arrays.pos.as_ptr(), arrays.crd.as_ptr(), arrays.values.as_ptr());
        let mut handle = null_mut();
        let kind = &format[..3].to_ascii_lowercase();
        let name = format!("mkl_sparse_{}_create_{kind}", T::LETTER);
        // SAFETY: the type is that of the library's header; the arrays live as long as the handle.
        let code = unsafe {
            let end = start.add(1);
            if kind == "bsr" {
                if rows % 4 != 0 || columns % 4 != 0 {
                    return Ok(None);
                }
                let create: CreateBlocks<T> = function(library, &name)?;
                create(&mut handle, 0, ROW_MAJOR, rows / 4, columns / 4, 4, start, end, crd, values)
            } else {
                let create: Create<T> = function(library, &name)?;
                create(&mut handle, 0, rows, columns, start, end, crd, values)
            }
        };
        status(code, &name)?;
        Ok(Some(Self { handle, library, _arrays: Some(arrays) }))
    }

    /// Reads the arrays of a result.
    fn outcome(&self) -> Result<Vec<f64>, String> {
        let (mut base, mut rows, mut columns) = (0, 0, 0);
        let (mut start, mut end, mut crd, mut values) =
            (null_mut(), null_mut(), null_mut(), null_mut());
        let name = format!("mkl_sparse_{}_export_csr", T::LETTER);
        // SAFETY: the type is that of the library's header, and says how long the arrays are.
        unsafe {
            let export: Export<T> = function(self.library, &name)?;
            let sizes = (&mut base, &mut rows, &mut columns);
            let code = export(
                self.handle,
                sizes.0,
                sizes.1,
                sizes.2,
                &mut start,
                &mut end,
                &mut crd,
                &mut values,
            );
            status(code, &name)?;
            if rows == 0 {
                return Ok(Vec::new());
            }
            let mut pos = std::slice::from_raw_parts(start, rows as usize).to_vec();
            pos.push(*end.add(rows as usize - 1));
            let n = *pos.last().unwrap_or(&0) as usize;
            let (crd, values) = match n {
                0 => (&[][..], &[][..]),
                n => (std::slice::from_raw_parts(crd, n), std::slice::from_raw_parts(values, n)),
            };
            Ok(Rows::of_csr(&pos, crd, values))
        }
    }
}

fn prepare(case: &Case<'_>, around: &Surroundings, hint: bool) -> Prepared {
    if case.expression().is_none() {
        return Ok(None);
    }
    let Some(library) = library(around) else { return Ok(None) };
    with_real!(case.dtype, T => ready::<T>(case, library, hint))
}

fn ready<T: Number>(case: &Case<'_>, library: &'static Library, hint: bool) -> Prepared {
    type Threads = unsafe extern "C" fn(c_int);
    // SAFETY: the type is that of the library's header.
    let set_threads: Threads = unsafe { function(library, "MKL_Set_Num_Threads")? };
    let threads = case.threads as c_int;
    let Some(a) = Sparse::<T>::of(library, case.first(), &case.format)? else { return Ok(None) };
    match case.op.name {
        "spmv" | "spmvt" | "spmm32" | "spmm128" => {
            let Some(x) = case.values::<T>(1).map(<[T]>::to_vec) else { return Ok(None) };
            let n = if case.op.name.starts_with("spmm") { case.shape[1] as c_int } else { 1 };
            let vector = !case.op.name.starts_with("spmm");
            let way = if case.op.name == "spmvt" { TRANSPOSED } else { PLAIN };
            if hint {
                optimize(&a, way, vector, n)?;
            }
            // SAFETY: the types are those of the library's header.
            let (times_vector, times_matrix): (Vector<T>, Matrix<T>) = unsafe {
                let name = |end: &str| format!("mkl_sparse_{}_{end}", T::LETTER);
                (function(library, &name("mv"))?, function(library, &name("mm"))?)
            };
            let work = move |y: &mut Vec<T>| {
                let (one, zero, to) = (T::one(), T::zero(), y.as_mut_ptr());
                // SAFETY: operand and result have the lengths that the shapes of the case say.
                let code = unsafe {
                    set_threads(threads);
                    match vector {
                        true => times_vector(way, one, a.raw(), GENERAL, x.as_ptr(), zero, to),
                        false => times_matrix(
                            way,
                            one,
                            a.raw(),
                            GENERAL,
                            ROW_MAJOR,
                            x.as_ptr(),
                            n,
                            n,
                            zero,
                            to,
                            n,
                        ),
                    }
                };
                status(code, "mkl_sparse_mv or mm")
            };
            let shape = case.shape.clone();
            let y = vec![T::zero(); shape.iter().product()];
            runner(y, work, move |y| Ok(Rows::of_dense(&shape, y)))
        }
        "spgemm" | "spadd" if case.format == "CSR" && !hint => {
            let second = match case.op.name {
                "spadd" => Sparse::<T>::of(library, &case.operands[1].1, &case.format)?,
                _ => None,
            };
            sparse(a, second, set_threads, threads)
        }
        _ => Ok(None),
    }
}

/// A product with itself, or a sum with another matrix; rows sorted.
fn sparse<T: Number>(
    a: Sparse<T>,
    second: Option<Sparse<T>>,
    set_threads: unsafe extern "C" fn(c_int),
    threads: c_int,
) -> Prepared {
    type Product = unsafe extern "C" fn(c_int, Handle, Handle, *mut Handle) -> c_int;
    type Order = unsafe extern "C" fn(Handle) -> c_int;
    let library = a.library;
    // SAFETY: the types are those of the library's header.
    let (product, order, add): (Product, Order, Add<T>) = unsafe {
        let add = format!("mkl_sparse_{}_add", T::LETTER);
        (
            function(library, "mkl_sparse_spmm")?,
            function(library, "mkl_sparse_order")?,
            function(library, &add)?,
        )
    };
    let work = move |out: &mut Option<Sparse<T>>| {
        let mut handle = null_mut();
        // SAFETY: the operands live in this runner, the result is owned by the one that is kept.
        unsafe {
            set_threads(threads);
            let code = match &second {
                Some(b) => add(PLAIN, a.raw(), T::one(), b.raw(), &mut handle),
                None => product(PLAIN, a.raw(), a.raw(), &mut handle),
            };
            status(code, "mkl_sparse_spmm or add")?;
            status(order(handle), "mkl_sparse_order")?;
        }
        *out = Some(Sparse { handle, library, _arrays: None });
        Ok(())
    };
    runner(None, work, |out: &Option<Sparse<T>>| out.as_ref().ok_or("no result")?.outcome())
}

/// Tells what will be done, and lets the library look at the matrix.
fn optimize<T: Number>(a: &Sparse<T>, way: c_int, vector: bool, n: c_int) -> Result<(), String> {
    type HintVector = unsafe extern "C" fn(Handle, c_int, Description, c_int) -> c_int;
    type HintMatrix =
        unsafe extern "C" fn(Handle, c_int, Description, c_int, c_int, c_int) -> c_int;
    type Optimize = unsafe extern "C" fn(Handle) -> c_int;
    // SAFETY: the types are those of the library's header, the handle is the library's.
    unsafe {
        // A hint that is not supported changes nothing.
        if vector {
            let hint: HintVector = function(a.library, "mkl_sparse_set_mv_hint")?;
            hint(a.raw(), way, GENERAL, CALLS);
        } else {
            let hint: HintMatrix = function(a.library, "mkl_sparse_set_mm_hint")?;
            hint(a.raw(), way, GENERAL, ROW_MAJOR, n, CALLS);
        }
        let optimize: Optimize = function(a.library, "mkl_sparse_optimize")?;
        status(optimize(a.raw()), "mkl_sparse_optimize")
    }
}
