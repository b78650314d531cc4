//! Storage: a format, a shape, arrays for each level, values and a fill value. Nothing here walks
//! levels.
//!
//! | module | what |
//! |---|---|
//! | this one | [`Tensor`]: its fields and simple accessors |
//! | [`values`] | the buffer of values, of any dtype |
//! | [`coo`] | entries as columns of coordinates and values, from which tensors are built |
//! | `change` | changes in place |
//! | `interval` | parts that share arrays: intervals of the first level |
//! | `picked` | parts that are copied as they stand: chosen coordinates of the first level |
//! | `iso` | tensors whose stored values are all equal |
//! | [`view`] | slices |
//! | [`memory`] | memory limits |
//! | `kept` | places for what was made of a tensor's data |
//! | `order` | the orders of sorted dimensions |
//! | `outline` | what plans depend on of a tensor |
//! | [`parts`] | raw arrays |
//! | `show` | `Debug` and `Display` |

mod change;
pub mod coo;
mod interval;
mod iso;
mod kept;
pub mod memory;
pub(crate) mod order;
mod outline;
pub mod parts;
mod picked;
mod show;
pub mod values;
pub(crate) mod view;

use std::any::Any;
use std::sync::{Arc, OnceLock};

use ust_format::{Bound, Format};
use ust_level_api::ir::Elsewhere;
use ust_level_api::{ArraySpec, Arrays, Dtype, IndexArray, LevelError, Scalar};

pub use kept::Kept;
pub use outline::Outline;
pub use parts::Parts;
pub use values::{StoredElement, Values};

use self::view::View;
use crate::error::Error;

/// A tensor, stored as its [`Format`] says.
///
/// Cheap to clone: level arrays and values are shared until one of the clones is written to.
///
/// ```
/// use ust::{Coo, Format, Tensor};
///
/// let csr: Format = "(i, j) -> (i : dense, j : compressed)".parse()?;
/// let coo = Coo::new(vec![2, 3], vec![vec![1, 0], vec![2, 1]], vec![5.0, 7.0])?;
/// let a = Tensor::from_coo(&coo, &csr)?;
/// assert_eq!(a.level_array(1, "pos").unwrap().to_vec(), [0, 1, 2]);
/// assert_eq!(a.values().typed::<f64>()?, [7.0, 5.0]);
/// assert_eq!(a.get_as::<f64>(&[1, 2])?, 5.0);
/// # Ok::<(), ust::Error>(())
/// ```
#[derive(Clone)]
pub struct Tensor {
    pub(crate) bound: Bound,
    pub(crate) view: View,
    pub(crate) levels: Arc<Levels>,
    values: Values,
    /// What was made of these values.
    kept: Arc<Kept>,
    pub(crate) fill: Scalar,
    /// Whether every position that no coordinate reaches holds the fill value.
    pub(crate) clean: bool,
    /// A compiled search for an element, kept from the first search on.
    pub(crate) made: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// The arrays of all levels, and what was made of them.
#[derive(Debug, Default)]
pub(crate) struct Levels {
    pub(crate) arrays: Vec<Arrays>,
    kept: Kept,
}

impl From<Vec<Arrays>> for Levels {
    fn from(arrays: Vec<Arrays>) -> Self {
        Self { arrays, kept: Kept::default() }
    }
}

impl Tensor {
    /// A tensor from valid parts: assembled by the engine, or checked.
    pub(crate) fn trusted(
        bound: Bound,
        levels: Vec<Arrays>,
        values: Values,
        fill: Scalar,
        clean: bool,
    ) -> Self {
        let view = View::whole(bound.shape());
        let (levels, kept) = (Arc::new(Levels::from(levels)), Arc::default());
        Self { bound, view, levels, values, kept, fill, clean, made: OnceLock::new() }
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> &Format {
        self.bound.format()
    }

    /// Extent of each dimension. For a slice, the extents of the slice.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        self.view.shape()
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The dtype of the values.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.values.dtype()
    }

    /// The value of elements that are not stored.
    #[must_use]
    pub fn fill(&self) -> Scalar {
        self.fill
    }

    /// Number of stored elements, padding included: the length of the values.
    #[must_use]
    pub fn nse(&self) -> usize {
        self.values.len()
    }

    /// The view through which the tensor is seen.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether a stored value equal to the fill value is padding: the format ends in a full or
    /// padded level.
    #[must_use]
    pub fn has_padding(&self) -> bool {
        self.format().has_padding()
    }

    /// Bytes of the level arrays, the [orders](Self::order) and the values. The values of an [iso](Self::is_iso) tensor
    /// count as one.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.index_arrays().map(IndexArray::bytes).sum::<usize>() + self.values.bytes()
    }

    /// The format bound to the shape: level sizes and lowest coordinates.
    #[must_use]
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// The arrays of each level, in the order of the level type's description.
    #[must_use]
    pub fn levels(&self) -> &[Arrays] {
        &self.levels.arrays
    }

    /// The array of a level with this name (`pos`, `crd`, or one of the level type's own). `None`
    /// where the level has no such array.
    #[must_use]
    pub fn level_array(&self, level: usize, name: &str) -> Option<&IndexArray> {
        let specs = &self.format().descriptions().get(level)?.arrays;
        let at = specs.iter().position(|spec| spec.name == name)?;
        self.levels()[level].0.get(at)
    }

    /// The level's array of the positions where the children of each parent begin and end; `None`
    /// where it has none.
    #[must_use]
    pub fn pos(&self, level: usize) -> Option<&IndexArray> {
        self.array_where(level, ArraySpec::bounds_children)
    }

    /// The level's array of the coordinate of each position; `None` where it has none.
    #[must_use]
    pub fn crd(&self, level: usize) -> Option<&IndexArray> {
        self.array_where(level, ArraySpec::lists_coordinates)
    }

    /// The first array of a level whose description is as wanted.
    pub(crate) fn array_where(
        &self,
        level: usize,
        is_wanted: impl FnMut(&ArraySpec) -> bool,
    ) -> Option<&IndexArray> {
        let specs = &self.format().descriptions().get(level)?.arrays;
        let at = specs.iter().position(is_wanted)?;
        self.levels()[level].0.get(at)
    }

    /// The stored values: one for each stored element. Those of an [iso](Self::is_iso) tensor know that they are equal
    /// ([`Values::iso_value`]); a look at their slice makes one, and keeps it.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Where level arrays or values are that were not fetched yet, such as in the memory of a device. `None` if all
    /// are here.
    #[must_use]
    pub fn place(&self) -> Option<Arc<dyn Elsewhere>> {
        self.values.place().or_else(|| self.index_arrays().find_map(IndexArray::place))
    }

    /// Fetches what is elsewhere, such as in the memory of a device: see
    /// [`Buffer::deferred`](ust_level_api::ir::Buffer::deferred). Looks at the tensor do not fail afterwards. Without
    /// it, the first look at an array fetches that array, and panics if that fails. Cost: O(1) if all is here.
    ///
    /// # Errors
    /// [`Error::Device`] if the device failed. The tensor is as it was; it may be tried again.
    pub fn fetch(&self) -> Result<(), Error> {
        let levels = self.index_arrays().try_for_each(IndexArray::fetch);
        levels.and_then(|()| self.values.fetch()).map_err(Error::Device)
    }

    /// Bytes that a look at all arrays would [fetch](Self::fetch). Fetches nothing.
    #[must_use]
    pub fn bytes_elsewhere(&self) -> usize {
        let levels = self.index_arrays().filter(|array| !array.is_here()).map(IndexArray::bytes);
        levels.sum::<usize>() + if self.values.is_here() { 0 } else { self.values.bytes() }
    }

    /// The place for what was made of the level arrays. All tensors with these very arrays share it: clones,
    /// and tensors of the same pattern with other values. It identifies the arrays.
    #[must_use]
    pub fn kept_of_levels(&self) -> &Kept {
        &self.levels.kept
    }

    /// The place for what was made of the values. Clones share it, until the values of one are written. It
    /// identifies the values.
    #[must_use]
    pub fn kept_of_values(&self) -> &Kept {
        &self.kept
    }

    /// Bytes of what was made of its arrays and is kept beside them, such as indices in the width that kernels
    /// take, or the slice of the values of an [iso](Self::is_iso) tensor: not part of [`Tensor::bytes`].
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        let made = self.kept_of_levels().bytes() + self.kept_of_values().bytes();
        made + self.values.expanded_bytes() as u64
    }

    /// The stored values for writing. The pattern stays. Values are copied first where they are shared; an
    /// [iso](Self::is_iso) tensor gets a value for each stored element.
    ///
    /// # Errors
    /// [`Error::Dtype`] when they are of another type.
    pub fn values_mut<T: StoredElement>(&mut self) -> Result<&mut [T], Error> {
        // The caller may write to positions that no coordinate reaches.
        self.clean = false;
        self.values_to_change().typed_mut()
    }

    /// The same pattern with other values, of any dtype. The fill value becomes zero of that dtype.
    ///
    /// # Errors
    /// [`Error::Shape`] when their number is not [`Tensor::nse`].
    pub fn with_values(&self, values: impl Into<Values>) -> Result<Self, Error> {
        let values = values.into();
        if values.len() != self.nse() {
            return Err(Error::Shape {
                found: vec![values.len()],
                expected: format!("one value for each of the {} stored elements", self.nse()),
            });
        }
        let fill = values.dtype().zero();
        let mut tensor = self.clone();
        tensor.set_values(values);
        (tensor.fill, tensor.clean) = (fill, false);
        Ok(tensor)
    }

    /// The values, to be changed in place: each is stored. What was made of them is forgotten.
    pub(super) fn values_to_change(&mut self) -> &mut Values {
        self.kept = Arc::default();
        if self.is_iso() {
            // What was compiled reads one value.
            (self.values, self.made) = (self.values.expanded(), OnceLock::new());
        }
        &mut self.values
    }

    /// Replaces the values by as many others.
    pub(crate) fn set_values(&mut self, values: Values) {
        (self.values, self.kept, self.made) = (values, Arc::default(), OnceLock::new());
    }

    /// This tensor, with the place for what was made of the values of another, if both have the very same values.
    pub(crate) fn keeping_values_of(mut self, other: &Self) -> Self {
        if self.values.is_same(&other.values) {
            self.kept = Arc::clone(&other.kept);
        }
        self
    }

    /// As [`Tensor::with_values`], where the values are a function of [`Tensor::clean_values`] that
    /// maps the fill value to zero.
    ///
    /// # Errors
    /// As [`Tensor::with_values`].
    pub(crate) fn with_clean_values(&self, values: Values) -> Result<Self, Error> {
        Ok(Self { clean: true, ..self.with_values(values)? })
    }

    /// The shape of the values as an array of blocks: the number of trailing dense blocks, followed
    /// by the extents of a block. `(nse / block, block...)` for blocked and hybrid formats,
    /// `(nse,)` where the last level is not full.
    #[must_use]
    pub fn block_shape(&self) -> Vec<usize> {
        let tail = &self.bound.levels()[self.format().tail()..];
        let extents: Vec<usize> = tail.iter().map(|level| level.size as usize).collect();
        let block: usize = extents.iter().product();
        let blocks = self.nse().checked_div(block).unwrap_or(0);
        std::iter::once(blocks).chain(extents).collect()
    }

    /// Whether both tensors have the same format, shape and level arrays: structural equality. The
    /// values may differ.
    #[must_use]
    pub fn same_structure(&self, other: &Self) -> bool {
        self.format() == other.format()
            && self.view == other.view
            && self.bound.shape() == other.bound.shape()
            && self.levels().len() == other.levels().len()
            && self.levels().iter().zip(other.levels()).all(|(a, b)| {
                a.0.len() == b.0.len() && a.0.iter().zip(&b.0).all(|(x, y)| same_indices(x, y))
            })
    }
}

/// Equal structure, fill value and stored values (NaN equals NaN).
impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        self.same_structure(other)
            && self.dtype() == other.dtype()
            && self.fill.same(&other.fill)
            && self.nse() == other.nse()
            && match (self.iso_value(), other.iso_value()) {
                (Some(a), Some(b)) => self.nse() == 0 || a.same(&b),
                _ => self.values.iter().zip(other.values.iter()).all(|(a, b)| a.same(&b)),
            }
    }
}

/// Whether neighbouring entries with equal values share one in this format.
pub(crate) fn joins_alike(format: &ust_format::Format) -> bool {
    format.levels().last().is_some_and(|level| level.ty.joins_alike())
}

/// Whether two index arrays hold the same indices. Their widths may differ.
fn same_indices(a: &IndexArray, b: &IndexArray) -> bool {
    a.len() == b.len() && (a == b || a.to_vec() == b.to_vec())
}

/// An error of a level, with the number and the text of the level.
pub(crate) fn level_error(bound: &Bound, level: usize, source: LevelError) -> Error {
    match source {
        LevelError::Unfetched(error) => Error::Device(Box::new(error)),
        source => Error::Level { level, text: bound.format().level_text(level), source },
    }
}
