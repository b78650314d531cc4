//! Products of several tensors, some of them multiplied before the others.

use ust::generate::generate;
use ust::ops::{einsum, oracle};
use ust::{Format, Tensor};

fn generated(text: &str, format: &str) -> Tensor {
    let coo = generate(text).unwrap();
    Tensor::from_coo(&coo, Format::resolve(format, Some(coo.shape.len())).unwrap()).unwrap()
}

fn vector(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dense::<f64>().unwrap().iter().copied().collect()
}

/// How many sets of loops, and whether the result is that of a plain evaluation.
fn stages(text: &str, tensors: &[(&str, &Tensor)]) -> usize {
    let call = || {
        let used = tensors.iter().filter(|(name, _)| text.contains(&format!("{name}(")));
        used.fold(einsum(text), |call, (name, tensor)| call.arg(name, *tensor))
    };
    let expected = vector(&oracle::evaluate(&call()).unwrap());
    let found = vector(&call().run().unwrap());
    assert_eq!(found.len(), expected.len(), "{text}");
    for (x, y) in found.iter().zip(&expected) {
        assert!(x == y || (x - y).abs() <= 1e-9 * y.abs().max(1.0), "{text}: {x} {y}");
    }
    call().prepare().unwrap().explain().matches("stage ").count().max(1)
}

#[test]
fn chains_are_multiplied_where_they_are_short() {
    for format in ["CSR", "CSC", "COO", "BSR(2,2)"] {
        let a = generated("random(20x20,nnz=200,seed=1)", format);
        let b = generated("random(20x20,nnz=240,seed=2)", format);
        let m = generated("random(20x20,nnz=80,seed=3)", format);
        let x = generated("random(20,nnz=20,seed=4)", "Dense");
        let w = generated("random(20x8,nnz=160,seed=5)", "Dense");
        let v = generated("random(8x8,nnz=64,seed=6)", "Dense");
        let all = [("A", &a), ("B", &b), ("M", &m), ("x", &x), ("W", &w), ("V", &v)];
        for (text, count) in [
            ("y(i) = A(i,j) * B(j,k) * x(k)", 2),
            ("y(i) = sum(j, k, -(x(k) * A(i,j) * B(k,j)))", 2),
            ("y(i) = A(i,j) * B(j,k) * A(k,l) * x(l)", 3),
            ("y(i) = A(i,j) * B(j,k) * x(k) / (2 + x(i))", 2),
            ("C(i,f) = A(i,j) * W(j,h) * V(h,f)", 2),
            ("s = A(i,j) * B(i,k)", 2),
            ("y(i) = A(i,j) * B(j,k) * x(k) using min_plus", 2),
            ("y(i) = min(j, k, A(i,j) * B(j,k)) using max_min", 1),
            // One set of loops does as well.
            ("C(i,k) = A(i,j) * B(j,k)", 1),
            ("s = A(i,j) * B(j,k) * M(i,k)", 1),
            ("C(i,f) = A(i,j) * W(j,f) * x(i)", 1),
            ("C(i,j)<M(i,j)> = A(i,j) * W(i,f) * W(j,f)", 1),
            // Counts of pairs are no products.
            ("y(i) = A(i,j) * B(j,k) * x(k) using plus_pair", 1),
            ("y(i) = A(i,j) * B(j,k) * x(k) using plus_first", 1),
            ("y(i) = A(i,j) * B(j,k) * x(k) using max_times", 1),
        ] {
            assert_eq!(stages(text, &all), count, "{text} {format}");
        }
    }
}

#[test]
fn kernels_for_them_run_again() {
    let a = generated("random(60x60,nnz=400,seed=1)", "CSR");
    let x = generated("random(60,nnz=60,seed=4)", "Dense");
    let kernel =
        einsum("y(i) = A(i,j) * A(j,k) * x(k)").arg("A", &a).arg("x", &x).prepare().unwrap();
    let (b, y) = (
        generated("random(90x90,nnz=700,seed=7)", "CSR"),
        generated("random(90,nnz=90,seed=8)", "Dense"),
    );
    let call = einsum("y(i) = A(i,j) * A(j,k) * x(k)").arg("A", &b).arg("x", &y);
    let expected = vector(&oracle::evaluate(&call).unwrap());
    let found = vector(&kernel.run(&[&b, &y]).unwrap());
    let mut into = vec![f64::NAN; 90];
    kernel.run_into(&[&b, &y], &mut into).unwrap();
    assert_eq!(found, into);
    assert!(found.iter().zip(&expected).all(|(x, y)| (x - y).abs() <= 1e-9 * y.abs().max(1.0)));
}
