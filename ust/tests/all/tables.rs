//! Levels that loops look into again and again, written into tables, against the dense evaluation.

use proptest::prelude::*;
use ust::ops::{CancelToken, Einsum, einsum, oracle};
use ust::{Backend, Coo, Format, Kernel, Tensor};

/// An expression, the format of each of `A`, `B`, `C` and of the result, and whether loops look
/// something up in a table, of tensors that have so many entries in `ROWS` rows.
struct Case {
    text: &'static str,
    formats: [&'static str; 4],
    tables: usize,
    each: usize,
}

const ROWS: usize = 16;

const fn case(text: &'static str, formats: [&'static str; 4], tables: usize) -> Case {
    Case { text, formats, tables, each: 20 * ROWS }
}

/// With so few entries that a row of each is not worth storing where it is empty.
const fn empty(text: &'static str, formats: [&'static str; 4], tables: usize) -> Case {
    Case { text, formats, tables, each: 4 }
}

/// Levels in which coordinates are negative, lie behind gaps, or are dense.
const DIFFERENCES: &str = "(i, j) -> (j - i : compressed, i : compressed)";
const LOOSE: &str = "(i, j) -> (i : dense, j : loose_compressed)";
const BLOCKS: &str = "(i, j) -> (i : dense, j / 2 : compressed, j % 2 : dense)";

const CASES: &[Case] = &[
    case("t = A(i,j) * B(j,k) * C(i,k)", ["CSR", "CSR", "CSR", ""], 1),
    case("t = A(i,j) * B(j,k) * C(i,k)", ["CSR", "CSR", LOOSE, ""], 1),
    case("t = A(i,j) * B(j,k) * C(i,k)", ["CSR", BLOCKS, BLOCKS, ""], 1),
    case("t = A(i,j) * B(j,k) * C(i,k)", ["CSR", "DCSR", "DCSR", ""], 2),
    case("R(i,k) = A(i,j) * B(j,k) * C(i,k)", ["DCSR", "CSR", "CSR", "CSR"], 1),
    case("R(i,k)<structure C(i,k)> = A(i,j) * B(j,k)", ["CSR", "CSR", "CSR", "DCSR"], 1),
    case("R(i,k) = A(i,j) * B(j,k)", ["CSR", "DCSR", "", "CSR"], 0),
    empty("R(i,k) = A(i,j) * B(j,k)", ["DCSR", "DCSR", "", "DCSR"], 1),
    empty("R(i,k) = A(i,j) * B(j,k) + C(i,k)", ["DCSR", "DCSR", "CSR", "DCSR"], 1),
    case("r(i) = A(i,j) * B(j,j) * C(i,j)", ["CSR", "DCSR", "CSR", "Dense"], 0),
    case("r(i) = A(i,j) * B(j,k) * C(i,k)", ["CSR", "CSR", "CSR", "Dense"], 1),
    case("r(i) = A(i,j) * B(j,k) * C(i,k)", ["CSR", "CSR", "CSR", "(i) -> (i : compressed)"], 1),
    case("t = A(i,j) * B(j,k) * C(i,k)", ["CSR", "CSR", DIFFERENCES, ""], 0),
];

fn mix(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 8
}

/// A square matrix with about `each` entries in `ROWS` rows, in a format.
fn matrix(size: usize, each: usize, format: &str, seed: u64) -> Tensor {
    let mut crd = vec![Vec::new(), Vec::new()];
    let mut values = Vec::new();
    for place in 0..size * size {
        let draw = mix(seed ^ (place as u64) << 8);
        if draw as usize % (ROWS * size) < each {
            crd[0].push((place / size) as i64);
            crd[1].push((place % size) as i64);
            values.push((draw >> 32 & 15) as f64 - 7.0);
        }
    }
    let coo = Coo::new(vec![size, size], crd, values).unwrap();
    Tensor::from_coo(&coo, format.parse::<Format>().unwrap()).unwrap()
}

fn call(case: &Case, [a, b, c]: &[Tensor; 3]) -> Einsum {
    let mut call = einsum(case.text).arg("A", a).arg("B", b);
    if case.text.contains("C(") {
        call = call.arg("C", c);
    }
    match case.formats[3] {
        "" => call,
        format => call.format(format),
    }
}

fn operands(case: &Case, size: usize, each: usize, seed: u64) -> [Tensor; 3] {
    let format = |at: usize| if case.formats[at].is_empty() { "CSR" } else { case.formats[at] };
    [0, 1, 2].map(|at| matrix(size, each, format(at), mix(seed) + at as u64))
}

/// How many times something is searched by a table.
fn tables(kernel: &Kernel) -> usize {
    kernel.explain().matches(" by a table").count()
}

#[test]
fn what_is_searched_again_and_again_is_in_a_table() {
    for case in CASES {
        let kernel = call(case, &operands(case, 200, case.each, 1)).prepare().unwrap();
        assert!(tables(&kernel) >= case.tables, "{}\n{}", case.text, kernel.explain());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn tables_give_what_the_dense_evaluation_gives(
        which in 0..CASES.len(),
        size in 1_usize..40,
        each in 1..12 * ROWS,
        (threads, parts) in (1_usize..4, any::<bool>()),
        seed in any::<u64>(),
    ) {
        let case = &CASES[which];
        let operands = operands(case, size, each, seed);
        let expected: ndarray::ArrayD<f64> =
            oracle::evaluate(&call(case, &operands)).unwrap().to_dense().unwrap();
        for backend in [Backend::Auto, Backend::CHECKED_JIT, Backend::INTERPRETER] {
            let mut call = call(case, &operands).backend(backend).threads(threads);
            if parts {
                call = call.cancel(&CancelToken::new());
            }
            let kernel = call.prepare().unwrap();
            let uses = if case.text.contains("C(") { 3 } else { 2 };
            let tensors: Vec<&Tensor> = operands.iter().take(uses).collect();
            // Twice: nothing of a run is left to the next.
            for _ in 0..2 {
                let found: ndarray::ArrayD<f64> = kernel.run(&tensors).unwrap().to_dense().unwrap();
                prop_assert_eq!(&found, &expected, "{} {}\n{}", case.text, backend, kernel.explain());
            }
        }
    }
}

/// Work that is worth several threads, each with its own region of the table.
#[test]
fn threads_do_not_meet_in_a_table() {
    for case in CASES {
        let operands = operands(case, 300, 30 * ROWS, 5);
        let one: ndarray::ArrayD<f64> =
            call(case, &operands).threads(1).run().unwrap().to_dense().unwrap();
        for _ in 0..3 {
            let some: ndarray::ArrayD<f64> =
                call(case, &operands).threads(4).run().unwrap().to_dense().unwrap();
            assert_eq!(one, some, "{}", case.text);
        }
    }
}

/// A vector with few entries of very many places is searched; and a kernel that was prepared for
/// fewer places says so where its table would take too much.
#[test]
fn tables_are_no_larger_than_tensors() {
    let matrix = |columns: usize| {
        let crd: Vec<Vec<i64>> = vec![(0..2000).map(|k| k / 2).collect(), (0..2000).collect()];
        let coo = Coo::new(vec![1000, columns], crd, vec![1.0; 2000]).unwrap();
        Tensor::from_coo(&coo, "CSR, posWidth = 64, crdWidth = 64").unwrap()
    };
    let vector = |columns: usize| {
        let coo = Coo::new(vec![columns], vec![(0..500).collect()], vec![2.0; 500]).unwrap();
        let format = "(i) -> (i : compressed), posWidth = 64, crdWidth = 64";
        Tensor::from_coo(&coo, format).unwrap()
    };
    let (a, x) = (matrix(2000), vector(2000));
    let prepare = |a: &Tensor, x: &Tensor| {
        einsum("t = A(i,j) * x(j)").arg("A", a).arg("x", x).memory_limit(1 << 30).prepare().unwrap()
    };
    let kernel = prepare(&a, &x);
    assert_eq!(tables(&kernel), 1, "{}", kernel.explain());
    let sum = |kernel: &Kernel, a: &Tensor, x: &Tensor| {
        kernel.run(&[a, x]).map(|t| t.get_as::<f64>(&[]).unwrap())
    };
    assert_eq!(sum(&kernel, &a, &x).unwrap(), 1000.0);
    let (wide, long) = (matrix(1 << 40), vector(1 << 40));
    let other = prepare(&wide, &long);
    assert_eq!(tables(&other), 0, "{}", other.explain());
    assert_eq!(sum(&other, &wide, &long).unwrap(), 1000.0);
    let error = sum(&kernel, &wide, &long).unwrap_err().to_string();
    assert!(error.contains("a table of 1099511627776 coordinates"), "{error}");
}
