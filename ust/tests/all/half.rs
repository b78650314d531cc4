//! Sums of numbers of half precision: formed in single precision, whatever the loops are.

use half::{bf16, f16};
use ust::ops::einsum;
use ust::{Coo, Format, Scalar, Tensor};

/// Columns: more ones than either dtype counts to, since 256 + 1 is 256 in bf16 and 2048 + 1 is 2048
/// in f16.
const COLUMNS: i64 = 3000;

fn ones(values: ust::Values, format: &str) -> Tensor {
    let crd = (0..2).flat_map(|i| (0..COLUMNS).map(move |j| [i, j]));
    let (rows, columns) = crd.map(|[i, j]| (i, j)).unzip();
    let coo = Coo { shape: vec![2, COLUMNS as usize], crd: vec![rows, columns], values };
    let format: Format = format.parse().expect("a named format");
    Tensor::from_coo(&coo, &format).expect("any matrix fits")
}

/// Every stored value is this.
fn all_are(tensor: &Tensor, value: Scalar) {
    assert!(!tensor.values().is_empty());
    assert!(tensor.values().iter().all(|found| found.same(&value)), "{:?}", tensor.values());
}

#[test]
fn sums_are_rounded_once() {
    let count = 2 * COLUMNS as usize;
    let dtypes: [(ust::Values, Scalar, Scalar); 2] = [
        (
            vec![bf16::ONE; count].into(),
            Scalar::Bf16(bf16::from_f64(3000.0)),
            Scalar::Bf16(bf16::from_f64(6000.0)),
        ),
        (
            vec![f16::ONE; count].into(),
            Scalar::F16(f16::from_f64(3000.0)),
            Scalar::F16(f16::from_f64(6000.0)),
        ),
    ];
    for (values, row, whole) in dtypes {
        for format in ["CSR", "CSC", "COO", "DCSR", "Dense", "BSR(2,4)"] {
            let a = ones(values.clone(), format);
            for threads in [1, 2] {
                for (text, to, expected) in [
                    ("y(i) = A(i,j)", "(i) -> (i : dense)", row),
                    ("y(i) = A(i,j)", "(i) -> (i : compressed)", row),
                    ("s = A(i,j)", "Scalar", whole),
                    ("C(i,k) = A(i,j) * A(k,j)", "Dense", row),
                    ("C(i,k) = A(i,j) * A(k,j)", "CSR", row),
                    ("C(i,k) = A(i,j) * A(k,j)", "COO", row),
                    // The sum is a temporary.
                    ("y(i) = 0 - sum(j, A(i,j)) + 2 * sum(j, A(i,j))", "(i) -> (i : dense)", row),
                ] {
                    let call = einsum(text).arg("A", &a).threads(threads).format(to);
                    let result = call.run().unwrap_or_else(|e| panic!("{text} {format}: {e}"));
                    all_are(&result, expected);
                }
            }
        }
    }
}

#[test]
fn sums_beyond_the_largest_number_are_infinite() {
    let a = ones(vec![f16::from_f64(60_000.0); 2 * COLUMNS as usize].into(), "CSC");
    all_are(&einsum("y(i) = A(i,j)").arg("A", &a).run().unwrap(), Scalar::F16(f16::INFINITY));
}

#[test]
fn memory_that_is_given_takes_the_rounded_sum() {
    let a = ones(vec![bf16::ONE; 2 * COLUMNS as usize].into(), "CSC");
    let mut out = [bf16::NAN; 2];
    einsum("y(i) = A(i,j)").arg("A", &a).run_into(&mut out).unwrap();
    assert_eq!(out, [bf16::from_f64(3000.0); 2]);
}
