//! A few singular values of a matrix in any format.

use std::marker::PhantomData;

use ust_engine::{Kernel, Tensor, einsum, ndarray::Array1};

use crate::error::{SolveError, expect_length};
use crate::lobpcg::{Which, lobpcg};
use crate::number::{Number, add_scaled, dot, norm, real, real_part, scale};
use crate::operator::Operator;
use crate::options::{Breakdown, Options, Stop};

/// Singular values and their vectors, or how far the method came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SingularTriplets<T> {
    /// The singular values, in descending order.
    pub values: Vec<f64>,
    /// For each value, a left vector of norm one, with as many elements as the matrix has rows.
    pub left: Vec<Vec<T>>,
    /// For each value, a right vector of norm one, with as many elements as the matrix has columns.
    pub right: Vec<Vec<T>>,
    /// For each triplet, the larger norm of `A v - value u` and `A^H u - value v`, from products at the end.
    pub residuals: Vec<f64>,
    /// Iterations that were begun.
    pub iterations: usize,
    /// Why the method stopped.
    pub stop: Stop,
}

impl<T> SingularTriplets<T> {
    /// Whether all residuals are as small as asked for.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.stop == Stop::Converged
    }
}

/// The `count` largest singular values of a matrix, and their vectors.
///
/// They are the largest eigenvalues of the Hermitian matrix `[0, A; A^H, 0]`, which [`lobpcg`] finds: unlike those of
/// `A^H A`, they lose no digits. An iteration costs a product with `A` and one with `A^H` for each triplet that has
/// not converged, and what it costs there. The tolerance is relative to the largest value. Values that are not above
/// it are zero as far as the method can tell, and left out: there may be fewer than `count`. A preconditioner is not
/// used; vectors to start from are a left and a right one, one behind the other, for each triplet.
///
/// Golub and Kahan, *Calculating the singular values and pseudo-inverse of a matrix*, 1965.
///
/// ```
/// use ust::solve::{Options, svd};
/// let values: Vec<f64> = (1..=200).map(|k| 1.0 / k as f64).collect();
/// let a = ust::Tensor::diags((300, 200), &[(-7, &values)], "CSR")?;
/// let found = svd::<f64>(&a, 2, Options::new())?;
/// assert!(found.converged() && (found.values[1] - 0.5).abs() < 1e-8);
/// // The second row and column of the diagonal, with either sign.
/// assert!((found.left[1][8] * found.right[1][1] - 1.0).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SolveError::Argument`] for a tensor that is no matrix, more values than rows or columns, none, or a tolerance that
/// makes no sense; [`SolveError::Length`] for a start that has not `count * (rows + columns)` elements;
/// [`SolveError::Product`] where products cannot be planned.
pub fn svd<T: Number>(
    tensor: &Tensor,
    count: usize,
    options: Options<'_, T>,
) -> Result<SingularTriplets<T>, SolveError> {
    let [rows, columns] = *tensor.shape() else {
        let text = format!("a tensor of shape {:?} is no matrix", tensor.shape());
        return Err(SolveError::Argument(text));
    };
    if count > rows.min(columns) {
        let text =
            format!("a matrix of {rows} rows and {columns} columns has no {count} singular values");
        return Err(SolveError::Argument(text));
    }
    let both = Both::new(tensor, rows, columns)?;
    let (relative, absolute) = (options.relative, options.absolute);
    // Halves of an eigenvector of norm one have a norm of about 0.7: so much is lost when they are scaled.
    let options = Options {
        relative: relative / 2.0,
        absolute: absolute / 2.0,
        preconditioner: None,
        ..options
    };
    let pairs = lobpcg(&both, rows + columns, count, Which::Largest, options)?;
    let mut found = SingularTriplets {
        values: Vec::new(),
        left: Vec::new(),
        right: Vec::new(),
        residuals: Vec::new(),
        iterations: pairs.iterations,
        stop: pairs.stop,
    };
    let largest = pairs.values.first().map_or(0.0, |&value| real_part(value));
    let threshold = (relative * largest).max(absolute);
    for (&value, mut vector) in pairs.values.iter().zip(pairs.vectors) {
        if real_part(value) <= threshold {
            break;
        }
        let (u, v) = vector.split_at_mut(rows);
        for half in [u, v] {
            let shrink = real(1.0 / norm(half));
            scale(half, shrink);
        }
        let (value, residual) = both.measure(&vector)?;
        let right = vector.split_off(rows);
        found.values.push(value);
        found.left.push(vector);
        found.right.push(right);
        found.residuals.push(residual);
    }
    // What was measured decides.
    if found.converged() && !found.residuals.iter().all(|&residual| residual <= threshold) {
        found.stop = Stop::Breakdown(Breakdown::Stagnation);
    }
    Ok(found)
}

/// The matrix `[0, A; A^H, 0]`.
struct Both<T> {
    tensor: Tensor,
    rows: usize,
    columns: usize,
    product: Kernel,
    /// Of the transposed matrix.
    transposed: Kernel,
    element: PhantomData<T>,
}

impl<T: Number> Both<T> {
    fn new(tensor: &Tensor, rows: usize, columns: usize) -> Result<Self, SolveError> {
        let plan = |text: &str, size| {
            einsum(text).arg("A", tensor).arg("x", Array1::from_elem(size, T::zero())).prepare()
        };
        let product = plan("y(i) = A(i,j) * x(j)", columns)?;
        let transposed = plan("y(j) = A(i,j) * x(i)", rows)?;
        let (tensor, element) = (tensor.clone(), PhantomData);
        Ok(Self { tensor, rows, columns, product, transposed, element })
    }

    /// The value of two vectors of norm one, and the residual of the triplet.
    fn measure(&self, vector: &[T]) -> Result<(f64, f64), SolveError> {
        let mut image = vec![T::zero(); vector.len()];
        self.apply(vector, &mut image)?;
        let (u, v) = vector.split_at(self.rows);
        let (of_v, of_u) = image.split_at_mut(self.rows);
        let value = real_part(dot(u, of_v));
        add_scaled(of_v, real(-value), u);
        add_scaled(of_u, real(-value), v);
        let (a, b) = (norm(of_v), norm(of_u));
        Ok((value, if a > b || a.is_nan() { a } else { b }))
    }
}

impl<T: Number> Operator<T> for Both<T> {
    fn apply(&self, x: &[T], y: &mut [T]) -> Result<(), SolveError> {
        expect_length("the vector to multiply", self.rows + self.columns, x.len())?;
        expect_length("the vector for the product", self.rows + self.columns, y.len())?;
        let (u, v) = x.split_at(self.rows);
        let (of_v, of_u) = y.split_at_mut(self.rows);
        let vector = |x: Vec<T>| Tensor::from_array(Array1::from(x).into_dyn());
        self.product.run_into(&[&self.tensor, &vector(v.to_vec())?], of_v)?;
        // `A^H u` is the conjugate of `A^T conj(u)`.
        let conjugate = u.iter().map(|x| x.conj()).collect();
        self.transposed.run_into(&[&self.tensor, &vector(conjugate)?], of_u)?;
        of_u.iter_mut().for_each(|y| *y = y.conj());
        Ok(())
    }
}
