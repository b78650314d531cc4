//! The parts of a format: dimensions with their slices, levels with their types.

use std::fmt;

use ust_level_api::LevelType;

use super::expr::IndexExpr;

/// A dimension of a format.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DimSpec {
    /// Its name, such as `i`.
    pub name: String,
    /// How its coordinates are ordered, if levels store them in another order.
    pub sorted: Option<Sorted>,
    /// The slice of the base tensor's dimension, if it is sliced.
    pub slice: Option<Slice>,
}

impl DimSpec {
    /// As it is written behind the name, such as ` : sorted(64)`; empty for an ordinary dimension.
    pub(super) fn text(&self, slice: impl Fn(Slice) -> String) -> String {
        let sorted = self.sorted.map(|sorted| format!(" : {sorted}"));
        let slice = self.slice.map(|one| format!(" : {}", slice(one)));
        sorted.unwrap_or_default() + &slice.unwrap_or_default()
    }
}

/// A dimension in another order: what levels store is the place of a coordinate among all coordinates, in descending
/// order of their numbers of entries. Coordinates with as many entries stay in order. The tensor stores the coordinate
/// of each place. (SELL-C-sigma: Kreutzer et al., "A Unified Sparse Matrix Data Format for Efficient General Sparse
/// Matrix-Vector Multiplication on Modern Processors with Wide SIMD Units", 2014.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sorted {
    /// Coordinates are sorted within windows of so many; `None` for all of them together.
    pub window: Option<u64>,
}

impl fmt::Display for Sorted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.window {
            Some(window) => write!(f, "sorted({window})"),
            None => f.write_str("sorted"),
        }
    }
}

/// A counter: among the entries with the same coordinates in some dimensions, the number of an entry, from 0, in the
/// order of all dimensions. It is written `#i`, or `#(i, j)`. (Chou, Kjolstad and Amarasinghe, "Automatic Generation of
/// Efficient Sparse Tensor Format Conversion Routines", 2020.)
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Counter {
    /// The numbers of these dimensions, in ascending order.
    pub of: Vec<usize>,
}

impl Counter {
    /// As it is written, with these names of dimensions.
    pub(super) fn text(&self, names: &[impl AsRef<str>]) -> String {
        let of: Vec<&str> = self.of.iter().map(|&dim| names[dim].as_ref()).collect();
        match of[..] {
            [one] => format!("#{one}"),
            _ => format!("#({})", of.join(", ")),
        }
    }
}

/// A strided part of a dimension: the coordinates `offset + n * stride` of the base tensor, for `n`
/// in `0..size`. A number that is `None` is written `?`, and known only at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The first coordinate.
    pub offset: Option<u64>,
    /// The number of coordinates.
    pub size: Option<u64>,
    /// The distance between neighbouring coordinates.
    pub stride: Option<u64>,
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |part: Option<u64>| part.map_or_else(|| "?".to_owned(), |n| n.to_string());
        write!(f, "slice({}, {}, {})", part(self.offset), part(self.size), part(self.stride))
    }
}

/// A level of a format.
#[derive(Clone, Debug)]
pub struct LevelSpec {
    /// Its name, if one was written (`ib = i / 2 : dense`).
    pub name: Option<String>,
    /// The expression over dimensions that it stores.
    pub expr: IndexExpr,
    /// Its level type.
    pub ty: Box<dyn LevelType>,
}
