//! Results beyond what memory holds are refused, and those far from it are not.

use ust::ops::einsum;
use ust::{Backend, Coo, Error, Format, Tensor};

fn backends() -> [Backend; 3] {
    ["jit", "checked-jit", "interp"].map(|name| name.parse().unwrap())
}

fn one(shape: [usize; 2], format: &str) -> Tensor {
    let crd = shape.iter().map(|&n| vec![n as i64 - 2, n as i64 - 1]).collect();
    let coo = Coo::new(shape.to_vec(), crd, vec![7.0, 2.0]).unwrap();
    Tensor::from_coo(&coo, format).unwrap()
}

#[test]
fn blocks_that_no_memory_holds_are_refused() {
    let a = one([3, 4], "CSR");
    for backend in backends() {
        for (k, limit) in [(1 << 45, u64::MAX), (1 << 45, 1 << 40), (1 << 20, 1 << 20)] {
            let result = einsum("C(i,j,k) = A(i,j)")
                .arg("A", &a)
                .extent("k", k)
                .format("(i, j, k) -> (i : compressed, j : compressed, k : dense)")
                .memory_limit(limit)
                .backend(backend)
                .run();
            let error = result.expect_err("too large").to_string();
            assert!(error.starts_with("too large"), "{backend:?}, {k} below {limit}: {error}");
        }
    }
}

#[test]
fn rows_are_collected_up_to_the_limit_and_no_further() {
    let a = one([3, 4], "CSR");
    let format = "(i, j, k) -> (i : compressed, j : compressed, k : compressed)";
    for backend in backends() {
        let of = |k: usize, limit: u64| {
            let of = einsum("C(i,j,k) = A(i,j)").arg("A", &a).extent("k", k).format(format);
            of.memory_limit(limit).backend(backend).run()
        };
        // Two times 30,000 rows of at least 16 bytes each.
        let made = of(30_000, 2 << 20).unwrap();
        assert_eq!(made.nse(), 60_000);
        assert_eq!(made.get_as::<f64>(&[1, 2, 29_999]).unwrap(), 7.0);
        // While they are assembled, and while they are collected.
        for limit in [1 << 19, 1 << 16] {
            let error = of(30_000, limit).expect_err("too large").to_string();
            assert!(error.starts_with("too large"), "{error}");
        }
    }
}

#[test]
fn rows_of_billions_of_places_are_not_stored_in_full() {
    let n = 4_000_000_000;
    for format in ["DCSR", "COO", "DCSC"] {
        let coo = Coo::new(
            vec![n, n],
            vec![vec![3_999_999_999_i64, 5, 3_999_999_998], vec![3_999_999_998, 5, 3_999_999_999]],
            vec![2.0, 4.0, 3.0],
        );
        let format: Format = format.parse().unwrap();
        let a = Tensor::from_coo(&coo.unwrap(), &format).unwrap();
        let c = einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).format(&format).run().unwrap();
        assert_eq!(c.nse(), 3, "`{format}`");
        for (at, value) in [(5, 16.0), (3_999_999_998, 6.0), (3_999_999_999, 6.0)] {
            assert_eq!(c.get_as::<f64>(&[at, at]).unwrap(), value, "`{format}`");
        }
    }
}

/// A matrix with a full first row, first column and diagonal: its square is full.
fn arrow(n: i64) -> Tensor {
    let row = (0..n).map(|j| [0, j]);
    let all: Vec<[i64; 2]> = row.chain((1..n).flat_map(|i| [[i, 0], [i, i]])).collect();
    let crd = (0..2).map(|dim| all.iter().map(|at| at[dim]).collect()).collect();
    let n = n as usize;
    let coo = Coo::new(vec![n, n], crd, vec![1.0; all.len()]).unwrap();
    Tensor::from_coo(&coo, "CSR").unwrap()
}

#[test]
fn what_all_threads_collect_is_within_one_limit() {
    let n = 600;
    let a = arrow(n);
    // Coordinates of 4 bytes and values of 8.
    let bytes = (n * n * 12) as u64;
    for format in ["CSR", "CSC", "DCSR", "COO", "Dense"] {
        for threads in [1, 2, 4] {
            let of = |limit: u64| {
                let call = einsum("C(i,k) = A(i,j) * A(j,k)").arg("A", &a).format(format);
                call.threads(threads).memory_limit(limit).run()
            };
            let made = of(8 * bytes).unwrap();
            assert_eq!(made.get_as::<f64>(&[0, 0]).unwrap(), n as f64, "{format}");
            assert_eq!(made.nse(), (n * n) as usize);
            // Less than it takes, and than half of what two threads collect each.
            for limit in [bytes / 2, bytes / 10, 1000] {
                let error = of(limit).expect_err(format).to_string();
                assert!(error.contains("limit") || error.contains("more than"), "{error}");
            }
        }
    }
}

#[test]
fn tensors_between_operands_and_result_count_as_well() {
    let n = 400;
    let a = arrow(n);
    let of = |limit: u64| {
        let call = einsum("s = max((i,k), sum(j, A(i,j) * A(j,k)))").arg("A", &a);
        call.memory_limit(limit).run()
    };
    assert_eq!(of(1 << 30).unwrap().get_as::<f64>(&[]).unwrap(), n as f64);
    let error = of((n * n) as u64).expect_err("too large").to_string();
    assert!(!error.contains("ask for a sparse format"), "{error}");
}

/// An empty array whose other extents overflow is none that `ndarray` has.
#[test]
fn empty_tensors_as_dense_arrays_are_arrays_or_refused() {
    let dense = |shape: &[usize]| {
        let coo = Coo::new(shape.to_vec(), vec![Vec::<i64>::new(); shape.len()], Vec::<f64>::new())
            .unwrap();
        Tensor::from_coo(&coo, "(i, j, k) -> (i : compressed, j : compressed, k : compressed)")
            .unwrap()
            .to_dense::<f64>()
    };
    for shape in [[0, 1 << 32, 1 << 32], [1 << 32, 0, 1 << 32], [1 << 32, 1 << 32, 0]] {
        let error = dense(&shape).unwrap_err();
        assert!(matches!(error, Error::TooLarge(_)), "{shape:?}: {error}");
    }
    for shape in [[0, 1 << 32, 4], [3, 0, 4], [0, 0, 0]] {
        assert_eq!(dense(&shape).unwrap().shape(), shape);
    }
}
