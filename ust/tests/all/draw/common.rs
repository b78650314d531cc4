//! Samples that every drawing is tried on.

use std::collections::{BTreeMap, BTreeSet};

use ust::draw::picture::Body;
use ust::draw::{Picture, PictureOptions, State, Text, TextOptions};
use ust::{Coo, Format, Tensor};

/// Formats of matrices, with padding, gaps, blocks, groups and whatever else there is.
pub(crate) const MATRICES: &[&str] = &[
    "CSR",
    "CSC",
    "DCSR",
    "COO",
    "Dense",
    "DIA-I",
    "DIA-J",
    "ANTI-DIA-I",
    "ANTI-DIA-J",
    "BSR(2, 3)",
    "BSC(3, 2)",
    "CROW",
    "2:4",
    "(i, j) -> (i * 9 + j : compressed)",
    "(i, j) -> (i : dense, j : loose_compressed)",
    "(i, j) -> (i / 2 : dense, j : compressed, i % 2 : dense)",
    "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))",
];

/// Every other rank.
pub(crate) const OTHERS: &[(&[usize], &str)] = &[
    (&[], "Scalar"),
    (&[11], "DenseVector"),
    (&[11], "SparseVector"),
    (&[11], "BlockedVector(4)"),
    (&[4, 3, 5], "CSF"),
    (&[4, 3, 5], "(i, j, k) -> (i : dense, k - j : compressed, j : range)"),
    (&[4, 3, 5], "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : dense)"),
    (&[2, 3, 2, 3], "CSF(4)"),
    (&[2, 2, 2, 2, 2, 2], "COO(6)"),
];

pub(crate) fn format(text: &str) -> Format {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// A tensor with the given entries and the values 1, 2, ... in the order of coordinates.
pub(crate) fn tensor(shape: &[usize], coordinates: &BTreeSet<Vec<usize>>, text: &str) -> Tensor {
    let column = |d: usize| coordinates.iter().map(|c| c[d] as i64).collect();
    let crd = (0..shape.len()).map(column).collect();
    let values: Vec<f64> = (1..=coordinates.len()).map(|v| v as f64).collect();
    let coo = Coo::new(shape.to_vec(), crd, values).unwrap();
    Tensor::from_coo(&coo, format(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Every third element or so, the same everywhere; at most two of four neighbours in a row.
pub(crate) fn some(shape: &[usize]) -> BTreeSet<Vec<usize>> {
    let cells: usize = shape.iter().product();
    let coordinates = |mut cell: usize| {
        let mut at = vec![0; shape.len()];
        for (c, n) in at.iter_mut().zip(shape).rev() {
            (*c, cell) = (cell % n, cell / n);
        }
        at
    };
    (0..cells).filter(|cell| cell * 7 % 11 < 4).map(coordinates).filter(|c| fits24(c)).collect()
}

pub(crate) fn fits24(coordinates: &[usize]) -> bool {
    coordinates.last().is_none_or(|c| c % 4 != 1 && c % 4 != 2)
}

/// Every sample tensor, with its format.
pub(crate) fn samples() -> Vec<(String, Tensor)> {
    let matrices = MATRICES.iter().map(|text| (&[5, 7][..], *text));
    matrices
        .chain(OTHERS.iter().copied())
        .map(|(shape, text)| (format!("{shape:?} {text}"), tensor(shape, &some(shape), text)))
        .collect()
}

pub(crate) fn picture(tensor: &Tensor) -> Picture<'_> {
    Picture::new(tensor, &PictureOptions::default()).unwrap()
}

/// Text with everything on one line, however long.
pub(crate) fn wide(tensor: &Tensor) -> String {
    let options = TextOptions { width: 100_000, max_elements: 10_000, ..TextOptions::default() };
    Text::new(tensor, &options).unwrap().to_string()
}

/// The counts of a picture are those of the tensor, and every cell holds its element.
pub(crate) fn assert_counts(name: &str, tensor: &Tensor) {
    let picture = picture(tensor);
    let counts = picture.counts;
    assert_eq!(counts.entries, tensor.to_coo().unwrap().len(), "{name}: entries");
    let all = counts.entries + counts.padding + counts.outside + counts.gaps;
    assert_eq!(all, tensor.nse(), "{name}: stored");
    let Body::Cells(cells) = &picture.body else { panic!("{name}: not drawn cell by cell") };
    let mut sums: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for place in &cells.places {
        let inside = place.dims.iter().zip(tensor.shape()).all(|(&c, &n)| 0 <= c && c < n as i64);
        assert_eq!(inside, place.state != State::Outside, "{name}: {place:?}");
        let levels = tensor.format().dim2lvl(&place.dims).unwrap();
        assert_eq!(levels, place.crd, "{name}: {place:?}");
        if inside {
            let dims = place.dims.iter().map(|&c| c as usize).collect();
            let value = tensor.values().typed::<f64>().unwrap()[place.value];
            *sums.entry(dims).or_default() += value;
        }
    }
    for (dims, sum) in &sums {
        assert_eq!(tensor.get_as::<f64>(dims).unwrap(), *sum, "{name}: {dims:?}");
    }
    let elements: usize = tensor.shape().iter().product();
    assert_eq!(counts.empty, Some((elements - sums.len()) as u128), "{name}: not stored");
}
