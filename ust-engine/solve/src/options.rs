//! What all iterative methods take and give: options, solutions, and why they stopped.

use std::fmt;
use std::ops::ControlFlow;

use crate::error::{SolveError, expect_length};
use crate::number::Number;
use crate::operator::Operator;

/// Options of an iterative method.
///
/// ```
/// use std::ops::ControlFlow;
/// use ust::solve::{Jacobi, Matrix, Options, cg};
/// let a = ust::Tensor::diags((50, 50), &[(0, &[2.5]), (1, &[-1.0]), (-1, &[-1.0])], "CSR")?;
/// let (matrix, jacobi) = (Matrix::new(&a)?, Jacobi::new(&a)?);
/// let mut seen = 0;
/// let mut watch = |_iteration: usize, _residual: f64| {
///     seen += 1;
///     ControlFlow::Continue(())
/// };
/// let options = Options::new().tolerance(1e-10).preconditioner(&jacobi).watch(&mut watch);
/// let solution = cg(&matrix, &[1.0; 50], options)?;
/// assert!(solution.converged() && solution.iterations == seen);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Options<'a, T> {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
    pub(crate) max_iterations: usize,
    pub(crate) start: Option<&'a [T]>,
    pub(crate) preconditioner: Option<&'a dyn Operator<T>>,
    pub(crate) watch: Option<Watch<'a>>,
}

/// Called after each iteration with its number, from 1, and the norm of the residual.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(usize, f64) -> ControlFlow<()>;

impl<T> Default for Options<'_, T> {
    fn default() -> Self {
        Self {
            relative: 1e-8,
            absolute: 0.0,
            max_iterations: 1000,
            start: None,
            preconditioner: None,
            watch: None,
        }
    }
}

impl<'a, T: Number> Options<'a, T> {
    /// A relative tolerance of `1e-8`, and 1000 iterations at most.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The residual at which a method stops, relative to the norm of the right-hand side; for eigenvalues, relative to
    /// the largest one in magnitude that is asked for.
    #[must_use]
    pub fn tolerance(mut self, relative: f64) -> Self {
        self.relative = relative;
        self
    }

    /// The norm of a residual that is small enough whatever the right-hand side is. By default zero.
    #[must_use]
    pub fn absolute(mut self, absolute: f64) -> Self {
        self.absolute = absolute;
        self
    }

    /// The number of iterations, at most.
    #[must_use]
    pub fn max_iterations(mut self, count: usize) -> Self {
        self.max_iterations = count;
        self
    }

    /// Where to start from: an approximate solution; for eigenvectors, all of them, one after another. By default zero
    /// for systems, and fixed pseudo-random numbers for eigenvectors.
    #[must_use]
    pub fn start(mut self, x: &'a [T]) -> Self {
        self.start = Some(x);
        self
    }

    /// An approximate inverse of the matrix: its [`apply`](Operator::apply) maps residuals to corrections.
    #[must_use]
    pub fn preconditioner(mut self, inverse: &'a dyn Operator<T>) -> Self {
        self.preconditioner = Some(inverse);
        self
    }

    /// A function that is called after each iteration with its number, from 1, and the norm of the residual. The
    /// method ends early, with [`Stop::Stopped`], if it breaks.
    #[must_use]
    pub fn watch(mut self, watch: &'a mut dyn FnMut(usize, f64) -> ControlFlow<()>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Refuses tolerances that no number is below, and a start of another length.
    pub(crate) fn check(&self, start: usize) -> Result<(), SolveError> {
        let fine = |tolerance: f64| tolerance >= 0.0 && tolerance.is_finite();
        if !fine(self.relative) || !fine(self.absolute) {
            let text = format!(
                "tolerances are finite and not negative, not {} and {}",
                self.relative, self.absolute
            );
            return Err(SolveError::Argument(text));
        }
        self.start.map_or(Ok(()), |x| expect_length("the start", start, x.len()))
    }

    /// Applies the preconditioner, or copies.
    pub(crate) fn precondition(&self, r: &[T], z: &mut [T]) -> Result<(), SolveError> {
        match self.preconditioner {
            Some(inverse) => inverse.apply(r, z),
            None => {
                z.copy_from_slice(r);
                Ok(())
            }
        }
    }
}

impl<T> fmt::Debug for Options<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("relative", &self.relative)
            .field("absolute", &self.absolute)
            .field("max_iterations", &self.max_iterations)
            .field("start", &self.start.is_some())
            .field("preconditioner", &self.preconditioner.is_some())
            .field("watch", &self.watch.is_some())
            .finish()
    }
}

/// Why a method stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The residual is as small as asked for.
    Converged,
    /// The number of iterations is used up.
    MaxIterations,
    /// The method cannot go on.
    Breakdown(Breakdown),
    /// The caller's function said so.
    Stopped,
}

/// Why a method cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Breakdown {
    /// The matrix or the preconditioner is not positive definite, which the method asks for.
    NotPositiveDefinite,
    /// A scalar product that the method divides by is zero, from a fresh start as well: the matrix is singular, or
    /// does not suit the method.
    Orthogonal,
    /// A number became infinite, or no number.
    NotFinite,
    /// The residual does not get smaller: the tolerance is below what rounding permits, or there is no solution.
    Stagnation,
}

/// What an iterative method found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution<T> {
    /// The solution, or how far the method came. After [`Breakdown::NotFinite`] it may have elements that are not
    /// finite.
    pub x: Vec<T>,
    /// Iterations that were begun.
    pub iterations: usize,
    /// The norm of `b - A x`, from a product at the end.
    pub residual: f64,
    /// The norm of the residual at the start and after each iteration, as the method updates it.
    pub history: Vec<f64>,
    /// Why the method stopped.
    pub stop: Stop,
}

impl<T> Solution<T> {
    /// Whether the residual is as small as asked for.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.stop == Stop::Converged
    }
}
