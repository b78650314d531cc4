//! What can be an operand of an expression.

use ndarray::{ArrayBase, ArrayD, Data, Dimension};
use ust_level_api::Scalar;

use crate::composed::Composed;
use crate::error::Error;
use crate::storage::{StoredElement, Tensor};

/// Types that can be operands of an expression.
pub trait Argument {
    /// The operand as a tensor.
    ///
    /// # Errors
    /// [`Error::Format`] for an array of too many dimensions.
    fn into_tensor(self) -> Result<Tensor, Error>;

    /// The operand as a sum of parts. By default there is one.
    ///
    /// # Errors
    /// As [`Argument::into_tensor`].
    fn into_composed(self) -> Result<Composed, Error>
    where
        Self: Sized,
    {
        Ok(self.into_tensor()?.into())
    }
}

impl Argument for Composed {
    fn into_tensor(self) -> Result<Tensor, Error> {
        self.convert(&self.own_format()?)
    }

    fn into_composed(self) -> Result<Composed, Error> {
        Ok(self)
    }
}

impl Argument for &Composed {
    fn into_tensor(self) -> Result<Tensor, Error> {
        self.convert(&self.own_format()?)
    }

    fn into_composed(self) -> Result<Composed, Error> {
        Ok(self.clone())
    }
}

impl Argument for Tensor {
    fn into_tensor(self) -> Result<Tensor, Error> {
        Ok(self)
    }
}

impl Argument for &Tensor {
    fn into_tensor(self) -> Result<Tensor, Error> {
        Ok(self.clone())
    }
}

impl<T: StoredElement, D: Dimension> Argument for ndarray::Array<T, D> {
    fn into_tensor(self) -> Result<Tensor, Error> {
        Tensor::from_array(self.into_dyn())
    }
}

impl<T: StoredElement, S: Data<Elem = T>, D: Dimension> Argument for &ArrayBase<S, D> {
    fn into_tensor(self) -> Result<Tensor, Error> {
        let owned: ArrayD<T> = self.to_owned().into_dyn();
        Tensor::from_array(owned)
    }
}

impl<T: StoredElement> Argument for Vec<T> {
    /// A dense vector, without a copy.
    fn into_tensor(self) -> Result<Tensor, Error> {
        Tensor::full(&[self.len()], T::wrap(self.into()))
    }
}

impl<T: StoredElement> Argument for &Vec<T> {
    fn into_tensor(self) -> Result<Tensor, Error> {
        self.clone().into_tensor()
    }
}

impl<T: StoredElement> Argument for &[T] {
    fn into_tensor(self) -> Result<Tensor, Error> {
        self.to_vec().into_tensor()
    }
}

impl<T: StoredElement, const N: usize> Argument for [T; N] {
    fn into_tensor(self) -> Result<Tensor, Error> {
        self.to_vec().into_tensor()
    }
}

impl<T: StoredElement, const N: usize> Argument for &[T; N] {
    fn into_tensor(self) -> Result<Tensor, Error> {
        self.to_vec().into_tensor()
    }
}

impl Argument for Scalar {
    fn into_tensor(self) -> Result<Tensor, Error> {
        Tensor::from_scalar(self)
    }
}

macro_rules! numbers {
    ($(($variant:ident, $ty:ty, $name:literal, $kind:ident),)*) => {$(
        impl Argument for $ty {
            fn into_tensor(self) -> Result<Tensor, Error> {
                Tensor::from_scalar(self.into())
            }
        }
    )*};
}
ust_level_api::for_each_dtype!(numbers);
