//! The `compressed` level: only the coordinates that occur, in one segment for each parent.
//!
//! ```text
//!  row 0  [ 1 0 2 0 ]    (i, j) -> (i : dense, j : compressed), shape 3x4: CSR
//!  row 1  [ 0 0 0 0 ]
//!  row 2  [ 0 3 4 5 ]    level 1  pos     0       2  2           5      parents + 1
//!                                 crd     0   2      1   2   3          pos[parents]
//!                        values           1   2      3   4   5
//! ```
//!
//! The children of parent `p` are the positions `pos[p] .. pos[p + 1]`, and `crd` holds the
//! coordinate of each.
//!
//! * **Arrays**: `pos` with `parents + 1` elements, `crd` with `pos[parents]` elements.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; coordinates lie within the level; under
//!   one parent they ascend, and are distinct.
//! * **Arguments**: `nonunique` allows duplicates of a coordinate under one parent; `nonordered`
//!   allows any order of coordinates in foreign arrays.
//! * **Cost**: a walk visits the stored coordinates. Locating is a binary search, if the level is
//!   ordered and unique; else it is not offered.
//!
//! ```
//! use ust_level_api::{Entries, IndexArray, LevelType, Site};
//! use ust_level_compressed::Compressed;
//!
//! let site = Site { size: 4, crd_width: 8, ..Site::default() };
//! let entries = Entries::new(3, [0, 0, 2, 2, 2], [0, 2, 1, 2, 3]);
//! let made = Compressed::default().assemble(&site, &entries).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [0, 2, 2, 5]);
//! assert_eq!(made.arrays.0[1], IndexArray::from(vec![0_u8, 2, 1, 2, 3]));
//! ```
#![forbid(unsafe_code)]

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::walk::binary_search;
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, Interval, LevelArgs, LevelError,
    LevelFactory, LevelType, LocateCost, Located, Place, Props, Reach, Site, Walk, WalkKind,
    WalkSite, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "compressed",
        aliases: &[],
        summary: "the coordinates that occur, one segment for each parent",
        make: &|args| Ok(Box::new(Compressed::from_args(args)?)),
        samples: &[
            "compressed",
            "compressed(nonunique)",
            "compressed(nonordered)",
            "compressed(nonunique, nonordered)",
        ],
    }
}

const POS: usize = 0;
const CRD: usize = 1;

/// The compressed level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compressed {
    /// A coordinate may occur several times under one parent.
    pub nonunique: bool,
    /// Coordinates under one parent may be in any order.
    pub nonordered: bool,
}

impl Compressed {
    fn from_args(args: &LevelArgs) -> Result<Self, LevelError> {
        let [nonunique, nonordered] =
            args.switches([("nonunique", "unique"), ("nonordered", "ordered")])?;
        Ok(Self { nonunique, nonordered })
    }

    fn text(self) -> &'static str {
        match (self.nonunique, self.nonordered) {
            (false, false) => "compressed",
            (true, false) => "compressed(nonunique)",
            (false, true) => "compressed(nonordered)",
            (true, true) => "compressed(nonunique, nonordered)",
        }
    }
}

impl LevelType for Compressed {
    fn describe(&self) -> Description {
        let searchable = !self.nonunique && !self.nonordered;
        Description {
            name: "compressed",
            text: self.text().to_owned(),
            mlir: self.text().to_owned(),
            props: Props {
                ordered: !self.nonordered,
                unique: !self.nonunique,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![ArraySpec::pos(), ArraySpec::crd()],
            walk: WalkKind::Position,
            locate: if searchable { LocateCost::Logarithmic } else { LocateCost::None },
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(!self.nonunique)?;
        Ok(Assembled {
            positions: segments.crd.len() as u64,
            arrays: Arrays(vec![site.store_pos(segments.offsets)?, site.store_crd(segments.crd)?]),
            position: segments.child,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        check::length("pos", arrays.0[POS].len(), parents.positions + 1, "parents + 1")?;
        let (pos, crd) = (&arrays.0[POS], &arrays.0[CRD]);
        let last = check::offsets("pos", pos)?;
        check::length("crd", crd.len(), last, "the last of pos")?;
        let (ordered, unique) = (!self.nonordered, !self.nonunique);
        let rules = check::Rules { bounds: site.bounds(), ordered, unique };
        check::segments("crd", crd, parents, &rules, &|parents, segments| {
            check::between(pos, parents, segments);
        })?;
        Ok(parents.through(pos))
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
}

/// The positions of the children of an interval of parents.
fn segment(site: &WalkSite, b: &Builder) -> Interval {
    Interval {
        lo: b.load(site.arrays[POS], site.parent.lo.clone()),
        hi: b.load(site.arrays[POS], site.parent.hi.clone()),
    }
}
