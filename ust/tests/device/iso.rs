//! Tensors with one value for all entries: loops on the device read that one.

use ust::tensor::Values;
use ust::{Backend, Coo, Dtype, Scalar, Tensor, einsum};

use super::gpu;

const TEXTS: &[(&str, &str)] = &[
    ("y(i) = A(i,j) * x(j)", "Dense(1)"),
    ("y(j) = A(i,j) * x(i)", "Dense(1)"),
    ("C(i,k) = A(i,j) * B(j,k)", "Dense"),
    ("C(i,k) = A(i,j) * A(j,k)", "CSR"),
    ("C(i,j) = A(i,j) + A(j,i)", "CSR"),
    ("C(i,j) = A(i,j) * B(i,k) * B(j,k)", "CSR"),
    ("s = A(i,j)", "Scalar"),
];

/// One matrix, with one value for all entries and with a value for each.
fn matrices(n: usize, dtype: Dtype, format: &str) -> [Tensor; 2] {
    let mut places: Vec<(i64, i64)> = (0..(n * n) as i64)
        .filter(|at| (at * at + at * 7) % 5 < 2)
        .map(|at| (at / n as i64, at % n as i64))
        .collect();
    // A row that is much longer than others.
    places.extend((0..n as i64).map(|j| (3, j)));
    places.sort_unstable();
    places.dedup();
    let crd = vec![places.iter().map(|at| at.0).collect(), places.iter().map(|at| at.1).collect()];
    let value = Scalar::I32(3).cast(dtype).unwrap();
    let iso = Coo::iso(vec![n, n], crd, value).unwrap();
    let each = Coo { values: Values::filled(value, iso.len()), ..iso.clone() };
    [iso, each].map(|coo| Tensor::from_coo(&coo, format).unwrap())
}

#[test]
fn loops_on_the_device_read_one_value() {
    let Some((gpu, _one)) = gpu() else { return };
    let n = 21;
    for (dtype, format) in
        [(Dtype::F32, "CSR"), (Dtype::F64, "DCSR"), (Dtype::F32, "COO"), (Dtype::I32, "CSC")]
    {
        let [iso, each] = matrices(n, dtype, format);
        assert!(iso.is_iso() && !each.is_iso());
        let x = ust::ndarray::Array1::from_shape_fn(n, |i| i as f64 - 4.0);
        let b = ust::ndarray::Array2::from_shape_fn((n, 8), |(i, k)| ((i * 3 + k) % 5) as f64);
        let [x, b] = [x.into_dyn(), b.into_dyn()]
            .map(|array| Tensor::from_array(array).unwrap().cast_lossy(dtype));
        for (text, result) in TEXTS {
            let call = |a: &Tensor| {
                let call = einsum(text).format(result).arg("A", a);
                let call = if text.contains("x(") { call.arg("x", &x) } else { call };
                if text.contains("B(") { call.arg("B", &b) } else { call }
            };
            let expected = call(&each).run().unwrap();
            let found = call(&iso).backend(Backend::Named("cuda")).run();
            match found {
                Ok(found) => assert!(found == expected, "{text} {format}"),
                Err(error) => {
                    let of_each = call(&each).backend(Backend::Named("cuda")).run();
                    assert!(of_each.is_err(), "{text} {format}: {error}");
                }
            }
        }
        assert_eq!(iso.kept_bytes(), 0, "{format}");
        let there = gpu.upload(&iso).unwrap();
        for to in ["CSR", "CSC", "COO", "BSR(2,3)"] {
            assert!(there.convert(to).unwrap().download().unwrap() == each.convert(to).unwrap());
        }
        let sum = gpu.einsum("s = A(i,j)").arg("A", &there).run().unwrap().download().unwrap();
        assert!(sum == einsum("s = A(i,j)").arg("A", &each).run().unwrap());
        assert!(there.download().unwrap() == each);
        assert_eq!(iso.kept_bytes(), 0, "{format}");
    }
}
