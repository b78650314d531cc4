//! The `blocks` level: blocks of neighbouring coordinates, of any length.
//!
//! ```text
//!      0 1 2 3 4 5       (i, j) -> (i : dense, j : blocks), shape 3x6
//!  0 [ . 1 2 . 3 4 ]
//!  1 [ . . . . . . ]     level 1  pos   0          2    2       3      parents + 1
//!  2 [ 5 6 7 . . . ]              end   3    6          3              one past the last coordinate
//!                                 ofs   0    2          4       7      blocks + 1
//!                        values         1 2  3 4        5 6 7
//! ```
//!
//! The blocks of parent `p` are `pos[p] .. pos[p + 1]`. The coordinates of block `b` are the
//! `ofs[b + 1] - ofs[b]` ones before `end[b]`, at the positions from `ofs[b]` on.
//!
//! * **Arrays**: `pos` with `parents + 1` elements, `end` with `pos[parents]`, `ofs` with one more.
//! * **Invariants**: `pos[0] = ofs[0] = 0`; neither descends; the blocks of a parent lie within the level,
//!   one after another, and do not overlap. Assembly joins neighbouring coordinates into one block.
//! * **Cost**: walking visits what is stored, block by block; locating is a binary search among blocks.
//!
//! The scheme is also called VBL, variable block length. Finch stores a `SparseBlockList` in the same arrays:
//! `sparse_block_list` is another name of this level.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_blocks::Blocks;
//!
//! // The matrix in the picture.
//! let site = Site { size: 6, ..Site::default() };
//! let entries = Entries::new(3, [0, 0, 0, 0, 2, 2, 2], [1, 2, 4, 5, 0, 1, 2]);
//! let made = Blocks.assemble(&site, &entries).unwrap();
//! let [pos, end, ofs] = &made.arrays.0[..] else { panic!("three arrays") };
//! assert_eq!(pos.to_vec(), [0, 2, 2, 3]);
//! assert_eq!(end.to_vec(), [3, 6, 3]);
//! assert_eq!(ofs.to_vec(), [0, 2, 4, 7]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::column::IndexRead;
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::walk::binary_search;
use ust_level_api::{
    Alias, ArraySpec, Arrays, Assembled, Description, Entries, Footprint, Interval, LevelError,
    LevelFactory, LevelType, LocateCost, Located, Per, Place, Population, Props, Reach, Role, Run,
    Site, Step, TensorStats, Walk, WalkKind, WalkSite, assemble, check, inventory, with_column,
};

inventory::submit! {
    LevelFactory {
        name: "blocks",
        aliases: &[Alias { name: "sparse_block_list", with: None }],
        summary: "blocks of neighbouring coordinates, of any length",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Blocks))
        },
        samples: &["blocks"],
    }
}

const POS: usize = 0;
const END: usize = 1;
const OFS: usize = 2;

/// The level type for blocks of variable length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Blocks;

impl LevelType for Blocks {
    fn describe(&self) -> Description {
        let of_blocks =
            |name, role, length| ArraySpec { name, role, per: Per::Other(length), min_bits: 8 };
        Description {
            name: "blocks",
            text: "blocks".to_owned(),
            mlir: "blocks".to_owned(),
            props: Props::SIDE_BY_SIDE,
            arrays: vec![
                ArraySpec::pos(),
                of_blocks("end", Role::Coordinate, "pos[parents]"),
                of_blocks("ofs", Role::Position, "pos[parents] + 1"),
            ],
            walk: WalkKind::Other,
            locate: LocateCost::Logarithmic,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let parents = entries.parents as usize;
        let positions = segments.crd.len();
        let (pos, end, ofs) = with_column!(&segments.crd, crd => {
            with_column!(&segments.offsets, offsets => {
                let children = |parent| offsets.at(parent) as usize..offsets.at(parent + 1) as usize;
                // Blocks begin where the coordinate before is not the one before.
                let begins = |parent: usize, at: usize| {
                    at == children(parent).start || crd.at(at - 1) + 1 != crd.at(at)
                };
                let heads = |parent| children(parent).filter(move |&at| begins(parent, at));
                let pos = site.starts(parents, |parent| heads(parent).count() as u64)?;
                let mut ofs = assemble::parts(&pos, 1, |parent, ofs: &mut [i64]| {
                    ofs.iter_mut().zip(heads(parent)).for_each(|(ofs, at)| *ofs = at as i64);
                });
                let blocks = ofs.len() - 1;
                ofs.make_mut()[blocks] = positions as i64;
                let end = assemble::fill(blocks, |block| crd.at(ofs[block + 1] as usize - 1) + 1);
                (pos, end, ofs)
            })
        });
        Ok(Assembled {
            arrays: Arrays(vec![site.store_pos(pos)?, site.store_crd(end)?, site.store_pos(ofs)?]),
            position: segments.child,
            positions: positions as u64,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let [pos, end, ofs] = &arrays.0[..] else { unreachable!("as described") };
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        let blocks = check::offsets("pos", pos)?;
        check::length("end", end.len(), blocks, "the last of pos")?;
        check::length("ofs", ofs.len(), blocks + 1, "the last of pos, and one more")?;
        check::offsets("ofs", ofs)?;
        let bounds = site.bounds();
        check::each(parents, &|parent| {
            let mut before = bounds.start;
            for at in check::at(pos, parent as usize)..check::at(pos, parent as usize + 1) {
                let at = at as usize;
                let count = check::at(ofs, at + 1) - check::at(ofs, at);
                let last = check::at(end, at);
                let after = before.checked_add(count).is_some_and(|least| least <= last);
                check::rule(after && last <= bounds.end, "end", at as u64, last, || {
                    format!("the {count} coordinates before it lie in [{before}, {})", bounds.end)
                })?;
                before = last;
            }
            Ok(())
        })?;
        Ok(parents.through(pos).through(ofs))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        Walk {
            kind: WalkKind::Other,
            cursor: blocks(site, b),
            step: Box::new(|b, at| block(site, b, at)),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let crd = b.bind("crd", crd);
        let blocks = blocks(site, b);
        let hi = b.bind("above", blocks.hi.clone());
        // The first block that ends behind the coordinate.
        let at = binary_search(
            b,
            site.arrays[END],
            Interval { hi: hi.clone(), ..blocks },
            crd.clone() + 1,
        );
        let Located { pos, found } = block(site, b, at.pos.clone()).locate(crd)?;
        Some(Located { pos, found: at.pos.lt(hi).select(found, Expr::Bool(false)) })
    }

    /// Competes where blocks have three coordinates or more on average.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let long = stats.entries > 0 && stats.entries >= 3 * stats.runs;
        stats.along_last("blocks").filter(|_| long).into_iter().collect()
    }

    /// A position for each coordinate, and two indices for each block.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let Population { parents, stored, runs, .. } = *population;
        let offsets = site.offset_bytes(parents, runs) + site.offset_bytes(runs, stored);
        let end = runs * f64::from(site.crd_kind().bits()) / 8.0;
        Footprint { positions: stored, bytes: offsets + end }
    }
}

/// The blocks of a parent.
fn blocks(site: &WalkSite, b: &Builder) -> Interval {
    let at = |parent: &Expr| b.load(site.arrays[POS], parent.clone());
    Interval { lo: at(&site.parent.lo), hi: at(&site.parent.hi) }
}

/// The coordinates of a block.
fn block(site: &WalkSite, b: &Builder, at: Expr) -> Step {
    let pos = b.load(site.arrays[OFS], at.clone());
    let count = b.load(site.arrays[OFS], at.clone() + 1) - pos.clone();
    let crd = b.load(site.arrays[END], at) - count.clone();
    Step::run(crd, pos, Run::Consecutive(count))
}
