//! From and into raw arrays. What comes in is checked once, here.
#![allow(unsafe_code)]

use ust_format::Format;
use ust_level_api::{Arrays, IndexArray, Scalar};

use super::values::Values;
use super::{Tensor, verify};
use crate::error::Error;

/// The arrays that a tensor is made of, apart from format and shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts {
    /// For each level, the arrays that its level type describes, in that order: for `compressed`
    /// `[pos, crd]`, for `singleton` `[crd]`, for `dense` none.
    pub levels: Vec<Vec<IndexArray>>,
    /// The values.
    pub values: Values,
    /// What is not stored has this value; `None` for zero of the values' dtype.
    pub fill: Option<Scalar>,
}

impl Parts {
    /// Arrays and values, with fill value zero.
    #[must_use]
    pub fn new(levels: Vec<Vec<IndexArray>>, values: impl Into<Values>) -> Self {
        Self { levels, values: values.into(), fill: None }
    }
}

impl Tensor {
    /// A tensor over foreign arrays, without a copy, after a full check: lengths, order,
    /// uniqueness, bounds, and that every stored entry decodes to coordinates inside the shape.
    ///
    /// Index arrays may be of any width where the format leaves it open (`posWidth`/`crdWidth` 0),
    /// signed or not.
    ///
    /// ```
    /// use ust::{Tensor, tensor::Parts};
    /// let arrays = vec![vec![], vec![vec![0_i32, 1, 3].into(), vec![2_i32, 0, 1].into()]];
    /// let parts = Parts::new(arrays, vec![1.0, 2.0, 3.0]);
    /// let csr = Tensor::from_parts(&"CSR".parse()?, &[2, 3], parts)?;
    /// assert_eq!(csr.get_as::<f64>(&[1, 1])?, 3.0);
    ///
    /// let arrays = vec![vec![], vec![vec![0_i32, 1, 3].into(), vec![2_i32, 0, 7].into()]];
    /// let bad = Tensor::from_parts(&"CSR".parse()?, &[2, 3], Parts::new(arrays, vec![1.0, 2.0, 3.0]));
    /// assert!(bad.unwrap_err().to_string().contains("crd[2] = 7"));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Level`] names level, array, index and rule; [`Error::Claim`] the child that is not
    /// what its level type says of itself, where the level's own check let it pass;
    /// [`Error::Parts`] when arrays are missing or of the wrong kind; [`Error::OutOfBounds`], [`Error::Duplicate`], [`Error::Order`] for what
    /// no level sees alone.
    pub fn from_parts(format: &Format, shape: &[usize], parts: Parts) -> Result<Self, Error> {
        let tensor = Self::bind_parts(format, shape, parts)?;
        verify::verify(tensor)
    }

    /// As [`Tensor::from_parts`], without the check of the arrays' contents.
    ///
    /// # Safety
    /// [`Tensor::from_parts`] would accept the same arguments: kernels rely on it and do not look
    /// at bounds again.
    ///
    /// # Errors
    /// [`Error::Parts`] when arrays are missing or of the wrong kind, [`Error::Format`] when shape
    /// and format do not match.
    pub unsafe fn from_parts_unchecked(
        format: &Format,
        shape: &[usize],
        parts: Parts,
    ) -> Result<Self, Error> {
        Self::bind_parts(format, shape, parts)
    }

    fn bind_parts(format: &Format, shape: &[usize], parts: Parts) -> Result<Self, Error> {
        if format.has_slices() {
            let text = "a sliced format shows part of a tensor that exists: take the arrays in in \
                        the format without slices, then use `Tensor::slice`";
            return Err(Error::Unsupported(text.to_owned()));
        }
        let bound = format.bind(shape)?;
        verify::kinds(&bound, &parts)?;
        let fill = match parts.fill {
            None => parts.values.dtype().zero(),
            Some(fill) => fill.cast(parts.values.dtype()).map_err(|e| Error::Cast {
                value: e.value,
                at: 0,
                to: e.to,
            })?,
        };
        let levels = parts.levels.into_iter().map(Arrays).collect();
        Ok(Self::trusted(bound, levels, parts.values, fill, false))
    }

    /// The arrays, without a copy. Of a sliced view, the whole tensor's.
    #[must_use]
    pub fn into_parts(self) -> (Format, Vec<usize>, Parts) {
        let levels = std::sync::Arc::unwrap_or_clone(self.levels)
            .into_iter()
            .map(|arrays| arrays.0)
            .collect();
        let parts = Parts { levels, values: self.values, fill: Some(self.fill) };
        let format = self.bound.format().without_slices();
        (format, self.bound.shape().to_vec(), parts)
    }
}
