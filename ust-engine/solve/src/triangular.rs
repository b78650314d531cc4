//! Triangular systems.

use crate::error::{SolveError, expect_length};
use crate::number::Number;
use crate::operator::Operator;
use crate::rows::{Rows, inverse};
use ust_engine::Tensor;

/// Which triangle of a matrix is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// The diagonal and what is below.
    Lower,
    /// The diagonal and what is above.
    Upper,
}

/// Where the diagonal of a triangle comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagonal {
    /// From the matrix.
    Stored,
    /// It is one, whatever the matrix has there.
    Unit,
}

/// A triangle of a square matrix, prepared to solve systems with.
///
/// The matrix is converted to compressed rows once. A system costs a pass over the entries of these rows, by one
/// thread: each row waits for others. As an [`Operator`], a triangle is a preconditioner.
///
/// ```
/// use ust::solve::{Diagonal, Triangle, Triangular};
/// let a = ust::Tensor::from_dense(&ndarray::array![[2.0, 7.0], [1.0, 4.0]], "CSC")?;
/// let lower = Triangular::new(&a, Triangle::Lower, Diagonal::Stored)?;
/// assert_eq!(lower.solve(&[4.0, 10.0])?, [2.0, 2.0]);
/// assert_eq!(lower.solve(&[2.0, 1.0])?, [1.0, 0.0]);
/// # use ust::ndarray;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Triangular<T> {
    rows: Rows<T>,
    triangle: Triangle,
    /// Inverse elements of the diagonal. Empty, if they are one.
    inverses: Vec<T>,
}

impl<T: Number> Triangular<T> {
    /// Takes a triangle of a matrix in any format. What is on the other side of the diagonal is not looked at.
    ///
    /// # Errors
    /// [`SolveError::NotSquare`]; [`SolveError::Fill`] where elements that are not stored are not zero;
    /// [`SolveError::Singular`] for a diagonal with an element that is zero or not stored; [`SolveError::Tensor`]
    /// where values do not fit into `T`.
    pub fn new(
        tensor: &Tensor,
        triangle: Triangle,
        diagonal: Diagonal,
    ) -> Result<Self, SolveError> {
        let rows = Rows::<T>::new(tensor)?;
        let pivot = |row: usize| inverse(row, rows.split(row).1.map(|at| rows.values[at]));
        let inverses = match diagonal {
            Diagonal::Stored => (0..rows.len()).map(pivot).collect::<Result<_, _>>()?,
            Diagonal::Unit => Vec::new(),
        };
        Ok(Self { rows, triangle, inverses })
    }

    /// Solves the system with this right-hand side.
    ///
    /// # Errors
    /// [`SolveError::Length`] for a right-hand side of another length.
    pub fn solve(&self, b: &[T]) -> Result<Vec<T>, SolveError> {
        let mut x = b.to_vec();
        self.solve_in_place(&mut x)?;
        Ok(x)
    }

    /// Solves the system whose right-hand side is in `x`, and writes the solution there.
    ///
    /// # Errors
    /// As [`Triangular::solve`].
    pub fn solve_in_place(&self, x: &mut [T]) -> Result<(), SolveError> {
        expect_length("the right-hand side", self.rows.len(), x.len())?;
        let mut solve = |row: usize| {
            let (left, _, right) = self.rows.split(row);
            let others = if self.triangle == Triangle::Lower { left } else { right };
            let rest = x[row] - self.rows.dot(others, x);
            x[row] = self.inverses.get(row).map_or(rest, |&inverse| rest * inverse);
        };
        match self.triangle {
            Triangle::Lower => (0..self.rows.len()).for_each(&mut solve),
            Triangle::Upper => (0..self.rows.len()).rev().for_each(&mut solve),
        }
        Ok(())
    }
}

impl<T: Number> Operator<T> for Triangular<T> {
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<(), SolveError> {
        expect_length("the vector for the solution", x.len(), y.len())?;
        y.copy_from_slice(x);
        self.solve_in_place(y)
    }
}

/// Solves a system with a triangle of a matrix in any format. For several right-hand sides, see [`Triangular`].
///
/// ```
/// use ust::solve::{Diagonal, Triangle, solve_triangular};
/// let a = ust::Tensor::diags((3, 3), &[(0, &[2.0]), (1, &[1.0])], "DIA")?;
/// let x = solve_triangular(&a, &[3.0, 3.0, 2.0], Triangle::Upper, Diagonal::Stored)?;
/// assert_eq!(x, [1.0, 1.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Triangular::new`] and [`Triangular::solve`].
pub fn solve_triangular<T: Number>(
    tensor: &Tensor,
    b: &[T],
    triangle: Triangle,
    diagonal: Diagonal,
) -> Result<Vec<T>, SolveError> {
    Triangular::new(tensor, triangle, diagonal)?.solve(b)
}
