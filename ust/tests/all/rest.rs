//! Reductions that what is not stored takes part in, without a visit to each place of it.

use ust::generate::generate;
use ust::ops::{einsum, oracle};
use ust::{Coo, Format, Scalar, Tensor};

/// A matrix of `extent` rows and columns with three entries in each of the first hundred rows.
fn matrix(extent: usize, format: &str) -> Tensor {
    let mut crd = vec![Vec::new(); 2];
    let mut values = Vec::new();
    for i in 0..100_usize {
        for k in 0..3_usize {
            crd[0].push(i as i64);
            crd[1].push(((i * 7919 + k * 104_729) % extent) as i64);
            values.push((i as f64 - 50.0) + k as f64);
        }
    }
    let coo = Coo::new(vec![extent, extent], crd, values).unwrap();
    Tensor::from_coo(&coo, Format::resolve(format, Some(2)).unwrap()).unwrap()
}

fn vector(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dense::<f64>().unwrap().iter().copied().collect()
}

const EXTENT: usize = 1_000_000;

#[test]
fn rows_of_a_large_matrix_are_reduced_by_what_they_store() {
    for format in ["CSR", "CSC", "COO", "DCSR"] {
        let a = matrix(EXTENT, format);
        let run = |text: &str| einsum(text).arg("A", &a).run().unwrap();
        let greatest = vector(&run("y(i) = max(j, A(i,j))"));
        let least = vector(&run("y(i) = min(j, A(i,j))"));
        let sum = vector(&run("y(i) = sum(j, cos(A(i,j)))"));
        let product = vector(&run("y(i) = prod(j, A(i,j))"));
        assert_eq!(greatest.len(), EXTENT);
        for i in 0..EXTENT {
            let stored: Vec<f64> = match i {
                0..100 => (0..3).map(|k| (i as f64 - 50.0) + f64::from(k)).collect(),
                _ => Vec::new(),
            };
            assert_eq!(greatest[i], stored.iter().copied().fold(0.0, f64::max), "{format} {i}");
            assert_eq!(least[i], stored.iter().copied().fold(0.0, f64::min), "{format} {i}");
            assert_eq!(product[i], 0.0);
            let cosines: f64 = stored.iter().map(|x| x.cos()).sum();
            let expected = (EXTENT - stored.len()) as f64 + cosines;
            assert!((sum[i] - expected).abs() <= 1e-9 * expected, "{format} {i}");
        }
        let all = run("s = max(i, j, A(i,j) - 60)");
        assert_eq!(vector(&all), [-9.0]);
        let all = run("s = sum(i, j, A(i,j) + 1)");
        let stored: f64 = (0..100).map(|i| 3.0 * (f64::from(i) - 50.0) + 3.0).sum();
        assert!((vector(&all)[0] / (1e12 + stored) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn products_of_large_matrices_have_a_sparse_greatest() {
    let a = matrix(EXTENT, "CSR");
    let found = einsum("C(i,j) = max(k, A(i,k) * A(j,k))").arg("A", &a).run().unwrap();
    assert_eq!(found.fill(), Scalar::F64(0.0));
    let coo = found.to_coo().unwrap();
    assert!(coo.len() < 10_000);
    // The columns of rows differ, but for chance: squares, and what is not stored.
    let greatest =
        |i: usize| (0..3).map(|k| ((i as f64 - 50.0) + f64::from(k)).powi(2)).fold(0.0, f64::max);
    let (rows, columns) = (&coo.crd[0], &coo.crd[1]);
    let values = coo.values.typed::<f64>().unwrap();
    let diagonal = rows.iter().zip(columns).zip(values).filter(|((i, j), _)| i == j);
    let diagonal: Vec<(usize, f64)> = diagonal.map(|((i, _), &v)| (*i as usize, v)).collect();
    assert_eq!(diagonal.len(), 100);
    assert!(diagonal.iter().all(|&(i, v)| v == greatest(i)));
}

/// What nobody names a format for is stored as its operands are, not in full.
#[test]
fn formats_of_sparse_results_are_inferred() {
    for (text, format, expected) in [
        ("C(i,j) = A(j,i)", "CSR", "CSR"),
        ("C(i,j) = A(j,i)", "CSC", "CSR"),
        ("C(i,j) = A(j,i)", "DCSR", "DCSR"),
        ("C(i,j) = A(j,i)", "BSR(4,4)", "CSR"),
        ("C(i,j) = A(i,k) * A(j,k)", "CSR", "CSR"),
        ("C(i,j) = A(k,i) * A(k,j)", "CSR", "CSR"),
        ("C(i,j) = A(i,k) * A(k,j)", "COO", "DCSR"),
        ("C(i,j) = -A(i,j)", "CSC", "CSC"),
    ] {
        let a = matrix(500, format);
        let kernel = einsum(text).arg("A", &a).prepare().unwrap();
        let found = kernel.run(&[&a]).unwrap();
        let expected = Format::resolve(expected, Some(2)).unwrap();
        let levels = |format: &Format| -> Vec<String> {
            format.descriptions().iter().map(|level| level.text.clone()).collect()
        };
        assert_eq!(levels(found.format()), levels(&expected), "{text} {format}");
    }
}

/// Rows that are stored in full are all stored, where no more of them are than entries.
#[test]
fn rows_in_full_make_a_dense_result() {
    let x = Tensor::from_array(ndarray::Array2::from_elem((250, 3), 2.0).into_dyn()).unwrap();
    let few = Coo::new(vec![250, 250], vec![vec![7, 9], vec![3, 249]], vec![1.0, 2.0]).unwrap();
    for name in ["CSR", "COO", "DCSC"] {
        let few = Tensor::from_coo(&few, Format::resolve(name, Some(2)).unwrap()).unwrap();
        let first = if name == "CSR" { "dense" } else { "compressed" };
        for (a, first) in [(matrix(250, name), "dense"), (few, first)] {
            let call = || einsum("Y(i,r) = A(i,k) * X(k,r)").arg("A", &a).arg("X", &x);
            let y = call().run().unwrap();
            let levels = y.format().descriptions().iter().map(|level| &level.text[..]);
            assert_eq!(levels.collect::<Vec<_>>(), [first, "dense"], "{name}");
            assert_eq!(vector(&y), vector(&oracle::evaluate(&call()).unwrap()));
        }
    }
}

/// Small ones beside the plain evaluation, under masks, in blocks, and with another fill value.
#[test]
fn they_are_what_a_plain_evaluation_gives() {
    let generated = |text: &str, format: &str| {
        let coo = generate(text).unwrap();
        Tensor::from_coo(&coo, Format::resolve(format, Some(coo.shape.len())).unwrap()).unwrap()
    };
    let m = generated("random(40,nnz=20,seed=6)", "SparseVector");
    for text in [
        "y(i) = max(j, A(i,j) * B(i,j))",
        "y(i) = max(j, A(i,j) + B(i,j) - 1)",
        "y(i) = sum(j, exp(A(i,j) - B(i,j)))",
        "y(i)<m(i)> = min(j, A(i,j) + 2)",
        "y(i)<!m(i)> = sum(j, cos(A(i,j)))",
        "y(i) = max(j, A(i,j)) + m(i)",
        "y(i) = prod(j, A(i,j) + 2)",
        "y(i) = f64(all(j, A(i,j) < 1))",
        "C(j,l) = max(i, A(i,j) * B(i,l))",
        "s = max(i, min(j, A(i,j) - B(i,j)))",
    ] {
        for format in ["CSR", "CSC", "COO", "DCSR", "BSR(4,4)", "Dense"] {
            let a = generated("random(40x30,nnz=60,seed=5)", format);
            let b = generated("random(40x30,nnz=70,seed=7)", format);
            let mut call = einsum(text).arg("A", &a);
            if text.contains("B(") {
                call = call.arg("B", &b);
            }
            if text.contains("m(i)") {
                call = call.arg("m", &m);
            }
            let expected = vector(&oracle::evaluate(&call).unwrap());
            let found = vector(&call.run().unwrap());
            assert_eq!(found.len(), expected.len(), "{text} {format}");
            for (x, y) in found.iter().zip(&expected) {
                let near = x == y || (x - y).abs() <= 1e-9 * y.abs().max(1.0);
                assert!(near, "{text} {format}: {x} {y}");
            }
        }
    }
}

#[test]
fn a_kernel_for_rows_with_places_refuses_those_without() {
    let format = Format::resolve("CSR", Some(2)).unwrap();
    let zeros = |columns: usize| Tensor::zeros(&[5, columns], &format, ust::Dtype::F64).unwrap();
    let (some, none) = (zeros(40), zeros(0));
    let text = "y(i) = max(j, A(i,j))";
    let kernel = einsum(text).arg("A", &some).prepare().unwrap();
    assert_eq!(vector(&kernel.run(&[&some]).unwrap()), [0.0; 5]);
    let error = kernel.run(&[&none]).unwrap_err();
    assert!(error.to_string().contains("elements along `j`"), "{error}");
    // What is prepared for them gives the identity, whatever has been kept.
    let found = einsum(text).arg("A", &none).run().unwrap();
    assert_eq!(vector(&found), [f64::NEG_INFINITY; 5]);
}
