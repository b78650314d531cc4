//! Dimensions, as methods of tensors take them: by number, from the end if it is negative.

use std::ops::RangeFull;

use num_traits::AsPrimitive;

use crate::error::Error;
use crate::storage::Tensor;

/// The number of a dimension: from 0 on, or from the end: -1 is the last one.
pub trait Dim: Copy {
    /// Its number from 0 on, of a tensor of this shape.
    ///
    /// # Errors
    /// [`Error::Shape`] for a dimension that there is not.
    fn of(self, shape: &[usize]) -> Result<usize, Error>;
}

/// The dimensions that are summed over: a number, several, or `..` for all.
pub trait Axes {
    /// Their numbers, of a tensor of this shape.
    ///
    /// # Errors
    /// [`Error::Shape`] for a dimension that there is not, or that is named twice.
    fn of(&self, shape: &[usize]) -> Result<Vec<usize>, Error>;
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Dim for $ty {
            fn of(self, shape: &[usize]) -> Result<usize, Error> {
                numbered(self.as_(), shape)
            }
        }
        impl Axes for $ty {
            fn of(&self, shape: &[usize]) -> Result<Vec<usize>, Error> {
                Ok(vec![Dim::of(*self, shape)?])
            }
        }
    )*};
}
numbers!(i32, i64, isize, u32, u64, usize);

impl Axes for RangeFull {
    fn of(&self, shape: &[usize]) -> Result<Vec<usize>, Error> {
        Ok((0..shape.len()).collect())
    }
}

impl<D: Dim> Axes for [D] {
    fn of(&self, shape: &[usize]) -> Result<Vec<usize>, Error> {
        let axes = self.iter().map(|dim| dim.of(shape)).collect::<Result<Vec<_>, _>>()?;
        match (1..axes.len()).find(|&at| axes[..at].contains(&axes[at])) {
            None => Ok(axes),
            Some(at) => {
                let expected = format!("dimension {} is named once", axes[at]);
                Err(Error::Shape { found: axes, expected })
            }
        }
    }
}

impl<D: Dim, const N: usize> Axes for [D; N] {
    fn of(&self, shape: &[usize]) -> Result<Vec<usize>, Error> {
        self[..].of(shape)
    }
}

impl<D: Dim> Axes for Vec<D> {
    fn of(&self, shape: &[usize]) -> Result<Vec<usize>, Error> {
        self[..].of(shape)
    }
}

impl<A: Axes + ?Sized> Axes for &A {
    fn of(&self, shape: &[usize]) -> Result<Vec<usize>, Error> {
        (**self).of(shape)
    }
}

fn numbered(dim: i128, shape: &[usize]) -> Result<usize, Error> {
    let rank = shape.len() as i128;
    let from_start = if dim < 0 { dim + rank } else { dim };
    if (0..rank).contains(&from_start) {
        return Ok(from_start as usize);
    }
    let all = match rank {
        0 => "a scalar has none".to_owned(),
        1 => "a vector has 0 alone, which is -1 from the end".to_owned(),
        _ => format!("they are 0 to {}, or -{rank} to -1 from the end", rank - 1),
    };
    let expected = format!("there is no dimension {dim}: {all}");
    Err(Error::Shape { found: shape.to_vec(), expected })
}

impl Tensor {
    /// The number of a dimension from 0 on.
    pub(super) fn dim(&self, dim: impl Dim) -> Result<usize, Error> {
        dim.of(self.shape())
    }
}
