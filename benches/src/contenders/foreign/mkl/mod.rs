//! Intel's Math Kernel Library: inspector-executor sparse BLAS, with and without hints.

mod matrix;

use std::ffi::{c_char, c_int};
use std::ptr::null_mut;
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_GLOBAL};

use super::super::BLOCKTIME;
use super::{function, load};
use crate::matrix::case::Case;
use crate::matrix::contender::with_real;
use crate::matrix::contender::{Contender, Prepared, Rows, Surroundings, Version, remade, runner};
use matrix::{
    Add, CALLS, Description, GENERAL, Handle, Matrix, Number, PLAIN, ROW_MAJOR, Sparse, TRANSPOSED,
    Vector, status,
};

inventory::submit! { Contender {
    name: "mkl", about: "Intel MKL, where its library is found",
    prepare: |case, around| prepare(case, around, false),
}}
inventory::submit! { Contender {
    name: "mkl-hint", about: "Intel MKL after mkl_sparse_set_*_hint and mkl_sparse_optimize",
    prepare: |case, around| prepare(case, around, true),
}}

inventory::submit! { Version { contender: "mkl", of: version } }
inventory::submit! { Version { contender: "mkl-hint", of: version } }

/// The version that the library tells of itself, such as `2024.1`.
fn version(around: &Surroundings) -> Option<String> {
    type Tell = unsafe extern "C" fn(*mut c_char, c_int);
    const LENGTH: usize = 200;
    let library = library(around)?;
    let mut text = [0_u8; LENGTH];
    // SAFETY: the type is that of the library's header; it writes no more than it is allowed.
    unsafe {
        let tell: Tell = function(library, "mkl_get_version_string").ok()?;
        tell(text.as_mut_ptr().cast(), LENGTH as c_int);
    }
    // "Intel(R) oneAPI Math Kernel Library Version 2024.1-Product Build 20240215 for ..."
    let text = String::from_utf8_lossy(&text);
    let (_, after) = text.split_once("Version ")?;
    after.split([' ', '-']).next().map(str::to_owned)
}

fn library(around: &Surroundings) -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<(Option<Library>, Library)>> = OnceLock::new();
    // Its threads come from another library beside it, which it looks for by name.
    let pair = LIBRARY.get_or_init(|| {
        let threads = load(around, "libiomp5.so", RTLD_GLOBAL);
        if let Some(threads) = &threads {
            rest_soon(threads);
        }
        Some((threads, load(around, "libmkl_rt.so", RTLD_GLOBAL)?))
    });
    pair.as_ref().map(|(_, library)| library)
}

/// Has threads rest after [`BLOCKTIME`], not after the 200 milliseconds that they would take.
fn rest_soon(threads: &Library) {
    type Milliseconds = unsafe extern "C" fn(c_int);
    // SAFETY: the type is that of the library's header.
    if let Ok(set) = unsafe { threads.get::<Milliseconds>(b"kmp_set_blocktime") } {
        // SAFETY: any number may be given.
        unsafe { set(BLOCKTIME as c_int) };
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
    let make = move || {
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
        Ok(Sparse { handle, library, _arrays: None })
    };
    remade(make, |out: &Sparse<T>| out.outcome())
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
