//! Results beyond what memory holds are refused, and those far from it are not.

use ust::ops::einsum;
use ust::{Backend, Coo, Format, Tensor};

fn backends() -> [Backend; 3] {
    ["jit", "checked-jit", "interp"].map(|name| name.parse().unwrap())
}

fn one(shape: [usize; 2], format: &str) -> Tensor {
    let crd = shape.iter().map(|&n| vec![n as i64 - 2, n as i64 - 1]).collect();
    let coo = Coo::new(shape.to_vec(), crd, vec![7.0, 2.0]).unwrap();
    Tensor::from_coo(&coo, &format.parse().unwrap()).unwrap()
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
            vec![vec![3_999_999_999, 5, 3_999_999_998], vec![3_999_999_998, 5, 3_999_999_999]],
            vec![2.0, 4.0, 3.0],
        );
        let format: Format = format.parse().unwrap();
        let a = Tensor::from_coo(&coo.unwrap(), &format).unwrap();
        let c = einsum("C(i,j) = A(i,k) * A(k,j)").arg("A", &a).in_format(&format).run().unwrap();
        assert_eq!(c.nse(), 3, "`{format}`");
        for (at, value) in [(5, 16.0), (3_999_999_998, 6.0), (3_999_999_999, 6.0)] {
            assert_eq!(c.get_as::<f64>(&[at, at]).unwrap(), value, "`{format}`");
        }
    }
}
