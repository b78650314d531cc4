//! The `interval` level: under each parent one run of neighbouring coordinates with equal values, or none.
//!
//! ```text
//!      0 1 2 3 4 5 6      (i, j) -> (i : dense, j : interval), shape 3x7
//!  0 [ . 7 7 7 . . . ]
//!  1 [ . . . . . . . ]    level 1  begin  1  0  6    the first coordinate
//!  2 [ . . . . . . 2 ]             end    4  0  7    one past the last
//!                         values          7  .  2
//! ```
//!
//! The coordinates of parent `p` are `begin[p] .. end[p]`, and all have position `p`.
//!
//! * **Arrays**: `begin` and `end`, with an element for each parent. Where a parent has no coordinate, they are equal.
//! * **Invariants**: coordinates lie within the level. Assembly joins neighbours with the same bits as their values,
//!   and refuses a second run.
//! * **Place**: the last level.
//! * **Cost**: walking visits each coordinate, and reads a value for each parent; locating is two comparisons.
//!
//! Finch stores a `SparseInterval` in the same arrays: `sparse_interval` is another name of this level.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_interval::Interval;
//!
//! // The first row in the picture.
//! let site = Site { size: 7, ..Site::default() };
//! let mut entries = Entries::new(1, [0; 3], [1, 2, 3]);
//! entries.alike = Some([false, true, true].into());
//! let made = Interval.assemble(&site, &entries).unwrap();
//! let [begin, end] = &made.arrays.0[..] else { panic!("two arrays") };
//! assert_eq!((begin.to_vec(), end.to_vec()), (vec![1], vec![4]));
//! assert_eq!(made.position, [0, 0, 0]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::assemble::Joined;
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    Alias, ArraySpec, Arrays, Assembled, Description, Entries, Footprint, LevelError, LevelFactory,
    LevelType, LocateCost, Located, Per, Place, Population, Props, Reach, Role, Run, Site, Step,
    Walk, WalkKind, WalkSite, assemble, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "interval",
        aliases: &[Alias { name: "sparse_interval", with: None }],
        summary: "one run of equal values under each parent",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Interval))
        },
        samples: &["interval"],
    }
}

const BEGIN: usize = 0;
const END: usize = 1;

/// The level type of one run with equal values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interval;

impl LevelType for Interval {
    fn describe(&self) -> Description {
        let array =
            |name| ArraySpec { name, role: Role::Coordinate, per: Per::Parent, min_bits: 8 };
        Description {
            name: "interval",
            text: "interval".to_owned(),
            mlir: "interval".to_owned(),
            props: Props {
                // A parent without coordinates has a position.
                compact: false,
                bounded: true,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![array("begin"), array("end")],
            walk: WalkKind::Other,
            locate: LocateCost::Constant,
        }
    }

    fn joins_alike(&self) -> bool {
        true
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        place.joins_values("interval")
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let Joined { offsets, begin, end, run } = entries.joined(site)?;
        let parents = offsets.len() - 1;
        if let Some(parent) = (0..parents).find(|&p| offsets[p + 1] - offsets[p] > 1) {
            return Err(LevelError::CannotHold {
                parent: parent as u64,
                crd: begin[offsets[parent] as usize + 1],
                reason: "it has a second run of equal values; choose `sparse_run_length`"
                    .to_owned(),
            });
        }
        let own = |parent: usize| {
            (offsets[parent] < offsets[parent + 1]).then_some(offsets[parent] as usize)
        };
        let of = |bounds: &[i64]| {
            assemble::fill(parents, |parent| own(parent).map_or(site.lower, |run| bounds[run]))
        };
        let [begin, end] = [of(&begin), of(&end)];
        let parent_of =
            assemble::parts(&offsets, 0, |parent, runs: &mut [i64]| runs.fill(parent as i64));
        Ok(Assembled {
            arrays: Arrays(vec![site.store_crd(begin)?, site.store_crd(end)?]),
            position: assemble::of_children(&run, &parent_of, parents as u64),
            positions: parents as u64,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let [begin, end] = &arrays.0[..] else { unreachable!("as described") };
        check::length("begin", begin.len(), parents.positions, "parents")?;
        check::length("end", end.len(), parents.positions, "parents")?;
        let bounds = site.bounds();
        let has_child =
            |parent: u64| check::at(begin, parent as usize) < check::at(end, parent as usize);
        check::each(parents, &|parent| {
            let [first, last] = [begin, end].map(|array| check::at(array, parent as usize));
            check::rule(
                bounds.start <= first && first <= bounds.end,
                "begin",
                parent,
                first,
                || format!("coordinates are {bounds:?}"),
            )?;
            check::rule(first <= last && last <= bounds.end, "end", parent, last, || {
                format!(
                    "the run begins at {first}, and ends there or behind, at {} or before",
                    bounds.end
                )
            })
        })?;
        let mut intervals: Vec<std::ops::Range<u64>> = Vec::new();
        for parent in parents.iter().filter(|&parent| has_child(parent)) {
            match intervals.last_mut() {
                Some(last) if last.end == parent => last.end += 1,
                _ => intervals.push(parent..parent + 1),
            }
        }
        Ok(Reach { positions: parents.positions, intervals: Some(intervals) })
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, _b: &mut Builder) -> Walk<'a> {
        Walk {
            kind: WalkKind::Other,
            cursor: site.parent.clone(),
            step: Box::new(|b, parent| run(site, b, parent)),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let crd = b.bind("crd", crd);
        run(site, b, site.parent.lo.clone()).locate(crd)
    }

    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let stored = population.parents;
        Footprint::described(&self.describe(), site, &Population { stored, ..*population })
    }
}

/// The coordinates under a parent.
fn run(site: &WalkSite, b: &Builder, parent: Expr) -> Step {
    let crd = b.load(site.arrays[BEGIN], parent.clone());
    let count = b.load(site.arrays[END], parent.clone()) - crd.clone();
    Step::run(crd, parent, Run::Shared(count))
}
