//! Sums that are formed in the order of the loops.

use ust::{Backend, Tensor, einsum};

use super::skewed::skewed;
use super::{gpu, matrix, vector};

fn bits(y: &Tensor) -> Vec<u64> {
    y.values().typed::<f64>().unwrap().iter().map(|v| v.to_bits()).collect()
}

#[test]
fn strict_sums_have_the_bits_of_the_interpreter() {
    let Some((gpu, _one)) = gpu() else { return };
    for format in ["CSR", "CSC", "COO", "DCSR", "DIA-I", "BSR(4,4)"] {
        let a = matrix(format, 21);
        for text in ["y(i) = A(i,j) * x(j)", "y(j) = A(i,j) * x(i)"] {
            let call = einsum(text).arg("A", &a).arg("x", vector()).strict();
            let expected = call.backend(Backend::INTERPRETER).run().unwrap();
            let there = gpu.upload(&a).unwrap();
            let call = gpu.einsum(text).arg("A", &there).host_arg("x", vector()).strict();
            let found = call.run().unwrap().download().unwrap();
            assert_eq!(bits(&found), bits(&expected), "{text}, {format}");
        }
    }
}

#[test]
fn strict_sums_of_scattered_elements_run_in_parts() {
    let Some((gpu, _one)) = gpu() else { return };
    let random = |shape: &[usize], format: &str, seed: u64| {
        let coo = skewed(shape, 9, seed);
        let thirds = |value: f64| (value + 5.0) / 3.0;
        let a = Tensor::from_coo(&coo, format).unwrap();
        let values: Vec<f64> =
            a.values().typed::<f64>().unwrap().iter().copied().map(thirds).collect();
        a.with_values(values).unwrap()
    };
    let weights = |shape: &[usize]| {
        let all = shape.iter().product::<usize>();
        let values = (0..all).map(|at| 1.0 / ((at * 5 % 11) as f64 + 3.0)).collect();
        let array = ust::ndarray::ArrayD::from_shape_vec(shape.to_vec(), values).unwrap();
        Tensor::from_array(array).unwrap()
    };
    const BY_J: &str = "(i, j, k) -> (j : compressed, k : compressed, i : compressed)";
    const BY_K: &str = "(i, j, k) -> (k : compressed, j : compressed, i : compressed)";
    let cases: [(&str, &[usize], &str, &[usize]); 11] = [
        ("y(i) = A(i,j) * x(j)", &[50, 300], "CSC", &[300]),
        ("y(i) = A(i,j) * x(j)", &[50, 300], "DCSC", &[300]),
        ("y(j) = A(i,j) * x(i)", &[50, 300], "CSR", &[50]),
        ("y(i) = A(i,j) * x(j)", &[50, 300], "COO", &[300]),
        ("C(i,k) = A(i,j) * x(j,k)", &[50, 300], "CSC", &[300, 3]),
        ("y(i) = A(i,j,k) * x(j)", &[20, 60, 4], BY_K, &[60]),
        ("y(i) = A(i,j,k) * x(j)", &[20, 60, 4], BY_J, &[60]),
        ("y(i) = A(i,j,k) * x(j)", &[20, 4, 60], BY_K, &[4]),
        ("y(i) = A(i,j,k) * x(j)", &[20, 300, 2], BY_J, &[300]),
        ("y(i) = A(i,j,k) * x(j)", &[20, 300, 2], BY_K, &[300]),
        ("y(k) = A(i,j,k) * x(j)", &[20, 60, 4], "CSF", &[60]),
    ];
    for (seed, (text, shape, format, others)) in (1..).zip(cases) {
        let (a, x) = (random(shape, format, seed), weights(others));
        let expected = einsum(text).arg("A", &a).arg("x", &x).strict();
        let expected = expected.backend(Backend::INTERPRETER).run().unwrap();
        let there = gpu.upload(&a).unwrap();
        let call = || gpu.einsum(text).arg("A", &there).host_arg("x", &x).strict();
        let explained = call().prepare().unwrap().explain();
        let is_alone = explained.contains("one part");
        assert!(!is_alone, "{text}, {format}: {explained}");
        let found = call().run().unwrap().download().unwrap();
        assert_eq!(bits(&found), bits(&expected), "{text}, {format}");
    }
}

#[test]
fn strict_sums_of_sparse_results_have_the_bits_of_the_interpreter() {
    let Some((gpu, _one)) = gpu() else { return };
    let a = matrix("CSR", 21);
    let weights: Vec<f64> = (0..30).map(|at| 1.0 / f64::from(at % 7 + 3)).collect();
    let x = Tensor::from_array(ust::ndarray::Array1::from(weights).into_dyn()).unwrap();
    let call = einsum("y(j) = A(i,j) * x(i)").arg("A", &a).arg("x", &x).format("COO").strict();
    let expected = call.backend(Backend::INTERPRETER).run().unwrap();
    let there = gpu.upload(&a).unwrap();
    let call = gpu.einsum("y(j) = A(i,j) * x(i)").arg("A", &there).host_arg("x", &x);
    let found = call.format("COO").strict().run().unwrap().download().unwrap();
    assert_eq!(bits(&found), bits(&expected));
}

#[test]
fn strict_texts_say_how_they_are_compiled() {
    for (backend, option) in [("cuda-text", "--fmad=false"), ("cpp-text", "-ffp-contract=off")] {
        let text = |strict: bool| {
            let call = einsum("y(i) = A(i,j) * x(j)").arg("A", matrix("CSR", 1)).arg("x", vector());
            let call = if strict { call.strict() } else { call };
            call.backend(backend.parse().unwrap()).prepare().unwrap().machine_code().unwrap()
        };
        let said = format!("// compile it with {option}: products are not fused with sums\n");
        assert!(text(true).contains(&said) && !text(false).contains(&said), "{backend}");
    }
}
