//! Random matrices, others in each run.
#![allow(dead_code)]

use std::hash::{BuildHasher, RandomState};

use ust::{Coo, Tensor};

/// Formats of different kinds: rows, columns, entries, diagonals, blocks, padded rows, and all elements.
pub(crate) const FORMATS: [&str; 9] = [
    "CSR",
    "CSC",
    "COO",
    "DIA",
    "BSR(2, 3)",
    "ELL",
    "DCSC",
    "Dense",
    "CSR, posWidth = 16, crdWidth = 8",
];

/// Random numbers, others in each run. The seed is shown if the test fails.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn fresh() -> Self {
        let seed = RandomState::new().hash_one(0);
        println!("seed {seed}");
        Self(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }

    /// In [-1, 1).
    pub(crate) fn number(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// Entries of a tensor, no two at the same place.
    pub(crate) fn entries(&mut self, shape: &[usize], count: usize) -> Coo {
        let elements: usize = shape.iter().product();
        let places = (0..if elements == 0 { 0 } else { count }).map(|_| self.below(elements));
        let places: std::collections::BTreeSet<usize> = places.collect();
        let mut crd = vec![Vec::new(); shape.len()];
        for &place in &places {
            let mut rest = place;
            for (column, extent) in crd.iter_mut().zip(shape).rev() {
                column.push((rest % extent) as i64);
                rest /= extent;
            }
        }
        let values: Vec<f64> = places.iter().map(|_| self.number()).collect();
        Coo::new(shape.to_vec(), crd, values).unwrap()
    }

    /// A matrix, of extents that differ from run to run.
    pub(crate) fn matrix(&mut self, format: &str) -> Tensor {
        let shape = [1 + self.below(20), 1 + self.below(20)];
        let count = self.below(60);
        Tensor::from_coo(&self.entries(&shape, count), format).unwrap()
    }
}

/// The address of values that are lent.
pub(crate) fn address(tensor: &Tensor) -> *const f64 {
    tensor.values().typed::<f64>().unwrap().as_ptr()
}

/// Whether both have the same elements.
#[track_caller]
pub(crate) fn expect_same(a: &Tensor, b: &Tensor) {
    assert_eq!(a.to_dense::<f64>().unwrap(), b.to_dense::<f64>().unwrap());
}

/// Whether both have the same elements, apart from the order of sums of numbers of about one.
#[track_caller]
pub(crate) fn expect_close(a: &Tensor, b: &Tensor) {
    assert_eq!(a.shape(), b.shape());
    let both = a.to_dense::<f64>().unwrap() - b.to_dense::<f64>().unwrap();
    assert!(both.iter().all(|apart| apart.abs() < 1e-13), "{both}");
}
