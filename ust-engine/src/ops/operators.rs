//! Rust's operators on tensors, `dot` and `matmul`: short for expressions.

use super::OpError;
use super::einsum::{Argument, einsum};
use crate::error::Error;
use crate::tensor::Tensor;

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

impl Tensor {
    /// Element by element: `C(i, ...) = A(i, ...) op B(i, ...)`.
    fn elementwise(&self, sign: &str, other: &Tensor) -> Result<Tensor, OpError> {
        if self.shape() != other.shape() {
            return Err(Error::Shape {
                found: other.shape().to_vec(),
                expected: format!("both have one shape, and the first has {:?}", self.shape()),
            }
            .into());
        }
        let list = indices(0, self.rank())?;
        let text = format!("C({list}) = A({list}) {sign} B({list})");
        einsum(&text).arg("A", self).arg("B", other).run()
    }

    fn scaled(&self, text: &str, by: impl Argument) -> Result<Tensor, OpError> {
        let list = indices(0, self.rank())?;
        einsum(&text.replace('@', &list)).arg("A", self).arg("by", by).run()
    }

    /// The sum over the last dimension of this tensor and the first of the other: matrix-vector,
    /// matrix-matrix and vector-vector products, and contractions of tensors.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1, 0], [2, 3]], &"CSR".parse()?)?;
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

macro_rules! elementwise {
    ($($trait:ident::$method:ident => $sign:literal, $what:literal;)*) => {$(
        impl std::ops::$trait<&Tensor> for &Tensor {
            type Output = Result<Tensor, OpError>;

            #[doc = concat!($what, ", element by element; both have one shape.")]
            fn $method(self, other: &Tensor) -> Self::Output {
                self.elementwise($sign, other)
            }
        }
    )*};
}
elementwise! {
    Add::add => "+", "The sum";
    Sub::sub => "-", "The difference";
    Mul::mul => "*", "The product";
    Div::div => "/", "The quotient, where an unstored zero stays one";
}

macro_rules! scaled {
    ($(($variant:ident, $ty:ty, $name:literal, $kind:ident),)*) => {$(
        impl std::ops::Mul<$ty> for &Tensor {
            type Output = Result<Tensor, OpError>;

            /// Every element times a number.
            fn mul(self, by: $ty) -> Self::Output {
                self.scaled("C(@) = A(@) * by", by)
            }
        }
    )*};
}
ust_level_api::for_each_dtype!(scaled);

impl std::ops::Neg for &Tensor {
    type Output = Result<Tensor, OpError>;

    /// Every element with the other sign.
    fn neg(self) -> Self::Output {
        let list = indices(0, self.rank())?;
        einsum(&format!("C({list}) = -A({list})")).arg("A", self).run()
    }
}
