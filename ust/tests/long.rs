//! Rows so long that several threads share them.

use ust::ndarray::ArrayD;
use ust::{Backend, Coo, Dtype, Tensor, einsum};

/// Entries of which some rows (of `extents[0]`) have very many, and some none.
fn skewed(extents: &[usize], seed: u64) -> Coo {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    // Sometimes neighbours, or the first and the last row.
    let first = random(extents[0]);
    let long = [first, [first + 1, extents[0] - 1, 0][random(3)] % extents[0]];
    let mut all = Vec::new();
    for row in 0..extents[0] {
        let count = match row {
            row if row == long[0] => 2 * extents[1] / 3,
            row if row == long[1] => extents[1] / (1 + random(9)),
            row if row % 3 == 1 => 0,
            _ => random(90),
        };
        for _ in 0..count {
            let mut crd = vec![row as i64];
            crd.extend(extents[1..].iter().map(|extent| random(*extent) as i64));
            all.push(crd);
        }
    }
    all.sort_unstable();
    all.dedup();
    let crd = (0..extents.len()).map(|dim| all.iter().map(|one| one[dim]).collect());
    let values: Vec<f64> = all.iter().map(|_| random(17) as f64 / 4.0 - 2.0).collect();
    Coo::new(extents.to_vec(), crd.collect(), values).unwrap()
}

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
        let coo = skewed(shape, seed);
        for (at, format) in formats.iter().enumerate() {
            let dtype = [Dtype::F64, Dtype::F32, Dtype::Complex64][(at + seed as usize) % 3];
            let dtype = if *semiring == "min_plus" { Dtype::I32 } else { dtype };
            let a = Tensor::from_coo(&coo, &format.parse().unwrap()).unwrap().cast_lossy(dtype);
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
