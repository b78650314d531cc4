//! Eigenvalues of small Hermitian matrices, by Jacobi's rotations.

use crate::number::{Number, epsilon, magnitude, real, real_part};

/// Sweeps over all pairs, at most. Convergence is quadratic: a few are enough.
const SWEEPS: usize = 60;

/// The eigenvalues in ascending order, each with its vector. The rows of the matrix are overwritten.
///
/// Golub and Van Loan, *Matrix Computations*, section 8.5.
pub(crate) fn eigen<T: Number>(mut a: Vec<Vec<T>>) -> Vec<(f64, Vec<T>)> {
    let n = a.len();
    let mut vectors: Vec<Vec<T>> = (0..n)
        .map(|i| (0..n).map(|j| if i == j { T::one() } else { T::zero() }).collect())
        .collect();
    for _ in 0..SWEEPS {
        let (mut off, mut all) = (0.0, 0.0);
        for (i, row) in a.iter().enumerate() {
            for (j, &element) in row.iter().enumerate() {
                let square = magnitude(element).powi(2);
                all += square;
                off += if i == j { 0.0 } else { square };
            }
        }
        if off.is_nan() || off <= all * (epsilon::<T>() / 4.0).powi(2) {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut vectors, p, q);
            }
        }
    }
    let column = |j: usize| vectors.iter().map(|row| row[j]).collect();
    let mut pairs: Vec<(f64, Vec<T>)> = (0..n).map(|j| (real_part(a[j][j]), column(j))).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    pairs
}

/// Makes the element `(p, q)` zero.
fn rotate<T: Number>(a: &mut [Vec<T>], vectors: &mut [Vec<T>], p: usize, q: usize) {
    let size = magnitude(a[p][q]);
    if size == 0.0 {
        return;
    }
    let phase = a[p][q] / real(size);
    let cotangent = (real_part(a[q][q]) - real_part(a[p][p])) / (2.0 * size);
    let tangent = cotangent.signum() / (cotangent.abs() + cotangent.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let (c, s): (T, T) = (real(cosine), real(tangent * cosine));
    for row in a.iter_mut().chain(vectors) {
        let (left, right) = (row[p], phase.conj() * row[q]);
        (row[p], row[q]) = (c * left - s * right, s * left + c * right);
    }
    let (before, from) = a.split_at_mut(q);
    for (upper, lower) in before[p].iter_mut().zip(&mut from[0]) {
        let turned = phase * *lower;
        (*upper, *lower) = (c * *upper - s * turned, s * *upper + c * turned);
    }
    (a[p][q], a[q][p]) = (T::zero(), T::zero());
}
