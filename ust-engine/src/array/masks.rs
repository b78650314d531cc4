//! Parts of a tensor by a mask, by a function of coordinates, or on one side of a diagonal.

use ust_level_api::ir::cancel::pieces;

use super::{list, names};
use crate::einsum::einsum;
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::coo::Coo;

impl Tensor {
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
}
