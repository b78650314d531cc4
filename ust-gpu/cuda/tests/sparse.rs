//! Products of sparse matrices, by the library of the virtual device.

mod common;
#[path = "shared/sparse.rs"]
mod sparse;
mod virtual_device;

use common::bytes_of;
use sparse::{BLOCKS, COLUMNS, ROWS, Stored, library, store, vector};
use ust_cuda::sparse::{Dense, Index, Number, Order, Storage};
use ust_cuda::{CudaError, Memory};
use virtual_device::device;

#[test]
fn a_run_allocates_nothing() {
    let Some((sparse, _alone)) = library() else { return };
    let stream = sparse.stream();
    let a = store(stream, Storage::Csr, Index::I32);
    let x = stream.upload(&bytes_of(&[1.0; COLUMNS])).unwrap();
    let y = stream.alloc(8 * ROWS).unwrap();
    let product = sparse.spmv(&a.matrix, false, &vector(COLUMNS, &x), &vector(ROWS, &y));
    let mut product = product.unwrap();
    let free = stream.device().memory().unwrap();
    for _ in 0..3 {
        // SAFETY: the virtual device looks at every access.
        unsafe { product.run([a.values.address(), x.address(), y.address()]).unwrap() };
    }
    assert_eq!(stream.device().memory().unwrap(), free);
}

#[test]
fn what_the_library_does_not_have_is_told() {
    let Some((sparse, _alone)) = library() else { return };
    assert_eq!(sparse.version(), 12603);
    let memory = sparse.stream().alloc(96).unwrap();
    let a = store(sparse.stream(), BLOCKS[1], Index::I32).matrix;
    let (x, y) = (vector(ROWS, &memory), vector(COLUMNS, &memory));
    let b = Dense::new(COLUMNS, 2, Order::Rows, Number::F64, memory.address());
    let c = Dense { rows: ROWS, ..b };
    for asked in [sparse.spmv(&a, true, &x, &y), sparse.spmm(&a, false, &b, &c)] {
        let Err(CudaError::Library { name, code: 10, .. }) = asked else { panic!("{asked:?}") };
        assert_eq!(name, "CUSPARSE_STATUS_NOT_SUPPORTED");
    }
}

#[test]
fn wrong_indices_and_short_arrays_fail_the_stream() {
    let Some((sparse, _alone)) = library() else { return };
    let stream = sparse.stream();
    let numbers = stream.upload(&bytes_of(&[1.0; COLUMNS])).unwrap();
    let y = stream.alloc(8 * ROWS).unwrap();
    let run = |a: &Stored, y: &Memory| {
        let (x, result) = (vector(COLUMNS, &numbers), vector(ROWS, y));
        let mut product = sparse.spmv(&a.matrix, false, &x, &result).unwrap();
        // SAFETY: the virtual device looks at every access.
        unsafe { product.run([a.values.address(), x.values, y.address()]).unwrap() };
        match stream.synchronize() {
            Err(CudaError::KernelFailed { kernels, message }) => {
                Some(format!("{kernels}: {message}"))
            }
            other => other.map(|()| None).unwrap(),
        }
    };
    let good = store(stream, Storage::Csr, Index::I32);
    assert_eq!(run(&good, &y), None);
    let wrong = store(stream, Storage::Csr, Index::I32);
    stream.write(&wrong.inner, 4, &6_i32.to_ne_bytes()).unwrap();
    assert!(run(&wrong, &y).unwrap().contains("index 6 of 6"));
    let wrong = store(stream, Storage::Csr, Index::I32);
    stream.write(&wrong.outer, 4, &13_i32.to_ne_bytes()).unwrap();
    assert!(run(&wrong, &y).unwrap().contains("segment"));
    let short = stream.alloc(8 * ROWS - 1).unwrap();
    let said = run(&good, &short).unwrap();
    assert!(
        said.starts_with("multiply a matrix by a vector") && said.contains("writes 32 bytes"),
        "{said}"
    );
    assert_eq!(run(&good, &y), None);
}
