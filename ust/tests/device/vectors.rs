//! Threads that work on elements side by side give what the processor gives, and run only where they can.

use std::sync::Arc;

use ust::gpu::cuda::Memory;
use ust::gpu::{DeviceArray, DeviceParts, DeviceTensor, Gpu, tally};
use ust::level_api::ir::scalar::Complex;
use ust::{Coo, Dtype, Format, Tensor, einsum};

use super::gpu;

const ROWS: &str = "(i, j) -> (i : dense, j : dense)";
const COLUMNS: &str = "(i, j) -> (j : dense, i : dense)";
const SPMM: &str = "C(i,k) = A(i,j) * B(j,k)";
const SDDMM: &str = "C(i,j) = M(i,j) * A(i,k) * B(j,k)";

/// Small integers, so that sums are exact in any order, with `one_in` stored.
fn matrix(shape: [usize; 2], one_in: u64, seed: u64, dtype: Dtype, format: &str) -> Tensor {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let (mut crd, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
    for (row, column) in (0..shape[0]).flat_map(|i| (0..shape[1]).map(move |j| (i, j))) {
        if random(one_in) == 0 {
            crd[0].push(row as i64);
            crd[1].push(column as i64);
            values.push(random(3) as f64 + 1.0);
        }
    }
    let mut coo = Coo::new(shape.to_vec(), crd, values).unwrap();
    if dtype.is_complex() {
        let values = coo.values.typed::<f64>().unwrap().iter().zip(0..);
        let values = values.map(|(re, at)| Complex::new(*re, f64::from(at % 3) - 1.0));
        coo.values = values.collect::<Vec<_>>().into();
    }
    Tensor::from_coo(&coo, format).unwrap().cast_lossy(dtype)
}

/// How threads work on elements.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Work {
    One,
    SideBySide,
    Apart,
}

/// Runs an expression on the device with these operands.
fn run(gpu: &Gpu, text: &str, result: &str, operands: &[(&str, &Tensor)]) -> Work {
    let before = tally();
    let expected = operands.iter().fold(einsum(text), |call, (name, of)| call.arg(name, *of));
    let expected = expected.format(result).run().unwrap();
    let there: Vec<_> = operands.iter().map(|(_, of)| gpu.upload(of).unwrap()).collect();
    let call = operands.iter().zip(&there);
    let call = call.fold(gpu.einsum(text), |call, ((name, _), of)| call.arg(name, of));
    let found = call.format(result).run().unwrap().download().unwrap();
    let shapes: Vec<_> = operands.iter().map(|(_, of)| of.shape()).collect();
    assert!(found == expected, "{text}, {result}, {shapes:?}, {}", found.dtype());
    let now = tally();
    match (now.in_vectors > before.in_vectors, now.in_strides > before.in_strides) {
        (true, _) => Work::SideBySide,
        (_, true) => Work::Apart,
        _ => Work::One,
    }
}

/// Numbers of columns: less than a vector, multiples of one, and others; one lane's, and more than those of a warp.
const COUNTS: [usize; 17] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 31, 32, 33, 64, 100, 128, 132];

#[test]
fn products_with_any_number_of_columns_are_right() {
    let Some((gpu, _one)) = gpu() else { return };
    for (at, n) in COUNTS.into_iter().enumerate() {
        let seed = at as u64;
        let format = ["CSR", "DCSR", ROWS][at % 3];
        let a = matrix([13, 17], 4, seed, Dtype::F32, format);
        for (of_b, of_c) in [(ROWS, ROWS), (COLUMNS, ROWS), (ROWS, COLUMNS), (COLUMNS, COLUMNS)] {
            let b = matrix([17, n], 1, seed + 1, Dtype::F32, of_b);
            let work = run(&gpu, SPMM, of_c, &[("A", &a), ("B", &b)]);
            if (of_b, of_c) == (ROWS, ROWS) {
                let expected = match n {
                    n if n.is_multiple_of(4) => Work::SideBySide,
                    1..4 => Work::One,
                    _ => Work::Apart,
                };
                assert_eq!(work, expected, "{format}, {n} columns");
            }
        }
        let [x, y] = [(13, 2), (17, 3)]
            .map(|(rows, seed_of)| matrix([rows, n], 1, seed + seed_of, Dtype::F32, ROWS));
        let mask = matrix([13, 17], 4, seed, Dtype::F32, "CSR");
        let work = run(&gpu, SDDMM, "CSR", &[("M", &mask), ("A", &x), ("B", &y)]);
        let expected = if n.is_multiple_of(4) { Work::SideBySide } else { Work::One };
        assert_eq!(work, expected, "{n} products a sum");
    }
}

#[test]
fn rows_that_share_what_they_read_run_as_one_if_there_are_many() {
    let Some((gpu, _one)) = gpu() else { return };
    for (rows, n, is_block) in [(2051, 128, true), (2051, 131, true), (9, 128, false)] {
        let a = matrix([rows, 5], 1, 3, Dtype::F32, ROWS);
        let b = matrix([5, n], 1, 4, Dtype::F32, ROWS);
        let before = tally().in_blocks;
        run(&gpu, SPMM, ROWS, &[("A", &a), ("B", &b)]);
        assert_eq!(tally().in_blocks > before, is_block, "{rows} rows, {n} columns");
    }
}

#[test]
fn rows_of_a_block_run_as_one() {
    let Some((gpu, _one)) = gpu() else { return };
    for (format, n) in [("BSR(4,4)", 96), ("BSR(4,4)", 97), ("BSR(3,2)", 96), ("BSR-Col(6,5)", 99)]
    {
        let a = matrix([13, 17], 1, 3, Dtype::F32, format);
        let b = matrix([17, n], 1, 4, Dtype::F32, ROWS);
        let work = run(&gpu, SPMM, ROWS, &[("A", &a), ("B", &b)]);
        let expected = if n == 96 { Work::SideBySide } else { Work::Apart };
        assert_eq!(work, expected, "{format}, {n} columns");
    }
}

#[test]
fn products_of_any_dtype_are_right() {
    let Some((gpu, _one)) = gpu() else { return };
    let dtypes = [
        (Dtype::F16, Dtype::F16),
        (Dtype::Bf16, Dtype::F32),
        (Dtype::F64, Dtype::F32),
        (Dtype::I8, Dtype::I8),
        (Dtype::I16, Dtype::I64),
        (Dtype::Bool, Dtype::Bool),
        (Dtype::Complex64, Dtype::Complex64),
        (Dtype::F32, Dtype::Complex128),
    ];
    for (at, (of_a, of_b)) in dtypes.into_iter().enumerate() {
        let a = matrix([9, 11], 5, at as u64, of_a, "CSR");
        for (n, expected) in [(8, Work::SideBySide), (7, Work::Apart)] {
            let b = matrix([11, n], 1, 7, of_b, ROWS);
            let work = run(&gpu, SPMM, ROWS, &[("A", &a), ("B", &b)]);
            assert_eq!(work, expected, "{of_a}, {of_b}");
            let x = matrix([9, n], 1, 8, of_b, ROWS);
            run(&gpu, SDDMM, "CSR", &[("M", &a), ("A", &x), ("B", &b)]);
        }
    }
}

/// A full matrix of which the values begin at the second element of an allocation.
fn misaligned(gpu: &Gpu, of: &Tensor) -> DeviceTensor {
    let values = of.values().typed::<f32>().unwrap();
    let bytes: Vec<u8> = [0.0].iter().chain(values).flat_map(|v| v.to_ne_bytes()).collect();
    let memory = Arc::new(gpu.stream().upload(&bytes).unwrap());
    let (address, length) = (memory.address() + 4, bytes.len() - 4);
    // SAFETY: the memory is kept, and nobody else uses it.
    let memory = unsafe { Memory::view(gpu.device(), address, length, memory) };
    let values = DeviceArray { of: Dtype::F32, len: values.len(), memory };
    let parts = DeviceParts { levels: vec![vec![], vec![]], values, fill: None };
    let format: Format = ROWS.parse().unwrap();
    // SAFETY: a full matrix has no indices.
    unsafe { DeviceTensor::from_parts_unchecked(gpu, &format, of.shape(), parts) }.unwrap()
}

#[test]
fn values_that_begin_anywhere_are_not_accessed_at_once() {
    let Some((gpu, _one)) = gpu() else { return };
    let a = matrix([13, 17], 4, 1, Dtype::F32, "CSR");
    let b = matrix([17, 32], 1, 2, Dtype::F32, ROWS);
    let expected = einsum(SPMM).arg("A", &a).arg("B", &b).run().unwrap();
    let there = gpu.upload(&a).unwrap();
    let run = |b: &DeviceTensor| {
        let before = tally();
        let found = gpu.einsum(SPMM).arg("A", &there).arg("B", b).run().unwrap();
        assert!(found.download().unwrap() == expected);
        let now = tally();
        (now.in_vectors - before.in_vectors, now.in_strides - before.in_strides)
    };
    assert_eq!(run(&misaligned(&gpu, &b)), (0, 1));
    assert_eq!(run(&gpu.upload(&b).unwrap()), (1, 0));
}
