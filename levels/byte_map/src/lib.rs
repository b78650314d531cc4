//! The `byte_map` level: a byte and a position for each coordinate, and a list of those that are stored.
//!
//! ```text
//!      0 1 2 3          (i, j) -> (i : dense, j : byte_map), shape 3x4
//!  0 [ . 1 . 2 ]
//!  1 [ . . . . ]        level 1  pos     0         2         2         3    parents + 1
//!  2 [ 3 . . . ]                 bytes   0 1 0 1   0 0 0 0   1 0 0 0        size * parents
//!                                crd     1 3                 0              coordinates that are stored
//!                                values  . 1 . 2   . . . .   3 . . .
//! ```
//!
//! The byte of a coordinate is 1 if it is stored, else 0. The stored coordinates of parent `p` are listed at
//! `pos[p] .. pos[p + 1]`. A position without a stored coordinate belongs to no child.
//!
//! * **Arrays**: `pos` with `parents + 1` elements; `bytes` with `size * parents`; `crd` with `pos[parents]`.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; the coordinates of a parent ascend, and are those whose
//!   bytes are 1.
//! * **Cost**: walking visits the stored coordinates alone, locating takes constant time. Memory is proportional to
//!   the number of all coordinates.
//!
//! Finch's `SparseByteMap` stores these arrays as `ptr`, `tbl` and `srt`: `sparse_byte_map` is a name of this level.
//! There, each coordinate of `srt` stands beside the number of its parent, and offsets between parents without
//! coordinates may be left out.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_byte_map::ByteMap;
//!
//! // The matrix in the picture.
//! let site = Site { size: 4, ..Site::default() };
//! let made = ByteMap.assemble(&site, &Entries::new(3, [0, 0, 2], [1, 3, 0])).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [0, 2, 2, 3]);
//! assert_eq!(made.arrays.0[1].to_vec(), [0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0]);
//! assert_eq!(made.arrays.0[2].to_vec(), [1, 3, 0]);
//! assert_eq!(made.position, [1, 3, 8]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::column::IndexRead;
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    Alias, ArraySpec, Arrays, Assembled, Description, Entries, Footprint, IndexArray, IndexKind,
    Interval, LevelError, LevelFactory, LevelType, LocateCost, Located, Per, Place, Population,
    Props, Reach, Role, Site, Step, Walk, WalkKind, WalkSite, assemble, check, full, inventory,
    with_column,
};

inventory::submit! {
    LevelFactory {
        name: "byte_map",
        aliases: &[Alias { name: "sparse_byte_map", with: None }],
        summary: "a byte for each coordinate, and a list of those that are stored",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(ByteMap))
        },
        samples: &["byte_map"],
    }
}

const POS: usize = 0;
const BYTES: usize = 1;
const CRD: usize = 2;

/// The level type of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteMap;

impl LevelType for ByteMap {
    fn describe(&self) -> Description {
        let bytes = ArraySpec {
            name: "bytes",
            role: Role::Own(IndexKind::U8),
            per: Per::Other("size * parents"),
            min_bits: 8,
        };
        Description {
            name: "byte_map",
            text: "byte_map".to_owned(),
            mlir: "byte_map".to_owned(),
            props: Props {
                compact: false,
                // A byte tells a stored zero from an element that is not stored.
                padded: false,
                contiguous: false,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![
                ArraySpec::pos(),
                bytes,
                ArraySpec { per: Per::Other("pos[parents]"), ..ArraySpec::crd() },
            ],
            walk: WalkKind::Other,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let positions = site.positions(entries.parents, site.size)?;
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let first: Vec<i64> =
            (0..=entries.parents).map(|parent| (parent * site.size) as i64).collect();
        let bytes = with_column!(&segments.crd, crd => with_column!(&segments.offsets, offsets => {
            assemble::parts(&first, 0, |parent, bytes: &mut [u8]| {
                bytes.fill(0);
                for at in offsets.at(parent)..offsets.at(parent + 1) {
                    bytes[(crd.at(at as usize) - site.lower) as usize] = 1;
                }
            })
        }));
        Ok(Assembled {
            arrays: Arrays(vec![
                site.store_pos(segments.offsets)?,
                IndexArray::from(bytes),
                site.store_crd(segments.crd)?,
            ]),
            position: entries.positions(positions, |parent, crd| {
                full::position(site, parent as u64, crd) as i64
            })?,
            positions,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let [pos, bytes, crd] = [POS, BYTES, CRD].map(|at| &arrays.0[at]);
        let all = parents.times(site.size)?;
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        check::length("bytes", bytes.len(), all.positions, "size * parents")?;
        let count = check::offsets("pos", pos)?;
        check::length("crd", crd.len(), count, "the last of pos")?;
        let listed = |parent: u64| {
            check::at(pos, parent as usize) as u64..check::at(pos, parent as usize + 1) as u64
        };
        let rules = check::Rules { bounds: site.bounds(), ordered: true, unique: true };
        check::segments("crd", crd, parents, &rules, &|parents, segments| {
            segments.extend(parents.map(listed));
        })?;
        check::each(parents, &|parent| {
            let mut wanted = listed(parent).map(|at| check::at(crd, at as usize)).peekable();
            site.bounds().try_for_each(|crd| {
                let (at, is_listed) = (full::position(site, parent, crd), wanted.next_if_eq(&crd));
                let found = check::at(bytes, at as usize);
                let byte = i64::from(is_listed.is_some());
                check::rule(found == byte, "bytes", at, found, || {
                    format!(
                        "coordinate {crd} of parent {parent} has {byte}, as it is listed or not"
                    )
                })
            })
        })?;
        let reached = parents.iter().flat_map(|parent| {
            listed(parent).map(move |at| full::position(site, parent, check::at(crd, at as usize)))
        });
        let intervals = reached.map(|at| at..at + 1).collect();
        Ok(Reach { positions: all.positions, intervals: Some(intervals) })
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let [lo, hi] = [&site.parent.lo, &site.parent.hi]
            .map(|parent| b.load(site.arrays[POS], parent.clone()));
        Walk {
            kind: WalkKind::Other,
            cursor: Interval { lo, hi },
            step: Box::new(|b, at| {
                let crd = b.bind("listed", b.load(site.arrays[CRD], at));
                let pos = full::locate(site, crd.clone(), b).pos;
                Step { crd, pos, guard: None, run: None }
            }),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let Located { pos, found: inside } = full::locate(site, crd, b);
        let pos = b.bind("at", pos);
        // Outside the level there is no byte to look at.
        let byte = b.load(site.arrays[BYTES], pos.clone()).equals(1);
        Some(Located { pos, found: inside.select(byte, Expr::Bool(false)) })
    }

    /// A byte and a position for each coordinate, stored or not.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let Population { parents, stored, .. } = *population;
        let positions = parents * site.size as f64;
        let listed = stored * f64::from(site.crd_kind().bits()) / 8.0;
        Footprint { positions, bytes: positions + listed + site.offset_bytes(parents, stored) }
    }
}
