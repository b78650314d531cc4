//! What becomes of positions when a child is inserted into a level, or removed from it, in place.

use std::ops::Range;

use crate::Pos;

/// What a level did to insert or to remove a child. The engine does the same to the values, in this order: as many
/// as there are positions, moved, and the freed ones set to the fill value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The position of the new child, or that of the removed one.
    pub pos: Pos,
    /// Number of positions afterwards. There are never fewer than before.
    pub positions: Pos,
    /// Children that have other positions now, one move after another.
    pub moves: Vec<Move>,
    /// Positions that belonged to a child, and belong to none now.
    pub freed: Range<Pos>,
}

/// Children that move together. What they move to may overlap with where they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Their positions before.
    pub from: Range<Pos>,
    /// The position of the first of them afterwards.
    pub to: Pos,
}
