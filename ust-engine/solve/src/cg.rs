//! Conjugate gradients.

use std::ops::ControlFlow;

use crate::cycle::{self, End};
use crate::error::SolveError;
use crate::number::{Number, add_scaled, dot, norm, real, real_part, scale_add};
use crate::operator::Operator;
use crate::options::{Breakdown, Options, Solution};

/// Solves `A x = b` by conjugate gradients, for a Hermitian positive definite matrix. `x` has the length of `b`.
///
/// A preconditioner has to be Hermitian and positive definite as well. Cost of an iteration: a product, a
/// preconditioner, and five passes over vectors. Memory: five vectors. An indefinite matrix is found out where a
/// search direction shows it: [`Breakdown::NotPositiveDefinite`].
///
/// Hestenes and Stiefel, *Methods of conjugate gradients for solving linear systems*, 1952.
///
/// ```
/// use ust::solve::{Matrix, Options, cg};
/// use ust::{Tensor, generate::generate};
/// let a = Tensor::from_coo(&generate("gen:poisson2d(20)")?, "CSR")?;
/// let solution = cg(&Matrix::new(&a)?, &vec![1.0; 400], Options::new().tolerance(1e-9))?;
/// assert!(solution.converged());
/// assert!(solution.residual <= 1e-9 * 20.0);                // the norm of b is 20
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of the operator and the preconditioner; [`SolveError::Length`] for a start of another length;
/// [`SolveError::Argument`] for a tolerance that is no number, or negative.
pub fn cg<T: Number>(
    a: &dyn Operator<T>,
    b: &[T],
    options: Options<'_, T>,
) -> Result<Solution<T>, SolveError> {
    let (mut z, mut p, mut image) = (zeros(b), zeros(b), zeros(b));
    cycle::run(a, b, options, |x, r, options, progress| {
        options.precondition(r, &mut z)?;
        p.copy_from_slice(&z);
        let mut rho = real_part(dot(r, &z));
        loop {
            a.apply(&p, &mut image)?;
            let curvature = real_part(dot(&p, &image));
            if curvature.is_nan() || rho.is_nan() {
                return Ok(End::Broken(Breakdown::NotFinite));
            }
            if curvature <= 0.0 || rho <= 0.0 {
                return Ok(End::Broken(Breakdown::NotPositiveDefinite));
            }
            let alpha = rho / curvature;
            add_scaled(x, real(alpha), &p);
            add_scaled(r, real(-alpha), &image);
            if let ControlFlow::Break(end) = progress.count(options, norm(r)) {
                return Ok(end);
            }
            options.precondition(r, &mut z)?;
            let next = real_part(dot(r, &z));
            scale_add(&mut p, real(next / rho), &z);
            rho = next;
        }
    })
}

/// A vector of zeros, as long as another.
pub(crate) fn zeros<T: Number>(like: &[T]) -> Vec<T> {
    vec![T::zero(); like.len()]
}
