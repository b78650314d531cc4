//! What the tests of files share: samples, and the way there and back.

use std::path::Path;

use ust::io::{self, ReadOptions};
use ust::{Coo, Dtype, Format, Tensor, Values};

pub(crate) fn format(text: &str) -> Format {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// Numbers that look random and are the same everywhere.
pub(crate) fn mix(n: u64) -> u64 {
    let z = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Some entries of a tensor of that shape, each place at most once.
pub(crate) fn sample(shape: &[usize], dtype: Dtype) -> Coo {
    let cells: usize = shape.iter().product();
    let places: Vec<usize> = (0..cells).filter(|&c| mix(c as u64 + 1).is_multiple_of(3)).collect();
    let crd = (0..shape.len())
        .map(|dim| {
            let stride: usize = shape[dim + 1..].iter().product();
            places.iter().map(|place| (place / stride % shape[dim]) as i64).collect()
        })
        .collect();
    let numbers: Vec<u8> = places.iter().map(|&c| 1 + (mix(c as u64 + 7) % 100) as u8).collect();
    let values = match dtype {
        Dtype::Bool => vec![true; places.len()].into(),
        _ => Values::from(numbers).cast(dtype).unwrap(),
    };
    Coo::new(shape.to_vec(), crd, values).unwrap()
}

pub(crate) fn tensor(shape: &[usize], dtype: Dtype, text: &str) -> Tensor {
    let format = Format::resolve(text, Some(shape.len())).unwrap_or_else(|e| panic!("{e}"));
    Tensor::from_coo(&sample(shape, dtype), &format).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Reads the file in the tensor's format and dtype.
pub(crate) fn back(path: &Path, like: &Tensor) -> Tensor {
    let options =
        ReadOptions::default().with_format(like.format().clone()).with_shape(like.shape());
    let found = io::read(path, &options).unwrap_or_else(|e| panic!("{e}"));
    found.cast(like.dtype()).unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) const MATRIX_FORMATS: &[&str] = &[
    "Dense",
    "DenseCol",
    "CSR",
    "CSC",
    "DCSR",
    "DCSC",
    "CROW",
    "COO",
    "COO(col-major)",
    "DIA-I",
    "DIA-J",
    "ANTI-DIA-I",
    "BSR(2, 3)",
    "BSR(3, 2)",
    "BSC(2, 2)",
    "Strips(2)",
    "(i, j) -> (i : dense, j : compressed), posWidth = 64, crdWidth = 8",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (i : dense, j : compressed(nonunique, nonordered))",
];
