//! Stabilised bi-conjugate gradients.

use std::ops::ControlFlow;

use crate::cg::zeros;
use crate::cycle::{self, End};
use crate::error::SolveError;
use crate::number::{Number, add_scaled, dot, epsilon, magnitude, norm, scale_add};
use crate::operator::Operator;
use crate::options::{Breakdown, Options, Solution};

/// Solves `A x = b` by stabilised bi-conjugate gradients, for any square matrix. `x` has the length of `b`.
///
/// The preconditioner stands on the right of the matrix, so that residuals are those of the system. Cost of an
/// iteration: two products, two preconditioners, and about ten passes over vectors. Memory: eight vectors, whatever
/// the number of iterations. Where a scalar product vanishes, the method starts afresh from its best solution; if
/// that does not help, it ends with [`Breakdown::Orthogonal`].
///
/// van der Vorst, *Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG*, 1992.
///
/// ```
/// use ust::solve::{Matrix, Options, bicgstab};
/// let a = ust::Tensor::diags((99, 99), &[(0, &[4.0]), (1, &[-2.0]), (-1, &[-1.0])], "CSC")?;
/// let solution = bicgstab(&Matrix::new(&a)?, &[1.0; 99], Options::new())?;
/// assert!(solution.converged());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`cg`](crate::cg).
pub fn bicgstab<T: Number>(
    a: &dyn Operator<T>,
    b: &[T],
    options: Options<'_, T>,
) -> Result<Solution<T>, SolveError> {
    let (mut p, mut v, mut t) = (zeros(b), zeros(b), zeros(b));
    let (mut shadow, mut towards) = (zeros(b), zeros(b));
    cycle::run(a, b, options, |x, r, options, progress| {
        shadow.copy_from_slice(r);
        p.copy_from_slice(r);
        let mut rho = dot(&shadow, r);
        loop {
            options.precondition(&p, &mut towards)?;
            a.apply(&towards, &mut v)?;
            let Some(alpha) = quotient(rho, dot(&shadow, &v), norm(&shadow) * norm(&v)) else {
                return Ok(End::Broken(Breakdown::Orthogonal));
            };
            add_scaled(x, alpha, &towards);
            add_scaled(r, -alpha, &v);

            options.precondition(r, &mut towards)?;
            a.apply(&towards, &mut t)?;
            // Where `r` is zero already, so is `t`, and nothing is added.
            let omega = quotient(dot(&t, r), dot(&t, &t), 0.0).unwrap_or(T::zero());
            add_scaled(x, omega, &towards);
            add_scaled(r, -omega, &t);
            if let ControlFlow::Break(end) = progress.count(options, norm(r)) {
                return Ok(end);
            }

            let next = dot(&shadow, r);
            let small = magnitude(next) <= epsilon::<T>() * norm(&shadow) * norm(r);
            let Some(ratio) = quotient(alpha, omega, 0.0).filter(|_| !small) else {
                return Ok(End::Broken(Breakdown::Orthogonal));
            };
            add_scaled(&mut p, -omega, &v);
            scale_add(&mut p, next / rho * ratio, r);
            rho = next;
        }
    })
}

/// The quotient. `None` for a divisor that is zero but for rounding, where `size` is that of its summands.
fn quotient<T: Number>(dividend: T, divisor: T, size: f64) -> Option<T> {
    (magnitude(divisor) > epsilon::<T>() * size).then(|| dividend / divisor)
}
