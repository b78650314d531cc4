//! Direct methods, by the crate [`faer`]: factorizations of sparse matrices.

use faer::prelude::{Solve as _, SolveLstsq as _};
use faer::sparse::linalg::LltError;
use faer::sparse::linalg::solvers::{Llt, Lu, Qr};
use faer::sparse::{SparseColMat, SparseColMatRef};
use faer::traits::ComplexField;
use faer::{MatMut, Side};
use ust_engine::{Error, Tensor};

use crate::error::{SolveError, expect_length};
use crate::number::Number;
use crate::operator::{Operator, square};

/// A matrix in compressed columns with row numbers of 32 bits, as faer factors it.
///
/// A tensor in CSC with unsigned indices of 32 bits and values of type `T` shares its arrays; any other is converted.
///
/// ```
/// use ust::{Tensor, solve::direct::Columns};
/// let a = Tensor::diags((3, 3), &[(0, &[2.0]), (1, &[1.0])], "DIA")?;
/// let columns = Columns::<f64>::new(&a)?;
/// assert_eq!(columns.as_faer().col_ptr(), [0, 1, 3, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Columns<T> {
    shape: [usize; 2],
    csc: Tensor,
    element: std::marker::PhantomData<T>,
}

impl<T: Number> Columns<T> {
    /// The columns of a matrix in any format.
    ///
    /// # Errors
    /// [`SolveError::Argument`] for a tensor that is no matrix; [`SolveError::Fill`] where elements that are not stored
    /// are not zero; [`SolveError::Tensor`] where values do not fit into `T`, or there are more entries than `i32`
    /// counts.
    pub fn new(tensor: &Tensor) -> Result<Self, SolveError> {
        let Ok(shape) = <[usize; 2]>::try_from(tensor.shape()) else {
            let text = format!("a tensor of shape {:?} is no matrix", tensor.shape());
            return Err(SolveError::Argument(text));
        };
        if tensor.fill() != tensor.dtype().zero() {
            return Err(SolveError::Fill { fill: tensor.fill().to_string() });
        }
        let mut csc = tensor.cast(T::DTYPE)?;
        if SparseColMatRef::<u32, T>::try_from(&csc).is_err() {
            csc = SparseColMat::<u32, T>::try_from(csc)?.try_into()?;
        }
        if i32::try_from(csc.nse()).is_err() {
            let text = format!("a matrix with {} entries, for indices of 32 bits", csc.nse());
            return Err(Error::TooLarge(text).into());
        }
        Ok(Self { shape, csc, element: std::marker::PhantomData })
    }

    /// The matrix, as faer sees it: the same arrays.
    #[must_use]
    pub fn as_faer(&self) -> SparseColMatRef<'_, u32, T> {
        let lent = SparseColMatRef::try_from(&self.csc);
        lent.unwrap_or_else(|_| unreachable!("`new` made arrays that are lent"))
    }
}

/// A factorization of a sparse matrix, to solve any number of systems with.
///
/// Rows and columns are ordered so that factors stay sparse (approximate minimum degree). Factors are computed on all
/// threads of the global pool of rayon. As an [`Operator`], a factorization is an exact preconditioner.
///
/// ```
/// use ust::solve::direct::Factorization;
/// let a = ust::Tensor::diags((99, 99), &[(0, &[4.0]), (1, &[-2.0]), (-1, &[-1.0])], "CSR")?;
/// let x = Factorization::lu(&a)?.solve(&[1.0; 99])?;
/// assert!((4.0 * x[0] - 2.0 * x[1] - 1.0_f64).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Factorization<T> {
    factors: Factors<T>,
    shape: [usize; 2],
}

#[derive(Clone, Debug)]
enum Factors<T> {
    Lu(Box<Lu<u32, T>>),
    Cholesky(Llt<u32, T>),
    Qr(Qr<u32, T>),
}

impl<T: Number + ComplexField> Factorization<T> {
    /// `LU` with row pivoting, of any square matrix that is not singular.
    ///
    /// # Errors
    /// [`SolveError::NotSquare`]; as [`Columns::new`]; [`SolveError::Factorization`] where the pattern alone makes the
    /// matrix singular, or memory is short.
    pub fn lu(tensor: &Tensor) -> Result<Self, SolveError> {
        square(tensor)?;
        let columns = Columns::<T>::new(tensor)?;
        let factors = columns.as_faer().sp_lu().map_err(failed)?;
        Ok(Self { factors: Factors::Lu(Box::new(factors)), shape: columns.shape })
    }

    /// `L L^H` of a Hermitian positive definite matrix. What is above the diagonal is not looked at.
    ///
    /// # Errors
    /// [`SolveError::NotSquare`]; as [`Columns::new`]; [`SolveError::Factorization`] for a matrix that is not positive
    /// definite, or where memory is short.
    pub fn cholesky(tensor: &Tensor) -> Result<Self, SolveError> {
        square(tensor)?;
        let columns = Columns::<T>::new(tensor)?;
        let factors = columns.as_faer().sp_cholesky(Side::Lower).map_err(|error| match error {
            LltError::Numeric(_) => {
                SolveError::Factorization("the matrix is not positive definite".to_owned())
            }
            LltError::Generic(error) => failed(error),
        })?;
        Ok(Self { factors: Factors::Cholesky(factors), shape: columns.shape })
    }

    /// `QR` of a matrix with at least as many rows as columns, whose columns do not depend on each other: solutions
    /// have the least residual.
    ///
    /// # Errors
    /// [`SolveError::Argument`] for a matrix with more columns than rows; as [`Columns::new`];
    /// [`SolveError::Factorization`] where memory is short.
    pub fn qr(tensor: &Tensor) -> Result<Self, SolveError> {
        let columns = Columns::<T>::new(tensor)?;
        let [rows, width] = columns.shape;
        if rows < width {
            let text =
                format!("a system with {rows} equations for {width} unknowns has no least squares");
            return Err(SolveError::Argument(text));
        }
        let factors = columns.as_faer().sp_qr().map_err(failed)?;
        Ok(Self { factors: Factors::Qr(factors), shape: columns.shape })
    }

    /// The solution of the system with this right-hand side; by `QR`, the vector with the least residual.
    ///
    /// # Errors
    /// [`SolveError::Length`] for a right-hand side of another length; [`SolveError::Factorization`] where the solution
    /// of a finite right-hand side is not finite: the matrix is singular.
    pub fn solve(&self, b: &[T]) -> Result<Vec<T>, SolveError> {
        let [rows, columns] = self.shape;
        expect_length("the right-hand side", rows, b.len())?;
        let mut x = b.to_vec();
        let column = MatMut::from_column_major_slice_mut(&mut x, rows, 1);
        match &self.factors {
            Factors::Lu(factors) => factors.solve_in_place(column),
            Factors::Cholesky(factors) => factors.solve_in_place(column),
            Factors::Qr(factors) => factors.solve_lstsq_in_place(column),
        }
        x.truncate(columns);
        let finite = |x: &[T]| x.iter().all(|&x| num_complex::ComplexFloat::is_finite(x));
        match finite(&x) || !finite(b) {
            true => Ok(x),
            false => Err(SolveError::Factorization("the matrix is singular".to_owned())),
        }
    }
}

impl<T: Number + ComplexField> Operator<T> for Factorization<T> {
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<(), SolveError> {
        expect_length("the vector for the solution", self.shape[1], y.len())?;
        y.copy_from_slice(&self.solve(x)?);
        Ok(())
    }
}

/// What faer says.
fn failed(error: impl std::fmt::Debug) -> SolveError {
    SolveError::Factorization(format!("the matrix cannot be factored: {error:?}"))
}
