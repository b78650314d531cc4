//! The crate `sprs`: compressed rows and columns.

use ust::Tensor;
use ust::ndarray::{ArrayView2, ArrayViewMut2};

use super::loops::{Real, Rowwise};
use crate::matrix::case::Case;
use crate::matrix::contender::with_real;
use crate::matrix::contender::{Contender, Prepared, Rows, Surroundings, Version, remade, runner};

inventory::submit! { Contender { name: "sprs", about: "the crate sprs", prepare } }
inventory::submit! { Version {
    contender: "sprs", of: |_| option_env!("VERSION_OF_SPRS").map(str::to_owned),
}}

/// Numbers that the crate multiplies.
trait Number: Real + sprs::MulAcc {}

impl<T: Real + sprs::MulAcc> Number for T {}

type Matrix<T> = sprs::CsMatI<T, u32, u32>;

fn prepare(case: &Case<'_>, _: &Surroundings) -> Prepared {
    with_real!(case.dtype, T => ready::<T>(case))
}

fn made<T: Number>(tensor: &Tensor) -> Option<Matrix<T>> {
    let Rowwise { pos, crd, values } = Rowwise::of(tensor)?;
    Matrix::try_new((tensor.shape()[0], tensor.shape()[1]), pos, crd, values).ok()
}

fn ready<T: Number>(case: &Case<'_>) -> Prepared {
    if case.format != "CSR" || case.expression().is_none() || case.threads != 1 {
        return Ok(None);
    }
    let Some(a) = made::<T>(case.first()) else { return Ok(None) };
    match case.op.name {
        "spmv" | "spmm32" | "spmm128" => {
            let Some(x) = case.values::<T>(1).map(<[T]>::to_vec) else { return Ok(None) };
            let (shape, y) = (case.shape.clone(), vec![T::nan(); case.shape.iter().product()]);
            let n = shape.get(1).copied().unwrap_or(1);
            let work = move |y: &mut Vec<T>| {
                y.fill(T::zero());
                if n == 1 {
                    sprs::prod::mul_acc_mat_vec_csr(a.view(), &x[..], &mut y[..]);
                    return Ok(());
                }
                let x = ArrayView2::from_shape((a.cols(), n), &x).map_err(|e| e.to_string())?;
                let y = ArrayViewMut2::from_shape((a.rows(), n), y).map_err(|e| e.to_string())?;
                sprs::prod::csr_mulacc_dense_rowmaj(a.view(), x, y);
                Ok(())
            };
            runner(y, work, move |y| Ok(Rows::of_dense(&shape, y)))
        }
        "spgemm" => making(move || {
            sprs::smmp::set_thread_threading_strategy(sprs::smmp::ThreadingStrategy::Fixed(1));
            sprs::smmp::mul_csr_csr::<T, T, T, u32, u32>(a.view(), a.view())
        }),
        "spadd" => {
            let Some(b) = made::<T>(&case.operands[1].1) else { return Ok(None) };
            making(move || sprs::binop::csmat_binop(a.view(), b.view(), |&x: &T, &y: &T| x + y))
        }
        _ => Ok(None),
    }
}

fn making<T: Number>(mut make: impl FnMut() -> Matrix<T> + 'static) -> Prepared {
    remade(
        move || Ok(make()),
        |out| Ok(Rows::of_csr(out.indptr().raw_storage(), out.indices(), out.data())),
    )
}
