//! Tensors whose stored values are all equal: one is stored for all of them. Sparse linear algebra calls them *iso*.
//! A *pattern*, of which only the structure matters, is such a tensor with the value 1.
//!
//! Such a tensor is an ordinary one whose [`Values`] are [iso](Values::iso): what it means, and what is computed with
//! it, follows from the values that it would have if each was stored. Loops, conversions and files know it, and read
//! or write one value. Others take [`Tensor::values`] as of any tensor.

use ust_level_api::{Dtype, Scalar};

use super::{Tensor, Values};
use crate::error::Error;
use crate::storage::coo::{Coo, Coordinate};

impl Tensor {
    /// Whether one value is stored for all positions.
    #[must_use]
    pub fn is_iso(&self) -> bool {
        self.iso_value().is_some()
    }

    /// The one value that is stored for all positions. `None` if each has its own.
    #[must_use]
    pub fn iso_value(&self) -> Option<Scalar> {
        self.values().iso_value()
    }

    /// This tensor with one value for all positions. `None` if two values differ in a bit, or there is no value.
    /// Cost: O(nse).
    ///
    /// ```
    /// use ust::{Scalar, Tensor};
    ///
    /// let a = Tensor::from_dense(&ndarray::array![[0.0, 2.0], [2.0, 2.0]], "CSR")?;
    /// let iso = a.to_iso().unwrap();
    /// assert_eq!((iso.iso_value(), &iso), (Some(Scalar::F64(2.0)), &a));
    /// assert_eq!(a.bytes() - iso.bytes(), 16);
    /// # Ok::<(), ust::Error>(())
    /// ```
    #[must_use]
    pub fn to_iso(&self) -> Option<Self> {
        let values = self.values().to_iso()?;
        let mut tensor = self.clone();
        tensor.set_values(values);
        Some(tensor)
    }

    /// This tensor with a value for each position.
    pub(crate) fn expanded(&self) -> Self {
        let mut tensor = self.clone();
        tensor.set_values(self.values().expanded());
        tensor
    }

    /// The structure of this tensor: 1 at each entry, in the same dtype, and fill value 0. Level arrays are shared.
    /// It is [iso](Self::is_iso), unless the format stores padding, which is no entry.
    ///
    /// ```
    /// use ust::{Scalar, Tensor, einsum};
    ///
    /// let a = Tensor::from_dense(&ndarray::array![[0, 7, 5], [-2, 0, 0]], "CSR")?;
    /// let pattern = a.pattern()?;
    /// assert_eq!(pattern.iso_value(), Some(Scalar::I32(1)));
    /// let counts = einsum("d(i) = A(i,j)").arg("A", &pattern).run()?;
    /// assert_eq!(counts.values().typed::<i32>()?, [2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Why values that are elsewhere cannot be fetched, of a format that stores padding.
    pub fn pattern(&self) -> Result<Self, Error> {
        let (one, zero) = (self.dtype().one(), self.dtype().zero());
        if !self.has_padding() {
            return self.with_values(Values::iso(one, self.nse()));
        }
        self.fetch()?;
        let mask = self.entry_mask();
        let numbers = Values::from(mask.iter().map(|&entry| entry == 1).collect::<Vec<bool>>());
        let mut pattern = self.clone();
        pattern.set_values(numbers.cast_lossy(one.dtype()));
        pattern.fill = zero;
        Ok(pattern)
    }
}

impl Coo {
    /// Entries that all have this value, checked. Tensors that are built of them store it once, unless duplicates are
    /// summed, or the format stores padding.
    ///
    /// ```
    /// use ust::{Coo, Scalar, Tensor};
    ///
    /// let edges = Coo::iso(vec![3, 3], vec![vec![0, 1, 2], vec![1, 2, 0]], Scalar::F32(0.5))?;
    /// let a = Tensor::from_coo(&edges, "CSR")?;
    /// assert_eq!((a.nse(), a.iso_value()), (3, Some(Scalar::F32(0.5))));
    /// assert_eq!(a.get_as::<f32>(&[1, 2])?, 0.5);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Coo::check`].
    pub fn iso<C: Coordinate>(
        shape: impl Into<Vec<usize>>,
        crd: Vec<Vec<C>>,
        value: Scalar,
    ) -> Result<Self, Error> {
        let len = crd.first().map_or(1, Vec::len);
        Self::new(shape, crd, Values::iso(value, len))
    }

    /// Entries without values of their own: each is `true`. As [`Coo::iso`].
    ///
    /// # Errors
    /// As [`Coo::check`].
    pub fn pattern<C: Coordinate>(
        shape: impl Into<Vec<usize>>,
        crd: Vec<Vec<C>>,
    ) -> Result<Self, Error> {
        Self::iso(shape, crd, Dtype::Bool.one())
    }
}
