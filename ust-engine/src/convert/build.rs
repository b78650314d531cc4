//! From coordinates to storage: what is checked first, and the options.

use ust_format::Format;
use ust_kernels::pool::together;
use ust_level_api::{Dtype, Scalar};

use super::columns::Table;
use crate::error::Error;
use crate::storage::coo::{Columns, Coo};
use crate::storage::memory::default_limit;
use crate::storage::{Tensor, Values};

/// What to do with several entries at the same coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Keep them where the format is nonunique as a whole, else sum them. Of those that are kept, one
    /// equal to the fill value is padding where the format has padding, and counts in no sum.
    #[default]
    AsFormat,
    /// Sum them.
    Sum,
    /// Refuse them with [`Error::Duplicate`].
    Refuse,
}

/// How a tensor is built.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// What to do with several entries at the same coordinates.
    pub duplicates: Duplicates,
    /// What is not stored has this value; zero of the values' dtype by default.
    pub fill: Option<Scalar>,
    /// Bytes that the tensor may take: a dense format of a huge shape is refused, not tried. By
    /// default [`default_limit`].
    pub memory_limit: u64,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self { duplicates: Duplicates::AsFormat, fill: None, memory_limit: default_limit() }
    }
}

impl Tensor {
    /// A tensor with the given entries, in any order; duplicates as the format says.
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn from_coo(coo: &Coo, format: &Format) -> Result<Self, Error> {
        Self::from_coo_with(coo, format, &BuildOptions::default())
    }

    /// A tensor with the given entries, in any order.
    ///
    /// Entries equal to the fill value are padding in a format that ends in a full or padded level;
    /// elsewhere they are stored like any other. Cost: O(n log n) for n unsorted entries, O(n) for
    /// entries in the format's own order; parallel.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] and [`Error::Columns`] for bad entries, [`Error::Format`] when shape
    /// and format do not match, [`Error::Duplicate`] where those are refused,
    /// [`Error::Sum`] where integers do not hold their sum, [`Error::Level`] when
    /// a level cannot hold its entries or a width is too narrow, [`Error::TooLarge`] beyond the
    /// memory limit.
    pub fn from_coo_with(
        coo: &Coo,
        format: &Format,
        options: &BuildOptions,
    ) -> Result<Self, Error> {
        coo.check()?;
        refuse_slices(format)?;
        let bound = format.bind(&coo.shape)?;
        let fill = fill_for(&coo.values, options.fill)?;
        together(coo.len(), || Table::of_coo(coo, &bound)?.build(&bound, fill, options))
    }

    /// As [`Tensor::from_coo_with`], of narrower columns.
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn from_columns(
        columns: &Columns,
        format: &Format,
        options: &BuildOptions,
    ) -> Result<Self, Error> {
        columns.check()?;
        refuse_slices(format)?;
        let bound = format.bind(&columns.shape)?;
        let fill = columns.values.dtype().zero();
        let work = columns.values.len();
        together(work, || Table::of_columns(columns, &bound)?.build(&bound, fill, options))
    }

    /// A tensor with nothing stored but padding.
    ///
    /// # Errors
    /// As [`Tensor::from_coo`].
    pub fn zeros(
        shape: &[usize],
        format: &Format,
        dtype: ust_level_api::Dtype,
    ) -> Result<Self, Error> {
        Self::empty(shape, format, dtype.zero())
    }

    /// A tensor with nothing stored but padding, and a fill value.
    ///
    /// # Errors
    /// As [`Tensor::from_coo`].
    pub(crate) fn empty(shape: &[usize], format: &Format, fill: Scalar) -> Result<Self, Error> {
        Self::empty_with(shape, format, fill.dtype(), fill, &BuildOptions::default())
    }

    /// As [`Tensor::empty`], within limits.
    pub(crate) fn empty_with(
        shape: &[usize],
        format: &Format,
        dtype: Dtype,
        fill: Scalar,
        options: &BuildOptions,
    ) -> Result<Self, Error> {
        let coo = Coo {
            shape: shape.to_vec(),
            crd: vec![Vec::new(); shape.len()],
            values: Values::filled(dtype.zero(), 0),
        };
        let options = BuildOptions { fill: Some(fill), ..options.clone() };
        Self::from_coo_with(&coo, format, &options)
    }
}

/// Refuses a format that is a view.
pub(super) fn refuse_slices(format: &Format) -> Result<(), Error> {
    if format.has_slices() {
        let text = "a sliced format shows part of a tensor that exists: build the tensor in the \
                    format without slices, then use `Tensor::slice`";
        return Err(Error::Unsupported(text.to_owned()));
    }
    Ok(())
}

fn fill_for(values: &Values, fill: Option<Scalar>) -> Result<Scalar, Error> {
    let Some(fill) = fill else { return Ok(values.dtype().zero()) };
    fill.cast(values.dtype()).map_err(|e| Error::Cast { value: e.value, at: 0, to: e.to })
}
