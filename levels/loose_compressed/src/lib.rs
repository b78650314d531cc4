//! The `loose_compressed` level: one segment of coordinates for each parent, in any order, possibly
//! with gaps between the segments.
//!
//! ```text
//!  row 0  [ . 1 . . ]    (i, j) -> (i : dense, j : loose_compressed), shape 2x4
//!  row 1  [ 2 . . 3 ]
//!                        level 1  pos    1 2     4 6                    2 * parents: lo, hi, lo, hi
//!                                 crd    ?   1   ?   ?   0   3          elbow room marked ?
//!                        values          ?   1   ?   ?   2   3
//! ```
//!
//! The children of parent `p` are the positions `pos[2 * p] .. pos[2 * p + 1]`. The gaps between
//! segments belong to no parent; their contents are never read.
//!
//! * **Arrays**: `pos` with `2 * parents` elements, `crd` with an element for each position, gaps
//!   included.
//! * **Invariants**: each segment lies within `crd`, and no two overlap; coordinates lie within the
//!   level; under one parent they ascend, and are distinct.
//! * **Arguments**: `nonunique` and `nonordered`, as for `compressed`. `compressed(high)` is an
//!   older name of this level.
//! * **Cost**: as `compressed`. Assembly leaves no gaps. A coordinate is inserted and removed in place: the rest of
//!   its segment moves, and a segment without a gap behind it moves to the end, with as much room as it is long.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_loose_compressed::LooseCompressed;
//!
//! let site = Site { size: 4, ..Site::default() };
//! let entries = Entries::new(2, [0, 1, 1], [1, 0, 3]);
//! let made = LooseCompressed::default().assemble(&site, &entries).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [0, 1, 1, 3]);
//! ```
#![forbid(unsafe_code)]

mod change;

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::walk::binary_search;
use ust_level_api::{
    Alias, ArraySpec, Arrays, Assembled, Change, Crd, Description, Entries, Interval, LevelArgs,
    LevelError, LevelFactory, LevelType, LocateCost, Located, Per, Place, Pos, Props, Reach, Site,
    Walk, WalkKind, WalkSite, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "loose_compressed",
        aliases: &[Alias { name: "compressed", with: Some("high") }],
        summary: "compressed, with segments in any order and room between them",
        make: &|args| Ok(Box::new(LooseCompressed::from_args(args)?)),
        samples: &[
            "loose_compressed",
            "loose_compressed(nonunique)",
            "loose_compressed(nonordered)",
            "loose_compressed(nonunique, nonordered)",
        ],
    }
}

const POS: usize = 0;
const CRD: usize = 1;

/// The loose compressed level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LooseCompressed {
    /// A coordinate may occur several times under one parent.
    pub nonunique: bool,
    /// Coordinates under one parent may be in any order.
    pub nonordered: bool,
}

impl LooseCompressed {
    fn from_args(args: &LevelArgs) -> Result<Self, LevelError> {
        let [nonunique, nonordered] =
            args.switches([("nonunique", "unique"), ("nonordered", "ordered")])?;
        Ok(Self { nonunique, nonordered })
    }

    fn text(self) -> &'static str {
        match (self.nonunique, self.nonordered) {
            (false, false) => "loose_compressed",
            (true, false) => "loose_compressed(nonunique)",
            (false, true) => "loose_compressed(nonordered)",
            (true, true) => "loose_compressed(nonunique, nonordered)",
        }
    }
}

impl LevelType for LooseCompressed {
    fn describe(&self) -> Description {
        let searchable = !self.nonunique && !self.nonordered;
        Description {
            name: "loose_compressed",
            text: self.text().to_owned(),
            mlir: self.text().to_owned(),
            props: Props {
                ordered: !self.nonordered,
                unique: !self.nonunique,
                compact: false,
                contiguous: false,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![ArraySpec { per: Per::ParentPair, ..ArraySpec::pos() }, ArraySpec::crd()],
            walk: WalkKind::Position,
            locate: if searchable { LocateCost::Logarithmic } else { LocateCost::None },
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(!self.nonunique)?;
        // Without gaps, the end of a segment is the start of the next.
        Ok(Assembled {
            positions: segments.crd.len() as u64,
            arrays: Arrays(vec![
                site.store_pos(segments.offsets.pairs()?)?,
                site.store_crd(segments.crd)?,
            ]),
            position: segments.child,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let pairs = parents.positions.saturating_mul(2);
        check::length("pos", arrays.0[POS].len(), pairs, "2 * parents")?;
        let (pos, crd) = (&arrays.0[POS], &arrays.0[CRD]);
        let reach = check::apart("pos", pos, parents, crd.len() as u64)?;
        let (ordered, unique) = (!self.nonordered, !self.nonunique);
        let rules = check::Rules { bounds: site.bounds(), ordered, unique };
        check::segments("crd", crd, parents, &rules, &|parents, segments| {
            check::pairs(pos, parents, segments);
        })?;
        Ok(reach)
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        Walk::positions(segment(site, b), site.arrays[CRD])
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        if self.nonunique || self.nonordered {
            return None;
        }
        let segment = segment(site, b);
        Some(binary_search(b, site.arrays[CRD], segment, crd))
    }

    fn insert(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        crd: Crd,
    ) -> Result<Option<Change>, LevelError> {
        Ok(change::insert(site, arrays, (parent, crd), !self.nonordered))
    }

    fn remove(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        pos: Pos,
    ) -> Result<Option<Change>, LevelError> {
        Ok(change::remove(site, arrays, parent, pos))
    }
}

/// The positions of the children of one parent.
fn segment(site: &WalkSite, b: &Builder) -> Interval {
    let at = site.parent.lo.clone() * 2;
    Interval { lo: b.load(site.arrays[POS], at.clone()), hi: b.load(site.arrays[POS], at + 1) }
}
