//! Random matrices and compositions.

use proptest::prelude::*;
use ust::format::Composition;
use ust::{Coo, Tensor};

/// Compositions of matrices, for any shape.
pub(crate) const COMPOSITIONS: &[&str] = &[
    "DIA where fill(j - i) >= 0.3 + CSR",
    "DIA-J where count(j - i) > 3 + COO",
    "ELL where #i < 2 + COO",
    "ELL where #i < 1 + ELL where #i < 2 + CSC",
    "BSR(2, 3) where fill(i / 2, j / 3) >= 0.5 + CSR",
    "CSR where count(i) > 3 + ELL",
    "CSC where #j < 2 + DCSR",
    "BSR(4, 4) where count(i / 4, j / 4) > 4 + DIA where count(j - i) > 2 + COO(col-major)",
    "Dense where count(i) > 4 + CSR",
    "SELL(4) where count(i % 3) <= 9 + CROW",
    "CSR where fill(i, j) < 1 + COO",
    "COO where count() > 3 + CSR",
];

/// A matrix of some shape in some format with values that are no zeros, its density between nothing and half.
pub(crate) fn matrix() -> impl Strategy<Value = Coo> {
    (1_usize..24, 1_usize..24, 0_usize..120)
        .prop_flat_map(|(rows, columns, most)| of_shape(rows, columns, most))
}

pub(crate) fn of_shape(rows: usize, columns: usize, most: usize) -> impl Strategy<Value = Coo> {
    let entry = (0..rows as i64, 0..columns as i64, 1_u8..200);
    // Diagonals and rows that are full, beside scattered entries.
    let lines = (0..rows as i64, -(rows as i64)..columns as i64, any::<[bool; 2]>());
    (prop::collection::vec(entry, 0..=most), lines).prop_map(
        move |(scattered, (row, offset, lines))| {
            let mut all: Vec<(i64, i64, f64)> =
                scattered.into_iter().map(|(i, j, v)| (i, j, f64::from(v) / 16.0 - 6.3)).collect();
            if lines[0] {
                all.extend((0..columns as i64).map(|j| (row, j, 0.5 + j as f64)));
            }
            if lines[1] {
                let inside = |i: &i64| (0..columns as i64).contains(&(i + offset));
                all.extend(
                    (0..rows as i64).filter(inside).map(|i| (i, i + offset, 1.5 - i as f64)),
                );
            }
            all.sort_by_key(|&(i, j, _)| (i, j));
            all.dedup_by_key(|&mut (i, j, _)| (i, j));
            let crd = vec![all.iter().map(|e| e.0).collect(), all.iter().map(|e| e.1).collect()];
            Coo::new(vec![rows, columns], crd, all.iter().map(|e| e.2).collect::<Vec<f64>>())
                .unwrap()
        },
    )
}

/// A number of one of [`COMPOSITIONS`].
pub(crate) fn composition() -> impl Strategy<Value = &'static str> {
    prop::sample::select(COMPOSITIONS)
}

pub(crate) fn read(text: &str) -> Composition {
    text.parse().unwrap()
}

pub(crate) fn csr(coo: &Coo) -> Tensor {
    Tensor::from_coo(coo, "CSR").unwrap()
}

/// Whether two tensors are near, relative to the largest element.
pub(crate) fn near(found: &Tensor, expected: &Tensor) -> Result<(), String> {
    let [a, z] = [found, expected].map(|tensor| tensor.to_dense::<f64>().unwrap());
    let most = z.iter().filter(|v| v.is_finite()).fold(1.0, |most: f64, v| most.max(v.abs()));
    let same = a.shape() == z.shape()
        && a.iter().zip(&z).all(|(a, z)| a == z || (a - z).abs() <= 1e-12 * most);
    if same { Ok(()) } else { Err(format!("{a}\nis not\n{z}")) }
}
