//! The crate `faer`: compressed columns; compressed rows are those of the transposed matrix.

use std::num::NonZeroUsize;

use faer::sparse::linalg::matmul::{
    dense_sparse_matmul, sparse_dense_matmul, sparse_sparse_matmul,
};
use faer::sparse::{SparseColMat, SparseColMatRef, SymbolicSparseColMat};
use faer::traits::ComplexField;
use faer::{Accum, MatMut, MatRef, Par};
use ust::Tensor;

use super::loops::{Real, Rowwise};
use crate::matrix::case::Case;
use crate::matrix::contender::with_real;
use crate::matrix::contender::{Contender, Prepared, Rows, Surroundings, Version, remade, runner};

inventory::submit! { Contender { name: "faer", about: "the crate faer", prepare } }
inventory::submit! { Version {
    contender: "faer", of: |_| option_env!("VERSION_OF_FAER").map(str::to_owned),
}}

type Matrix<T> = SparseColMat<u32, T>;

fn prepare(case: &Case<'_>, _: &Surroundings) -> Prepared {
    with_real!(case.dtype, T => ready::<T>(case))
}

/// A matrix in CSC, or the transpose of one in CSR.
fn made<T: Real + ComplexField>(tensor: &Tensor) -> Option<Matrix<T>> {
    let Rowwise { pos, crd, values } = Rowwise::of(tensor)?;
    let (mut rows, mut columns) = (tensor.shape()[0], tensor.shape()[1]);
    if pos.len() == rows + 1 && tensor.format().name().as_deref() == Some("CSR") {
        (rows, columns) = (columns, rows);
    }
    let pattern = SymbolicSparseColMat::new_checked(rows, columns, pos, None, crd);
    Some(SparseColMat::new(pattern, values))
}

fn ready<T: Real + ComplexField>(case: &Case<'_>) -> Prepared {
    let by_rows = match &case.format[..] {
        "CSR" => true,
        "CSC" => false,
        _ => return Ok(None),
    };
    if case.expression().is_none() {
        return Ok(None);
    }
    let Some(a) = made::<T>(case.first()) else { return Ok(None) };
    let par = match case.threads {
        1 => Par::Seq,
        n => NonZeroUsize::new(n).map_or(Par::Seq, Par::Rayon),
    };
    let one = <T as num_traits::One>::one();
    let shape = case.shape.clone();
    match case.op.name {
        "spmv" | "spmvt" | "spmm32" | "spmm128" => {
            let Some(x) = case.values::<T>(1).map(<[T]>::to_vec) else { return Ok(None) };
            let n = if case.op.name.starts_with("spmm") { shape[1] } else { 1 };
            let (rows, inner) = (shape[0], x.len() / n);
            // What is multiplied from the left is stored by columns; else everything is transposed.
            let left = by_rows == (case.op.name == "spmvt");
            let y = vec![num_traits::Float::nan(); shape.iter().product()];
            let work = move |y: &mut Vec<T>| {
                let y = MatMut::from_row_major_slice_mut(y, rows, n);
                let x = MatRef::from_row_major_slice(&x, inner, n);
                let a: SparseColMatRef<'_, u32, T> = a.as_ref();
                if left {
                    sparse_dense_matmul(y, Accum::Replace, a, x, one, par);
                } else {
                    let y = y.transpose_mut();
                    dense_sparse_matmul(y, Accum::Replace, x.transpose(), a, one, par);
                }
                Ok(())
            };
            runner(y, work, move |y| Ok(Rows::of_dense(&shape, y)))
        }
        // The square of the transposed matrix is the transposed square.
        "spgemm" if by_rows => making(move || {
            sparse_sparse_matmul(a.as_ref(), a.as_ref(), one, par).map_err(|e| e.to_string())
        }),
        "spadd" if by_rows && case.threads == 1 => {
            let Some(b) = made::<T>(&case.operands[1].1) else { return Ok(None) };
            making(move || {
                faer::sparse::ops::add(a.as_ref(), b.as_ref()).map_err(|e| e.to_string())
            })
        }
        _ => Ok(None),
    }
}

fn making<T: Real + ComplexField>(
    make: impl FnMut() -> Result<Matrix<T>, String> + 'static,
) -> Prepared {
    remade(make, |out| Ok(Rows::of_csr(out.col_ptr(), out.row_idx(), out.val())))
}
