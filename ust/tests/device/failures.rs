//! What fails on the device is an error or is done on the host, wherever it fails; and afterwards all is as before.

#[path = "../shared/runs.rs"]
mod runs;

use ust::gpu::emulator::{Calls, calls_left, fail_calls};
use ust::gpu::{DeviceTensor, Gpu};
use ust::{Error, Format, Tensor, ops::OpError};

use super::{gpu, matrix, same, vector};

/// Does something with each of its calls failing in turn, alone and with all calls after it, until none fails.
/// Each time, it gives the expected tensor or an error of the device.
fn fails_well(
    what: &str,
    expected: &Tensor,
    work: &mut dyn FnMut() -> Result<Tensor, OpError>,
) -> usize {
    let mut errors = 0;
    for calls in [Calls::Allocations, Calls::Downloads] {
        for count in [1, u64::MAX] {
            for before in 0.. {
                fail_calls(calls, before, count);
                let made = work();
                let is_done = calls_left(calls) > 0;
                fail_calls(calls, u64::MAX, 0);
                match made {
                    Ok(made) => assert!(same(&made, expected), "{what}: {calls:?} {before}"),
                    Err(OpError::Tensor(Error::Device(_))) if !is_done => errors += 1,
                    Err(error) => panic!("{what}: {calls:?} {before}: {error}"),
                }
                if is_done {
                    break;
                }
                let again = work().unwrap_or_else(|error| panic!("{what}, again: {error}"));
                assert!(same(&again, expected), "{what}, after {calls:?} {before}");
            }
        }
    }
    errors
}

fn down(made: &DeviceTensor) -> Result<Tensor, OpError> {
    Ok(made.download()?)
}

#[test]
fn copies() {
    let Some((gpu, _one)) = gpu() else { return };
    let a = matrix("CSR", 61);
    // What is there is not copied again.
    let anew = || Tensor::from_coo(&a.to_coo().unwrap(), a.format()).unwrap();
    let errors = fails_well("there and back", &a, &mut || down(&gpu.upload(&anew())?));
    assert!(errors > 0);
}

#[test]
fn conversions() {
    let Some((gpu, _one)) = gpu() else { return };
    let formats = [
        "COO",
        "CSC",
        "BSR(2,3)",
        "DIA",
        "Dense",
        "CSR, posWidth = 64, crdWidth = 8",
        "(i, j) -> (i : dense, j : loose_compressed)",
        "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(4, 4))",
        // It looks at columns on the host.
        "(i, j) -> (i : compressed, j : runs)",
    ];
    for from in ["CSR", "COO"] {
        let a = matrix(from, 62);
        let there = gpu.upload(&a).unwrap();
        for to in formats.iter().filter(|to| **to != from) {
            let format: Format = to.parse().unwrap();
            let expected = a.convert(&format).unwrap();
            let what = format!("{from} to {to}");
            let errors = fails_well(&what, &expected, &mut || down(&there.convert(&format)?));
            assert!(errors > 0, "{what}");
        }
    }
}

#[test]
fn expressions() {
    let Some((gpu, _one)) = gpu() else { return };
    let (a, b, x) = (matrix("CSR", 63), matrix("CSR", 64), vector());
    let [a, b, x] = [&a, &b, &x].map(|tensor| gpu.upload(tensor).unwrap());
    let cases = [
        ("y(i) = A(i,j) * x(j)", "DenseVector"),
        ("C(i,j) = A(i,j) + B(i,j)", "CSR"),
        ("C(i,k) = A(i,j) * B(j,k)", "CSR"),
        ("C(i,k) = A(i,j) * B(j,k)", "(i, k) -> (i : dense, k : runs)"),
        ("C(i,k) = A(j,i) * B(j,k)", "CSC"),
    ];
    for (text, format) in cases {
        let call = |gpu: &Gpu| {
            let call = gpu.einsum(text).arg("A", &a).format(format);
            let call = if text.contains('B') { call.arg("B", &b) } else { call };
            if text.contains('x') { call.arg("x", &x) } else { call }
        };
        let expected = call(&gpu).run().unwrap().download().unwrap();
        let errors = fails_well(text, &expected, &mut || down(&call(&gpu).run()?));
        assert!(errors > 0, "{text}");
    }
}
