//! Sums and the like, over some dimensions or all.

use ust_level_api::{Dtype, Element};

use super::dims::{Axes, Dim};
use super::{list, names};
use crate::einsum::einsum;
use crate::error::Error;
use crate::storage::Tensor;

/// Norms, of all elements together or along dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Norm {
    /// The sum of the absolute values.
    L1,
    /// The root of the sum of their squares: of a matrix, the Frobenius norm.
    #[default]
    L2,
    /// The largest absolute value.
    Max,
    /// The number of elements that are not zero.
    Count,
}

impl Tensor {
    /// The sum over some dimensions, which the result does not have: a number, several as `[0, 2]`, or `..` for all. Negative
    /// numbers count from the end.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], "CSR")?;
    /// assert_eq!(a.sum(1)?.values().typed::<f64>()?, [3.0, 3.0]);
    /// assert_eq!(a.sum(0)?.values().typed::<f64>()?, [1.0, 3.0, 2.0]);
    /// assert_eq!(a.sum(-1)?, a.sum(1)?);
    /// assert_eq!(a.sum(..)?.item::<f64>()?, 6.0);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Integers of less than 64 bits are summed in 64, in an `i64` or a `u64`; an expression keeps their dtype. Unstored
    /// elements count as in every expression: see [`einsum`]. Cost: a pass over the stored elements. To keep
    /// the dimension, follow with [`Tensor::expand_dims`].
    ///
    /// # Errors
    /// [`Error::Shape`] for a dimension that there is not, or that is named twice; those of an expression.
    pub fn sum(&self, axes: impl Axes) -> Result<Self, Error> {
        let (before, after) = self.widened();
        self.reduced("sum", before, after, &axes.of(self.shape())?)
    }

    /// The product over some dimensions. As [`Tensor::sum`].
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn prod(&self, axes: impl Axes) -> Result<Self, Error> {
        let (before, after) = self.widened();
        self.reduced("prod", before, after, &axes.of(self.shape())?)
    }

    /// The mean over some dimensions, of all elements, stored or not. Of integers, an `f64`. As [`Tensor::sum`].
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0, 2], [0, 3, 0]], "CSR")?;
    /// assert_eq!(a.mean(1)?.values().typed::<f64>()?, [1.0, 1.0]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn mean(&self, axes: impl Axes) -> Result<Self, Error> {
        let axes = axes.of(self.shape())?;
        let count: f64 = axes.iter().map(|&dim| self.shape()[dim] as f64).product();
        self.sum(&axes[..])?.each("A", &format!(" / {count:?}"))
    }

    /// The smallest element along some dimensions, stored or not. As [`Tensor::sum`].
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0, 2], [5, 3, 4]], "CSR")?;
    /// assert_eq!(a.min(1)?.values().typed::<i32>()?, [0, 3]);
    /// assert_eq!(a.max(..)?.item::<i32>()?, 5);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::sum`]; [`Error::Shape`] where there is no element.
    pub fn min(&self, axes: impl Axes) -> Result<Self, Error> {
        self.extreme("min", &axes.of(self.shape())?)
    }

    /// The largest element along some dimensions, stored or not. As [`Tensor::min`].
    ///
    /// # Errors
    /// As [`Tensor::min`].
    pub fn max(&self, axes: impl Axes) -> Result<Self, Error> {
        self.extreme("max", &axes.of(self.shape())?)
    }

    /// The first coordinate of the smallest element along a dimension, stored or not, as an `i64`. NaN is no element:
    /// where all are NaN, it is the extent.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0, 2], [5, 4, 9]], "CSR")?;
    /// assert_eq!(a.argmin(1)?.values().typed::<i64>()?, [1, 1]);
    /// assert_eq!(a.argmax(0)?.values().typed::<i64>()?, [1, 1, 1]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Cost: all elements are visited.
    ///
    /// # Errors
    /// As [`Tensor::min`].
    pub fn argmin(&self, dim: impl Dim) -> Result<Self, Error> {
        let dim = self.dim(dim)?;
        self.place_of(&self.min(dim)?, dim)
    }

    /// The first coordinate of the largest element along a dimension. As [`Tensor::argmin`].
    ///
    /// # Errors
    /// As [`Tensor::min`].
    pub fn argmax(&self, dim: impl Dim) -> Result<Self, Error> {
        let dim = self.dim(dim)?;
        self.place_of(&self.max(dim)?, dim)
    }

    /// The first coordinate along a dimension where the element equals the one in `wanted`.
    fn place_of(&self, wanted: &Self, dim: usize) -> Result<Self, Error> {
        let all = names(self.rank());
        let (over, extent) = (&all[dim], self.shape()[dim]);
        let kept: Vec<&str> = (0..all.len()).filter(|&at| at != dim).map(|at| &*all[at]).collect();
        let (kept, all) = (list(&kept), list(&all));
        let text =
            format!("R({kept}) = min({over}, where(A({all}) == m({kept}), {over}, {extent}))");
        Ok(einsum(&text).arg("A", self).arg("m", wanted).run()?)
    }

    /// Whether any element along some dimensions is not zero. As [`Tensor::sum`].
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0, 2], [0, 0, 0]], "CSR")?;
    /// assert_eq!(a.any(1)?.values().typed::<bool>()?, [true, false]);
    /// assert!(!a.all(..)?.item::<bool>()?);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn any(&self, axes: impl Axes) -> Result<Self, Error> {
        self.reduced("any", "A", " != 0", &axes.of(self.shape())?)
    }

    /// Whether all elements along some dimensions are not zero. As [`Tensor::sum`].
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn all(&self, axes: impl Axes) -> Result<Self, Error> {
        self.reduced("all", "A", " != 0", &axes.of(self.shape())?)
    }

    /// A norm, along some dimensions or, with `..`, of all elements. As [`Tensor::sum`].
    ///
    /// ```
    /// use ust::{Norm, Tensor};
    /// let a = Tensor::from_dense(&ndarray::array![[3.0, 0.0], [0.0, -4.0]], "CSR")?;
    /// assert_eq!(a.norm(Norm::L2, ..)?.item::<f64>()?, 5.0);
    /// assert_eq!(a.norm(Norm::L1, 1)?.values().typed::<f64>()?, [3.0, 4.0]);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::sum`].
    pub fn norm(&self, norm: Norm, axes: impl Axes) -> Result<Self, Error> {
        let axes = axes.of(self.shape())?;
        match norm {
            Norm::L1 => {
                let (before, after) = self.widened();
                self.reduced("sum", &format!("abs({before}"), &format!("{after})"), &axes)
            }
            Norm::L2 => {
                let of = format!("abs({}", self.as_fraction());
                let squares = self.reduced("sum", &of, ")^2", &axes)?;
                squares.each("sqrt(A", ")")
            }
            Norm::Max => self.each("abs(A", ")")?.extreme("max", &axes),
            Norm::Count => self.reduced("sum", "A", " != 0", &axes),
        }
    }

    /// The element of a tensor that has one.
    ///
    /// ```
    /// # use ust::Tensor;
    /// assert_eq!(Tensor::from_scalar(2.5.into())?.item::<f64>()?, 2.5);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if it has another number of elements, [`Error::Dtype`] if it is of another type.
    pub fn item<T: Element>(&self) -> Result<T, Error> {
        if self.shape().iter().any(|&extent| extent != 1) {
            let expected = "one element".to_owned();
            return Err(Error::Shape { found: self.shape().to_vec(), expected });
        }
        self.get_as(&vec![0; self.rank()])
    }

    /// What stands around the operand `A` of a sum: integers narrower than 64 bits are widened, so that few sums
    /// overflow, as in NumPy and the array API standard.
    fn widened(&self) -> (&'static str, &'static str) {
        match self.dtype() {
            Dtype::I8 | Dtype::I16 | Dtype::I32 => ("i64(A", ")"),
            Dtype::U8 | Dtype::U16 | Dtype::U32 => ("u64(A", ")"),
            _ => ("A", ""),
        }
    }

    /// The operand `A` of an expression, in a dtype that has fractions.
    fn as_fraction(&self) -> &'static str {
        let fraction = self.dtype().is_float() || self.dtype().is_complex();
        if fraction { "A" } else { "1.0 * A" }
    }

    /// `R = before(...)after`, element by element.
    pub(super) fn each(&self, before: &str, after: &str) -> Result<Self, Error> {
        let all = list(&names(self.rank()));
        let text = format!("R({all}) = {before}({all}){after}");
        Ok(einsum(&text).arg("A", self).run()?)
    }

    fn extreme(&self, operator: &str, axes: &[usize]) -> Result<Self, Error> {
        if axes.iter().any(|&dim| self.shape().get(dim) == Some(&0)) {
            let expected = format!("an element along dimensions {axes:?}");
            return Err(Error::Shape { found: self.shape().to_vec(), expected });
        }
        self.reduced(operator, "A", "", axes)
    }

    /// `R = operator(indices, before(...)after)`.
    fn reduced(
        &self,
        operator: &str,
        before: &str,
        after: &str,
        axes: &[usize],
    ) -> Result<Self, Error> {
        let all = names(self.rank());
        let over: Vec<&str> = axes.iter().map(|&dim| &*all[dim]).collect();
        let kept: Vec<&str> =
            (0..all.len()).filter(|dim| !axes.contains(dim)).map(|dim| &*all[dim]).collect();
        let term = format!("{before}({}){after}", list(&all));
        let text = match over.is_empty() {
            true => format!("R({}) = {term}", list(&kept)),
            false => format!("R({}) = {operator}(({}), {term})", list(&kept), list(&over)),
        };
        Ok(einsum(&text).arg("A", self).run()?)
    }
}
