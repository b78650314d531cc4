//! Construction of a tensor from coordinates and values: checks of the arguments, and options.

use ust_format::{Bound, Format, Given};
use ust_kernels::pool::together;
use ust_level_api::{Dtype, Scalar};

use super::columns::Table;
use super::counted::counted;
use crate::error::Error;
use crate::storage::coo::{Columns, Coo};
use crate::storage::memory::default_limit;
use crate::storage::{Tensor, Values};

/// What to do with several entries at the same coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Keep duplicates where the format is nonunique as a whole, else sum them. A kept duplicate
    /// that equals the fill value is padding where the format has padding, and is not added to a
    /// sum.
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
    /// The value of elements that are not stored; zero by default.
    pub fill: Option<Scalar>,
    /// Bytes that the tensor may take, at most: a dense format of a huge shape is an error, and
    /// allocates nothing. By default [`default_limit`].
    pub memory_limit: u64,
    /// Whether to leave room for entries that are [inserted](Tensor::insert) later, in level types that can: more
    /// memory, and fewer times at which the tensor is built anew. No by default.
    pub room: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        let (duplicates, memory_limit) = (Duplicates::AsFormat, default_limit());
        Self { duplicates, fill: None, memory_limit, room: false }
    }
}

impl Tensor {
    /// A tensor with the given entries, in any order. Duplicates are handled as
    /// [`Duplicates::AsFormat`].
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn from_coo<'f>(coo: &Coo, format: impl Into<Given<'f>>) -> Result<Self, Error> {
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
    /// and format do not match, [`Error::Duplicate`] where the options refuse duplicates,
    /// [`Error::Sum`] where a sum of integers overflows, [`Error::Level`] when
    /// a level cannot hold its entries or a width is too narrow, [`Error::TooLarge`] beyond the
    /// memory limit.
    pub fn from_coo_with<'f>(
        coo: &Coo,
        format: impl Into<Given<'f>>,
        options: &BuildOptions,
    ) -> Result<Self, Error> {
        coo.check()?;
        let format = &*format.into().resolve(Some(coo.shape.len()))?;
        refuse_slices(format)?;
        if format.depends_on_entries() {
            let fill = fill_for(&coo.values, options.fill)?;
            return together(coo.len(), || {
                counted(&coo.shape, |tree| Table::of_coo(coo, tree), format, fill, options)
            });
        }
        let bound = format.bind(&coo.shape)?;
        let fill = fill_for(&coo.values, options.fill)?;
        together(coo.len(), || Table::of_coo(coo, &bound)?.build(&bound, fill, options))
    }

    /// As [`Tensor::from_coo_with`], from columns of any width.
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn from_columns(
        columns: &Columns,
        format: &Format,
        options: &BuildOptions,
    ) -> Result<Self, Error> {
        columns.check()?;
        Self::from_inside(columns, false, format, options)
    }

    /// As [`Tensor::from_columns`], where coordinates are known to lie inside the shape. `distinct` says whether no
    /// two entries have the same coordinates.
    pub(super) fn from_inside(
        columns: &Columns,
        distinct: bool,
        format: &Format,
        options: &BuildOptions,
    ) -> Result<Self, Error> {
        refuse_slices(format)?;
        let fill = fill_for(&columns.values, options.fill)?;
        if format.depends_on_entries() {
            let read = |tree: &Bound| Table::of_columns(columns, distinct, tree);
            return together(columns.values.len(), || {
                counted(&columns.shape, read, format, fill, options)
            });
        }
        let bound = format.bind(&columns.shape)?;
        together(columns.values.len(), || {
            Table::of_columns(columns, distinct, &bound)?.build(&bound, fill, options)
        })
    }

    /// A tensor of zeros, which stores padding only.
    ///
    /// # Errors
    /// As [`Tensor::from_coo`].
    pub fn zeros<'f>(
        shape: &[usize],
        format: impl Into<Given<'f>>,
        dtype: Dtype,
    ) -> Result<Self, Error> {
        let format = &*format.into().resolve(Some(shape.len()))?;
        Self::empty(shape, format, dtype.zero())
    }

    /// A tensor without entries and with the given fill value, which stores padding only.
    ///
    /// # Errors
    /// As [`Tensor::from_coo`].
    pub(crate) fn empty(shape: &[usize], format: &Format, fill: Scalar) -> Result<Self, Error> {
        Self::empty_with(shape, format, fill.dtype(), fill, &BuildOptions::default())
    }

    /// As [`Tensor::empty`], with options.
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

/// Refuses a format with slices: only existing tensors can be sliced.
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
