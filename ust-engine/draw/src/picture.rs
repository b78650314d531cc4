//! The content of a picture, without its looks.

use std::collections::HashMap;

use ust_engine::error::Error;
use ust_engine::tensor::Tensor;
use ust_format::Format;
use ust_level_api::Scalar;

use super::arrays::{self, LevelPicture};
use super::density::Density;
use super::label;
use super::walked::Walked;

/// Options for the content of a picture.
#[derive(Clone, Debug)]
pub struct PictureOptions {
    /// Tensors with more cells than this, or with more stored values than twice this, are shown as a
    /// density map.
    pub max_cells: usize,
    /// The largest number of bins of a density map: slices, rows and columns.
    pub bins: [usize; 3],
    /// The element that is traced; by default the last entry in storage order.
    pub trace: Option<Vec<usize>>,
}

impl Default for PictureOptions {
    fn default() -> Self {
        Self { max_cells: 1200, bins: [4, 140, 140], trace: None }
    }
}

/// The kind of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// An entry.
    Entry,
    /// Padding inside the shape: an element with the fill value, stored because its neighbours are.
    Padding,
    /// Padding outside the shape: no element of the tensor.
    Outside,
}

/// A place: a stored value with its coordinates and positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The coordinate in each dimension; not within the shape if the place is [`State::Outside`].
    pub dims: Vec<i64>,
    /// The coordinate at each level.
    pub crd: Vec<i64>,
    /// The position at each level.
    pub pos: Vec<usize>,
    /// The position of the value.
    pub value: usize,
    /// The kind of the place.
    pub state: State,
    /// The number of its group. Groups are numbered in storage order.
    pub group: usize,
}

/// Counts of stored values and of other elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Stored entries, duplicates included.
    pub entries: usize,
    /// Padding inside the shape.
    pub padding: usize,
    /// Padding outside the shape, or values that a slice hides.
    pub outside: usize,
    /// Stored values that no coordinate reaches.
    pub gaps: usize,
    /// Elements that are not stored. Not known for large tensors whose format allows duplicates.
    pub empty: Option<u128>,
}

/// The element that is traced through the arrays.
#[derive(Clone, Debug, PartialEq)]
pub enum Trace {
    /// A stored element.
    Stored(Place),
    /// An element that is not stored: it has the fill value.
    Absent {
        /// Its coordinates.
        element: Vec<usize>,
        /// Its coordinate at each level up to the one that does not have it. Empty where a format does not say them:
        /// numbers of entries and places in a sorted dimension are those of entries alone.
        search: Vec<i64>,
    },
}

/// The picture of the logical tensor.
#[derive(Clone, Debug)]
pub enum Body {
    /// Cell by cell.
    Cells(Cells),
    /// As a density map.
    Density(Density),
    /// The first places of a large tensor of more than three dimensions.
    Head(Vec<Place>),
}

/// The number of colours of groups.
pub const COLORS: usize = 8;

/// Every stored place of a small tensor.
#[derive(Clone, Debug)]
pub struct Cells {
    /// The places, in storage order.
    pub places: Vec<Place>,
    /// For each dimension, the first coordinate that is drawn, and the one after the last: the shape,
    /// and padding outside it.
    pub window: Vec<(i64, i64)>,
    /// For each group, a colour: a number below [`COLORS`]. Adjacent groups have different colours, as
    /// long as there are enough.
    pub colors: Vec<usize>,
    pub(super) at: HashMap<Vec<i64>, Vec<usize>>,
    /// For each level and position, the group of all places below it, if they have the same.
    pub(super) positions: HashMap<(usize, usize), Option<usize>>,
}

impl Cells {
    /// Number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.colors.len()
    }

    /// The colour of a place. A place of an unknown group has colour 0.
    #[must_use]
    pub fn color(&self, place: &Place) -> usize {
        self.colors.get(place.group).copied().unwrap_or(0)
    }

    /// The colour of an element of an array indexed by position, if all places below it have the same
    /// group.
    #[must_use]
    pub fn color_at(&self, level: usize, position: usize) -> Option<usize> {
        let group = self.positions.get(&(level, position)).copied().flatten()?;
        self.colors.get(group).copied()
    }

    /// The indices of the places at the given coordinates: none, one, or duplicates.
    #[must_use]
    pub fn at(&self, dims: &[i64]) -> &[usize] {
        self.at.get(dims).map_or(&[], Vec::as_slice)
    }
}

/// The content of a picture.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// The tensor.
    pub tensor: &'a Tensor,
    /// Its elements, as they are shown.
    pub body: Body,
    /// Counts of its stored values and of other elements.
    pub counts: Counts,
    /// Its levels.
    pub levels: Vec<LevelPicture<'a>>,
    /// The expression whose values tell groups apart, such as `j - i`; `None` if there is only one
    /// group.
    pub group_by: Option<String>,
    /// The element that is traced.
    pub trace: Option<Trace>,
}

impl<'a> Picture<'a> {
    /// The content of a tensor's picture. Cost: O(nse) time and memory, through the interpreter.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Coordinate`] when the element to trace does not exist;
    /// [`Error::Level`] or [`Error::Run`] for arrays that break their level's rules, which only
    /// [`Tensor::from_parts_unchecked`] lets in.
    pub fn new(tensor: &'a Tensor, options: &PictureOptions) -> Result<Self, Error> {
        if let Some(wanted) = &options.trace {
            // Checks that the element exists; its value is not needed here.
            tensor.get(wanted)?;
        }
        let levels = arrays::levels(tensor)?;
        let walked = Walked::new(tensor)?;
        let traced = walked.traced(options.trace.as_deref());
        let trace = match (traced, &options.trace) {
            (Some(value), _) => walked.place(value)?.map(Trace::Stored),
            (None, None) => None,
            (None, Some(element)) => {
                Some(Trace::Absent { element: element.clone(), search: walked.search(element)? })
            }
        };
        let mut counts = walked.counts();
        let body = match walked.cells(options.max_cells)? {
            Some(cells) => {
                let inside = |dims: &Vec<i64>| within(dims, tensor.shape());
                let taken = cells.at.keys().filter(|dims| inside(dims)).count();
                counts.empty = elements(tensor.shape()).map(|all| all - taken as u128);
                Body::Cells(cells)
            }
            None if tensor.rank() > 3 => Body::Head(walked.head(options.max_cells.min(64))),
            None => Body::Density(walked.density(options.bins)),
        };
        let group_by = group_text(&levels[..group_levels(tensor.format())]);
        Ok(Self { tensor, body, counts, levels, group_by, trace })
    }

    /// The stored value at a position.
    #[must_use]
    pub fn value(&self, at: usize) -> Scalar {
        self.tensor.values().get(at).unwrap_or_else(|| self.tensor.fill())
    }

    /// The places, if the tensor is drawn cell by cell.
    #[must_use]
    pub fn cells(&self) -> Option<&Cells> {
        match &self.body {
            Body::Cells(cells) => Some(cells),
            Body::Density(_) | Body::Head(_) => None,
        }
    }

    /// The place that is traced, if it is stored.
    #[must_use]
    pub fn traced(&self) -> Option<&Place> {
        match &self.trace {
            Some(Trace::Stored(place)) => Some(place),
            Some(Trace::Absent { .. }) | None => None,
        }
    }

    /// For each array of a level, the elements on the path to a place.
    #[must_use]
    pub fn leading(&self, level: usize, place: &Place) -> Vec<Vec<usize>> {
        let parent = level.checked_sub(1).map_or(0, |above| place.pos[above]);
        let arrays = self.levels[level].arrays.iter();
        arrays.map(|array| array.elements(parent, place.pos[level])).collect()
    }
}

/// The number of outermost levels whose coordinates tell groups apart. A group is a trailing dense
/// block (a block, a diagonal); without one, the children of a parent in a padded last level; else
/// everything below a coordinate of the outermost level.
pub(super) fn group_levels(format: &Format) -> usize {
    let (tail, count) = (format.tail(), format.level_count());
    let padded = format.descriptions().last().is_some_and(|last| last.props.padded);
    match count {
        0 | 1 => 0,
        _ if 0 < tail && tail < count => tail,
        _ if padded && tail == count => count - 1,
        _ => 1,
    }
}

fn group_text(levels: &[LevelPicture<'_>]) -> Option<String> {
    match levels {
        [] => None,
        [one] => Some(one.expr.clone()),
        several => {
            let exprs: Vec<&str> = several.iter().map(|level| level.expr.as_str()).collect();
            Some(label::cut(&format!("({})", exprs.join(", ")), 120))
        }
    }
}

fn within(dims: &[i64], shape: &[usize]) -> bool {
    dims.iter().zip(shape).all(|(&c, &n)| c >= 0 && (c as u64) < n as u64)
}

/// The product of the extents; `None` if it overflows.
pub(super) fn elements(shape: &[usize]) -> Option<u128> {
    shape.iter().try_fold(1_u128, |all, &n| all.checked_mul(n as u128))
}
