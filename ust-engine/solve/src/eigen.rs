//! What methods for eigenvalues give, and where they start.

use crate::number::{Number, real};
use crate::options::Stop;

/// Eigenvalues and eigenvectors, or how far a method came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Eigenpairs<T> {
    /// The eigenvalues.
    pub values: Vec<T>,
    /// For each eigenvalue, a vector of norm one.
    pub vectors: Vec<Vec<T>>,
    /// For each pair, the norm of `A v - value v`, from a product at the end.
    pub residuals: Vec<f64>,
    /// Iterations that were begun.
    pub iterations: usize,
    /// The largest norm of a residual at the start and after each iteration, as the method updates it.
    pub history: Vec<f64>,
    /// Why the method stopped.
    pub stop: Stop,
}

impl<T> Eigenpairs<T> {
    /// Whether all residuals are as small as asked for.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.stop == Stop::Converged
    }
}

/// Pseudo-random numbers in [-1, 1), the same in each run (splitmix64). Another vector for each `number`.
pub(crate) fn noise<T: Number>(len: usize, number: usize) -> Vec<T> {
    let mut state = (number as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
    let next = |_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        real(((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0)
    };
    (0..len).map(next).collect()
}
