//! Products.

use ust_format::Format;

use super::operators::broadcast;
use super::{list, names};
use crate::einsum::{Argument, Einsum, einsum};
use crate::error::Error;
use crate::expr::OpError;
use crate::storage::{StoredElement, Tensor};

impl Tensor {
    /// The product of two tensors, summed over the last dimension of this one and the first of the other:
    /// matrix-vector, matrix-matrix and vector-vector products, and contractions of tensors. The other may be a vector,
    /// a slice or an array.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR")?;
    /// assert_eq!(a.dot(&[10.0, 1.0])?.values().typed::<f64>()?, [10.0, 23.0]);
    /// assert_eq!(a.dot(&a)?.get_as::<f64>(&[1, 0])?, 8.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpError::Tensor`] for a tensor without dimensions, or extents that differ.
    pub fn dot(&self, other: impl Argument) -> Result<Tensor, OpError> {
        self.dot_call(other.into_tensor()?)?.run()
    }

    /// As [`Tensor::dot`], into memory of the caller, row-major.
    ///
    /// ```
    /// # use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR")?;
    /// let (x, mut y) = (vec![10.0, 1.0], vec![0.0; 2]);
    /// a.dot_into(&x, &mut y)?;
    /// assert_eq!(y, [10.0, 23.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::dot`]; [`Error::Shape`] and [`Error::Dtype`] if the memory is not that of the result.
    pub fn dot_into<T: StoredElement>(
        &self,
        other: impl Argument,
        out: &mut [T],
    ) -> Result<(), OpError> {
        self.dot_call(other.into_tensor()?)?.run_into(out)
    }

    fn dot_call(&self, other: Tensor) -> Result<Einsum, OpError> {
        let (a, b) = (self.rank(), other.rank());
        if a == 0 || b == 0 {
            let text = "a tensor without dimensions has nothing to sum over: use `&a * 2.0`";
            return Err(Error::Unsupported(text.to_owned()).into());
        }
        let all = names(a + b - 1);
        let outer = [&all[..a - 1], &all[a..]].concat();
        let text =
            format!("C({}) = A({}) * B({})", list(&outer), list(&all[..a]), list(&all[a - 1..]));
        Ok(einsum(&text).arg("A", self).arg("B", other))
    }

    /// The product of matrices, or of stacks of them: of tensors of rank 2 or more, the last two dimensions are those
    /// of matrices, and those before are broadcast, as in the array API standard. A vector counts as a row on the left,
    /// and as a column on the right.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR")?;
    /// let stack = Tensor::stack(&[&a, &a, &a], 0)?;
    /// let product = stack.matmul(&a)?;
    /// assert_eq!(product.shape(), [3, 2, 2]);
    /// assert_eq!(product.get_as::<f64>(&[2, 1, 0])?, 8.0);
    /// assert_eq!(stack.matmul([10.0, 1.0])?.shape(), [3, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::dot`]; [`Error::Shape`] where leading extents differ, and neither is 1.
    pub fn matmul(&self, other: impl Argument) -> Result<Tensor, OpError> {
        let other = other.into_tensor()?;
        let (a, b) = (self.rank(), other.rank());
        if a < 2 && b < 3 || b < 2 && a < 3 {
            return self.dot(other);
        }
        let (lead_a, lead_b) = (a.saturating_sub(2), b.saturating_sub(2));
        let batch = broadcast(&[&self.shape()[..lead_a], &other.shape()[..lead_b]])?;
        let of = |tensor: &Tensor, lead: usize, last: &[&str]| -> Result<(Tensor, String), Error> {
            let dropped: Vec<usize> = (0..lead).filter(|&dim| tensor.shape()[dim] == 1).collect();
            let all = names(batch.len());
            let own = all[batch.len() - lead..].iter().enumerate();
            let kept = own.filter(|(dim, _)| !dropped.contains(dim)).map(|(_, name)| &**name);
            let kept: Vec<&str> = kept.chain(last.iter().copied()).collect();
            Ok((tensor.without(&dropped)?, list(&kept)))
        };
        let (left, left_names) = of(self, lead_a, if a < 2 { &["k"] } else { &["m", "k"] })?;
        let (right, right_names) = of(&other, lead_b, if b < 2 { &["k"] } else { &["k", "n"] })?;
        let mut out = names(batch.len());
        out.extend((a >= 2).then(|| "m".to_owned()));
        out.extend((b >= 2).then(|| "n".to_owned()));
        let text = format!("C({}) = A({left_names}) * B({right_names})", list(&out));
        let call = einsum(&text).arg("A", left).arg("B", right);
        let ones = out.iter().zip(&batch).filter(|(_, extent)| **extent == 1);
        ones.fold(call, |call, (name, &extent)| call.extent(name, extent)).run()
    }

    /// The Kronecker product: each element of this tensor, times all of the other.
    ///
    /// ```
    /// use ust::{Dtype, Tensor};
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 2.0]], "CSR")?;
    /// let k = Tensor::eye(2, "CSR", Dtype::F64)?.kron(&a)?;
    /// let expected = ndarray::array![[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 2.0]];
    /// assert_eq!(k.to_dense::<f64>()?, expected.into_dyn());
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Cost: the result is built of coordinates, in the format of this tensor.
    ///
    /// # Errors
    /// [`Error::Shape`] for other ranks; as [`Tensor::reshape`].
    pub fn kron(&self, other: &Tensor) -> Result<Tensor, Error> {
        let rank = self.rank();
        if other.rank() != rank {
            let expected = format!("both have as many dimensions, and the first has {rank}");
            return Err(Error::Shape { found: other.shape().to_vec(), expected });
        }
        let all = names(2 * rank);
        let woven: Vec<&String> = (0..rank).flat_map(|dim| [&all[dim], &all[rank + dim]]).collect();
        let text =
            format!("C({}) = A({}) * B({})", list(&woven), list(&all[..rank]), list(&all[rank..]));
        let entries = Format::resolve("COO", Some(2 * rank))?;
        let product = einsum(&text).arg("A", self).arg("B", other).format(entries).run()?;
        let extents = self.shape().iter().zip(other.shape());
        let shape: Option<Vec<usize>> = extents.map(|(a, b)| a.checked_mul(*b)).collect();
        let shape = shape.ok_or_else(|| Error::TooLarge("a Kronecker product".to_owned()))?;
        product.reshape(&shape)?.convert(self.format().without_slices())
    }

    /// `beta * self + alpha * a * b`, of matrices.
    ///
    /// ```
    /// use ust::{Dtype, Tensor};
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR")?;
    /// let one = Tensor::eye(2, "CSR", Dtype::F64)?;
    /// let c = one.addmm(&a, &a, 10.0, 0.5)?;
    /// assert_eq!(c.to_dense::<f64>()?, ndarray::array![[10.5, 0.0], [4.0, 14.5]].into_dyn());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of an expression.
    pub fn addmm(
        &self,
        a: impl Argument,
        b: impl Argument,
        beta: impl Argument,
        alpha: impl Argument,
    ) -> Result<Tensor, OpError> {
        let text = "R(i,j) = beta * C(i,j) + alpha * A(i,k) * B(k,j)";
        let call = einsum(text).arg("C", self).arg("A", a).arg("B", b);
        call.arg("beta", beta).arg("alpha", alpha).run()
    }

    /// `beta * self + alpha * a * b` where this matrix stores an element, and nothing elsewhere, in its format.
    ///
    /// ```
    /// use ust::Tensor;
    /// let c = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [0.0, 1.0]], "CSR")?;
    /// let (a, b) = (ndarray::array![[1.0, 2.0], [3.0, 4.0]], ndarray::array![[1.0, 0.0], [1.0, 1.0]]);
    /// let r = c.sampled_addmm(&a, &b, 0.0, 1.0)?;
    /// assert_eq!((r.nse(), r.get_as::<f64>(&[0, 0])?), (2, 3.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of an expression.
    pub fn sampled_addmm(
        &self,
        a: impl Argument,
        b: impl Argument,
        beta: impl Argument,
        alpha: impl Argument,
    ) -> Result<Tensor, OpError> {
        let text = "R(i,j)<structure C(i,j)> = beta * C(i,j) + alpha * A(i,k) * B(k,j)";
        let call = einsum(text).arg("C", self).arg("A", a).arg("B", b);
        let format = self.format().without_slices();
        call.arg("beta", beta).arg("alpha", alpha).format(format).run()
    }
}
