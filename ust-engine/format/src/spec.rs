//! The parts of a format: dimensions with their slices, levels with their types.

use std::fmt;

use ust_level_api::LevelType;

use super::expr::IndexExpr;

/// A dimension of a format.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DimSpec {
    /// Its name, such as `i`.
    pub name: String,
    /// The part of the base tensor's dimension that is seen, where it is not the whole.
    pub slice: Option<Slice>,
}

/// A strided part of a dimension: coordinates `offset + n * stride` for `n` in `0..size` of the
/// base tensor. What is `None` is written `?`: known only at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The first coordinate seen.
    pub offset: Option<u64>,
    /// How many are seen.
    pub size: Option<u64>,
    /// Distance from each to the next.
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
    /// Its name, where one was written (`ib = i / 2 : dense`).
    pub name: Option<String>,
    /// What it stores, over dimensions.
    pub expr: IndexExpr,
    /// How it stores it.
    pub ty: Box<dyn LevelType>,
}
