//! The power iteration.

use std::ops::ControlFlow;

use crate::cycle::Progress;
use crate::eigen::{Eigenpairs, noise};
use crate::error::SolveError;
use crate::number::{Number, add_scaled, dot, magnitude, norm, real, scale};
use crate::operator::Operator;
use crate::options::Options;

/// The eigenvalue of largest magnitude of a matrix with `size` rows, and its eigenvector, by the power iteration.
///
/// The value is the Rayleigh quotient. Each iteration costs a product, and reduces the error by the ratio of the two
/// largest magnitudes: the method does not converge where these are equal, as for conjugate pairs of a real matrix. A
/// preconditioner is not used. Memory: two vectors.
///
/// von Mises and Pollaczek-Geiringer, *Praktische Verfahren der Gleichungsauflösung*, 1929.
///
/// ```
/// use ust::solve::{Matrix, Options, power_iteration};
/// let a = ust::Tensor::diags((3, 3), &[(0, &[1.0, -5.0, 2.0])], "DIA")?;
/// let pair = power_iteration(&Matrix::<f64>::new(&a)?, 3, Options::new())?;
/// assert!(pair.converged());
/// assert!((pair.values[0] + 5.0).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of the operator; [`SolveError::Argument`] for a matrix without rows, a start of norm zero, or a tolerance
/// that makes no sense; [`SolveError::Length`] for a start of another length.
pub fn power_iteration<T: Number>(
    a: &dyn Operator<T>,
    size: usize,
    mut options: Options<'_, T>,
) -> Result<Eigenpairs<T>, SolveError> {
    options.check(size)?;
    let mut x = options.start.map_or_else(|| noise(size, 0), <[T]>::to_vec);
    let length = norm(&x);
    if length == 0.0 {
        return Err(SolveError::Argument("a power iteration starts from zero".to_owned()));
    }
    scale(&mut x, real(1.0 / length));
    let mut y = vec![T::zero(); size];
    let mut progress = Progress::new(options.max_iterations);
    loop {
        a.apply(&x, &mut y)?;
        let (value, length) = (dot(&x, &y), norm(&y));
        // The residual, where `x` was; `y` is made anew of it below.
        add_scaled(&mut y, -value, &x);
        let residual = norm(&y);
        progress.threshold = (options.relative * magnitude(value)).max(options.absolute);
        if let ControlFlow::Break(end) = progress.count(&mut options, residual) {
            let stop = progress.stop(&end, residual);
            let Progress { iterations, history, .. } = progress;
            let (values, vectors, residuals) = (vec![value], vec![x], vec![residual]);
            return Ok(Eigenpairs { values, vectors, residuals, iterations, history, stop });
        }
        add_scaled(&mut y, value, &x);
        scale(&mut y, real(1.0 / length));
        std::mem::swap(&mut x, &mut y);
    }
}
