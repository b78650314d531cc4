//! Tensors with a few long rows: parts are intervals of stored elements.

use ust::gpu::tally;
use ust::{Backend, Dtype, Tensor, einsum};

use super::skewed::skewed;
use super::{dense, gpu, same};

const MATRIX: &[usize] = &[70, 2400];
const TENSOR: &[usize] = &[90, 1500, 4];

/// The expression, the shape and formats of `A`, the shapes of other operands, and whether
/// the result has the format of `A`.
type Case = (
    &'static str,
    &'static [usize],
    &'static [&'static str],
    &'static [(&'static str, &'static [usize])],
    bool,
);

const CASES: &[Case] = &[
    ("y(i) = A(i,j) * x(j)", MATRIX, &["CSR", "DCSR", "COO"], &[("x", &[2400])], false),
    ("y(i) = A(i,j)", MATRIX, &["COO"], &[], false),
    (
        "y(i) = A(i,j) * x(j)",
        MATRIX,
        &["(i, j) -> (i - 2 : dense, j : compressed)", "(i, j) -> (0 - i : dense, j : compressed)"],
        &[("x", &[2400])],
        false,
    ),
    ("C(i,j) = A(i,j) * x(j)", MATRIX, &["CSR", "DCSR"], &[("x", &[2400])], true),
    (
        "C(i,j) = A(i,j) * B(i,k) * D(k,j)",
        MATRIX,
        &["CSR"],
        &[("B", &[70, 3]), ("D", &[3, 2400])],
        true,
    ),
    ("C(i,k) = A(i,j) * B(j,k)", MATRIX, &["CSR", "DCSR"], &[("B", &[2400, 5])], false),
    ("y(i) = A(i,j,k) * x(k)", TENSOR, &["CSF", "COO(3)"], &[("x", &[4])], false),
    (
        "M(i,r) = A(i,j,k) * B(j,r) * C(k,r)",
        TENSOR,
        &["CSF"],
        &[("B", &[1500, 3]), ("C", &[4, 3])],
        false,
    ),
];

#[test]
fn rows_of_all_kinds_are_cut() {
    let Some((_, _one)) = gpu() else { return };
    for (seed, (text, shape, formats, others, shares)) in (1..).zip(CASES) {
        let coo = skewed(shape, 6, seed);
        for format in *formats {
            let case = format!("{text}, {format}, seed {seed}");
            let dtype = if seed % 4 == 3 { Dtype::F32 } else { Dtype::F64 };
            let a = Tensor::from_coo(&coo, format).unwrap().cast_lossy(dtype);
            let call = |call: ust::ops::Einsum| {
                let mut call = call.arg("A", &a);
                for (at, (name, shape)) in others.iter().enumerate() {
                    call = call.arg(name, dense(shape, at as u64).cast_lossy(dtype));
                }
                if *shares { call.format(format) } else { call }
            };
            let expected = call(einsum(text)).backend(Backend::INTERPRETER).run().unwrap();
            let before = tally().by_stored;
            let run = || {
                let made = call(einsum(text)).backend(Backend::Named("cuda")).run().unwrap();
                made.fetch().unwrap();
                made.cast_lossy(Dtype::F64)
            };
            let (found, again) = (run(), run());
            assert_eq!(tally().by_stored - before, 2, "{case}");
            let bits = |y: &Tensor| y.values().typed::<f64>().unwrap().to_vec();
            assert_eq!(bits(&found), bits(&again), "the same bits every time: {case}");
            let expected = expected.cast_lossy(Dtype::F64);
            let near = match dtype {
                Dtype::F64 => same(&found, &expected),
                _ => found.shape() == expected.shape() && far(&found, &expected) < 1e-3,
            };
            assert!(near, "{case}");
        }
    }
}

#[test]
fn rows_with_any_number_of_sums_are_cut_by_the_same_kernel() {
    let Some((_, _one)) = gpu() else { return };
    let a = Tensor::from_coo(&skewed(MATRIX, 6, 21), "CSR").unwrap();
    let call = |b: &Tensor| einsum("C(i,k) = A(i,j) * B(j,k)").arg("A", &a).arg("B", b);
    let kernel = call(&dense(&[2400, 5], 0)).backend(Backend::Named("cuda")).prepare().unwrap();
    for columns in [5, 1, 2, 9] {
        let b = dense(&[2400, columns], columns as u64);
        let before = tally().by_stored;
        let found = kernel.run(&[&a, &b]).unwrap();
        found.fetch().unwrap();
        assert_eq!(tally().by_stored - before, 1, "{columns} columns");
        assert!(same(&found, &call(&b).run().unwrap()), "{columns} columns");
    }
}

#[test]
fn sums_that_many_parts_of_a_row_leave_are_added_in_steps() {
    let Some((_, _one)) = gpu() else { return };
    // One row has nearly all entries.
    let (rows, columns, long) = (60_usize, 300_000_usize, 41);
    let crd = |row: usize| {
        let count = if row == long { columns } else { row % 4 };
        (0..count).map(move |at| (row as i64, (at * (columns / count)) as i64))
    };
    let (i, j): (Vec<i64>, Vec<i64>) = (0..rows).flat_map(crd).unzip();
    let values: Vec<f64> = (0..i.len() as u64).map(|at| (at * 11 % 23) as f64 - 9.0).collect();
    let coo = ust::Coo::new(vec![rows, columns], vec![i, j], values).unwrap();
    let cases = [
        ("y(i) = A(i,j) * x(j)", "CSR", vec![columns], 4),
        ("y(i) = A(i,j) * x(j)", "COO", vec![columns], 4),
        ("y(i) = A(i,j) * x(j)", "DCSR", vec![columns], 4),
        ("C(i,k) = A(i,j) * x(j,k)", "CSR", vec![columns, 3], 4),
    ];
    for (text, format, shape, launches) in cases {
        let a = Tensor::from_coo(&coo, format).unwrap();
        // Sums of integers have no rounding.
        let (a, x) = (a.cast_lossy(Dtype::I64), dense(&shape, 3).cast_lossy(Dtype::I64));
        let call = || einsum(text).arg("A", &a).arg("x", &x);
        let kernel = call().backend(Backend::Named("cuda")).prepare().unwrap();
        kernel.run(&[&a, &x]).unwrap().fetch().unwrap();
        let before = tally();
        let found = kernel.run(&[&a, &x]).unwrap();
        found.fetch().unwrap();
        let case = format!("{text}, {format}");
        assert_eq!(tally().by_stored - before.by_stored, 1, "{case}");
        // The loops; then what more than 1024 parts leave, by 32, by 32, and the rest.
        assert_eq!(tally().launches - before.launches, launches, "{case}");
        let expected = call().run().unwrap();
        let elements = |y: &Tensor| y.values().typed::<i64>().unwrap().to_vec();
        assert_eq!(elements(&found), elements(&expected), "{case}");
    }
}

/// The largest difference of elements.
fn far(a: &Tensor, b: &Tensor) -> f64 {
    let full = |tensor: &Tensor| {
        let dense = ust::Format::full(tensor.rank()).unwrap();
        tensor.convert(&dense).unwrap().values().typed::<f64>().unwrap().to_vec()
    };
    full(a).iter().zip(full(b)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn conversions_cut_long_rows() {
    let Some((gpu, _one)) = gpu() else { return };
    let cases = [
        (MATRIX, "CSR", ["COO", "CSC", "DCSR"]),
        (MATRIX, "DCSR", ["COO", "CSC", "BSR(2,2)"]),
        (MATRIX, "(i, j) -> (i : dense, j / 2 : compressed, j % 2 : dense)", ["CSR", "COO", "CSC"]),
        (
            TENSOR,
            "CSF",
            ["COO(3)", "Dense(3)", "(i, j, k) -> (k : dense, i : dense, j : compressed)"],
        ),
    ];
    for (seed, (shape, from, to)) in (11..).zip(cases) {
        let host = Tensor::from_coo(&skewed(shape, 6, seed), from).unwrap();
        let there = gpu.upload(&host).unwrap();
        for to in to {
            let before = tally().by_stored;
            let format: ust::Format = to.parse().unwrap();
            let made = there.convert(&format).unwrap().download().unwrap();
            assert_eq!(made, host.convert(&format).unwrap(), "{from} -> {to}");
            assert_eq!(tally().by_stored - before, 1, "{from} -> {to}");
        }
    }
}

#[test]
fn long_rows_of_merges_are_cut() {
    let Some((_, _one)) = gpu() else { return };
    let [csr, coo, dcsr, vector] = ["CSR", "COO", "DCSR", "(i) -> (i : compressed)"];
    let cases = [
        ("C(i,j) = A(i,j) + B(i,j)", [csr, csr], csr),
        ("C(i,j) = A(i,j) - 2 * B(i,j)", [coo, coo], coo),
        ("C(i,j) = A(i,j) * B(i,j)", [csr, csr], csr),
        ("C(i,j) = A(i,j) + B(i,j)", [dcsr, csr], csr),
        ("C(i,j) = A(i,j) + B(i,j)", [csr, csr], "Dense"),
        ("y(i) = A(i,j) * B(i,j)", [csr, csr], "(i) -> (i : dense)"),
        ("s = A(i,j) * B(i,j)", [dcsr, dcsr], "Scalar"),
        ("C(i) = A(i) + B(i)", [vector, vector], vector),
    ];
    for (seed, (text, formats, result)) in (31..).zip(cases) {
        let case = format!("{text}, {formats:?}, {result}, seed {seed}");
        let operand = |format: &str, seed| {
            let coo = skewed(MATRIX, 6, seed);
            let coo = match format == vector {
                true => {
                    let mut crd: Vec<i64> = coo.crd[1].iter().map(|j| j * j * 31).collect();
                    crd.sort_unstable();
                    crd.dedup();
                    let values = coo.values.typed::<f64>().unwrap()[..crd.len()].to_vec();
                    ust::Coo::new(vec![1 << 40], vec![crd], values).unwrap()
                }
                false => coo,
            };
            Tensor::from_coo(&coo, format).unwrap().cast_lossy(Dtype::I64)
        };
        // Some have the same long rows.
        let other = if seed % 2 == 0 { seed } else { seed + 100 };
        let (a, b) = (operand(formats[0], seed), operand(formats[1], other));
        let call = || einsum(text).arg("A", &a).arg("B", &b).format(result);
        let before = tally().by_stored;
        let found = call().backend(Backend::Named("cuda")).run().unwrap();
        found.fetch().unwrap();
        assert_eq!(tally().by_stored - before, 1, "{case}");
        let expected = call().run().unwrap();
        assert_eq!(found.to_coo().unwrap().crd, expected.to_coo().unwrap().crd, "{case}");
        let elements = |y: &Tensor| y.values().typed::<i64>().unwrap().to_vec();
        assert_eq!(elements(&found), elements(&expected), "{case}");
    }
}
