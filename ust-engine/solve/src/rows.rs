//! The entries of a matrix, row by row: what factorizations work on.

use std::ops::Range;

use ust_engine::{Error, Tensor};

use crate::error::SolveError;
use crate::number::Number;
use crate::operator::square;

/// A square matrix in compressed rows. The columns of a row ascend.
#[derive(Clone, Debug)]
pub(crate) struct Rows<T> {
    pos: Vec<usize>,
    pub(crate) columns: Vec<usize>,
    pub(crate) values: Vec<T>,
}

impl<T: Number> Rows<T> {
    /// The rows of a matrix in any format, with values that `T` holds without loss.
    pub(crate) fn new(tensor: &Tensor) -> Result<Self, SolveError> {
        square(tensor)?;
        if tensor.fill() != tensor.dtype().zero() {
            return Err(SolveError::Fill { fill: tensor.fill().to_string() });
        }
        let csr = tensor.convert("CSR")?.cast(T::DTYPE)?;
        csr.fetch()?;
        let indices = |array: Option<&ust_engine::IndexArray>| {
            let array = array.ok_or_else(|| Error::Parts("rows without an array".to_owned()))?;
            Ok::<Vec<usize>, Error>(array.to_vec().into_iter().map(|at| at as usize).collect())
        };
        let (pos, columns) = (indices(csr.pos(1))?, indices(csr.crd(1))?);
        Ok(Self { pos, columns, values: csr.values().typed::<T>()?.to_vec() })
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.pos.len() - 1
    }

    /// The places of the entries of a row.
    pub(crate) fn row(&self, row: usize) -> Range<usize> {
        self.pos[row]..self.pos[row + 1]
    }

    /// The places of a row's entries left of the diagonal, its place on the diagonal if it has one, and those right of
    /// it.
    pub(crate) fn split(&self, row: usize) -> (Range<usize>, Option<usize>, Range<usize>) {
        let Range { start, end } = self.row(row);
        let columns = &self.columns[start..end];
        let left = start + columns.partition_point(|&column| column < row);
        let diagonal = (left < end && self.columns[left] == row).then_some(left);
        (start..left, diagonal, left + usize::from(diagonal.is_some())..end)
    }

    /// The sum of the entries at some places, each times an element of a vector.
    pub(crate) fn dot(&self, places: Range<usize>, x: &[T]) -> T {
        let entries = self.columns[places.clone()].iter().zip(&self.values[places]);
        entries.fold(T::zero(), |sum, (&column, &value)| sum + value * x[column])
    }
}

/// The inverse of a pivot.
pub(crate) fn inverse<T: Number>(row: usize, pivot: Option<T>) -> Result<T, SolveError> {
    let inverse = pivot.map(|pivot| T::one() / pivot);
    let fine = pivot.is_some_and(|pivot| pivot.is_finite() && !pivot.is_zero());
    inverse.filter(|inverse| fine && inverse.is_finite()).ok_or(SolveError::Singular { row })
}
