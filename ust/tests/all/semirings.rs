//! In a semiring the answer does not depend on the formats of operands and results.

use std::collections::HashMap;

use ust::format::named::named;
use ust::ops::{Semiring, einsum, oracle};
use ust::{Coo, Format, Scalar, Tensor};

const EXTENT: usize = 8;

/// Two entries at most in a row of four, one of them an explicit zero.
const ENTRIES: [(usize, usize, f64); 9] = [
    (0, 1, 5.0),
    (0, 3, 0.0),
    (1, 2, 4.0),
    (2, 0, 2.0),
    (2, 6, -1.5),
    (4, 4, 3.0),
    (5, 7, 0.5),
    (7, 0, 2.5),
    (7, 7, 1.0),
];

fn graph() -> Tensor {
    let crd = [0, 1].map(|dim| {
        let at = |&(i, j, _): &(usize, usize, f64)| [i, j][dim] as i64;
        ENTRIES.iter().map(at).collect()
    });
    let values: Vec<f64> = ENTRIES.iter().map(|&(.., value)| value).collect();
    let coo = Coo::new(vec![EXTENT; 2], crd.to_vec(), values).unwrap();
    Tensor::from_coo(&coo, "COO").unwrap()
}

/// Every named format that a matrix can have.
fn formats() -> Vec<Format> {
    let all: Vec<Format> =
        named().filter_map(|one| Format::resolve(one.example, Some(2)).ok()).collect();
    assert!(all.len() > 15, "{} formats", all.len());
    let more = ["(i, j) -> (j - i : dense, i : range)", "(i, j) -> (i + j : dense, i : range)"];
    all.into_iter().chain(more.map(|text| text.parse().unwrap())).collect()
}

/// `plus` and `times` of a semiring by its name, and the zero, on plain numbers.
type Plain = (fn(f64, f64) -> f64, fn(f64, f64) -> f64, f64);

fn plain(name: &str) -> Option<Plain> {
    let (plus, times) = name.split_once('_')?;
    let find = |name: &str| -> Option<fn(f64, f64) -> f64> {
        Some(match name {
            "plus" => |a, b| a + b,
            "times" => |a, b| a * b,
            "min" => f64::min,
            "max" => f64::max,
            "first" => |a, _| a,
            "second" => |_, b| b,
            "pair" => |_, _| 1.0,
            _ => return None,
        })
    };
    let zero = match plus {
        "plus" => 0.0,
        "times" => 1.0,
        "min" => f64::INFINITY,
        "max" => f64::NEG_INFINITY,
        _ => return None,
    };
    Some((find(plus)?, find(times)?, zero))
}

/// `C(i,j) = A(i,k) * A(k,j)` of what is stored, without any library.
fn product((plus, times, zero): Plain) -> Vec<f64> {
    let a: HashMap<(usize, usize), f64> = ENTRIES.iter().map(|&(i, j, v)| ((i, j), v)).collect();
    let at = |i: usize, j: usize| a.get(&(i, j)).copied().filter(|v| *v != zero);
    let mut all = vec![zero; EXTENT * EXTENT];
    for (cell, sum) in all.iter_mut().enumerate() {
        let (i, j) = (cell / EXTENT, cell % EXTENT);
        for k in 0..EXTENT {
            if let (Some(a), Some(b)) = (at(i, k), at(k, j)) {
                *sum = plus(*sum, times(a, b));
            }
        }
    }
    all
}

fn elements(tensor: &Tensor) -> Vec<Scalar> {
    let cells = (0..EXTENT * EXTENT).map(|cell| tensor.get(&[cell / EXTENT, cell % EXTENT]));
    cells.map(Result::unwrap).collect()
}

fn assert_close(found: &[Scalar], expected: &[Scalar], what: &str) {
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!(oracle::close(*a, *b), "{what}: at {at} {a}, not {b}");
    }
}

#[test]
fn products_are_the_same_in_every_format_and_semiring() {
    let graph = graph();
    for name in Semiring::names() {
        let semiring = Semiring::named(&name).unwrap();
        let meant = semiring.operand(&graph).unwrap();
        let text = format!("C(i,j) = A(i,k) * A(k,j) using {name}");
        let expected = match plain(&name) {
            Some(plain) => product(plain).into_iter().map(Scalar::F64).collect(),
            // On truth values.
            None => elements(&oracle::evaluate(&einsum(&text).arg("A", &graph)).unwrap()),
        };
        for format in formats() {
            let stored = meant.convert(&format).unwrap();
            let found = einsum(&text).arg("A", &stored).run().unwrap();
            assert_close(&elements(&found), &expected, &format!("{text}, A in {format}"));
            // Nothing is lost where the result is stored in another format.
            let again = found.convert("CSR").unwrap();
            assert_close(&elements(&again), &expected, &format!("{text}, A in {format}, in CSR"));
            // A result has no limit of entries in a group.
            if !format.has_room() {
                continue;
            }
            let found = einsum(&text).arg("A", &meant).format(&format).run().unwrap();
            assert_close(&elements(&found), &expected, &format!("{text}, C in {format}"));
        }
    }
}

#[test]
fn what_a_dense_array_holds_are_values() {
    let zero = f64::INFINITY;
    let distances = ndarray::array![[0.0, 3.0, zero], [zero, 0.0, 4.0], [1.0, zero, 0.0]];
    let array = Tensor::from_array(distances.into_dyn()).unwrap();
    let text = "C(i,j) = A(i,k) * A(k,j) using min_plus";
    let expected = [0.0, 3.0, 7.0, 5.0, 0.0, 4.0, 1.0, 4.0, 0.0];
    let tropical = Semiring::named("min_plus").unwrap();
    let same = |a: &Tensor, what: &str| {
        let found = einsum(text).arg("A", a).run().unwrap();
        let found = found.to_dense::<f64>().unwrap();
        assert_eq!(found.iter().copied().collect::<Vec<_>>(), expected, "{what}");
    };
    same(&array, "the array");
    let meant = tropical.operand(&array).unwrap();
    for format in formats().iter().filter(|format| format.has_room()) {
        same(&meant.convert(format).unwrap(), &format.to_string());
    }
}

/// More sparse operands than loops are written out for: they are stored in full on the way.
#[test]
fn operands_that_a_plan_stores_in_full_mean_the_same() {
    let graph = graph();
    let count = 10;
    for name in ["min_plus", "max_times", "plus_times", "min_max", "times_plus"] {
        let factors: Vec<String> = (0..count).map(|at| format!("A{at}(i,j)")).collect();
        let text = format!("C(i,j) = {} using {name}", factors.join(" + "));
        let call =
            || (0..count).fold(einsum(&text), |call, at| call.arg(&format!("A{at}"), &graph));
        let kernel = call().prepare().unwrap();
        let found = call().run().unwrap();
        let expected = oracle::evaluate(&call()).unwrap();
        assert_close(&elements(&found), &elements(&expected), &kernel.explain());
    }
}

/// What a mask stores counts where its fill value is not zero, too.
#[test]
fn masks_write_where_they_store() {
    let coo = Coo::new(vec![4], vec![vec![1, 2]], vec![5.0, 0.0]).unwrap();
    for fill in [0.0, f64::INFINITY, 7.0] {
        let mask = Tensor::from_coo(&coo, "SparseVector").unwrap();
        let mask = mask.with_fill(Scalar::F64(fill)).unwrap();
        let a = ndarray::array![1.0, 2.0, 3.0, 4.0];
        for (text, expected) in [
            ("y(i)<m(i)> = 2 * a(i)", [0.0, 4.0, 0.0, 0.0]),
            ("y(i)<structure m(i)> = 2 * a(i)", [0.0, 4.0, 6.0, 0.0]),
            ("y(i)<!m(i)> = 2 * a(i)", [2.0, 0.0, 6.0, 8.0]),
        ] {
            let call = || einsum(text).arg("m", &mask).arg("a", &a);
            for found in [call().run().unwrap(), oracle::evaluate(&call()).unwrap()] {
                let found = found.to_dense::<f64>().unwrap();
                assert_eq!(found.iter().copied().collect::<Vec<_>>(), expected, "{text} {fill}");
            }
        }
    }
}

/// What an update finds where nothing is stored.
#[test]
fn updates_find_the_zero_where_nothing_is_stored() {
    let inf = f64::INFINITY;
    let coo = |entries: &[(i64, i64, f64)]| {
        let column = |dim: usize| entries.iter().map(|e| [e.0, e.1][dim]).collect();
        let values = entries.iter().map(|e| e.2).collect::<Vec<f64>>();
        Coo::new(vec![2, 2], vec![column(0), column(1)], values).unwrap()
    };
    let a = Tensor::from_coo(&coo(&[(0, 0, 1.0), (1, 1, 4.0)]), "CSR").unwrap();
    let old = Tensor::from_coo(&coo(&[(0, 0, 1.5), (0, 1, 6.0)]), "CSR").unwrap();
    let tropical = Semiring::named("min_plus").unwrap();
    for format in formats() {
        let mut c = tropical.operand(&old).unwrap().convert(&format).unwrap();
        let call = einsum("C(i,j) += A(i,k) * A(k,j) using min_plus").arg("A", &a);
        call.update(&mut c).unwrap();
        let found = c.to_dense::<f64>().unwrap();
        let found: Vec<f64> = found.iter().copied().collect();
        assert_eq!(found, [1.5, 6.0, inf, 8.0], "{format}");
        // As it is stored, without a word about the semiring.
        if format.is_full() {
            continue;
        }
        let mut c = old.convert(&format).unwrap();
        let call = einsum("C(i,j) += A(i,k) * A(k,j) using min_plus").arg("A", &a);
        call.update(&mut c).unwrap();
        let found = c.to_dense::<f64>().unwrap();
        assert_eq!(found.iter().copied().collect::<Vec<f64>>(), [1.5, 6.0, inf, 8.0], "{format}");
    }
}

/// Outside of a mask a result has what is not stored.
#[test]
fn masks_leave_the_zero_outside() {
    let mask = ndarray::array![1.0, 0.0, 0.0];
    let a = ndarray::array![2.0, 3.0, 4.0];
    let inf = f64::INFINITY;
    for (text, expected) in [
        ("y(i)<m(i)> = a(i) * a(i) using min_plus", [4.0, inf, inf]),
        ("y(i)<m(i)> = a(i) + a(i) using min_plus", [2.0, inf, inf]),
        ("y(i)<m(i)> = a(i) * a(i)", [4.0, 0.0, 0.0]),
    ] {
        let call = || einsum(text).arg("m", &mask).arg("a", &a);
        for found in [call().run().unwrap(), oracle::evaluate(&call()).unwrap()] {
            let found = found.to_dense::<f64>().unwrap();
            assert_eq!(found.iter().copied().collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
