//! Rust's operators on tensors, `dot` and `matmul`: short for expressions.
//!
//! `+`, `-`, `*` and `/` take two tensors of one shape, element by element, or a tensor and a number,
//! on either side. Tensors may be borrowed or owned. A tensor without dimensions counts as a number,
//! and every type that can be an operand of an expression ([`Argument`]) may be on the right. Each
//! operator returns a `Result`.
//!
//! ```
//! use ust::{Scalar, Tensor, einsum};
//!
//! let csr = "CSR";
//! let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 4.0]], csr)?;
//! let b = Tensor::from_dense(&ndarray::array![[0.0, 3.0], [2.0, 0.0]], csr)?;
//! let every = |tensor: Tensor| tensor.to_dense::<f64>().map(|array| array.into_raw_vec_and_offset().0);
//!
//! // Two tensors.
//! assert_eq!(every((&a + &b)?)?, [1.0, 3.0, 4.0, 4.0]);
//! assert_eq!(every((&a - &b)?)?, [1.0, -3.0, 0.0, 4.0]);
//! assert_eq!(every((&a * &b)?)?, [0.0, 0.0, 4.0, 0.0]);
//! assert_eq!(every((&a / (&b + 1.0)?)?)?, [1.0, 0.0, 2.0 / 3.0, 4.0]);
//! // A tensor and a number.
//! let twice = (&a * 2.0)?;
//! assert_eq!(twice.nse(), 3);
//! assert_eq!(every(twice)?, [2.0, 0.0, 4.0, 8.0]);
//! assert_eq!(every((2.0 * &a)?)?, [2.0, 0.0, 4.0, 8.0]);
//! assert_eq!(every((&a / 2.0)?)?, [0.5, 0.0, 1.0, 2.0]);
//! assert_eq!(every((1.0 / &a)?)?, [1.0, f64::INFINITY, 0.5, 0.25]);
//! assert_eq!(every((-&a)?)?, [-1.0, 0.0, -2.0, -4.0]);
//! // Unstored elements are zero.
//! assert_eq!(every((&a + 1.0)?)?, [2.0, 1.0, 3.0, 5.0]);
//! assert_eq!(every(einsum("C(i,j) = A(i,j) + 1").arg("A", &a).run()?)?, [2.0, 1.0, 3.0, 5.0]);
//! assert_eq!(every((1.0 + &a)?)?, [2.0, 1.0, 3.0, 5.0]);
//! assert_eq!(every((&a - 1.0)?)?, [0.0, -1.0, 1.0, 3.0]);
//! assert_eq!(every((1.0 - &a)?)?, [0.0, 1.0, -1.0, -3.0]);
//! // Owned tensors, numbers of other types, and arrays.
//! assert_eq!(every((2 * a.clone())?)?, [2.0, 0.0, 4.0, 8.0]);
//! assert_eq!(every((-a.clone())?)?, [-1.0, 0.0, -2.0, -4.0]);
//! assert_eq!(every((a.clone() + b.clone())?)?, [1.0, 3.0, 4.0, 4.0]);
//! assert_eq!(every((a.clone() * &b)?)?, [0.0, 0.0, 4.0, 0.0]);
//! assert_eq!(every((&a * b)?)?, [0.0, 0.0, 4.0, 0.0]);
//! assert_eq!(every((a.clone() / 2_u8)?)?, [0.5, 0.0, 1.0, 2.0]);
//! assert_eq!(every((Scalar::from(1_u8) - &a)?)?, [0.0, 1.0, -1.0, -3.0]);
//! assert_eq!(every((a * ndarray::array![[1.0, 1.0], [0.0, 1.0]])?)?, [1.0, 0.0, 0.0, 4.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Unstored elements
//! An unstored element is zero (or the tensor's fill value), and the operators compute with it as `einsum`
//! does: `&a * 2.0`, `&a / 2.0` and `-&a` store the same elements as `a`. `&a + 1.0` is 1 at every other
//! coordinate, and therefore dense. `1.0 / &a` is infinite there.
//!
//! # Numbers
//! A number has the dtype of its Rust type, and the dtype of the result is that of `einsum`: an `f32`
//! tensor times `2.0`, which is an `f64`, is an `f64` tensor; times `2.0_f32` it stays `f32`. A number on
//! the right may have any dtype. A number on the left is an `f64` or `i32` (the types of bare literals), a
//! complex number, `f16`, `bf16`, or a [`Scalar`], to which all others convert: if the left side took
//! every type, the compiler could not infer the type of `2.0` in `2.0 * &a`.

use num_complex::Complex;
use ust_level_api::Scalar;
use ust_level_api::scalar::{bf16, f16};

use super::{Argument, einsum};
use crate::error::Error;
use crate::expr::OpError;
use crate::storage::Tensor;

/// Names of index variables.
const NAMES: &str = "ijklmnopqrstuvwxyzabcdefgh";

fn indices(from: usize, count: usize) -> Result<String, Error> {
    let text: Vec<String> = NAMES.chars().skip(from).take(count).map(String::from).collect();
    match text.len() == count {
        true => Ok(text.join(",")),
        false => Err(Error::Unsupported(format!(
            "operators take tensors of up to {} dimensions together",
            NAMES.len()
        ))),
    }
}

/// `C(i, ...) = A(i, ...) op B(i, ...)`, where a side without dimensions is a number.
fn elementwise(left: impl Argument, sign: &str, right: impl Argument) -> Result<Tensor, OpError> {
    let (left, right) = (left.into_tensor()?, right.into_tensor()?);
    let (a, b) = (left.shape(), right.shape());
    if a != b && !a.is_empty() && !b.is_empty() {
        let expected = format!("both have one shape, and the first has {a:?}");
        return Err(Error::Shape { found: b.to_vec(), expected }.into());
    }
    let list = indices(0, a.len().max(b.len()))?;
    let (a, b) = (if a.is_empty() { "" } else { &list }, if b.is_empty() { "" } else { &list });
    let text = format!("C({list}) = A({a}) {sign} B({b})");
    einsum(&text).arg("A", left).arg("B", right).run()
}

fn negated(tensor: &Tensor) -> Result<Tensor, OpError> {
    let list = indices(0, tensor.rank())?;
    einsum(&format!("C({list}) = -A({list})")).arg("A", tensor).run()
}

impl Tensor {
    /// The product of two tensors, summed over the last dimension of this one and the first of the other:
    /// matrix-vector, matrix-matrix and vector-vector products, and contractions of tensors.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0], [2, 3]], "CSR")?;
    /// let x = Tensor::from_array(ndarray::array![10, 1].into_dyn())?;
    /// assert_eq!(a.dot(&x)?.values().typed::<i32>()?, [10, 23]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpError::Tensor`] for a tensor without dimensions, or extents that differ.
    pub fn dot(&self, other: &Tensor) -> Result<Tensor, OpError> {
        let (a, b) = (self.rank(), other.rank());
        if a == 0 || b == 0 {
            let text = "a tensor without dimensions has nothing to sum over: use `&a * 2.0`";
            return Err(Error::Unsupported(text.to_owned()).into());
        }
        let (left, right) = (indices(0, a)?, indices(a - 1, b)?);
        let mut outer: Vec<&str> = left.split(',').take(a - 1).collect();
        outer.extend(right.split(',').skip(1));
        let text = format!("C({}) = A({left}) * B({right})", outer.join(","));
        einsum(&text).arg("A", self).arg("B", other).run()
    }

    /// The product of two matrices.
    ///
    /// # Errors
    /// As [`Tensor::dot`], and [`Error::Shape`] for a tensor that is no matrix.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor, OpError> {
        for tensor in [self, other] {
            if tensor.rank() != 2 {
                let expected = "a matrix; `dot` takes any tensors".to_owned();
                return Err(Error::Shape { found: tensor.shape().to_vec(), expected }.into());
            }
        }
        self.dot(other)
    }
}

/// A binary operator: with a tensor on the left, and with a number there.
macro_rules! elementwise {
    ($($trait:ident::$method:ident => $sign:literal, $what:literal;)*) => {$(
        elementwise!(@left $trait, $method, $sign, $what; <A: Argument> &Tensor, A; <A: Argument> Tensor, A);
        elementwise!(@numbers $trait, $method, $sign, $what;
            f64, i32, f16, bf16, Complex<f32>, Complex<f64>, Scalar);
    )*};
    (@numbers $trait:ident, $method:ident, $sign:literal, $what:literal; $($number:ty),*) => {$(
        elementwise!(@left $trait, $method, $sign, $what; <> $number, &Tensor; <> $number, Tensor);
    )*};
    (@left $trait:ident, $method:ident, $sign:literal, $what:literal;
        $(<$($argument:ident: $bound:ident)?> $left:ty, $right:ty);*) => {$(
        impl$(<$argument: $bound>)? std::ops::$trait<$right> for $left {
            type Output = Result<Tensor, OpError>;

            #[doc = concat!($what, ", element by element; both have one shape, or one is a number.")]
            fn $method(self, other: $right) -> Self::Output {
                elementwise(self, $sign, other)
            }
        }
    )*};
}
elementwise! {
    Add::add => "+", "The sum";
    Sub::sub => "-", "The difference";
    Mul::mul => "*", "The product";
    Div::div => "/", "The quotient";
}

impl std::ops::Neg for &Tensor {
    type Output = Result<Tensor, OpError>;

    /// Every element with the other sign.
    fn neg(self) -> Self::Output {
        negated(self)
    }
}

impl std::ops::Neg for Tensor {
    type Output = Result<Tensor, OpError>;

    /// Every element with the other sign.
    fn neg(self) -> Self::Output {
        negated(&self)
    }
}
