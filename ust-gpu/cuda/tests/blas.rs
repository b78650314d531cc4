//! Products of dense matrices, by the library of the virtual device.

#[path = "shared/blas.rs"]
mod blas;
mod common;
mod virtual_device;

use blas::library;
use common::bytes_of;
use ust_cuda::CudaError;
use ust_cuda::sparse::{Dense, Number, Order};
use virtual_device::device;

fn matrix(rows: usize, columns: usize, number: Number, address: u64) -> Dense {
    Dense::new(rows, columns, Order::Rows, number, address)
}

#[test]
fn a_run_allocates_nothing() {
    let Some((library, _alone)) = library() else { return };
    let stream = library.stream();
    let numbers = stream.upload(&bytes_of(&[0x3c00_u16; 16])).unwrap();
    let result = stream.alloc(32).unwrap();
    let of = |address| matrix(4, 4, Number::F16, address);
    let (a, c) = (of(numbers.address()), of(result.address()));
    let mut product = library.product(&a, &a, &c, 1 << 10).unwrap();
    assert_eq!(product.bytes(), 48);
    let free = stream.device().memory().unwrap();
    for _ in 0..3 {
        // SAFETY: the virtual device looks at every access.
        unsafe { product.run([a.values, a.values, c.values]).unwrap() };
    }
    assert_eq!(stream.device().memory().unwrap(), free);
    stream.synchronize().unwrap();
    // Without room for it there is no algorithm.
    let none = library.product(&a, &a, &c, 47);
    assert!(
        matches!(none, Err(CudaError::Library { library: "cuBLASLt", code: 15, .. })),
        "{none:?}"
    );
}

#[test]
fn what_does_not_match_is_told() {
    let Some((library, _alone)) = library() else { return };
    let refused = |a: Dense, b: Dense, c: Dense, why: &str| match library.product(&a, &b, &c, 0) {
        Err(CudaError::Argument(said)) => assert!(said.contains(why), "{said}"),
        other => panic!("{why}: {other:?}"),
    };
    let of = |rows, columns| matrix(rows, columns, Number::F64, 256);
    refused(of(2, 3), of(4, 5), of(2, 5), "no product of 2 x 3 and 4 x 5 has 2 x 5");
    refused(of(2, 3), of(3, 5), of(2, 4), "no product");
    refused(of(2, 0), of(0, 5), of(2, 5), "no product");
    refused(of(2, 3), matrix(3, 5, Number::F32, 256), of(2, 5), "different types");
    refused(of(2, 3), of(3, 5), matrix(2, 5, Number::F32, 256), "different types");
    refused(Dense { stride: 2, ..of(2, 3) }, of(3, 5), of(2, 5), "3 numbers in a stride of 2");
}

#[test]
fn short_arrays_and_other_alignments_fail() {
    let Some((library, _alone)) = library() else { return };
    let stream = library.stream();
    let numbers = stream.upload(&bytes_of(&[1.0_f64; 18])).unwrap();
    let result = stream.alloc(8 * 9).unwrap();
    let of = |address| matrix(3, 3, Number::F64, address);
    let run = |values: [u64; 3], prepared: [u64; 3]| {
        let [a, b, c] = prepared.map(of);
        let mut product = library.product(&a, &b, &c, 0).unwrap();
        // SAFETY: the virtual device looks at every access.
        unsafe { product.run(values) }.and_then(|()| stream.synchronize())
    };
    let (from, to) = (numbers.address(), result.address());
    run([from, from + 72, to], [from, from + 72, to]).unwrap();
    // Prepared for such an address, or not.
    assert!(matches!(
        run([from + 8, from, to], [from; 3]),
        Err(CudaError::Library { code: 7, .. })
    ));
    run([from + 8, from, to], [from + 8, from, to]).unwrap();
    let failed = |values: [u64; 3], why: &str| match run(values, values) {
        Err(CudaError::KernelFailed { kernels, message }) => {
            assert!(kernels.contains("multiply two dense matrices"), "{kernels}");
            assert!(message.contains(why), "{message}");
        }
        other => panic!("{other:?}"),
    };
    failed([from + 80, from, to], "reads 72 bytes");
    failed([from, from, to + 8], "writes 24 bytes");
    let unwritten = stream.alloc(72).unwrap();
    failed([from, unwritten.address(), to], "nobody wrote");
    run([from, from, to], [from, from, to]).unwrap();
}
