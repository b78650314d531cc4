//! Statistics of a tensor, from which a level type decides whether to offer formats for it; and
//! estimates of the memory of a level.

use crate::Pos;
use crate::array::Role;
use crate::level::{Description, Site};
use crate::registry;

/// The statistics of a tensor, from one pass over its entries. Duplicates count once.
///
/// Numbers of diagonals and rows are exact. Numbers of distinct blocks and prefixes are exact up to
/// some ten thousands, and beyond that within about one percent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorStats {
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// Number of entries. Duplicates count once.
    pub entries: u64,
    /// Number of entries whose coordinates an earlier entry has, too.
    pub duplicates: u64,
    /// Bytes of one value.
    pub value_bytes: usize,
    /// For each dimension, how the entries are spread over its coordinates. In a matrix, the first
    /// spread is over rows, the second over columns.
    pub dims: Vec<Spread>,
    /// `prefixes[n - 1]` is the number of distinct coordinates in the first `n` dimensions that
    /// have an entry. The last number is the number of entries.
    pub prefixes: Vec<u64>,
    /// Number of runs of neighbouring coordinates along the last dimension. A run lies in one row: its entries
    /// have the same coordinates in all other dimensions.
    pub runs: u64,
    /// The sum, over all rows with entries, of the number of coordinates from the first entry to the last.
    pub span: u64,
    /// For several sizes `m`, the pair of `m` and the largest number of entries in an aligned group
    /// of `m` coordinates along the last dimension. Any level type that stores `n` of `m`
    /// coordinates has room for the tensor if that number is at most `n`: see
    /// [`TensorStats::obeys`].
    pub groups: Vec<(u64, u64)>,
    /// For matrices and stacks of matrices: how full blocks of several sizes would be.
    pub blocks: Vec<Blocks>,
    /// The diagonals of a matrix; `None` for other tensors.
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
    /// Standard deviation divided by the mean: 0 if every coordinate has the same number of
    /// entries.
    pub skew: f64,
}

/// A matrix divided into blocks of one size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Blocks {
    /// Extent of a block in each dimension.
    pub extents: Vec<usize>,
    /// Blocks with an entry.
    pub count: u64,
    /// Entries divided by the elements of those blocks.
    pub fill: f64,
}

/// The diagonals of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Diagonals {
    /// Diagonals with an entry.
    pub count: u64,
    /// Entries divided by the elements on those diagonals.
    pub fill: f64,
    /// Antidiagonals with an entry.
    pub anti_count: u64,
    /// The lowest and the highest `j - i` of all entries. Both are 0 if there are no entries.
    pub band: (i64, i64),
    /// Whether `(j, i)` has an entry wherever `(i, j)` has one.
    pub symmetric: bool,
}

impl TensorStats {
    /// Entries divided by the number of elements of the shape.
    #[must_use]
    pub fn density(&self) -> f64 {
        let elements: f64 = self.shape.iter().map(|&extent| extent as f64).product();
        if elements > 0.0 { self.entries as f64 / elements } else { 0.0 }
    }

    /// The text of a format whose levels are the dimensions in their order: the last is of the level type `last`, all
    /// others of a full one. `None` for a scalar, and if no full level type is linked.
    #[must_use]
    pub fn along_last(&self, last: &str) -> Option<String> {
        let rank = self.shape.len();
        let leading = &*registry::full()?;
        let dims: Vec<String> = (0..rank).map(|dim| format!("d{dim}")).collect();
        let ty = |dim: usize| if dim + 1 == rank { last } else { leading };
        let levels: Vec<String> = (0..rank).map(|dim| format!("d{dim} : {}", ty(dim))).collect();
        (rank > 0).then(|| format!("({}) -> ({})", dims.join(", "), levels.join(", ")))
    }

    /// Whether each aligned group of `m` coordinates along the last dimension has at most `n`
    /// entries. `None` if `groups` has no element for `m`.
    #[must_use]
    pub fn obeys(&self, n: u64, m: u64) -> Option<bool> {
        self.groups.iter().find(|group| group.0 == m).map(|group| group.1 <= n)
    }
}

/// The coordinates that a level would store: estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Population {
    /// Number of parents.
    pub parents: f64,
    /// Number of coordinates under all parents. Those that are equal under one parent count once.
    pub stored: f64,
    /// Number of runs of neighbouring coordinates under one parent. At most `stored`, which stands for a number
    /// that is not known.
    pub runs: f64,
    /// The sum, over all parents, of the number of coordinates from the first that is stored to the last. At
    /// most all coordinates under all parents, which stands for a number that is not known.
    pub span: f64,
}

/// An estimate of the memory that a level takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    /// Number of positions. Not an integer: it is an estimate.
    pub positions: f64,
    /// Bytes of the level's own arrays.
    pub bytes: f64,
}

impl Footprint {
    /// The estimate that follows from a level's description. A full level has a position for each
    /// coordinate under each parent, a branchless one a position for each parent, and any other
    /// level one for each stored coordinate. Arrays have the widths of the site, and the lengths
    /// that follow from what their elements stand for; an array with a rule of its own counts as one
    /// element for each position.
    #[must_use]
    pub fn described(level: &Description, site: &Site, population: &Population) -> Self {
        let Population { parents, stored, .. } = *population;
        let positions = match level.props {
            props if props.full => parents * site.size as f64,
            props if props.branchless => parents,
            _ => stored,
        };
        let bits = level.arrays.iter().map(|array| {
            let kind = match array.role {
                Role::Position => site.pos_kind(positions as i64),
                Role::Coordinate => site.crd_kind(),
                Role::Own(kind) => kind,
            };
            let length = array.per.length(parents.round() as Pos, positions.round() as Pos);
            length.map_or(positions, |length| length as f64) * f64::from(kind.bits())
        });
        Self { positions, bytes: bits.sum::<f64>() / 8.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{ArraySpec, Per};
    use crate::level::{LocateCost, Props};
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
            overhangs: false,
            bounded: false,
            contiguous: true,
        }
    }

    #[test]
    fn a_described_level_takes_the_room_of_its_arrays() {
        let site = Site { size: 100, crd_width: 8, ..Site::default() };
        let population = Population { parents: 10.0, stored: 30.0, ..Population::default() };
        let of = |level: &Description| Footprint::described(level, &site, &population);
        let pair = |positions, bytes| Footprint { positions, bytes };
        assert_eq!(of(&level(props(true, false), vec![])), pair(1000.0, 0.0));
        assert_eq!(of(&level(props(false, true), vec![ArraySpec::crd()])), pair(10.0, 10.0));
        let with = |per| vec![ArraySpec { per, ..ArraySpec::pos() }, ArraySpec::crd()];
        for (per, length) in [
            (Per::ParentBound, 11.0),
            (Per::ParentPair, 20.0),
            (Per::Parent, 10.0),
            (Per::Position, 30.0),
            (Per::Other("any"), 30.0),
        ] {
            let room = of(&level(props(false, false), with(per)));
            assert_eq!(room, pair(30.0, 4.0 * length + 30.0), "{per}");
        }
    }

    #[test]
    fn groups_that_were_not_counted_are_not_known() {
        let stats = TensorStats { groups: vec![(4, 2)], ..TensorStats::default() };
        assert_eq!(stats.obeys(2, 4), Some(true));
        assert_eq!(stats.obeys(1, 4), Some(false));
        assert_eq!(stats.obeys(1, 3), None);
    }
}
