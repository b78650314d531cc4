//! Conversion of a tensor: to other formats, dtypes and fill values; duplicates and zeros removed,
//! entries sorted; dimensions permuted, slices.

pub(crate) mod aligned;
pub mod build;
pub(crate) mod builder;
mod cast;
mod columns;
pub(crate) mod copies;
pub(crate) mod counted;
pub mod dense;
pub(crate) mod elsewhere;
pub(crate) mod rows;
pub(crate) mod tally;
mod update;
pub(crate) mod way;
pub(crate) mod widths;

use std::borrow::Cow;
use std::sync::OnceLock;

use ust_format::{Bound, Format, Given, Slice};
use ust_kernels::pool::together;
use ust_level_api::Scalar;
use ust_level_api::buffer::{release_retained, retained_bytes};

use self::build::{BuildOptions, Duplicates};
use self::columns::Table;
use self::counted::counted;
use self::elsewhere::Conversion;
use self::way::{Closed, Plan};
use self::widths::differ_in_widths;
use crate::error::Error;
use crate::storage::view::{View, Window};
use crate::storage::{Tensor, Values};

impl Tensor {
    /// The same tensor in another format. Explicit zeros are kept where the other format can tell
    /// them from padding. Duplicates are summed where the other format is unique.
    ///
    /// Cost: nothing for the same format; else O(nse) to unpack, a sort where the orders differ,
    /// and O(nse) to assemble. Arrays that are the same in both formats are shared, not copied.
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`]: a level that cannot hold the entries, a width too narrow, a
    /// dense format too large.
    pub fn convert<'f>(&self, format: impl Into<Given<'f>>) -> Result<Self, Error> {
        self.convert_within(format, BuildOptions::default().memory_limit)
    }

    /// As [`Tensor::convert`], with a limit on the bytes of the result. `convert` has the
    /// [default limit](crate::storage::memory::default_limit).
    ///
    /// # Errors
    /// As [`Tensor::convert`], and [`Error::TooLarge`] beyond the limit.
    pub fn convert_within<'f>(
        &self,
        format: impl Into<Given<'f>>,
        limit: u64,
    ) -> Result<Self, Error> {
        self.convert_to(&*format.into().resolve(Some(self.rank()))?, limit)
    }

    fn convert_to(&self, format: &Format, limit: u64) -> Result<Self, Error> {
        if self.view.shows_all() && self.format() == format {
            return Ok(self.clone());
        }
        if self.format() == format
            && elsewhere::converter(self).is_none()
            && let Some(part) = self.gathered()
            && part.bytes() as u64 <= limit
        {
            return part.convert_to(format, limit);
        }
        if self.view.is_whole()
            && differ_in_widths(self.format(), format)
            && elsewhere::converter(self).is_none()
        {
            self.fetch()?;
            if let Some(made) = self.in_widths(format)?
                && made.bytes() as u64 <= limit
            {
                return Ok(made);
            }
        }
        self.rebuild_within(format, Duplicates::AsFormat, self.fill, limit)
    }

    /// As [`Tensor::rebuild_within`], with the default memory limit.
    fn rebuild(
        &self,
        format: &Format,
        duplicates: Duplicates,
        fill: Scalar,
    ) -> Result<Self, Error> {
        self.rebuild_within(format, duplicates, fill, BuildOptions::default().memory_limit)
    }

    /// As [`Tensor::convert_within`], with a choice for duplicates and the fill value. Entries are
    /// sorted even where the format is the same.
    pub(super) fn rebuild_within(
        &self,
        format: &Format,
        duplicates: Duplicates,
        fill: Scalar,
        memory_limit: u64,
    ) -> Result<Self, Error> {
        let options = BuildOptions { duplicates, memory_limit, ..Default::default() };
        rebuilt(Cow::Borrowed(self), format, fill, &options)
    }

    /// Whether all entries have different coordinates, and are in the order of the format.
    ///
    /// # Errors
    /// As [`Tensor::to_coo`]. Cost: nothing for a unique and ordered format, else O(nse).
    pub fn is_coalesced(&self) -> Result<bool, Error> {
        if self.format().is_unique() && self.format().is_ordered() {
            return Ok(true);
        }
        // Compares entries, not arrays: arrays may have gaps, or blocks of padding only.
        Ok(self.to_coo()?.crd == self.sum_duplicates()?.to_coo()?.crd)
    }

    /// Duplicates summed and entries sorted; zeros that cancel are kept. Another name for
    /// [`Tensor::sum_duplicates`].
    ///
    /// # Errors
    /// As [`Tensor::to_coo`].
    pub fn coalesce(&self) -> Result<Self, Error> {
        self.sum_duplicates()
    }

    /// Duplicates summed and entries sorted, in the same format; zeros that cancel are kept.
    ///
    /// # Errors
    /// As [`Tensor::to_coo`]. Cost: O(nse log nse).
    pub fn sum_duplicates(&self) -> Result<Self, Error> {
        self.rebuild(&self.format().without_slices(), Duplicates::Sum, self.fill)
    }

    /// Entries sorted, in the same format; duplicates stay apart where the format allows them.
    ///
    /// # Errors
    /// As [`Tensor::to_coo`]. Cost: O(nse log nse).
    pub fn sort_indices(&self) -> Result<Self, Error> {
        self.rebuild(&self.format().without_slices(), Duplicates::AsFormat, self.fill)
    }

    /// Stored entries equal to the fill value (explicit zeros) dropped. Where duplicates may
    /// cancel, sum them first.
    ///
    /// # Errors
    /// As [`Tensor::to_coo`]. Cost: O(nse).
    pub fn eliminate_zeros(&self) -> Result<Self, Error> {
        if let Some(converter) = elsewhere::converter(self) {
            let bound = self.format().without_slices().bind(self.shape())?;
            let conversion = Conversion { drops: true, ..Conversion::new(self, &bound) };
            if let Some(made) = converter.convert(&conversion)? {
                return Ok(made);
            }
        }
        let coo = counted::without(self.to_coo()?, self.fill);
        let options = BuildOptions { fill: Some(self.fill), ..Default::default() };
        Self::from_coo_with(&coo, self.format().without_slices(), &options)
    }

    /// This tensor with dimension `order[d]` as dimension `d`. The arrays are shared, and the format is
    /// [permuted](Format::permuted). Cost: independent of the number of stored elements.
    ///
    /// ```
    /// use ndarray::array;
    /// use ust::Tensor;
    ///
    /// let a = Tensor::from_dense(&array![[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]], "CSR")?;
    /// let t = a.permute(&[1, 0])?;
    /// assert_eq!((t.shape(), t.format()), (&[3, 2][..], &"CSC".parse()?));
    /// assert_eq!(t.get_as::<f64>(&[2, 1])?, 3.0);
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] where `order` does not name each dimension once.
    pub fn permute(&self, order: &[usize]) -> Result<Self, Error> {
        let permuted = self.format().permuted(order).ok_or_else(|| Error::Shape {
            found: order.to_vec(),
            expected: format!("each of the {} dimensions once, numbered from 0", self.rank()),
        })?;
        let whole: Vec<usize> = order.iter().map(|&dim| self.bound.shape()[dim]).collect();
        let mut tensor = self.clone();
        tensor.bound = permuted.bind_counted(&whole, self.bound.counts())?;
        (tensor.view, tensor.made) = (self.view.permuted(order), OnceLock::new());
        Ok(tensor)
    }

    /// This tensor with its dimensions in reverse order. The arrays are shared: a matrix in CSR
    /// becomes its transpose in CSC. Cost: independent of the number of stored elements.
    #[must_use]
    pub fn transpose(&self) -> Self {
        let reversed: Vec<usize> = (0..self.rank()).rev().collect();
        self.permute(&reversed).expect("dimensions in reverse are each named once")
    }

    /// A slice of this tensor: one strided window for each dimension. The arrays are shared.
    ///
    /// # Errors
    /// [`Error::Shape`] when a window reaches beyond its dimension or their number is not the rank,
    /// [`Error::Unsupported`] for a stride of 0.
    pub(crate) fn windowed(&self, windows: &[Window]) -> Result<Self, Error> {
        let seen = self.slice_as(&vec![None; self.rank()], windows)?;
        if windows.iter().zip(self.shape()).all(|(window, &extent)| window.is_all(extent)) {
            return Ok(self.clone());
        }
        let mut whole = self.clone();
        whole.view = View::whole(self.bound.shape());
        let narrow =
            if seen.format().has_sorted() { None } else { whole.narrowed(seen.view.get()) };
        Ok(narrow.unwrap_or(seen))
    }

    /// The slice that a format with dimension slices describes. `windows` gives each `?` in the
    /// format, and may be empty where the format has none. The format without its slices must be
    /// the format of this tensor.
    ///
    /// # Errors
    /// As [`Tensor::slice`], and [`Error::Unsupported`] when the formats differ.
    pub fn view_as<'f>(
        &self,
        format: impl Into<Given<'f>>,
        windows: &[Window],
    ) -> Result<Self, Error> {
        let format = format.into().resolve(Some(self.rank()))?;
        if format.without_slices() != self.format().without_slices() {
            return Err(Error::Unsupported(format!(
                "a view shares the arrays of `{}`, and cannot show them as `{format}`: convert first",
                self.format()
            )));
        }
        let slices: Vec<_> = format.dims().iter().map(|dim| dim.slice).collect();
        self.slice_as(&slices, windows)
    }

    fn slice_as(&self, slices: &[Option<Slice>], windows: &[Window]) -> Result<Self, Error> {
        if !windows.is_empty() && windows.len() != self.rank() {
            return Err(Error::Shape {
                found: vec![windows.len()],
                expected: format!("{} windows, one for each dimension", self.rank()),
            });
        }
        let inner = View::windows(self.shape(), slices, windows)?;
        let view = self.view.then(&inner);
        let mut tensor = self.clone();
        (tensor.view, tensor.made) = (view, OnceLock::new());
        Ok(tensor)
    }

    /// The same tensor with another fill value: elements that are not stored change. Stored
    /// elements equal to the new fill value become padding where the format has padding.
    ///
    /// # Errors
    /// [`Error::Cast`] when the dtype of the values cannot hold the fill value.
    pub fn with_fill(&self, fill: Scalar) -> Result<Self, Error> {
        let fill = fill.cast(self.dtype()).map_err(|e| Error::Cast {
            value: e.value,
            at: self.nse(),
            to: e.to,
        })?;
        self.rebuild(&self.format().without_slices(), Duplicates::AsFormat, fill)
    }

    /// This tensor with the fill value that an expression gives to elements that are not stored. A
    /// full format stores every element: there only the fill value itself changes.
    pub(crate) fn meaning(&self, fill: Scalar) -> Result<Self, Error> {
        if self.fill.same(&fill) {
            return Ok(self.clone());
        }
        if self.has_padding() && !self.format().is_full() {
            return self.with_fill(fill);
        }
        let mut tensor = self.clone();
        (tensor.fill, tensor.made) = (fill, OnceLock::new());
        Ok(tensor)
    }
}

impl From<&Tensor> for Values {
    /// The stored values, shared.
    fn from(tensor: &Tensor) -> Self {
        tensor.values().clone()
    }
}

/// Converts a tensor. An owned tensor is dropped as soon as its entries are read. Where the chosen
/// way fails because of a stored value, the next is tried.
fn rebuilt(
    tensor: Cow<'_, Tensor>,
    format: &Format,
    fill: Scalar,
    options: &BuildOptions,
) -> Result<Tensor, Error> {
    build::refuse_slices(format)?;
    // The levels of a tensor without stored elements may still have many positions: no loop visits
    // them.
    if tensor.nse() == 0 {
        return Tensor::empty_with(tensor.shape(), format, tensor.dtype(), fill, options);
    }
    // Where padding is told by its value, each element has one.
    let tensor = match tensor.is_iso() && (format.has_padding() || tensor.has_padding()) {
        true => Cow::Owned(tensor.expanded()),
        false => tensor,
    };
    if format.depends_on_entries() {
        let (work, shape) = (tensor.nse(), tensor.shape().to_vec());
        let read = move |tree: &Bound| Table::of_tensor(&tensor, tree);
        return together(work, || counted(&shape, read, format, fill, options));
    }
    let bound = format.bind(tensor.shape())?;
    if tensor.format().depends_on_entries() {
        let work = tensor.nse();
        let build = || Table::of_tensor(&tensor, &bound)?.build(&bound, fill, options);
        return together(work, build);
    }
    let limit = options.memory_limit;
    if let Some(converter) = elsewhere::converter(&tensor) {
        let options = options.clone();
        let conversion = Conversion { tensor: &tensor, bound: &bound, fill, options, drops: false };
        if let Some(mut made) = converter.convert(&conversion)? {
            // As many entries as before, none of them a sum.
            let all = made.nse() == tensor.nse() && tensor.format().is_unique();
            if let Some(value) = tensor.iso_value().filter(|_| all) {
                made.set_values(Values::iso(value, made.nse()));
            }
            return Ok(made);
        }
    }
    tensor.fetch()?;
    together(tensor.nse(), move || {
        let mut closed = Closed::default();
        loop {
            let plan = Plan::of(&tensor, &bound, fill, &closed)?;
            let made = match &plan {
                Plan::WholeBlocks(blocks) => blocks.move_into(&tensor, &bound, options)?,
                Plan::Pieces(pieces) => pieces.gather(&tensor, &bound, fill, limit)?,
                Plan::Cells(cells) => cells.fill(&tensor, &bound, limit)?,
                Plan::FirstLevel(by) => match by.table(&tensor, &bound)? {
                    Some(table) => {
                        drop(tensor);
                        return table.build(&bound, fill, options);
                    }
                    None => None,
                },
                Plan::Columns => {
                    let table = Table::of_tensor(&tensor, &bound)?;
                    drop(tensor);
                    return table.build(&bound, fill, options);
                }
                Plan::Between(between, _) => {
                    let before = retained_bytes();
                    let between = rebuilt(tensor, between, fill, options)?;
                    // The second step allocates its own memory: free what the first step retained.
                    release_retained(retained_bytes().saturating_sub(before));
                    return rebuilt(Cow::Owned(between), format, fill, options);
                }
            };
            match made {
                Some(made) => return Ok(made),
                None => closed.add(&plan),
            }
        }
    })
}
