//! Storage: a format, a shape, arrays for each level, values and a fill value.
//!
//! | module | what |
//! |---|---|
//! | this one | [`Tensor`]: what it is made of, and plain questions about it |
//! | [`values`] | one buffer of any dtype |
//! | [`build`] | from coordinates, with options |
//! | `columns` | entries as columns: sorted, merged, assembled level by level |
//! | `verify` | the check of foreign arrays |
//! | `claims` | whether they are as their levels describe themselves |
//! | [`memory`] | how much of it a tensor may take |
//! | [`parts`] | from and into raw arrays, checked |
//! | [`access`] | one element, all entries, coordinates |
//! | [`convert`] | other formats, dtypes, widths; sums, zeros, order |
//! | [`dense`] | `ndarray` in and out |
//! | `rows` | results of operations |
//! | `show` | `Debug` and `Display` |

pub mod access;
pub mod build;
mod claims;
mod columns;
pub mod convert;
pub mod dense;
pub mod memory;
pub mod parts;
pub(crate) mod rows;
mod show;
pub mod values;
mod verify;

use std::sync::{Arc, OnceLock};

use ust_level_api::{Arrays, Dtype, IndexArray, Role, Scalar};

pub use access::{Entries, Entry};
pub use build::{BuildOptions, Duplicates};
pub use parts::Parts;
pub use values::{StoredElement, Values};

use crate::error::Error;
use crate::lower::view::View;
use ust_format::{Bound, Format};

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
    bound: Bound,
    view: View,
    levels: Arc<Vec<Arrays>>,
    values: Values,
    fill: Scalar,
    /// Whether every place that no coordinate reaches holds the fill value.
    clean: bool,
    getter: OnceLock<Arc<access::Getter>>,
}

impl Tensor {
    /// A tensor from parts that are known to be right: made by assembly, or checked.
    fn trusted(
        bound: Bound,
        levels: Vec<Arrays>,
        values: Values,
        fill: Scalar,
        clean: bool,
    ) -> Self {
        let view = View::whole(bound.shape());
        let levels = Arc::new(levels);
        Self { bound, view, levels, values, fill, clean, getter: OnceLock::new() }
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> &Format {
        self.bound.format()
    }

    /// Extent of each dimension. For a sliced view, the slice's.
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

    /// What is not stored has this value.
    #[must_use]
    pub fn fill(&self) -> Scalar {
        self.fill
    }

    /// Number of stored elements, padding included: the length of the values.
    #[must_use]
    pub fn nse(&self) -> usize {
        self.values.len()
    }

    /// Number of stored elements inside the shape that differ from the fill value. Cost: O(nse).
    ///
    /// # Panics
    /// On arrays that break their level's rules, which only
    /// [`Tensor::from_parts_unchecked`] lets in.
    #[must_use]
    pub fn nnz(&self) -> usize {
        let differing =
            |values: &Values| crate::with_values!(values, b => build::differing(b, self.fill));
        if self.clean && self.view.is_whole() {
            return differing(&self.values);
        }
        differing(&self.to_coo().expect("checked arrays are walked without error").values)
    }

    /// Bytes of the level arrays and the values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.levels.iter().map(Arrays::bytes).sum::<usize>() + self.values.bytes()
    }

    /// The format bound to the shape: level sizes and lowest coordinates.
    #[must_use]
    pub fn bound(&self) -> &Bound {
        &self.bound
    }

    /// The arrays of each level, in the order of the level type's description.
    #[must_use]
    pub fn levels(&self) -> &[Arrays] {
        &self.levels
    }

    /// An array of a level by name (`pos`, `crd`, or one of the level type's own), where it has it.
    #[must_use]
    pub fn level_array(&self, level: usize, name: &str) -> Option<&IndexArray> {
        let specs = &self.format().descriptions().get(level)?.arrays;
        let at = specs.iter().position(|spec| spec.name == name)?;
        self.levels[level].0.get(at)
    }

    /// The level's array of positions, where it has one.
    #[must_use]
    pub fn pos(&self, level: usize) -> Option<&IndexArray> {
        self.array_with(level, Role::Position)
    }

    /// The level's array of coordinates, where it has one.
    #[must_use]
    pub fn crd(&self, level: usize) -> Option<&IndexArray> {
        self.array_with(level, Role::Coordinate)
    }

    fn array_with(&self, level: usize, role: Role) -> Option<&IndexArray> {
        let specs = &self.format().descriptions().get(level)?.arrays;
        let at = specs.iter().position(|spec| spec.role == role)?;
        self.levels[level].0.get(at)
    }

    /// The stored values.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// The stored values for writing: new numbers on a fixed pattern. Copied first where shared.
    ///
    /// # Errors
    /// [`Error::Dtype`] when they are of another type.
    pub fn values_mut<T: StoredElement>(&mut self) -> Result<&mut [T], Error> {
        // What is written may land where no coordinate reaches.
        self.clean = false;
        self.values.typed_mut()
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
        (tensor.values, tensor.fill, tensor.clean) = (values, fill, false);
        tensor.getter = OnceLock::new();
        Ok(tensor)
    }

    /// The values, with the fill value in every place that no coordinate reaches: what foreign arrays
    /// hold between segments, beside diagonals and outside the shape is nobody's. Cost: nothing where
    /// there are no such places, or they are known to hold it; else O(nse).
    ///
    /// # Errors
    /// As [`Tensor::to_coo`].
    pub(crate) fn clean_values(&self) -> Result<Values, Error> {
        match self.clean || access::reaches_all(self.format()) {
            true => Ok(self.values.clone()),
            false => self.reached_values(),
        }
    }

    /// The same pattern with values of a function that maps the fill value to zero, applied to
    /// [`Tensor::clean_values`].
    ///
    /// # Errors
    /// As [`Tensor::with_values`].
    pub(crate) fn with_clean_values(&self, values: Values) -> Result<Self, Error> {
        Ok(Self { clean: true, ..self.with_values(values)? })
    }

    /// The values as blocks: one row for each position of the last level that is not full, and its
    /// extents behind. `(nse / block, block...)` for blocked and hybrid formats, `(nse,)` where the
    /// last level is not full.
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
            && self.levels.len() == other.levels.len()
            && self.levels.iter().zip(&*other.levels).all(|(a, b)| {
                a.0.len() == b.0.len()
                    && a.0.iter().zip(&b.0).all(|(x, y)| verify::same_indices(x, y))
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
            && self.values.iter().zip(other.values.iter()).all(|(a, b)| a.same(&b))
    }
}
