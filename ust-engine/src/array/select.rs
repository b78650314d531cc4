//! Rows and columns by number or by mask; diagonals; elements where another tensor has some.

use ust_format::Format;
use ust_level_api::ir::cancel::pieces;

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

    /// This tensor where a mask of the same shape is not zero, and zero elsewhere.
    ///
    /// ```
    /// # use ust::{Tensor, einsum};
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0], [2, 3]], "CSR")?;
    /// let large = einsum("M(i,j) = A(i,j) > 1").arg("A", &a).run()?;
    /// assert_eq!(a.masked(&large)?.to_dense::<i32>()?, ndarray::array![[0, 0], [2, 3]].into_dyn());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of an expression.
    pub fn masked(&self, mask: &Self) -> Result<Self, Error> {
        let all = list(&names(self.rank()));
        let text = format!("R({all})<M({all})> = A({all})");
        Ok(einsum(&text)
            .arg("A", self)
            .arg("M", mask)
            .format(self.format().without_slices())
            .run()?)
    }

    /// The elements of this tensor where another of the same shape stores one, in the format of that one. Zeros are
    /// stored as well.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let dense = ndarray::array![[1, 2], [3, 4]];
    /// let pattern = Tensor::from_dense(&ndarray::array![[0, 9], [9, 0]], "CSR")?;
    /// let sparse = Tensor::from_dense(&dense, "Dense")?.sparse_mask(&pattern)?;
    /// assert_eq!(sparse.values().typed::<i32>()?, [2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of an expression.
    pub fn sparse_mask(&self, pattern: &Self) -> Result<Self, Error> {
        let all = list(&names(self.rank()));
        let text = format!("R({all})<structure M({all})> = A({all})");
        let format = pattern.format().without_slices();
        Ok(einsum(&text).arg("A", self).arg("M", pattern).format(format).run()?)
    }

    /// The entries that a function of their coordinates accepts, explicit zeros among them, in the same format.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 5, 0], [4, 2, 6], [7, 0, 3]], "CSR")?;
    /// let even = a.filter(|at| (at[0] + at[1]) % 2 == 0)?;
    /// let expected = ndarray::array![[1, 0, 0], [0, 2, 0], [7, 0, 3]];
    /// assert_eq!(even.to_dense::<i32>()?, expected.into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Cost: the result is built of coordinates.
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn filter(&self, mut keep: impl FnMut(&[usize]) -> bool) -> Result<Self, Error> {
        let all = self.to_coo()?;
        let mut at = vec![0; self.rank()];
        let kept = pieces(all.len()).flatten().filter(|&entry| {
            at.iter_mut().zip(&all.crd).for_each(|(at, crd)| *at = crd[entry] as usize);
            keep(&at)
        });
        let kept: Vec<u64> = kept.map(|entry| entry as u64).collect();
        let column = |crd: &Vec<i64>| kept.iter().map(|&entry| crd[entry as usize]).collect();
        let crd = all.crd.iter().map(column).collect();
        let coo = Coo { shape: all.shape, crd, values: all.values.gather(&kept) };
        self.made_of(&coo)
    }

    /// The elements of a matrix, or of each of a stack of them, on the diagonal `offset` and below. Those above are not
    /// stored. In an expression, `A(i,j) * (i >= j)` is the same for one use.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 5, 0], [4, 2, 6], [7, 0, 3]], "CSR")?;
    /// let expected = ndarray::array![[1, 0, 0], [4, 2, 0], [7, 0, 3]];
    /// assert_eq!(a.tril(0)?.to_dense::<i32>()?, expected.into_dyn());
    /// assert_eq!(a.triu(1)?.nse(), 2);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::filter`]; [`Error::Shape`] for a vector or a scalar.
    pub fn tril(&self, offset: isize) -> Result<Self, Error> {
        self.triangle(|row, column| column - row <= offset as i128)
    }

    /// The elements of a matrix, or of each of a stack of them, on the diagonal `offset` and above. As [`Tensor::tril`].
    ///
    /// # Errors
    /// As [`Tensor::tril`].
    pub fn triu(&self, offset: isize) -> Result<Self, Error> {
        self.triangle(|row, column| column - row >= offset as i128)
    }

    fn triangle(&self, keep: impl Fn(i128, i128) -> bool) -> Result<Self, Error> {
        if self.rank() < 2 {
            let expected = "a matrix, or a stack of them".to_owned();
            return Err(Error::Shape { found: self.shape().to_vec(), expected });
        }
        self.filter(|at| {
            let [.., row, column] = *at else { unreachable!("two dimensions at least") };
            keep(row as i128, column as i128)
        })
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
