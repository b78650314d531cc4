//! What a tensor looks like: the numbers that a level type may look at to offer formats, and the
//! room that its arrays would take.

use crate::level::{Description, Role, Site};

/// What one pass over the entries of a tensor found out. Duplicates count once.
///
/// Numbers of diagonals and rows are exact. Numbers of different blocks and prefixes are exact up
/// to some ten thousands, and within about one percent beyond.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorStats {
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// Number of entries, each place counted once.
    pub entries: u64,
    /// Entries that stand at a place where another one stands already.
    pub duplicates: u64,
    /// Bytes of one value.
    pub value_bytes: usize,
    /// For each dimension, how entries are spread over its coordinates: the first are the rows of
    /// a matrix, the second its columns.
    pub dims: Vec<Spread>,
    /// For each number of leading dimensions from 1, how many different coordinates of those
    /// dimensions have an entry; the last is the number of entries.
    pub prefixes: Vec<u64>,
    /// For each of some sizes `m`, the most entries in one of the aligned groups of `m` coordinates
    /// along the last dimension. 2:4 is obeyed where it is at most 2 for 4.
    pub groups: Vec<(u64, u64)>,
    /// For matrices and stacks of them, how blocks of some extents would be filled.
    pub blocks: Vec<Blocks>,
    /// Of a matrix, its diagonals; `None` for other tensors.
    pub diagonals: Option<Diagonals>,
}

/// How entries are spread over the coordinates of a dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Fewest entries at one coordinate.
    pub min: u64,
    /// Mean number of entries at a coordinate.
    pub mean: f64,
    /// Most entries at one coordinate.
    pub max: u64,
    /// Coordinates without entries.
    pub empty: u64,
    /// Standard deviation divided by the mean: 0 where all have equally many.
    pub skew: f64,
}

/// What a matrix divided into blocks stores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// Extent of a block in each dimension.
    pub extents: Vec<usize>,
    /// Blocks with an entry.
    pub count: u64,
    /// Entries divided by the elements of those blocks.
    pub fill: f64,
}

/// What a matrix looks like along its diagonals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Diagonals {
    /// Diagonals with an entry.
    pub count: u64,
    /// Entries divided by the elements on those diagonals.
    pub fill: f64,
    /// Antidiagonals with an entry.
    pub anti_count: u64,
    /// The lowest and the highest `j - i` of an entry: how far entries stand from the main
    /// diagonal. Zeros where there are no entries.
    pub band: (i64, i64),
    /// Whether `(j, i)` has an entry wherever `(i, j)` has one.
    pub symmetric: bool,
}

impl TensorStats {
    /// Entries divided by all elements.
    #[must_use]
    pub fn density(&self) -> f64 {
        let elements: f64 = self.shape.iter().map(|&extent| extent as f64).product();
        if elements > 0.0 { self.entries as f64 / elements } else { 0.0 }
    }

    /// Whether each aligned group of `m` coordinates along the last dimension has at most `n`
    /// entries. `None` where groups of this size were not counted.
    #[must_use]
    pub fn obeys(&self, n: u64, m: u64) -> Option<bool> {
        self.groups.iter().find(|group| group.0 == m).map(|group| group.1 <= n)
    }
}

/// The room that a level would take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    /// Number of positions. Not an integer: it is an estimate.
    pub positions: f64,
    /// Bytes of the level's own arrays.
    pub bytes: f64,
}

impl Footprint {
    /// The room for a level with so many parents and stored coordinates, as its description says:
    /// a position for each place of a full level and for each stored coordinate of another one,
    /// and its arrays of positions and coordinates in the widths of the site.
    #[must_use]
    pub fn described(level: &Description, site: &Site, parents: f64, stored: f64) -> Self {
        let positions = match level.props {
            props if props.full => parents * site.size as f64,
            props if props.branchless => parents,
            _ => stored,
        };
        let bits = level.arrays.iter().map(|array| match array.role {
            Role::Position => (parents + 1.0) * f64::from(site.pos_kind(positions as i64).bits()),
            Role::Coordinate => positions * f64::from(site.crd_kind().bits()),
            Role::Own(kind) => positions * f64::from(kind.bits()),
        });
        Self { positions, bytes: bits.sum::<f64>() / 8.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::{ArraySpec, LocateCost, Props, Wants};
    use crate::walk::WalkKind;

    fn level(props: Props, arrays: Vec<ArraySpec>) -> Description {
        Description {
            name: "test",
            text: "test".to_owned(),
            mlir: "test".to_owned(),
            props,
            arrays,
            walk: WalkKind::Position,
            locate: LocateCost::None,
            wants: Wants::Any,
        }
    }

    fn props(full: bool, branchless: bool) -> Props {
        Props {
            full,
            branchless,
            ordered: true,
            unique: true,
            compact: true,
            padded: false,
            contiguous: true,
            soa: false,
        }
    }

    #[test]
    fn a_described_level_takes_the_room_of_its_arrays() {
        let site = Site { size: 100, crd_width: 8, ..Site::default() };
        let of = |level: &Description| Footprint::described(level, &site, 10.0, 30.0);
        let pair = |positions, bytes| Footprint { positions, bytes };
        assert_eq!(of(&level(props(true, false), vec![])), pair(1000.0, 0.0));
        assert_eq!(of(&level(props(false, true), vec![ArraySpec::crd("p")])), pair(10.0, 10.0));
        let both = vec![ArraySpec::pos("p"), ArraySpec::crd("p")];
        assert_eq!(of(&level(props(false, false), both)), pair(30.0, 44.0 + 30.0));
    }

    #[test]
    fn groups_that_were_not_counted_are_not_known() {
        let stats = TensorStats { groups: vec![(4, 2)], ..TensorStats::default() };
        assert_eq!(stats.obeys(2, 4), Some(true));
        assert_eq!(stats.obeys(1, 4), Some(false));
        assert_eq!(stats.obeys(1, 3), None);
    }
}
