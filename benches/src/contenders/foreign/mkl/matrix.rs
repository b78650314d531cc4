//! MKL's matrices, and the types of its functions.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use libloading::os::unix::Library;
use ust::Tensor;

use super::function;
use crate::contenders::loops::{Real, Rowwise};
use crate::matrix::contender::Rows;

pub(super) type Handle = *mut c_void;
pub(super) const PLAIN: c_int = 10;
pub(super) const TRANSPOSED: c_int = 11;
pub(super) const ROW_MAJOR: c_int = 101;
/// How often a hint says that an operation will be done.
pub(super) const CALLS: c_int = 1000;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Description {
    pub(super) kind: c_int,
    pub(super) mode: c_int,
    diagonal: c_int,
}

pub(super) const GENERAL: Description = Description { kind: 20, mode: 40, diagonal: 50 };

/// Numbers that MKL has functions for, and the letter in their names.
pub(super) trait Number: Real {
    const LETTER: char;
}

impl Number for f64 {
    const LETTER: char = 'd';
}

impl Number for f32 {
    const LETTER: char = 's';
}

pub(super) type Create<T> = unsafe extern "C" fn(
    *mut Handle,
    c_int,
    c_int,
    c_int,
    *const u32,
    *const u32,
    *const u32,
    *const T,
) -> c_int;
pub(super) type CreateBlocks<T> = unsafe extern "C" fn(
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
pub(super) type Vector<T> =
    unsafe extern "C" fn(c_int, T, Handle, Description, *const T, T, *mut T) -> c_int;
pub(super) type Matrix<T> = unsafe extern "C" fn(
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
pub(super) type Add<T> = unsafe extern "C" fn(c_int, Handle, T, Handle, *mut Handle) -> c_int;
pub(super) type Export<T> = unsafe extern "C" fn(
    Handle,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut *mut i32,
    *mut *mut i32,
    *mut *mut i32,
    *mut *mut T,
) -> c_int;

pub(super) fn status(code: c_int, what: &str) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{what} ended with status {code}")) }
}

/// A matrix of MKL's, and the arrays that it looks at.
pub(super) struct Sparse<T> {
    pub(super) handle: Handle,
    pub(super) library: &'static Library,
    pub(super) _arrays: Option<Rowwise<T>>,
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
    pub(super) fn raw(&self) -> Handle {
        self.handle
    }

    pub(super) fn of(
        library: &'static Library,
        tensor: &Tensor,
        format: &str,
    ) -> Result<Option<Self>, String> {
        // Its blocks are squares.
        let block = format.strip_prefix("BSR(").and_then(|rest| {
            let (m, n) = rest.strip_suffix(')')?.split_once(", ")?;
            m.parse::<c_int>().ok().filter(|_| m == n)
        });
        let known = block.is_some() || ["CSR", "CSC"].contains(&format);
        if !known || tensor.nse() > i32::MAX as usize {
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
            if let Some(n) = block {
                if rows % n != 0 || columns % n != 0 {
                    return Ok(None);
                }
                let create: CreateBlocks<T> = function(library, &name)?;
                create(&mut handle, 0, ROW_MAJOR, rows / n, columns / n, n, start, end, crd, values)
            } else {
                let create: Create<T> = function(library, &name)?;
                create(&mut handle, 0, rows, columns, start, end, crd, values)
            }
        };
        status(code, &name)?;
        Ok(Some(Self { handle, library, _arrays: Some(arrays) }))
    }

    /// Reads the arrays of a result.
    pub(super) fn outcome(&self) -> Result<Vec<f64>, String> {
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
