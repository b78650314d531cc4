//! Tensors as arrays, compared with ndarray's arrays.

mod aligned;
mod compute;
mod counted;
mod picked;
mod slicing;
mod values;

use ust::format::named::named;
use ust::ndarray::{ArrayD, IxDyn};
use ust::{Format, Tensor};

/// Formats of tensors of this rank: all that have names, and some that have none.
pub fn formats(rank: usize) -> Vec<Format> {
    let unnamed = [
        "(i) -> (i / 2 : compressed, i % 2 : compressed)",
        "(i, j) -> (i / 2 : dense, j : compressed, i % 2 : compressed)",
        "(i, j) -> (i / 4 : compressed, i % 4 / 2 : dense, j : dense, i % 2 : compressed)",
        "(i, j) -> (i : dense, j : compressed(nonordered)), posWidth = 64",
        "(i, j) -> (i : compressed, j : compressed), crdWidth = 16",
        "(i, j) -> (i : dense, j : bits)",
        "(i, j) -> (i : dense, j : delta(4))",
        "(i, j) -> (i : dense, j : hashed)",
        "(i, j) -> (j : dense, i : run_length)",
        "(i, j) -> (i : dense, j / 2 : blocks, j % 2 : dense)",
        "(i, j) -> (i : loose_compressed, j : dense)",
        "(i, j, k) -> (j : dense, i : compressed, k : compressed)",
        "(i, j, k) -> (k : compressed(nonunique), i : singleton, j : dense)",
        "(i, j, k) -> (i : batch, j : dense, k : compressed)",
    ];
    let names = ["COO", "Dense", "DenseCol", "CSF"].map(str::to_owned);
    let all = named().map(|one| one.example.to_owned()).chain(names);
    let all = all.chain(unnamed.map(str::to_owned));
    all.filter_map(|text| Format::resolve(&text, Some(rank)).ok()).collect()
}

/// An array of this shape, most of which is zero.
pub fn array(shape: &[usize], picks: &[i8]) -> ArrayD<f64> {
    let mut picks = picks.iter().cycle();
    ArrayD::from_shape_simple_fn(IxDyn(shape), || match picks.next() {
        Some(&pick) if pick % 3 == 0 => f64::from(pick / 3),
        _ => 0.0,
    })
}

/// The tensor, if the format can hold the array.
pub fn stored(array: &ArrayD<f64>, format: &Format) -> Option<Tensor> {
    Tensor::from_dense(array, format).ok()
}

/// Whether two arrays have the same shape, and the same numbers, up to rounding.
pub fn assert_same(found: &ArrayD<f64>, expected: &ArrayD<f64>, case: &str) {
    assert_eq!(found.shape(), expected.shape(), "{case}");
    let near = |(a, b): (&f64, &f64)| {
        (a - b).abs() <= 1e-12 * a.abs().max(b.abs()) || a == b || (a.is_nan() && b.is_nan())
    };
    assert!(found.iter().zip(expected).all(near), "{case}:\n{found}\nexpected\n{expected}");
}

/// Its arrays are those of a tensor.
pub fn assert_valid(a: &Tensor) {
    let (format, shape, parts) = a.clone().into_parts();
    assert_eq!(&Tensor::from_parts(&format, &shape, parts).unwrap(), a);
}
