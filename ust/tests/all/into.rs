//! Results written into memory that held something else.

use proptest::prelude::*;
use ust::ops::{Einsum, einsum, oracle};
use ust::{Backend, Coo, Format, Scalar, Tensor};

/// Expressions of matrices `A`, `B`, and vectors `x`, `z`: of `n` rows and columns each.
const EXPRESSIONS: &[&str] = &[
    "y(i) = A(i,j) * x(j)",
    "y(j) = A(i,j) * x(i)",
    "y(i) = A(i,j) * x(j) + z(i)",
    "y(i) = max(j, A(i,j))",
    "y(i) = min(j, A(i,j) + x(j))",
    "y(i) = z(i)",
    "y(i) = z(i) * x(i)",
    "y(i) = A(i,i)",
    "C(i,k) = A(i,j) * B(j,k)",
    "C(k,i) = A(i,j) * B(j,k)",
    "C(i,k) = A(j,i) * B(j,k)",
    "C(i,j) = A(i,j) + B(i,j)",
    "C(i,j) = A(i,j) * B(i,j)",
    "C(i,j) = A(i,j)",
    "C(i,j) = x(i) * z(j)",
    "C(i,j) = A(j,i) * x(j)",
    "C(i,j) = A(i,j) - x(i)",
    "C(i,j) = exp(A(i,j))",
    "D(i,j,k) = A(i,j) * B(j,k)",
    "D(k,i,j) = A(i,j) * x(k)",
    "s() = A(i,j) * B(i,j)",
];

const FORMATS: &[&str] = &["CSR", "CSC", "COO", "DCSR", "Dense", "BSR(2,2)", "DIA-I", "2:4"];

/// A matrix in a format; where the format cannot hold it, in CSR.
fn matrix(n: usize, format: &str, picks: &[u32]) -> Tensor {
    // A third of the rows, the last among them, has nothing.
    let mut cells: Vec<usize> = picks
        .iter()
        .map(|&pick| pick as usize % (n * n))
        .filter(|cell| (n - cell / n) % 3 != 1)
        .collect();
    cells.sort_unstable();
    cells.dedup();
    let column = |of: &dyn Fn(usize) -> usize| cells.iter().map(|&cell| of(cell) as i64).collect();
    let crd = vec![column(&|cell| cell / n), column(&|cell| cell % n)];
    let values: Vec<f64> = cells.iter().map(|&cell| (cell % 7) as f64 - 2.5).collect();
    let coo = Coo::new(vec![n, n], crd, values).expect("coordinates inside the shape");
    let as_format = |format: &str| Tensor::from_coo(&coo, format.parse::<Format>().expect("named"));
    as_format(format).or_else(|_| as_format("CSR")).expect("CSR holds any matrix")
}

fn vector(n: usize, seed: u32) -> Tensor {
    let values: Vec<f64> = (0..n).map(|at| f64::from((at as u32 * seed) % 9) - 4.0).collect();
    let coo = Coo::new(vec![n], vec![(0..n as i64).collect()], values).expect("a vector");
    let format: Format = "(i) -> (i : dense)".parse().expect("a format");
    Tensor::from_coo(&coo, &format).expect("a vector")
}

fn explained(call: Einsum) -> String {
    call.prepare().map(|kernel| kernel.explain()).unwrap_or_default()
}

/// Enough to do for several threads; the last rows, and some between, have nothing.
#[test]
fn nor_where_threads_share_the_work() {
    let (n, width) = (30_000_usize, 5_usize);
    let rows = (0..n / 3 * 2).filter(|row| row % 4 != 1);
    let cells: Vec<[usize; 2]> = rows.flat_map(|i| (0..9).map(move |k| [i, (i * k) % n])).collect();
    let values: Vec<f64> = (0..cells.len()).map(|at| (at % 13) as f64 - 5.5).collect();
    let crd = [0, 1].map(|dim| cells.iter().map(|cell| cell[dim] as i64).collect());
    let coo = Coo::new(vec![n, n], crd.to_vec(), values.clone()).expect("coordinates inside");
    let right: Vec<f64> = (0..n * width).map(|at| (at % 11) as f64 - 4.0).collect();
    let right = ust::ndarray::Array2::from_shape_vec((n, width), right).expect("a matrix");
    let mut expected = vec![0.0; n * width];
    for (&[i, j], value) in cells.iter().zip(&values) {
        for k in 0..width {
            expected[i * width + k] += value * right[[j, k]];
        }
    }
    for format in ["CSR", "CSC", "COO", "BSR(2,2)"] {
        let a = Tensor::from_coo(&coo, format.parse::<Format>().expect("named")).expect("a matrix");
        for threads in [1, 2, 5] {
            let mut out = vec![f64::NAN; n * width];
            let call = einsum("C(i,k) = A(i,j) * B(j,k)").arg("A", &a).arg("B", &right);
            call.format("Dense").threads(threads).run_into(&mut out).expect("it can be run");
            for (at, (found, expected)) in out.iter().zip(&expected).enumerate() {
                let close = (found - expected).abs() <= 1e-9 * (1.0 + expected.abs());
                assert!(close, "{format}, {threads} threads, element {at}: {found} {expected}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn nothing_is_left_of_what_memory_held(
        text in proptest::sample::select(EXPRESSIONS),
        formats in proptest::array::uniform2(proptest::sample::select(FORMATS)),
        n in 1_usize..14,
        picks in proptest::array::uniform2(proptest::collection::vec(any::<u32>(), 0..60)),
        threads in 1_usize..4,
        backend in proptest::sample::select(vec![Backend::Auto, Backend::JIT, Backend::INTERPRETER]),
    ) {
        let a = matrix(n, formats[0], &picks[0]);
        let b = matrix(n, formats[1], &picks[1]);
        let (x, z) = (vector(n, 5), vector(n, 7));
        let all = [("A", &a), ("B", &b), ("x", &x), ("z", &z)];
        let used = all.into_iter().filter(|(name, _)| text.contains(&format!("{name}(")));
        let asked = || used.clone().fold(einsum(text), |e, (name, tensor)| e.arg(name, tensor));
        let result = text.split_once('(').expect("a result").1;
        let indices = result.split_once(')').expect("a result").0;
        let rank = indices.split(',').filter(|index| !index.is_empty()).count();
        let mut out = vec![f64::NAN; n.pow(rank as u32)];
        let format = if rank == 0 { "() -> ()" } else { "Dense" };
        let call = asked().format(format).backend(backend).threads(threads);
        call.run_into(&mut out).expect("it can be run");
        let expected = oracle::evaluate(&asked()).expect("it can be evaluated");
        let expected = expected.to_dense::<f64>().expect("f64");
        for (&found, &expected) in out.iter().zip(expected.iter()) {
            let same = oracle::close(Scalar::F64(found), Scalar::F64(expected));
            prop_assert!(same, "{} {} in\n{}", found, expected, explained(asked()));
        }
    }
}
