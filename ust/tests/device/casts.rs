//! Values are cast on the device to the very numbers that the host makes.

use ust::gpu::tally;
use ust::{Dtype, Error, Scalar, Tensor, tensor::Values};

use super::gpu;

/// Numbers of a dtype, among them those at its ends.
fn numbers(dtype: Dtype) -> Values {
    let mut numbers =
        vec![0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, 127.5, 200.0, 255.0, 256.0, -129.0];
    numbers.extend([65_504.0, 65_520.0, 65_536.0, -32_769.0, 4.3e9, 9.3e18, 1.9e19, 3.5e38, 1e300]);
    numbers.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0 / 3.0, 1e-7, 6e-8, 1e-40]);
    numbers.extend((0..40).map(|at| f64::from(at * at * at) * 1.37 - 9000.0));
    Values::from(numbers).cast_lossy(dtype)
}

fn tensor(dtype: Dtype) -> Tensor {
    let values = numbers(dtype);
    let crd = (0..values.len() as i64).map(|at| 3 * at).collect();
    let coo = ust::Coo::new(vec![3 * values.len()], vec![crd], values).unwrap();
    Tensor::from_coo(&coo, "SparseVector").unwrap()
}

#[test]
fn every_dtype_becomes_every_other() {
    let Some((gpu, _one)) = gpu() else { return };
    for &from in Dtype::ALL {
        let here = tensor(from);
        let there = gpu.upload(&here).unwrap();
        for &to in Dtype::ALL {
            let before = tally();
            let made = there.cast_lossy(to).unwrap();
            assert_eq!(made.dtype(), to);
            assert!(from == to || tally().launches > before.launches, "{from} to {to}");
            assert_eq!(tally().uploads, before.uploads, "{from} to {to}");
            let (found, expected) = (made.download().unwrap(), here.cast_lossy(to));
            let same = |(a, b): (Scalar, Scalar)| a.same(&b);
            let found = found.values().iter().zip(expected.values().iter());
            if let Some((at, (a, b))) = found.enumerate().find(|(_, pair)| !same(*pair)) {
                panic!("{from} to {to}: {:?} is {a}, not {b}", here.values().get(at));
            }
        }
    }
}

#[test]
fn what_always_fits_is_cast_there() {
    let Some((gpu, _one)) = gpu() else { return };
    let here = tensor(Dtype::I16);
    let there = gpu.upload(&here).unwrap();
    let before = tally();
    let made = there.cast(Dtype::F32).unwrap();
    assert!(tally().launches > before.launches && tally().uploads == before.uploads);
    assert_eq!(made.download().unwrap(), here.cast(Dtype::F32).unwrap());
    // The host tells the first number that does not.
    let error = there.cast(Dtype::U8).unwrap_err().to_string();
    assert_eq!(error, here.cast(Dtype::U8).unwrap_err().to_string());
    assert!(matches!(there.cast(Dtype::I8), Err(Error::Cast { .. })));
    // A result that nobody has looked at stays there.
    let sum = gpu.einsum("y(i) = x(i) + x(i)").arg("x", &there).run().unwrap();
    let before = tally().uploads;
    let wide = sum.cast(Dtype::F64).unwrap();
    let total = gpu.einsum("s() = sum(i, y(i))").arg("y", &wide).run().unwrap();
    assert_eq!(tally().uploads, before);
    assert_eq!(total.dtype(), Dtype::F64);
}
