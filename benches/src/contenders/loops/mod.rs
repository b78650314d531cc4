//! Plain loops, written by hand for one operation and one format each: what a careful person, or a
//! compiler of tensor expressions, writes in scalar code. One thread; compressed rows times dense
//! operands also in parallel.

mod build;
mod dense;
mod sparse;
mod tree;

use ust::tensor::StoredElement;
use ust::{IndexArray, Tensor};

use crate::matrix::case::Case;
use crate::matrix::contender::with_real;
use crate::matrix::contender::{Contender, Prepared, Rows, Surroundings, runner};

inventory::submit! { Contender {
    name: "loop", about: "plain loops written by hand for the operation and the format", prepare,
}}

/// Numbers that the loops compute with.
pub(crate) trait Real:
    StoredElement + Into<f64> + num_traits::Float + num_traits::NumAssign
{
}

impl<T: StoredElement + Into<f64> + num_traits::Float + num_traits::NumAssign> Real for T {}

fn prepare(case: &Case<'_>, _: &Surroundings) -> Prepared {
    with_real!(case.dtype, T => {
        for make in [dense::prepare::<T>, tree::prepare::<T>, sparse::prepare::<T>, build::prepare::<T>] {
            if let Some(ready) = make(case)? {
                return Ok(Some(ready));
            }
        }
        Ok(None)
    })
}

/// A dense result that a loop fills: the kernel gets the zeroed result.
fn filling<T: Real>(case: &Case<'_>, mut kernel: impl FnMut(&mut [T]) + 'static) -> Prepared {
    let shape = case.shape.clone();
    let out = vec![T::nan(); shape.iter().product()];
    let work = move |out: &mut Vec<T>| {
        kernel(out);
        Ok(())
    };
    runner(out, work, move |out| Ok(Rows::of_dense(&shape, out)))
}

/// The indices of an array as unsigned words.
fn words(array: Option<&IndexArray>) -> Option<Vec<u32>> {
    match array? {
        IndexArray::U32(words) => Some(words.to_vec()),
        other => other.to_vec().into_iter().map(|i| u32::try_from(i).ok()).collect(),
    }
}

/// Values of any tensor, as a copy that a loop owns.
fn numbers<T: StoredElement>(tensor: &Tensor) -> Option<Vec<T>> {
    tensor.values().typed::<T>().ok().map(<[T]>::to_vec)
}

/// Compressed rows (or columns).
#[derive(Clone)]
pub(crate) struct Rowwise<T> {
    pub(crate) pos: Vec<u32>,
    pub(crate) crd: Vec<u32>,
    pub(crate) values: Vec<T>,
}

impl<T: StoredElement> Rowwise<T> {
    /// The arrays of a tensor in CSR, CSC or another format with one array of positions and one of
    /// coordinates at its second level.
    pub(crate) fn of(tensor: &Tensor) -> Option<Self> {
        let (pos, crd) = (words(tensor.pos(1))?, words(tensor.crd(1))?);
        Some(Self { pos, crd, values: numbers(tensor)? })
    }
}
