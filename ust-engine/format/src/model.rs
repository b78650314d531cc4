//! [`Format`]: dimensions, levels, the map between them, and widths. A format is valid as a whole.

use std::borrow::Borrow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ust_level_api::{Description, Role};

use super::error::FormatError;
use super::expr::IndexExpr;
use super::form::Form;
use super::inverse::{Limit, Split};
use super::print::Printed;
use super::spec::{Counter, DimSpec, LevelSpec};

/// How a tensor is stored: a map from dimensions to levels, and a level type for each level.
///
/// It is made from text with [`FromStr`](std::str::FromStr), and printed canonically with
/// [`Display`](std::fmt::Display). Cheap to clone. Two formats are equal if they store every tensor
/// in the same way. Names of dimensions and levels, the spelling, and the order of terms (`i + j`
/// or `j + i`) do not matter; widths do.
///
/// ```
/// use ust::Format;
///
/// let blocks: Format = "BSR(2, 3)".parse()?;
/// let text = "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)";
/// assert_eq!(blocks.to_string(), text);
/// assert_eq!(blocks.dim2lvl(&[5, 7]), Some(vec![2, 2, 1, 1]));
/// assert_eq!(blocks.lvl2dim(&[2, 2, 1, 1]), Some(vec![5, 7]));
/// assert_eq!(blocks.inverse_text(0).as_deref(), Some("l0 * 2 + l2"));
///
/// let sizes: Vec<u64> = blocks.bind(&[5, 9])?.levels().iter().map(|level| level.size).collect();
/// assert_eq!(sizes, [3, 3, 2, 3]);
/// # Ok::<(), ust::format::FormatError>(())
/// ```
#[derive(Clone)]
pub struct Format(Arc<Inner>);

#[derive(Clone)]
pub(super) struct Inner {
    pub(super) dims: Vec<DimSpec>,
    /// In expressions, counters are numbered behind the dimensions.
    pub(super) counters: Vec<Counter>,
    pub(super) levels: Vec<LevelSpec>,
    pub(super) descriptions: Vec<Description>,
    /// Level expressions in the form from which the inverse is inferred.
    pub(super) forms: Vec<Form>,
    /// Level expressions in canonical form, for comparison.
    pub(super) canonical: Vec<Form>,
    pub(super) inverse: Vec<IndexExpr>,
    /// Whether the inverse was given in the text, because it cannot be inferred.
    pub(super) inverse_given: bool,
    pub(super) limits: Vec<Limit>,
    pub(super) splits: Vec<Split>,
    pub(super) pos_width: u32,
    pub(super) crd_width: u32,
    pub(super) explicit_val: Option<String>,
    pub(super) implicit_val: Option<String>,
    /// The same without sorted dimensions, if there are any.
    pub(super) unsorted: Option<Format>,
    /// The hash of the parts that [`Format`]s are compared by. It is computed once, because kernels
    /// are looked up by their formats.
    pub(super) hash: u64,
}

impl Format {
    pub(super) fn from_inner(mut inner: Inner) -> Self {
        inner.unsorted = None;
        if inner.dims.iter().any(|dim| dim.sorted.is_some()) {
            let mut unsorted = inner.clone();
            unsorted.dims.iter_mut().for_each(|dim| dim.sorted = None);
            inner.unsorted = Some(Self::from_inner(unsorted));
        }
        let mut hasher = DefaultHasher::new();
        inner.dims.len().hash(&mut hasher);
        inner.counters.hash(&mut hasher);
        inner.canonical.hash(&mut hasher);
        for level in &inner.descriptions {
            level.text.hash(&mut hasher);
        }
        for dim in &inner.dims {
            (dim.sorted, dim.slice).hash(&mut hasher);
        }
        let mut format = Self(Arc::new(inner));
        format.attributes().hash(&mut hasher);
        if let Some(inner) = Arc::get_mut(&mut format.0) {
            inner.hash = hasher.finish();
        }
        format
    }

    /// The format with dimensions of these names and levels of these texts, such as
    /// `i / 2 : dense`.
    ///
    /// # Errors
    /// As for any format text.
    pub fn of_texts(dims: &[impl Borrow<str>], levels: &[String]) -> Result<Self, FormatError> {
        format!("({}) -> ({})", dims.join(", "), levels.join(", ")).parse()
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.0
    }

    /// The dimensions, in the order of a shape.
    #[must_use]
    pub fn dims(&self) -> &[DimSpec] {
        &self.0.dims
    }

    /// The counters that levels store, such as `#i`. In level expressions, counter `c` is the variable
    /// [`rank`](Self::rank)` + c`.
    #[must_use]
    pub fn counters(&self) -> &[Counter] {
        &self.0.counters
    }

    /// Number of dimensions and counters together: of the variables of level expressions.
    #[must_use]
    pub fn axes(&self) -> usize {
        self.rank() + self.0.counters.len()
    }

    /// The name of a dimension, or a counter as it is written.
    ///
    /// # Panics
    /// If there is no such variable.
    #[must_use]
    pub fn axis_name(&self, axis: usize) -> String {
        match axis.checked_sub(self.rank()) {
            None => self.0.dims[axis].name.clone(),
            Some(counter) => {
                let names: Vec<&str> = self.0.dims.iter().map(|dim| dim.name.as_str()).collect();
                self.0.counters[counter].text(&names)
            }
        }
    }

    /// The names of all dimensions, and then all counters as they are written: what the variables of level
    /// expressions are called.
    #[must_use]
    pub fn axis_names(&self) -> Vec<String> {
        (0..self.axes()).map(|axis| self.axis_name(axis)).collect()
    }

    /// The levels, in storage order.
    #[must_use]
    pub fn levels(&self) -> &[LevelSpec] {
        &self.0.levels
    }

    /// The descriptions of all levels, in the order of [`levels`](Self::levels).
    #[must_use]
    pub fn descriptions(&self) -> &[Description] {
        &self.0.descriptions
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.dims.len()
    }

    /// Number of levels.
    #[must_use]
    pub fn level_count(&self) -> usize {
        self.0.levels.len()
    }

    /// Each dimension, and then each counter, as an expression over level coordinates: inferred, or given in the
    /// text and proved. For a sliced format, these are the dimensions of the base tensor.
    #[must_use]
    pub fn inverse(&self) -> &[IndexExpr] {
        &self.0.inverse
    }

    /// Bits of a position: 8, 16, 32, 64, or 0 for the default.
    #[must_use]
    pub fn pos_width(&self) -> u32 {
        self.0.pos_width
    }

    /// Bits of a coordinate: 2 (packed), 8, 16, 32, 64, or 0 for the default.
    #[must_use]
    pub fn crd_width(&self) -> u32 {
        self.0.crd_width
    }

    /// The same format with other widths.
    ///
    /// # Errors
    /// If a width does not exist, or the levels cannot have it.
    pub fn with_widths(&self, pos: u32, crd: u32) -> Result<Self, FormatError> {
        let mut inner = self.0.as_ref().clone();
        (inner.pos_width, inner.crd_width) = (pos, crd);
        let changed = Self::from_inner(inner);
        changed.check_widths().map_err(|wrong| {
            let printed = Printed::ust(&changed);
            let span = if wrong.of_pos { printed.pos_width } else { printed.crd_width };
            FormatError::new(&printed.text, span, wrong.message).with_help(wrong.help)
        })?;
        Ok(changed)
    }

    /// MLIR's `explicitVal`, as written: the value of all stored elements. It is kept and printed,
    /// but not interpreted.
    #[must_use]
    pub fn explicit_val(&self) -> Option<&str> {
        self.0.explicit_val.as_deref()
    }

    /// MLIR's `implicitVal`, as written: the value of unstored elements. It is kept and printed,
    /// but not interpreted.
    #[must_use]
    pub fn implicit_val(&self) -> Option<&str> {
        self.0.implicit_val.as_deref()
    }

    /// The level coordinates of dimension coordinates, which the values of all counters follow. In a sorted dimension,
    /// a coordinate is a place. `None` if their number
    /// is not that of [axes](Self::axes), or on overflow.
    #[must_use]
    pub fn dim2lvl(&self, dims: &[i64]) -> Option<Vec<i64>> {
        if dims.len() != self.axes() {
            return None;
        }
        self.0.levels.iter().map(|level| level.expr.eval(dims)).collect()
    }

    /// The dimension coordinates of level coordinates, and then the values of all counters. They may lie outside a shape, for example in
    /// a block at its border. `None` if the number of levels is wrong, on overflow, or if no
    /// dimension coordinates have these level coordinates. In a sorted dimension, a coordinate is a place.
    #[must_use]
    pub fn lvl2dim(&self, levels: &[i64]) -> Option<Vec<i64>> {
        if levels.len() != self.level_count() {
            return None;
        }
        let dims: Vec<i64> =
            self.0.inverse.iter().map(|expr| expr.eval(levels)).collect::<Option<_>>()?;
        (self.dim2lvl(&dims)? == levels).then_some(dims)
    }

    /// Whether a stored value equal to the fill value is padding: the last level is full or padded.
    #[must_use]
    pub fn has_padding(&self) -> bool {
        self.0.descriptions.last().is_none_or(|last| last.props.full || last.props.padded)
    }

    /// Whether entries have distinct coordinates: the last level that is not full is unique. A
    /// nonunique level above it does not matter, as in COO. With counters, the same coordinates could be counted
    /// twice.
    #[must_use]
    pub fn is_unique(&self) -> bool {
        if !self.0.counters.is_empty() {
            return false;
        }
        match self.tail().checked_sub(1) {
            Some(last) => self.0.descriptions[last].props.unique,
            None => true,
        }
    }

    /// Whether every level is ordered.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.0.descriptions.iter().all(|level| level.props.ordered)
    }

    /// The number of leading levels that are [batches](ust_level_api::LevelType::is_batch).
    #[must_use]
    pub fn batches(&self) -> usize {
        self.0.levels.iter().take_while(|level| level.ty.is_batch()).count()
    }

    /// The first of the trailing full levels; the number of levels if the last one is not full.
    #[must_use]
    pub fn tail(&self) -> usize {
        let full = self.0.descriptions.iter().rev().take_while(|level| level.props.full).count();
        self.level_count() - full
    }

    /// Whether every level is full: every element is stored.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.tail() == 0
    }

    /// Whether entries at any coordinates can be stored: no level limits the number of children
    /// under a parent.
    #[must_use]
    pub fn has_room(&self) -> bool {
        !self.0.descriptions.iter().any(|level| level.props.bounded)
    }

    /// Whether a dimension is sliced.
    #[must_use]
    pub fn has_slices(&self) -> bool {
        self.0.dims.iter().any(|dim| dim.slice.is_some())
    }

    /// The format of the base tensor: the same without slices.
    #[must_use]
    pub fn without_slices(&self) -> Self {
        if !self.has_slices() {
            return self.clone();
        }
        let mut inner = self.0.as_ref().clone();
        for dim in &mut inner.dims {
            dim.slice = None;
        }
        Self::from_inner(inner)
    }

    /// Whether a dimension is [sorted](super::spec::Sorted).
    #[must_use]
    pub fn has_sorted(&self) -> bool {
        self.0.dims.iter().any(|dim| dim.sorted.is_some())
    }

    /// Whether what levels store of an entry depends on other entries, too: there are counters, or a dimension is
    /// sorted.
    #[must_use]
    pub fn depends_on_entries(&self) -> bool {
        !self.0.counters.is_empty() || self.has_sorted()
    }

    /// The format of the same levels with every dimension in its own order: how a tensor is stored whose coordinates
    /// are the places in a sorted dimension. Cost: O(1) for a format without sorted dimensions.
    #[must_use]
    pub fn unsorted(&self) -> Self {
        match &self.0.unsorted {
            Some(unsorted) => unsorted.clone(),
            None => self.clone(),
        }
    }

    pub(super) fn form(&self, level: usize) -> &Form {
        &self.0.forms[level]
    }

    pub(super) fn limits(&self) -> &[Limit] {
        &self.0.limits
    }

    pub(super) fn splits(&self) -> &[Split] {
        &self.0.splits
    }

    /// Checks that the widths exist, and that the levels can have them.
    pub(super) fn check_widths(&self) -> Result<(), WrongWidth> {
        let wide = |bits| matches!(bits, 0 | 8 | 16 | 32 | 64);
        let range = "choose 8, 16, 32, 64, or 0 for the default";
        if !wide(self.0.pos_width) {
            let message = format!("posWidth = {}: no such width", self.0.pos_width);
            return Err(WrongWidth { of_pos: true, message, help: range.to_owned() });
        }
        if wide(self.0.crd_width) {
            return Ok(());
        }
        let wrong = |message: String, help: String| WrongWidth { of_pos: false, message, help };
        if self.0.crd_width != 2 {
            let message = format!("crdWidth = {}: no such width", self.0.crd_width);
            return Err(wrong(message, format!("{range} (2 where all coordinates can be packed)")));
        }
        let mut packed = false;
        for level in &self.0.descriptions {
            for array in level.arrays.iter().filter(|array| array.role == Role::Coordinate) {
                if array.min_bits > 2 {
                    let message =
                        format!("crdWidth = 2, but `{}` needs wider coordinates", level.text);
                    return Err(wrong(message, range.to_owned()));
                }
                packed = true;
            }
        }
        if packed {
            Ok(())
        } else {
            Err(wrong(
                "crdWidth = 2, but no level has coordinates to pack".to_owned(),
                range.to_owned(),
            ))
        }
    }

    /// Whether the formats are equal except for widths, `explicitVal` and `implicitVal`.
    pub(super) fn same_layout(&self, other: &Self) -> bool {
        self.rank() == other.rank()
            && self.0.counters == other.0.counters
            && self.0.canonical == other.0.canonical
            && self.0.descriptions.iter().map(|d| &d.text).eq(other
                .0
                .descriptions
                .iter()
                .map(|d| &d.text))
            && self.0.dims.iter().map(|d| (d.sorted, d.slice)).eq(other
                .0
                .dims
                .iter()
                .map(|d| (d.sorted, d.slice)))
    }

    fn attributes(&self) -> (u32, u32, Option<&str>, Option<&str>) {
        (self.pos_width(), self.crd_width(), self.explicit_val(), self.implicit_val())
    }
}

/// A width that a format cannot have.
pub(super) struct WrongWidth {
    /// Whether it is `posWidth`, not `crdWidth`.
    pub(super) of_pos: bool,
    pub(super) message: String,
    pub(super) help: String,
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.hash == other.0.hash
                && self.attributes() == other.attributes()
                && self.same_layout(other))
    }
}

impl Eq for Format {}

/// As its text.
#[cfg(feature = "serde")]
impl serde::Serialize for Format {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From text or a name. The level types that it names have to be linked.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Format {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Hash for Format {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}
