//! The arrays of a level: what each holds, and what its elements stand for.

use std::fmt;

use crate::Pos;
use crate::index::{IndexArray, IndexKind};

/// An array that a level owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySpec {
    /// Its name: `pos`, `crd`, or one of the level's own.
    pub name: &'static str,
    /// Its contents.
    pub role: Role,
    /// What its elements stand for. The length follows from it.
    pub per: Per,
    /// The least number of bits for one of its elements: 8 or more, or 2 if the elements may be packed.
    pub min_bits: u32,
}

impl ArraySpec {
    /// A `pos` array as in CSR: the children of parent `p` are the positions `pos[p] .. pos[p + 1]`.
    #[must_use]
    pub fn pos() -> Self {
        Self { name: "pos", role: Role::Position, per: Per::ParentBound, min_bits: 8 }
    }

    /// A `crd` array: the coordinate of each position.
    #[must_use]
    pub fn crd() -> Self {
        Self { name: "crd", role: Role::Coordinate, per: Per::Position, min_bits: 8 }
    }

    /// Whether it says where the children of each parent begin and end.
    #[must_use]
    pub fn bounds_children(&self) -> bool {
        self.role == Role::Position && matches!(self.per, Per::ParentBound | Per::ParentPair)
    }

    /// Whether it holds the coordinate of each position.
    #[must_use]
    pub fn lists_coordinates(&self) -> bool {
        self.role == Role::Coordinate && self.per == Per::Position
    }
}

/// The contents of an array, which decide the width of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Positions, in the width that `posWidth` gives.
    Position,
    /// Coordinates, in the width that `crdWidth` gives; signed if coordinates can be negative.
    Coordinate,
    /// Data of the level's own, always of this kind.
    Own(IndexKind),
}

/// What the elements of an array stand for. This decides how the array is indexed, and its length.
///
/// ```
/// use ust_level_api::Per;
///
/// // The `pos` and `crd` arrays of a matrix in CSR with 3 rows and 5 entries.
/// assert_eq!(Per::ParentBound.length(3, 5), Some(4));
/// assert_eq!(Per::Position.length(3, 5), Some(5));
/// assert_eq!(Per::ParentBound.to_string(), "parents + 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Per {
    /// One for each position of the level, in their order: a `crd` array. Gaps have elements, too.
    Position,
    /// One for each parent, in their order.
    Parent,
    /// One for each parent, and one more: a bound `[p]` where something of parent `p` begins, which
    /// ends before `[p + 1]`.
    ParentBound,
    /// Two for each parent: something of parent `p` begins at `[2 * p]`, and ends before
    /// `[2 * p + 1]`.
    ParentPair,
    /// By a rule of the level's own. The text tells people its length, such as `2 * positions`.
    Other(&'static str),
}

impl Per {
    /// The length of the array; `None` if it follows a rule of the level's own, or is beyond what
    /// can be addressed.
    #[must_use]
    pub fn length(self, parents: Pos, positions: Pos) -> Option<u64> {
        match self {
            Self::Position => Some(positions),
            Self::Parent => Some(parents),
            Self::ParentBound => parents.checked_add(1),
            Self::ParentPair => parents.checked_mul(2),
            Self::Other(_) => None,
        }
    }
}

impl fmt::Display for Per {
    /// The length, as a text for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Position => "positions",
            Self::Parent => "parents",
            Self::ParentBound => "parents + 1",
            Self::ParentPair => "2 * parents",
            Self::Other(length) => length,
        })
    }
}

/// The arrays of one level, in the order of its description.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrays(pub Vec<IndexArray>);

impl Arrays {
    /// Bytes of all arrays.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.iter().map(IndexArray::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_an_array_follows_from_what_its_elements_stand_for() {
        for (per, length, text) in [
            (Per::Position, Some(7), "positions"),
            (Per::Parent, Some(3), "parents"),
            (Per::ParentBound, Some(4), "parents + 1"),
            (Per::ParentPair, Some(6), "2 * parents"),
            (Per::Other("a word for each row"), None, "a word for each row"),
        ] {
            assert_eq!((per.length(3, 7), per.to_string().as_str()), (length, text));
        }
        assert_eq!(Per::ParentPair.length(u64::MAX, 0), None);
    }

    #[test]
    fn only_bounds_and_lists_are_taken_for_such() {
        let (pos, crd) = (ArraySpec::pos(), ArraySpec::crd());
        let with = |spec: &ArraySpec, per| ArraySpec { per, ..spec.clone() };
        for (spec, bounds, lists) in [
            (pos.clone(), true, false),
            (with(&pos, Per::ParentPair), true, false),
            (with(&pos, Per::Position), false, false),
            (with(&pos, Per::Other("any")), false, false),
            (crd.clone(), false, true),
            (with(&crd, Per::Parent), false, false),
            (with(&crd, Per::ParentBound), false, false),
        ] {
            assert_eq!((spec.bounds_children(), spec.lists_coordinates()), (bounds, lists));
        }
    }
}
