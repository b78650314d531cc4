//! Results in the positions of a tensor.

use ust::gpu::tally;
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

#[test]
fn tensors_of_the_device_give_positions_there() {
    let Some((gpu, _one)) = gpu() else { return };
    let (g, x) = (dense(&[30, 4], 3), dense(&[30, 4], 8));
    let [there_g, there_x] = [&g, &x].map(|tensor| gpu.upload(tensor).unwrap());
    for format in ["CSR", "BSR(2,4)", "ELL", "SELL(4)", "JDS"] {
        let a = matrix(format, 5);
        let there = gpu.upload(&a).unwrap();
        let text = "R(i,j) = A(i,j) * G(i,k) * X(j,k)";
        let call = || {
            let call = gpu.einsum(text).arg("A", &there).arg("G", &there_g).arg("X", &there_x);
            call.aligned_with(&there)
        };
        let host = einsum(text).arg("A", &a).arg("G", &g).arg("X", &x);
        let expected = host.aligned_with(&a).backend(Backend::INTERPRETER).run().unwrap();
        let before = tally().uploads;
        let found = call().run().unwrap();
        assert!(format != "CSR" || tally().uploads == before, "{format}");
        for found in [found, call().run().unwrap()] {
            let found = found.download().unwrap();
            assert!(found.same_structure(&a), "{format}");
            assert!(same(&found, &expected), "{format}");
        }
        // A result in the format of an operand has its positions, too.
        let call = gpu.einsum(text).arg("A", &there).arg("G", &there_g).arg("X", &there_x);
        let found = call.format(format).run().unwrap().download().unwrap();
        assert!(same(&found, &expected), "{format}");
    }
}
