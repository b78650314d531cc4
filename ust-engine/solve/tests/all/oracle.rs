//! Random matrices, plain products, and Gaussian elimination.

use std::hash::{BuildHasher, RandomState};

use ust::ndarray::{Array1, Array2};
use ust::solve::Number;
use ust::{Complex, Tensor};

/// Formats of different kinds: rows, columns, entries, diagonals, blocks, padded rows, and all elements.
pub(crate) const FORMATS: [&str; 8] =
    ["CSR", "CSC", "COO", "DIA", "BSR(2, 3)", "ELL", "DCSR", "Dense"];

/// Random numbers, others in each run. The seed is shown if the test fails.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn fresh() -> Self {
        let seed = RandomState::new().hash_one(0);
        println!("seed {seed}");
        Self(seed)
    }

    /// In [-1, 1).
    pub(crate) fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub(crate) fn vector<T: Kind>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| T::from_parts(self.number(), self.number())).collect()
    }

    /// A matrix with about three entries to the left and to the right of the diagonal, which dominates.
    pub(crate) fn dominant<T: Kind>(&mut self, n: usize) -> Array2<T> {
        let mut a = Array2::from_elem((n, n), T::zero());
        for i in 0..n {
            for _ in 0..6 {
                let j = ((self.number() + 1.0) / 2.0 * n as f64) as usize;
                a[(i, j)] = T::from_parts(self.number(), self.number());
            }
            a[(i, i)] = T::from_parts(12.0 + self.number(), 0.0);
        }
        a
    }

    /// A Hermitian positive definite matrix: a product of a dominant one with itself.
    pub(crate) fn definite<T: Kind>(&mut self, n: usize) -> Array2<T> {
        let a = self.dominant::<T>(n);
        Array2::from_shape_fn((n, n), |(i, j)| {
            // Both orders of the indices sum alike, so that the matrix is Hermitian to the last bit.
            (0..n).fold(T::zero(), |sum, k| sum + a[(k, i)].conj() * a[(k, j)])
        })
    }
}

/// Numbers that tests make of a real and an imaginary part.
pub(crate) trait Kind: Number {
    /// How far solutions may be off, relative to the norm of the oracle's.
    const CLOSE: f64;
    fn from_parts(re: f64, im: f64) -> Self;
    fn size(self) -> f64;
}

impl Kind for f64 {
    const CLOSE: f64 = 1e-8;
    fn from_parts(re: f64, _im: f64) -> Self {
        re
    }
    fn size(self) -> f64 {
        self.abs()
    }
}

impl Kind for f32 {
    const CLOSE: f64 = 1e-3;
    fn from_parts(re: f64, _im: f64) -> Self {
        re as f32
    }
    fn size(self) -> f64 {
        f64::from(self.abs())
    }
}

impl Kind for Complex<f64> {
    const CLOSE: f64 = 1e-8;
    fn from_parts(re: f64, im: f64) -> Self {
        Self::new(re, im)
    }
    fn size(self) -> f64 {
        self.norm()
    }
}

pub(crate) fn norm<T: Kind>(x: &[T]) -> f64 {
    x.iter().map(|x| x.size().powi(2)).sum::<f64>().sqrt()
}

/// The norm of the difference, relative to that of the second vector.
pub(crate) fn apart<T: Kind>(x: &[T], y: &[T]) -> f64 {
    assert_eq!(x.len(), y.len());
    let difference: Vec<T> = x.iter().zip(y).map(|(&x, &y)| x - y).collect();
    norm(&difference) / norm(y)
}

pub(crate) fn product<T: Kind>(a: &Array2<T>, x: &[T]) -> Vec<T> {
    let x = Array1::from(x.to_vec());
    let row = |row: usize| a.row(row).iter().zip(&x).fold(T::zero(), |sum, (&a, &x)| sum + a * x);
    (0..a.nrows()).map(row).collect()
}

/// Gaussian elimination with partial pivoting.
pub(crate) fn eliminate<T: Kind>(a: &Array2<T>, b: &[T]) -> Vec<T> {
    let n = b.len();
    let (mut a, mut x) = (a.clone(), b.to_vec());
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[(i, k)].size().total_cmp(&a[(j, k)].size())).unwrap();
        x.swap(k, pivot);
        for j in 0..n {
            a.swap((k, j), (pivot, j));
        }
        for i in k + 1..n {
            let factor = a[(i, k)] / a[(k, k)];
            for j in k..n {
                a[(i, j)] = a[(i, j)] - factor * a[(k, j)];
            }
            x[i] = x[i] - factor * x[k];
        }
    }
    for k in (0..n).rev() {
        let rest = (k + 1..n).fold(x[k], |sum, j| sum - a[(k, j)] * x[j]);
        x[k] = rest / a[(k, k)];
    }
    x
}

/// The matrix in a format.
pub(crate) fn stored<T: Kind>(a: &Array2<T>, format: &str) -> Tensor {
    Tensor::from_dense(a, format).unwrap_or_else(|error| panic!("{format}: {error}"))
}
