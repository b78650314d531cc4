//! Results in the positions of a tensor.

use ust::{Backend, einsum};

use super::{dense, gpu, matrix, same};

#[test]
fn kernels_write_at_the_positions_of_a_tensor() {
    let Some((_, _one)) = gpu() else { return };
    let (g, x, p) = (dense(&[30, 4], 3), dense(&[30, 4], 8), matrix("CSR", 7));
    for format in ["CSR", "COO", "BSR(2,4)", "ELL", "DenseCol"] {
        let a = matrix(format, 5);
        let call = || {
            let call = einsum("R(i,j) = G(i,k) * X(j,k) + P(i,j)").arg("G", &g).arg("X", &x);
            call.arg("P", &p).aligned_with(&a)
        };
        let kernel = call().backend(Backend::Named("cuda")).prepare().unwrap();
        let found = kernel.run(&[&g, &x, &p, &a]).unwrap();
        let expected = call().backend(Backend::INTERPRETER).run().unwrap();
        assert!(found.same_structure(&a) && expected.same_structure(&a), "{format}");
        assert!(same(&found, &expected), "{format}: {}", kernel.explain());
        let mut out = vec![f64::NAN; a.nse()];
        kernel.run_into(&[&g, &x, &p, &a], &mut out).unwrap();
        assert_eq!(out, found.values().typed::<f64>().unwrap(), "{format}");
    }
}
