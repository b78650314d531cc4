//! Rows and columns by number, or where a mask is true; diagonals; coordinates of what is not zero.

use ust_format::Format;

use super::dims::Dim;
use super::{list, names};
use crate::einsum::einsum;
use crate::error::Error;
use crate::storage::coo::{Coo, Coordinate};
use crate::storage::{StoredElement, Tensor};

impl Tensor {
    /// The parts at these coordinates of a dimension, in this order. A coordinate may occur several times. The format
    /// stays.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0], [2, 3], [0, 4]], "CSR")?;
    /// let rows = a.take(vec![2, 0, 2], 0)?;
    /// assert_eq!(rows.to_dense::<i32>()?, ndarray::array![[0, 4], [1, 0], [0, 4]].into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Cost: where the first level has the dimension (rows of CSR, DCSR, COO; columns of CSC) and its children stand side
    /// by side, a copy of what is stored there. Else a product with a matrix that has a one for each coordinate: duplicates
    /// are summed then, and elements that are not stored have to be zero.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for a coordinate outside, [`Error::Shape`] for a dimension that there is not; those of an
    /// expression.
    pub fn take<C: Coordinate>(&self, at: Vec<C>, dim: impl Dim) -> Result<Self, Error> {
        let dim = self.dim(dim)?;
        let at = C::into_column(at);
        if let Some(picked) = self.picked(dim, &at) {
            return Ok(picked);
        }
        let places = (0..at.len() as i64).collect();
        let shape = [at.len(), self.shape()[dim]];
        let rows = Format::resolve("CSR", Some(2))?;
        let ones = Self::from_coo(&Coo::iso(shape, vec![places, at], self.dtype().one())?, rows)?;
        let all = names(self.rank());
        let mut out = all.clone();
        out[dim] = "n".to_owned();
        let text = format!("R({}) = S(n,{}) * A({})", list(&out), all[dim], list(&all));
        let format = self.format().without_slices();
        let call = einsum(&text).arg("S", &ones).arg("A", self).dtype(self.dtype());
        Ok(call.format(format).run()?)
    }

    /// The parts at the coordinates of a dimension where a mask is true. As [`Tensor::take`].
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0], [2, 3], [0, 4]], "CSR")?;
    /// assert_eq!(a.compress(&[true, false, true], 0)?.shape(), [2, 2]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::take`]; [`Error::Shape`] for a mask of another length.
    pub fn compress(&self, mask: &[bool], dim: impl Dim) -> Result<Self, Error> {
        let dim = self.dim(dim)?;
        if mask.len() != self.shape()[dim] {
            let expected = format!("a mask of {} truth values", self.shape()[dim]);
            return Err(Error::Shape { found: vec![mask.len()], expected });
        }
        let at = mask.iter().enumerate().filter(|(_, kept)| **kept);
        self.take(at.map(|(at, _)| at).collect(), dim)
    }

    /// The elements `(i, i + offset)` of a matrix, as a vector.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 5, 0], [0, 2, 6], [7, 0, 3]], "CSR")?;
    /// assert_eq!(a.diagonal(0)?.to_dense::<i32>()?, ndarray::array![1, 2, 3].into_dyn());
    /// assert_eq!(a.diagonal(1)?.to_dense::<i32>()?, ndarray::array![5, 6].into_dyn());
    /// assert_eq!(a.trace()?.item::<i64>()?, 6);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] for a tensor that is no matrix, or a diagonal beside it.
    pub fn diagonal(&self, offset: isize) -> Result<Self, Error> {
        Ok(einsum("d(i) = A(i,i)").arg("A", self.square(offset)?).run()?)
    }

    /// The sum of the diagonal of a matrix.
    ///
    /// # Errors
    /// As [`Tensor::diagonal`].
    pub fn trace(&self) -> Result<Self, Error> {
        self.diagonal(0)?.sum(..)
    }

    /// The square part of a matrix whose diagonal is one of those of this matrix.
    fn square(&self, offset: isize) -> Result<Self, Error> {
        let &[rows, columns] = self.shape() else {
            let expected = "a matrix".to_owned();
            return Err(Error::Shape { found: self.shape().to_vec(), expected });
        };
        let (row, column) = ((-offset).max(0) as usize, offset.max(0) as usize);
        if row > rows || column > columns {
            let expected = format!("a diagonal {offset}");
            return Err(Error::Shape { found: vec![rows, columns], expected });
        }
        let count = (rows - row).min(columns - column);
        self.slice((row..row + count, column..column + count))
    }

    /// The coordinates of the elements that are not zero: for each dimension, those of each such element, in the order
    /// of storage.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0], [2, 3]], "CSR")?;
    /// assert_eq!(a.nonzero()?, [vec![0, 1, 1], vec![0, 0, 1]]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::to_coo`]; [`Error::Unsupported`] if elements that are not stored are not zero.
    pub fn nonzero(&self) -> Result<Vec<Vec<usize>>, Error> {
        if !self.fill().same(&self.dtype().zero()) {
            let text = format!("all elements that are not stored are {}, not zero", self.fill());
            return Err(Error::Unsupported(text));
        }
        let coo = self.to_coo()?;
        let kept = crate::with_values!(&coo.values, values => places_of_nonzeros(values));
        let column = |crd: &Vec<i64>| kept.iter().map(|&at| crd[at] as usize).collect();
        Ok(coo.crd.iter().map(column).collect())
    }
}

fn places_of_nonzeros<T: StoredElement>(values: &[T]) -> Vec<usize> {
    let zero = |value: &T| T::ZERO.scalar().same(&value.scalar());
    let minus = |value: &T| value.scalar() == T::ZERO.scalar();
    (0..values.len()).filter(|&at| !zero(&values[at]) && !minus(&values[at])).collect()
}
