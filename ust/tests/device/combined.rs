//! Rows that are open around all loops: each part has some of its own, which are combined.

use ust::{Backend, Tensor, einsum};

use super::{dense, gpu, matrix, same};

#[test]
fn rows_of_several_values_are_combined() {
    let Some((_, _one)) = gpu() else { return };
    let rows = "(i, j) -> (i : compressed, j : dense)";
    let columns = "(i, j) -> (j : compressed, i : dense)";
    let a = matrix("CSR", 51);
    for (text, shape, format) in [
        ("C(i,j) = A(k,i) * B(k,j)", &[30, 5], rows),
        ("C(i,j) = A(k,i) * B(k,j)", &[30, 1], rows),
        ("C(i,j) = min(k, A(k,i) * B(k,j))", &[30, 5], rows),
        ("C(i,j) = A(k,j) * B(k,i)", &[30, 5], columns),
    ] {
        let b = dense(shape, 5);
        let call = || einsum(text).arg("A", &a).arg("B", &b).format(format);
        let kernel = call().backend(Backend::Named("cuda")).prepare().unwrap();
        let case = format!("{text}, {format}: {}", kernel.explain());
        assert!(!case.contains("one part"), "{case}");
        let bits = || -> (Vec<u64>, Tensor) {
            let found = kernel.run(&[&a, &b]).unwrap();
            let values = found.values().typed::<f64>().unwrap().to_vec();
            (values.into_iter().map(f64::to_bits).collect(), found)
        };
        let ((first, found), (second, _)) = (bits(), bits());
        assert_eq!(first, second, "the same bits every time: {case}");
        let expected = call().backend(Backend::INTERPRETER).run().unwrap();
        assert_eq!(found.nse(), expected.nse(), "{case}");
        assert!(same(&found, &expected), "{case}");
    }
}
