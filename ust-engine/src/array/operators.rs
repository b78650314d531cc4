//! Rust's operators on tensors: short for expressions.
//!
//! `+`, `-`, `*` and `/` take two tensors, element by element, or a tensor and a number, on either side. Shapes are
//! broadcast as in NumPy: extents are compared from the last one on; where one is 1, or missing, the tensor is repeated.
//! Tensors may be borrowed or owned. Every type that can be an operand of an expression ([`Argument`]) may be on the right. Each
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

use super::{list, names};
use crate::einsum::{Argument, einsum};
use crate::error::Error;
use crate::expr::OpError;
use crate::storage::Tensor;

/// `C(i, ...) = A(i, ...) op B(i, ...)`, where dimensions of extent 1 are repeated, and those that one side has not.
fn elementwise(left: impl Argument, sign: &str, right: impl Argument) -> Result<Tensor, OpError> {
    let (left, right) = (left.into_tensor()?, right.into_tensor()?);
    let shape = broadcast(&[left.shape(), right.shape()])?;
    let all = names(shape.len());
    let (left, a) = aligned(&left, &shape)?;
    let (right, b) = aligned(&right, &shape)?;
    let text = format!("C({}) = A({a}) {sign} B({b})", list(&all));
    let call = einsum(&text).arg("A", left).arg("B", right);
    // Where both have extent 1, no operand has the index.
    let each = all.iter().zip(&shape).filter(|(_, extent)| **extent == 1);
    each.fold(call, |call, (name, &extent)| call.extent(name, extent)).run()
}

/// The shape that tensors of these shapes have together: extents are compared from the last one on, and are equal, or
/// one of them is 1.
pub(super) fn broadcast(shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut all = vec![1; rank];
    for shape in shapes {
        for (to, &extent) in all[rank - shape.len()..].iter_mut().zip(*shape) {
            if *to != extent && *to != 1 && extent != 1 {
                let expected = format!(
                    "counted from the last, extents are equal or 1, and the shape of the other is {:?}",
                    shapes[0]
                );
                return Err(Error::Shape { found: shape.to_vec(), expected });
            }
            *to = if *to == 1 { extent } else { *to };
        }
    }
    Ok(all)
}

/// The tensor without the dimensions of extent 1, and the index variables of the others, in a shape that it is
/// repeated to.
pub(super) fn aligned(tensor: &Tensor, shape: &[usize]) -> Result<(Tensor, String), Error> {
    let all = names(shape.len());
    let own = &all[shape.len() - tensor.rank()..];
    let dropped: Vec<usize> = (0..tensor.rank()).filter(|&dim| tensor.shape()[dim] == 1).collect();
    let kept = own.iter().enumerate().filter(|(dim, _)| !dropped.contains(dim));
    let kept: Vec<&String> = kept.map(|(_, name)| name).collect();
    Ok((tensor.without(&dropped)?, list(&kept)))
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

            #[doc = concat!($what, ", element by element, with broadcasting.")]
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
        Ok(self.each("-A", "")?)
    }
}

impl std::ops::Neg for Tensor {
    type Output = Result<Tensor, OpError>;

    /// Every element with the other sign.
    fn neg(self) -> Self::Output {
        Ok(self.each("-A", "")?)
    }
}
