//! Products of dense matrices, by the library of any device.

use std::sync::{Mutex, MutexGuard, PoisonError};

use ust_cuda::CudaError;
use ust_cuda::blas::{self, Blas};
use ust_cuda::sparse::{Dense, Number, Order};

use crate::common::{bytes_of, read};
use crate::device;

/// The library, for one test at a time: one of them looks at the memory that all have left. Says so if there is
/// none.
pub(crate) fn library() -> Option<(Blas, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    match Blas::new(&device()?.stream().unwrap()) {
        Ok(library) => Some((library, alone)),
        Err(error @ CudaError::NoLibrary { .. }) => {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub(crate) const ORDERS: [Order; 2] = [Order::Rows, Order::Columns];

/// The numbers of a matrix with this much room in each line, in its order. The room is never a number.
fn stored(
    rows: usize,
    columns: usize,
    order: Order,
    stride: usize,
    element: impl Fn(usize, usize) -> f64,
) -> Vec<f64> {
    let lines = if order == Order::Rows { rows } else { columns };
    let at = |place: usize| {
        let (line, along) = (place / stride, place % stride);
        let (row, column) = if order == Order::Rows { (line, along) } else { (along, line) };
        if row < rows && column < columns { element(row, column) } else { f64::NAN }
    };
    (0..lines * stride).map(at).collect()
}

#[test]
fn a_dense_matrix_times_another_in_every_order() {
    let Some((library, _alone)) = library() else { return };
    println!("cuBLASLt {:?}", blas::version().unwrap());
    let stream = library.stream();
    let (rows, inner, columns) = (5, 3, 4);
    let a = |i: usize, j: usize| (i * 7 + j * 3) as f64 % 5.0 - 2.0;
    let b = |j: usize, k: usize| (j * 5 + k) as f64 % 7.0 - 3.0;
    let c = |i, k| (0..inner).map(|j| a(i, j) * b(j, k)).sum();
    for (of_a, of_b, of_c) in (0..8).map(|n| (ORDERS[n & 1], ORDERS[n >> 1 & 1], ORDERS[n >> 2])) {
        for gap in [0, 2] {
            let stride = |rows: usize, columns: usize, order: Order| match order {
                Order::Rows => columns + gap,
                Order::Columns => rows + gap,
            };
            let upload = |rows, columns, order, of: &dyn Fn(usize, usize) -> f64| {
                let numbers = stored(rows, columns, order, stride(rows, columns, order), of);
                stream.upload(&bytes_of(&numbers)).unwrap()
            };
            let (there_a, there_b) =
                (upload(rows, inner, of_a, &a), upload(inner, columns, of_b, &b));
            let there_c = upload(rows, columns, of_c, &|_, _| f64::NAN);
            let dense = |rows, columns, order, memory: &ust_cuda::Memory| Dense {
                stride: stride(rows, columns, order),
                ..Dense::new(rows, columns, order, Number::F64, memory.address())
            };
            let product = library.product(
                &dense(rows, inner, of_a, &there_a),
                &dense(inner, columns, of_b, &there_b),
                &dense(rows, columns, of_c, &there_c),
                1 << 20,
            );
            let values = [there_a.address(), there_b.address(), there_c.address()];
            // SAFETY: there are as many numbers as the descriptions say.
            unsafe { product.unwrap().run(values).unwrap() };
            let expected = stored(rows, columns, of_c, stride(rows, columns, of_c), c);
            let found: Vec<f64> = read(stream, &there_c);
            let same = |(x, y): (&f64, &f64)| x == y || (x.is_nan() && y.is_nan());
            assert!(found.iter().zip(&expected).all(same), "{of_a:?} {of_b:?} {of_c:?} {gap}");
        }
    }
}
