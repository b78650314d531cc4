//! Ready-made preconditioners. Functions and [`Triangular`](crate::Triangular) are preconditioners as well.

use crate::error::{SolveError, expect_length};
use crate::number::Number;
use crate::operator::Operator;
use crate::rows::{Rows, inverse};
use ust_engine::Tensor;

/// The preconditioner that leaves vectors as they are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<T: Number> Operator<T> for Identity {
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<(), SolveError> {
        expect_length("the vector for the image", x.len(), y.len())?;
        y.copy_from_slice(x);
        Ok(())
    }
}

/// Division by the diagonal of the matrix.
///
/// ```
/// use ust::solve::{Jacobi, Operator};
/// let jacobi = Jacobi::new(&ust::Tensor::diags((2, 2), &[(0, &[2.0, 4.0]), (1, &[9.0])], "CSR")?)?;
/// let mut z = [0.0; 2];
/// jacobi.apply(&[2.0, 2.0], &mut z)?;
/// assert_eq!(z, [1.0, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Jacobi<T> {
    inverses: Vec<T>,
}

impl<T: Number> Jacobi<T> {
    /// Takes the diagonal of a matrix in any format. Cost: a conversion to compressed rows.
    ///
    /// # Errors
    /// As [`Triangular::new`](crate::Triangular::new).
    pub fn new(tensor: &Tensor) -> Result<Self, SolveError> {
        let rows = Rows::<T>::new(tensor)?;
        let pivot = |row: usize| inverse(row, rows.split(row).1.map(|at| rows.values[at]));
        Ok(Self { inverses: (0..rows.len()).map(pivot).collect::<Result<_, _>>()? })
    }
}

impl<T: Number> Operator<T> for Jacobi<T> {
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<(), SolveError> {
        expect_length("the residual", self.inverses.len(), x.len())?;
        expect_length("the vector for the correction", self.inverses.len(), y.len())?;
        let all = y.iter_mut().zip(x).zip(&self.inverses);
        all.for_each(|((y, &x), &inverse)| *y = x * inverse);
        Ok(())
    }
}

/// The incomplete LU factorization without fill-in: the factors have entries where the matrix has some, and their
/// product agrees with the matrix there.
///
/// Cost of the factorization: for each entry below the diagonal, a pass over the row of its column. Cost of applying
/// it: a pass over the entries, by one thread. For a Hermitian positive definite matrix, it is a preconditioner of
/// [`cg`](crate::cg): the factors are those of the incomplete Cholesky factorization.
///
/// Meijerink and van der Vorst, 1977; Saad, *Iterative Methods for Sparse Linear Systems*, section 10.3.2.
///
/// ```
/// use ust::solve::{Ilu0, Operator};
/// // A tridiagonal matrix has no fill-in: the factorization is complete.
/// let a = ust::Tensor::diags((3, 3), &[(0, &[2.0]), (1, &[1.0]), (-1, &[1.0])], "DIA")?;
/// let mut x = [0.0; 3];
/// Ilu0::new(&a)?.apply(&[3.0, 4.0, 3.0], &mut x)?;
/// assert!(x.iter().all(|x: &f64| (x - 1.0).abs() < 1e-15));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ilu0<T> {
    /// Below the diagonal, the lower factor, whose diagonal is one. Elsewhere the upper factor.
    rows: Rows<T>,
    inverses: Vec<T>,
}

impl<T: Number> Ilu0<T> {
    /// Factors a matrix in any format.
    ///
    /// # Errors
    /// As [`Triangular::new`](crate::Triangular::new). [`SolveError::Singular`] where a pivot becomes zero, which may
    /// happen to matrices that are not singular.
    pub fn new(tensor: &Tensor) -> Result<Self, SolveError> {
        let mut rows = Rows::<T>::new(tensor)?;
        let mut inverses = Vec::with_capacity(rows.len());
        // Where the row that is being factored has its entry of each column.
        let mut place = vec![usize::MAX; rows.len()];
        for row in 0..rows.len() {
            let (left, diagonal, _) = rows.split(row);
            for at in rows.row(row) {
                place[rows.columns[at]] = at;
            }
            for at in left {
                let above = rows.columns[at];
                let factor = rows.values[at] * inverses[above];
                rows.values[at] = factor;
                for from in rows.split(above).2 {
                    let to = place[rows.columns[from]];
                    if to != usize::MAX {
                        rows.values[to] = rows.values[to] - factor * rows.values[from];
                    }
                }
            }
            inverses.push(inverse(row, diagonal.map(|at| rows.values[at]))?);
            for at in rows.row(row) {
                place[rows.columns[at]] = usize::MAX;
            }
        }
        Ok(Self { rows, inverses })
    }
}

impl<T: Number> Operator<T> for Ilu0<T> {
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<(), SolveError> {
        expect_length("the residual", self.rows.len(), x.len())?;
        expect_length("the vector for the correction", self.rows.len(), y.len())?;
        y.copy_from_slice(x);
        for row in 0..y.len() {
            y[row] = y[row] - self.rows.dot(self.rows.split(row).0, y);
        }
        for row in (0..y.len()).rev() {
            y[row] = (y[row] - self.rows.dot(self.rows.split(row).2, y)) * self.inverses[row];
        }
        Ok(())
    }
}
