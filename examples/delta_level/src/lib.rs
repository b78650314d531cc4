//! A level type from outside: `delta`, coordinates as distances from one to the next.
//!
//! ```text
//!  row 0  [ 1 0 0 2 ]    (i, j) -> (i : dense, j : delta), shape 2x4
//!  row 1  [ 0 3 4 0 ]
//!                        level 1  pos     0      2      4     parents + 1
//!                                 gap     0 3    1 1          pos[parents]
//!                        values           1 2    3 4
//! ```
//!
//! The first gap of a segment counts from the level's lowest coordinate, each other from the
//! coordinate before. A walk carries the coordinate along as it goes: there is no way to the middle
//! of a segment but from its beginning.
//!
//! * **Arrays**: `pos` with `parents + 1` elements, and `gap`, an array of this level type's own,
//!   with `pos[parents]` elements of 32 bits.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; every gap of a segment but the first is
//!   at least 1; no sum of gaps leaves the level.
//! * **Cost**: walking visits what is stored; there is no locating.
//!
//! ```
//! use delta_level as _;
//! use ust::{Coo, Format, Tensor};
//!
//! let format: Format = "(i, j) -> (i : dense, j : delta)".parse()?;
//! let crd = vec![vec![0, 0, 1, 1], vec![0, 3, 1, 2]];
//! let tensor = Tensor::from_coo(&Coo::new(vec![2, 4], crd, vec![1, 2, 3, 4])?, &format)?;
//! assert_eq!(tensor.level_array(1, "gap").unwrap().to_vec(), [0, 3, 1, 1]);
//! assert_eq!(tensor.get_as::<i32>(&[1, 2])?, 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, IndexArray, IndexKind, Interval,
    LevelError, LevelFactory, LevelType, LocateCost, Per, Place, Props, Reach, Role, Site, Step,
    Walk, WalkKind, WalkSite, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "delta",
        aliases: &[],
        summary: "coordinates as distances from one to the next",
        make: |args| {
            let [] = args.switches([])?;
            Ok(Box::new(Delta))
        },
        samples: &["delta"],
    }
}

const POS: usize = 0;
const GAP: usize = 1;

/// The delta level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delta;

impl LevelType for Delta {
    fn describe(&self) -> Description {
        Description {
            name: "delta",
            text: "delta".to_owned(),
            mlir: "delta".to_owned(),
            props: Props {
                full: false,
                ordered: true,
                unique: true,
                branchless: false,
                compact: true,
                padded: false,
                overhangs: false,
                bounded: false,
                // Side by side they lie, but a walk must begin anew under each parent.
                contiguous: false,
            },
            arrays: vec![
                ArraySpec::pos(),
                ArraySpec {
                    name: "gap",
                    role: Role::Own(IndexKind::U32),
                    per: Per::Position,
                    min_bits: 32,
                },
            ],
            walk: WalkKind::Position,
            locate: LocateCost::None,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let mut gaps = segments.crd.to_vec();
        for pair in segments.offsets.to_vec().windows(2) {
            let mut before = site.lower;
            for gap in &mut gaps[pair[0] as usize..pair[1] as usize] {
                (*gap, before) = (*gap - before, *gap);
            }
        }
        if let Some(gap) = gaps.iter().find(|&&gap| !IndexKind::U32.holds(gap)) {
            return Err(LevelError::Overflow {
                what: "the distance between two coordinates".to_owned(),
                detail: format!("{gap} does not fit 32 bits"),
            });
        }
        let gaps = gaps.into_iter().map(|gap| gap as u32).collect::<Vec<_>>();
        Ok(Assembled {
            positions: gaps.len() as u64,
            arrays: Arrays(vec![site.store_pos(segments.offsets)?, IndexArray::from(gaps)]),
            position: segments.child,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        check::length("pos", arrays.0[POS].len(), parents.positions + 1, "parents + 1")?;
        let pos = arrays.0[POS].to_vec();
        let gap = arrays.0[GAP].to_vec();
        check::rule(pos[0] == 0, "pos", 0, pos[0], || "positions begin at 0".to_owned())?;
        for (at, pair) in pos.windows(2).enumerate() {
            check::rule(pair[0] <= pair[1], "pos", at as u64 + 1, pair[1], || {
                format!("positions do not descend, and {} stands before it", pair[0])
            })?;
        }
        check::length("gap", gap.len(), pos[pos.len() - 1] as u64, "the last of pos")?;
        for pair in pos.windows(2) {
            let mut crd = site.lower;
            for at in pair[0]..pair[1] {
                let step = gap[at as usize];
                crd += step;
                let ascends = step > 0 || at == pair[0];
                check::rule(ascends, "gap", at as u64, step, || {
                    "coordinates under one parent are distinct: a gap is at least 1".to_owned()
                })?;
                check::rule(site.bounds().contains(&crd), "gap", at as u64, step, || {
                    format!("it leads to {crd}, outside {:?}", site.bounds())
                })?;
            }
        }
        Ok(parents.through(&arrays.0[POS]))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let before = b.var("before", site.lower.clone());
        let next = move |b: &Builder, pos: Expr| Expr::from(before) + b.load(site.arrays[GAP], pos);
        Walk {
            kind: WalkKind::Position,
            cursor: Interval {
                lo: b.load(site.arrays[POS], site.parent.lo.clone()),
                hi: b.load(site.arrays[POS], site.parent.hi.clone()),
            },
            step: Box::new(move |b, pos| Step {
                crd: next(b, pos.clone()),
                pos,
                guard: None,
                run: None,
            }),
            advance: Some(Box::new(move |b, pos| {
                let crd = next(b, pos);
                b.assign(before, crd);
            })),
        }
    }
}
