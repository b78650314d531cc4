//! What is multiplied with: a matrix in any format, or a function.

use std::marker::PhantomData;

use ust_engine::{Kernel, Tensor, einsum, ndarray::Array1};

use crate::error::{SolveError, expect_length};
use crate::number::Number;

/// A linear map from vectors to vectors of the same length: a matrix, or a preconditioner.
///
/// Implemented for [`Matrix`], for the preconditioners of this crate, and for functions:
///
/// ```
/// use ust::solve::{Options, SolveError, cg};
/// let second_difference = |x: &[f64], y: &mut [f64]| -> Result<(), SolveError> {
///     for i in 0..x.len() {
///         let before = if i > 0 { x[i - 1] } else { 0.0 };
///         y[i] = 2.0 * x[i] - before - x.get(i + 1).unwrap_or(&0.0);
///     }
///     Ok(())
/// };
/// let solution = cg(&second_difference, &[1.0, 0.0, 0.0, 1.0], Options::new())?;
/// assert!(solution.converged());
/// assert!(solution.x.iter().all(|x| (x - 1.0).abs() < 1e-6));
/// # Ok::<(), ust::solve::SolveError>(())
/// ```
pub trait Operator<T> {
    /// Writes the image of `x` to `y`. Both have the same length. `y` may hold anything before, and is to be written
    /// completely.
    ///
    /// # Errors
    /// [`SolveError::Length`] for vectors that do not fit; whatever else goes wrong, as [`SolveError::Operator`] where
    /// no other error suits.
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<(), SolveError>;
}

impl<T, F: Fn(&[T], &mut [T]) -> Result<(), SolveError>> Operator<T> for F {
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<(), SolveError> {
        self(x, y)
    }
}

/// A square matrix in any format, with its product by a vector planned and compiled.
///
/// The kernel is made once. A product copies `x` and writes to `y`; the tensor is shared, and converted only where
/// the planner says so. The values may have any dtype whose products with `T` are of type `T`.
///
/// ```
/// use ust::solve::{Matrix, Operator};
/// let a = ust::Tensor::diags((3, 3), &[(0, &[2.0]), (1, &[1.0])], "DIA")?;
/// let matrix = Matrix::new(&a)?;
/// let mut y = [0.0; 3];
/// matrix.apply(&[1.0, 10.0, 100.0], &mut y)?;
/// assert_eq!(y, [12.0, 120.0, 200.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Matrix<T> {
    tensor: Tensor,
    kernel: Kernel,
    size: usize,
    element: PhantomData<T>,
}

impl<T: Number> Matrix<T> {
    /// Plans the product of this matrix and a vector.
    ///
    /// # Errors
    /// [`SolveError::NotSquare`] for other tensors; [`SolveError::Product`] where the planner fails, or where
    /// products of the values with `T` are not of type `T`.
    pub fn new(tensor: &Tensor) -> Result<Self, SolveError> {
        let size = square(tensor)?;
        let call = einsum("y(i) = A(i,j) * x(j)").arg("A", tensor);
        let kernel = call.arg("x", Array1::from_elem(size, T::zero())).prepare()?;
        Ok(Self { tensor: tensor.clone(), kernel, size, element: PhantomData })
    }

    /// The number of rows, and of columns.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
}

impl<T: Number> Operator<T> for Matrix<T> {
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<(), SolveError> {
        expect_length("the vector to multiply", self.size, x.len())?;
        expect_length("the vector for the product", self.size, y.len())?;
        let x = Tensor::from_array(Array1::from(x.to_vec()).into_dyn())?;
        Ok(self.kernel.run_into(&[&self.tensor, &x], y)?)
    }
}

/// The extent of a square matrix.
pub(crate) fn square(tensor: &Tensor) -> Result<usize, SolveError> {
    match *tensor.shape() {
        [rows, columns] if rows == columns => Ok(rows),
        _ => Err(SolveError::NotSquare { shape: tensor.shape().to_vec() }),
    }
}
