//! The rows of results are counted once for operands of the same structure.

use ust::gpu::tally;
use ust::{Backend, Dtype, Tensor, einsum};

use super::{gpu, matrix, same};

/// The same structure with other values.
fn scaled(a: &Tensor) -> Tensor {
    a.with_values(
        a.values()
            .typed::<f64>()
            .unwrap()
            .iter()
            .map(|value| value * 3.0 - 1.0)
            .collect::<Vec<f64>>(),
    )
    .unwrap()
}

#[test]
fn rows_are_counted_once_for_a_structure() {
    let Some((gpu, _one)) = gpu() else { return };
    for (text, format) in [
        ("C(i,k) = A(i,j) * B(j,k)", "CSR"),
        ("C(i,k) = A(i,j) * B(j,k)", "DCSR"),
        ("C(i,j) = A(i,j) + B(i,j)", "CSR"),
        ("C(i,j) = A(i,j) + B(i,j)", "COO"),
    ] {
        let case = format!("{text}, {format}");
        let [a, b, other] = [41, 42, 43].map(|seed| matrix(format, seed));
        let call = || einsum(text).arg("A", &a).arg("B", &b).format(format);
        let kernel = call().backend(Backend::Named("cuda")).prepare().unwrap();
        let launches = |a: &Tensor, b: &Tensor| {
            let before = tally().launches;
            let found = kernel.run(&[a, b]).unwrap();
            let made = tally().launches - before;
            let expected = einsum(text).arg("A", a).arg("B", b).format(format);
            let expected = expected.backend(Backend::INTERPRETER).run().unwrap();
            assert!(same(&found, &expected), "{case}");
            made
        };
        let first = launches(&a, &b);
        let second = launches(&a, &b);
        assert!(second < first, "{second} launches, {first} before: {case}");
        assert_eq!(launches(&scaled(&a), &scaled(&b)), second, "{case}");
        assert!(launches(&a, &other) > second, "{case}");
        assert!(launches(&other, &b) > second, "{case}");
        // Those of `a` are counted for the last partner.
        assert!(launches(&a, &b) > second, "{case}");
        let [there_a, there_b] = [&a, &b].map(|tensor| gpu.upload(tensor).unwrap());
        let there = gpu.einsum(text).arg("A", &there_a).arg("B", &there_b).format(format);
        let there = there.prepare().unwrap();
        let elsewhere = gpu.with_new_stream().unwrap();
        let expected = call().run().unwrap();
        for gpu in [&gpu, &elsewhere, &gpu] {
            let found = there.run_in(gpu, &[&there_a, &there_b]).unwrap();
            assert!(same(&found.download().unwrap(), &expected), "{case}");
        }
    }
}

#[test]
fn products_may_have_no_rows() {
    let Some((_, _one)) = gpu() else { return };
    let b = matrix("CSR", 44);
    for rows in [0, 3] {
        let a = Tensor::zeros(&[rows, 30], "CSR", Dtype::F64).unwrap();
        let call = einsum("C(i,k) = A(i,j) * B(j,k)").arg("A", &a).arg("B", &b).format("CSR");
        let found = call.backend(Backend::Named("cuda")).run().unwrap();
        assert_eq!((found.shape(), found.nse()), (&[rows, 30][..], 0));
    }
}
