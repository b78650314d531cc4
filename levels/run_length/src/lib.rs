//! The `run_length` level: every coordinate is in a run of neighbours with equal values, also those that no entry
//! has.
//!
//! ```text
//!      0 1 2 3 4 5 6      (i, j) -> (i : dense, j : run_length), shape 3x7
//!  0 [ . 7 7 7 . 7 2 ]
//!  1 [ . . . . . . . ]    level 1  pos   0              5  6  7    parents + 1
//!  2 [ 5 5 5 5 5 5 5 ]             end   1  4  5  6  7  7  7       one past the last coordinate
//!                         values         .  7  .  7  2  .  5
//! ```
//!
//! The runs of parent `p` are `pos[p] .. pos[p + 1]`. The first begins with the level, each other one where the one
//! before ends, and the last ends with the level. All coordinates of a run have the position of the run. Where no
//! entry is, the run has the fill value, and is padding.
//!
//! * **Arrays**: `pos` with `parents + 1` elements; `end` with `pos[parents]`.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; under each parent `end` ascends, and its last element
//!   is the end of the level. Assembly joins neighbours with the same bits as their values.
//! * **Place**: the last level.
//! * **Cost**: walking visits each coordinate, and reads a value for each run; locating is a binary search.
//!
//! Beside `sparse_run_length` it saves the beginnings of runs, and stores the gaps. Nothing is proposed by this
//! level type: nobody looks at values before a format is proposed.
//!
//! Finch stores a `RunList` in the same arrays: `run_list` is another name of this level.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_run_length::RunLength;
//!
//! // The first row in the picture.
//! let site = Site { size: 7, ..Site::default() };
//! let mut entries = Entries::new(1, [0; 5], [1, 2, 3, 5, 6]);
//! entries.alike = Some([false, true, true, true, false].into());
//! let made = RunLength.assemble(&site, &entries).unwrap();
//! let [pos, end] = &made.arrays.0[..] else { panic!("two arrays") };
//! assert_eq!((pos.to_vec(), end.to_vec()), (vec![0, 5], vec![1, 4, 5, 6, 7]));
//! assert_eq!(made.position, [1, 1, 1, 3, 4]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::assemble::Joined;
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::walk::binary_search;
use ust_level_api::{
    Alias, ArraySpec, Arrays, Assembled, Description, Entries, Footprint, Interval, LevelError,
    LevelFactory, LevelType, LocateCost, Located, Per, Place, Population, Props, Reach, Role, Run,
    Site, Step, Walk, WalkKind, WalkSite, assemble, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "run_length",
        aliases: &[Alias { name: "run_list", with: None }],
        summary: "runs of equal values, which have every coordinate",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(RunLength))
        },
        samples: &["run_length"],
    }
}

const POS: usize = 0;
const END: usize = 1;

/// The level type of runs that have every coordinate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunLength;

impl LevelType for RunLength {
    fn describe(&self) -> Description {
        let end = ArraySpec {
            name: "end",
            role: Role::Coordinate,
            per: Per::Other("pos[parents]"),
            min_bits: 8,
        };
        Description {
            name: "run_length",
            text: "run_length".to_owned(),
            mlir: "run_length".to_owned(),
            props: Props {
                padded: true,
                // A run of padding may pass over coordinates that the level's expression does not reach.
                overhangs: true,
                // Each parent begins with the level.
                contiguous: false,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![ArraySpec::pos(), end],
            walk: WalkKind::Other,
            locate: LocateCost::Logarithmic,
        }
    }

    fn joins_alike(&self) -> bool {
        true
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        place.joins_values("run_length")
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let Joined { offsets, begin, end, run } = entries.joined(site)?;
        let bounds = site.bounds();
        let own = |parent: usize| offsets[parent] as usize..offsets[parent + 1] as usize;
        // Where the run before ends.
        let before = |parent: usize, run: usize| match run == own(parent).start {
            true => bounds.start,
            false => end[run - 1],
        };
        let last = |parent: usize| before(parent, own(parent).end);
        let pos = site.starts(offsets.len() - 1, |parent| {
            let gaps = own(parent).filter(|&run| before(parent, run) < begin[run]).count();
            (own(parent).len() + gaps) as u64 + u64::from(last(parent) < bounds.end)
        })?;
        let place = assemble::parts(&offsets, 0, |parent, places: &mut [i64]| {
            let mut next = pos[parent];
            for (place, run) in places.iter_mut().zip(own(parent)) {
                *place = next + i64::from(before(parent, run) < begin[run]);
                next = *place + 1;
            }
        });
        let ends = assemble::parts(&pos, 0, |parent, ends: &mut [i64]| {
            // The run behind the last entry, if there is one.
            ends.fill(bounds.end);
            let first = pos[parent];
            for run in own(parent) {
                let at = (place[run] - first) as usize;
                ends[at] = end[run];
                if before(parent, run) < begin[run] {
                    ends[at - 1] = begin[run];
                }
            }
        });
        let positions = ends.len() as u64;
        Ok(Assembled {
            arrays: Arrays(vec![site.store_pos(pos)?, site.store_crd(ends)?]),
            position: assemble::of_children(&run, &place, positions),
            positions,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let [pos, end] = &arrays.0[..] else { unreachable!("as described") };
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        check::length("end", end.len(), check::offsets("pos", pos)?, "the last of pos")?;
        let bounds = site.bounds();
        check::each(parents, &|parent| {
            let runs = check::at(pos, parent as usize)..check::at(pos, parent as usize + 1);
            let mut before = bounds.start;
            for run in runs.clone() {
                let last = check::at(end, run as usize);
                check::rule(before < last && last <= bounds.end, "end", run as u64, last, || {
                    format!("the run ends behind {before}, and at {} or before", bounds.end)
                })?;
                before = last;
            }
            check::rule(before == bounds.end, "pos", parent + 1, runs.end, || {
                format!(
                    "the runs of a parent end with the level, at {}, not at {before}",
                    bounds.end
                )
            })
        })?;
        Ok(parents.through(pos))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let Interval { lo, hi } = runs(site, b);
        let first = b.bind("first_run", lo);
        Walk {
            kind: WalkKind::Other,
            cursor: Interval { lo: first.clone(), hi },
            step: Box::new(move |b, pos| {
                // The first run has none before it.
                let before = b.load(site.arrays[END], (pos.clone() - 1).max(first.clone()));
                let begin = first.clone().lt(pos.clone()).select(before, site.lower.clone());
                let begin = b.bind("begin", begin);
                let count = b.load(site.arrays[END], pos.clone()) - begin.clone();
                Step::run(begin, pos, Run::Shared(count))
            }),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let crd = b.bind("crd", crd);
        let among = runs(site, b);
        // The first run that ends behind the coordinate.
        let pos = binary_search(b, site.arrays[END], among, crd.clone() + 1).pos;
        let end = site.lower.clone() + site.size.clone();
        let found = site.lower.clone().le(crd.clone()).and(crd.lt(end));
        Some(Located { pos, found })
    }

    /// A run for each entry, whose values are not known to be equal, and one for each gap.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let Population { parents, stored, runs, .. } = *population;
        let stored = (stored + runs + parents).min(parents * site.size as f64);
        Footprint::described(&self.describe(), site, &Population { stored, ..*population })
    }
}

/// The runs of a parent.
fn runs(site: &WalkSite, b: &Builder) -> Interval {
    let at = |parent: &Expr| b.load(site.arrays[POS], parent.clone());
    Interval { lo: at(&site.parent.lo), hi: at(&site.parent.hi) }
}
