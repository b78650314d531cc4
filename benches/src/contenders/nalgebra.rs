//! The crate `nalgebra-sparse`: compressed rows, dense operands by column.

use nalgebra_sparse::CsrMatrix;
use nalgebra_sparse::na::{DMatrix, DVector, RealField};
use nalgebra_sparse::ops::Op;
use nalgebra_sparse::ops::serial::spmm_csr_dense;
use ust::Tensor;

use super::loops::{Real, Rowwise};
use crate::matrix::case::Case;
use crate::matrix::contender::with_real;
use crate::matrix::contender::{Contender, Prepared, Rows, Surroundings, Version, remade, runner};

inventory::submit! { Contender {
    name: "nalgebra-sparse", about: "the crate nalgebra-sparse", prepare,
}}
inventory::submit! { Version {
    contender: "nalgebra-sparse", of: |_| option_env!("VERSION_OF_NALGEBRA_SPARSE").map(str::to_owned),
}}

fn prepare(case: &Case<'_>, _: &Surroundings) -> Prepared {
    with_real!(case.dtype, T => ready::<T>(case))
}

fn made<T: Real + RealField>(tensor: &Tensor) -> Option<CsrMatrix<T>> {
    let Rowwise { pos, crd, values } = Rowwise::of(tensor)?;
    let wide = |words: Vec<u32>| words.into_iter().map(|w| w as usize).collect();
    let (rows, columns) = (tensor.shape()[0], tensor.shape()[1]);
    CsrMatrix::try_from_csr_data(rows, columns, wide(pos), wide(crd), values).ok()
}

fn ready<T: Real + RealField>(case: &Case<'_>) -> Prepared {
    if case.format != "CSR" || case.threads != 1 || case.expression().is_none() {
        return Ok(None);
    }
    let Some(a) = made::<T>(case.first()) else { return Ok(None) };
    let (zero, one) = (num_traits::zero::<T>(), num_traits::one::<T>());
    let shape = case.shape.clone();
    match (case.op.name, case.values::<T>(1)) {
        ("spmv", Some(x)) => {
            let x = DVector::from_column_slice(x);
            let y = DVector::from_element(shape[0], zero);
            let work = move |y: &mut DVector<T>| {
                spmm_csr_dense(zero, y, one, Op::NoOp(&a), Op::NoOp(&x));
                Ok(())
            };
            runner(y, work, move |y| Ok(Rows::of_dense(&shape, y.as_slice())))
        }
        ("spmm32" | "spmm128", Some(b)) => {
            let b = DMatrix::from_row_slice(a.ncols(), shape[1], b);
            let c = DMatrix::from_element(shape[0], shape[1], zero);
            let work = move |c: &mut DMatrix<T>| {
                spmm_csr_dense(zero, c, one, Op::NoOp(&a), Op::NoOp(&b));
                Ok(())
            };
            runner(c, work, move |c| Ok(Rows::of_dense(&shape, c.transpose().as_slice())))
        }
        ("spgemm", _) => making(move || &a * &a),
        ("spadd", _) => {
            let Some(b) = made::<T>(&case.operands[1].1) else { return Ok(None) };
            making(move || &a + &b)
        }
        _ => Ok(None),
    }
}

fn making<T: Real + RealField>(mut make: impl FnMut() -> CsrMatrix<T> + 'static) -> Prepared {
    remade(
        move || Ok(make()),
        |out| Ok(Rows::of_csr(out.row_offsets(), out.col_indices(), out.values())),
    )
}
