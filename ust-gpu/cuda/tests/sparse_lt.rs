//! Products of 2:4 matrices, by the library of the virtual device.

mod common;
mod virtual_device;

use common::{bytes_of, read};
use ust_cuda::sparse::{Dense, Number, Order};
use ust_cuda::sparse_lt::SparseLt;
use ust_cuda::{CudaError, Memory};
use virtual_device::device;

/// 1, 2, 3 and so on as numbers of 16 bits; only small ones are exact in both types.
fn half(value: usize) -> u16 {
    let exponent = value.checked_ilog2();
    exponent.map_or(0, |e| ((15 + e) << 10) as u16 | ((value << (10 - e)) & 0x3ff) as u16)
}

fn library() -> Option<SparseLt> {
    Some(SparseLt::new(&device()?.stream().unwrap()).unwrap())
}

fn dense(rows: usize, columns: usize, order: Order, memory: &Memory) -> Dense {
    Dense::new(rows, columns, order, Number::F16, memory.address())
}

const ROWS: usize = 16;
const INNER: usize = 32;
const COLUMNS: usize = 8;

/// Two of every four: at 1 and 3, or in every third group at 0 and 2; sometimes one is 0.
fn a(row: usize, column: usize) -> usize {
    let (group, place) = (row * INNER / 4 + column / 4, column % 4);
    let stored = if group.is_multiple_of(3) { [0, 2] } else { [1, 3] };
    if stored.contains(&place) && (group + place) % 5 != 0 { group % 7 + place } else { 0 }
}

fn b(row: usize, column: usize) -> usize {
    (row * 3 + column) % 4
}

#[test]
fn a_matrix_is_compressed_once_and_multiplied() {
    let Some(library) = library() else { return };
    let stream = library.stream();
    let full = |rows, columns, of: &dyn Fn(usize, usize) -> usize| {
        let all = (0..rows * columns).map(|at| half(of(at / columns, at % columns)));
        stream.upload(&bytes_of(&all.collect::<Vec<u16>>())).unwrap()
    };
    let there = full(ROWS, INNER, &a);
    for (order, other) in [(Order::Rows, Order::Columns), (Order::Columns, Order::Rows)] {
        let factor = match order {
            Order::Rows => full(INNER, COLUMNS, &b),
            Order::Columns => full(COLUMNS, INNER, &|column, row| b(row, column)),
        };
        let result = stream.alloc(2 * ROWS * COLUMNS).unwrap();
        let product = library.product(
            &dense(ROWS, INNER, Order::Rows, &there),
            &dense(INNER, COLUMNS, order, &factor),
            &dense(ROWS, COLUMNS, other, &result),
        );
        let mut product = product.unwrap();
        // SAFETY: the virtual device looks at every access.
        unsafe {
            product.compress(there.address()).unwrap();
            product.run([factor.address(), result.address()]).unwrap();
            product.run([factor.address(), result.address()]).unwrap();
        }
        let found: Vec<u16> = read(stream, &result);
        for (at, &found) in found.iter().enumerate() {
            let (row, column) = match other {
                Order::Rows => (at / COLUMNS, at % COLUMNS),
                Order::Columns => (at % ROWS, at / ROWS),
            };
            let sum = (0..INNER).map(|inner| a(row, inner) * b(inner, column)).sum();
            assert_eq!(found, half(sum), "{row} {column}");
        }
        // Values, and then four bits a group.
        let compressed: Vec<u8> = read(stream, product.compressed());
        assert_eq!(compressed.len(), ROWS * INNER + ROWS * INNER / 8);
        assert_eq!(compressed[..4], bytes_of(&[0_u16, half(2)]));
        assert_eq!(compressed[ROWS * INNER] >> 4, 0b1101);
    }
}

#[test]
fn what_the_library_does_not_have_is_told() {
    let Some(library) = library() else { return };
    let stream = library.stream();
    let memory = stream.alloc(4096).unwrap();
    let of = |rows, columns| dense(rows, columns, Order::Rows, &memory);
    for (a, b, c) in [
        (of(8, 16), of(16, 8), of(8, 8)),
        (of(16, 8), of(8, 8), of(16, 8)),
        (of(16, 16), of(16, 4), of(16, 4)),
        (of(16, 16), of(16, 8), of(8, 8)),
        (of(0, 16), of(16, 8), of(0, 8)),
        (dense(16, 16, Order::Columns, &memory), of(16, 8), of(16, 8)),
        (of(16, 16), of(16, 8), Dense { number: Number::F32, ..of(16, 8) }),
    ] {
        assert!(matches!(library.product(&a, &b, &c), Err(CudaError::Argument(_))), "{a:?}");
    }
    // Three of four are told when somebody waits.
    let mut numbers = [0_u16; 256];
    numbers[4..7].fill(half(1));
    let wrong = stream.upload(&bytes_of(&numbers)).unwrap();
    let mut product = library.product(&of(16, 16), &of(16, 8), &of(16, 8)).unwrap();
    // SAFETY: the virtual device looks at every access.
    unsafe { product.compress(wrong.address()).unwrap() };
    match stream.synchronize() {
        Err(CudaError::KernelFailed { message, .. }) => {
            assert!(message.contains("3 of 4"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}
