//! Rows so long that several threads share them.

#[path = "shared/skewed.rs"]
mod skewed;

use skewed::skewed;
use ust::ndarray::ArrayD;
use ust::{Backend, Dtype, Tensor, einsum};

/// Sums of products of these values and those above are exact, in any order.
fn dense(shape: &[usize], seed: u64) -> Tensor {
    let all = shape.iter().product::<usize>();
    let values = (0..all as u64).map(|at| ((at * 7 + seed) % 13) as f64 / 4.0 - 1.5).collect();
    Tensor::from_array(ArrayD::from_shape_vec(shape.to_vec(), values).unwrap()).unwrap()
}

/// The elements, as `f64`.
fn elements(tensor: &Tensor) -> Vec<f64> {
    let dense = ust::Format::full(tensor.rank()).unwrap();
    let full = tensor.convert(&dense).unwrap().cast_lossy(Dtype::F64);
    full.values().typed::<f64>().unwrap().to_vec()
}

const MATRIX: &[usize] = &[300, 60_000];
const WIDE: &[usize] = &[300, 300_000];
const TENSOR: &[usize] = &[80, 48_000, 3];

/// The expression, the shape and formats of `A`, the shapes of other operands, the semiring, and whether the result has
/// the format of `A`.
type Case = (
    &'static str,
    &'static [usize],
    &'static [&'static str],
    &'static [(&'static str, &'static [usize])],
    &'static str,
    bool,
);

const SPMV: &str = "y(i) = A(i,j) * x(j)";
const X: (&str, &[usize]) = ("x", &[300_000]);

const CASES: &[Case] = &[
    (SPMV, WIDE, &["CSR", "DCSR"], &[X], "plus_times", false),
    (SPMV, WIDE, &["CSR"], &[X], "min_plus", false),
    ("y(i) = 2 * A(i,j)", WIDE, &["CSR"], &[], "plus_times", false),
    (
        "C(i,k) = A(i,j) * B(j,k)",
        MATRIX,
        &["CSR", "DCSR"],
        &[("B", &[60_000, 7])],
        "plus_times",
        false,
    ),
    ("C(i,j) = A(i,j) * x(j)", WIDE, &["CSR", "DCSR"], &[X], "plus_times", true),
    (
        "C(i,j) = A(i,j) * B(i,k) * D(j,k)",
        MATRIX,
        &["CSR"],
        &[("B", &[300, 5]), ("D", &[60_000, 5])],
        "plus_times",
        true,
    ),
    (
        "M(i,r) = A(i,j,k) * B(j,r) * C(k,r)",
        TENSOR,
        &["CSF"],
        &[("B", &[48_000, 3]), ("C", &[3, 3])],
        "plus_times",
        false,
    ),
];

#[test]
fn threads_share_long_rows() {
    for (seed, (text, shape, formats, others, semiring, shares)) in (1..).zip(CASES) {
        let coo = skewed(shape, 90, seed);
        for (at, format) in formats.iter().enumerate() {
            let dtype = [Dtype::F64, Dtype::F32, Dtype::Complex64][(at + seed as usize) % 3];
            let dtype = if *semiring == "min_plus" { Dtype::I32 } else { dtype };
            let a = Tensor::from_coo(&coo, format).unwrap().cast_lossy(dtype);
            let call = |backend: Backend, threads: usize| {
                let mut call = einsum(text).arg("A", &a).semiring(semiring).backend(backend);
                for (at, (name, shape)) in others.iter().enumerate() {
                    call = call.arg(name, dense(shape, at as u64).cast_lossy(dtype));
                }
                let call = if *shares { call.format(format) } else { call };
                call.threads(threads).run().unwrap()
            };
            let expected = call(Backend::INTERPRETER, 1);
            for (backend, threads) in [(Backend::Cpu, 2), (Backend::CHECKED_JIT, 3)] {
                let found = call(backend, threads);
                let case = format!("{text}, {format}, {dtype}, seed {seed}, {threads} threads");
                assert!(found == call(backend, threads), "the same bits every time: {case}");
                let [found, expected] = [&found, &expected].map(elements);
                assert_eq!(found.len(), expected.len(), "{case}");
                let wrong = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
                assert_eq!(wrong, 0, "{case}");
            }
        }
    }
}
