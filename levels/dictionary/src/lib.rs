//! The `dictionary` level: coordinates in compressed segments, and beside each of them the position of its child.
//!
//! ```text
//!      0 1 2 3          (i, j) -> (i : dense, j : dictionary), shape 3x4
//!  0 [ . 1 . 2 ]
//!  1 [ . . . . ]        level 1  pos     0      2   2   3    parents + 1
//!  2 [ 3 . . . ]                 crd     1 3        0        pos[parents]
//!                                child   0 1        2        the position of each child
//!                                values  1 2        3
//! ```
//!
//! The coordinates of parent `p` are `crd[pos[p] .. pos[p + 1]]`. The child at `crd[n]` has position `child[n]`: values
//! may stand in any order.
//!
//! * **Arrays**: `pos` with `parents + 1` elements; `crd` and `child` with `pos[parents]`.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; the coordinates of a parent ascend; there is a position for
//!   each coordinate, and none is that of two.
//! * **Cost**: walking reads a position for each child; locating is a binary search. Assembly numbers positions in the
//!   order of the coordinates.
//!
//! Nothing is proposed by this level type: where values stand in the order of coordinates, a compressed level needs no
//! `child`. Finch's `SparseDict` stores these arrays as `ptr`, `idx` and `val` beside a hash table that follows from
//! them: `sparse_dict` is a name of this level.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_dictionary::Dictionary;
//!
//! // The matrix in the picture.
//! let site = Site { size: 4, ..Site::default() };
//! let made = Dictionary.assemble(&site, &Entries::new(3, [0, 0, 2], [1, 3, 0])).unwrap();
//! let [pos, crd, child] = &made.arrays.0[..] else { panic!("three arrays") };
//! assert_eq!((pos.to_vec(), crd.to_vec()), (vec![0, 2, 2, 3], vec![1, 3, 0]));
//! assert_eq!(child.to_vec(), [0, 1, 2]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::walk::binary_search;
use ust_level_api::{
    Alias, ArraySpec, Arrays, Assembled, Description, Entries, IndexColumn, Interval, LevelError,
    LevelFactory, LevelType, LocateCost, Located, Per, Place, Props, Reach, Role, Site, Step, Walk,
    WalkKind, WalkSite, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "dictionary",
        aliases: &[Alias { name: "sparse_dict", with: None }],
        summary: "compressed, with children in any order",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Dictionary))
        },
        samples: &["dictionary"],
    }
}

const POS: usize = 0;
const CRD: usize = 1;
const CHILD: usize = 2;

/// The level type of coordinates with positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dictionary;

impl LevelType for Dictionary {
    fn describe(&self) -> Description {
        let per = Per::Other("pos[parents]");
        let child = ArraySpec { name: "child", role: Role::Position, per, min_bits: 8 };
        Description {
            name: "dictionary",
            text: "dictionary".to_owned(),
            mlir: "dictionary".to_owned(),
            props: Props { compact: false, contiguous: false, ..Props::SIDE_BY_SIDE },
            arrays: vec![ArraySpec::pos(), ArraySpec { per, ..ArraySpec::crd() }, child],
            walk: WalkKind::Other,
            locate: LocateCost::Logarithmic,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(true)?;
        let positions = segments.crd.len() as u64;
        let child = site.store_pos(IndexColumn::Count(segments.crd.len()))?;
        let arrays = vec![site.store_pos(segments.offsets)?, site.store_crd(segments.crd)?, child];
        Ok(Assembled { arrays: Arrays(arrays), position: segments.child, positions })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let [pos, crd, child] = [POS, CRD, CHILD].map(|at| &arrays.0[at]);
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        let count = check::offsets("pos", pos)?;
        check::length("crd", crd.len(), count, "the last of pos")?;
        check::length("child", child.len(), count, "the last of pos")?;
        let listed = |parent: u64| {
            check::at(pos, parent as usize) as u64..check::at(pos, parent as usize + 1) as u64
        };
        let rules = check::Rules { bounds: site.bounds(), ordered: true, unique: true };
        check::segments("crd", crd, parents, &rules, &|parents, segments| {
            segments.extend(parents.map(listed));
        })?;
        let mut children: Vec<(i64, u64)> =
            parents.iter().flat_map(listed).map(|at| (check::at(child, at as usize), at)).collect();
        children.sort_unstable();
        let mut before = -1;
        for &(own, at) in &children {
            check::rule(before < own && (own as u64) < count, "child", at, own, || {
                format!("a position is below {count}, and that of no other child")
            })?;
            before = own;
        }
        let intervals = children.iter().map(|&(own, _)| own as u64..own as u64 + 1).collect();
        Ok(Reach { positions: count, intervals: Some(intervals) })
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        Walk {
            kind: WalkKind::Other,
            cursor: segment(site, b),
            step: Box::new(|b, at| {
                let crd = b.load(site.arrays[CRD], at.clone());
                Step { crd, pos: b.load(site.arrays[CHILD], at), guard: None, run: None }
            }),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let Located { pos, found } = binary_search(b, site.arrays[CRD], segment(site, b), crd);
        let found = b.bind("found", found);
        // Where nothing is found, there may be no element to look at.
        let child = b.load(site.arrays[CHILD], pos);
        Some(Located { pos: found.clone().select(child, Expr::Int(0)), found })
    }
}

/// The coordinates of a parent.
fn segment(site: &WalkSite, b: &Builder) -> Interval {
    let at = |parent: &Expr| b.load(site.arrays[POS], parent.clone());
    Interval { lo: at(&site.parent.lo), hi: at(&site.parent.hi) }
}
