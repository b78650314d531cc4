//! The `sparse_run_length` level: runs of neighbouring coordinates with equal values, of which one is stored.
//!
//! ```text
//!      0 1 2 3 4 5 6      (i, j) -> (i : dense, j : sparse_run_length), shape 3x7
//!  0 [ . 7 7 7 . 7 2 ]
//!  1 [ . . . . . . . ]    level 1  pos    0        3    3    4    parents + 1
//!  2 [ 5 5 5 5 5 5 5 ]             begin  1  5  6       0         the first coordinate
//!                                  end    4  6  7       7         one past the last
//!                         values          7  7  2       5
//! ```
//!
//! The runs of parent `p` are `pos[p] .. pos[p + 1]`. All coordinates of a run have the position of the run.
//!
//! * **Arrays**: `pos` with `parents + 1` elements; `begin` and `end` with `pos[parents]`.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; runs are not empty, lie within the level one after
//!   another, and do not overlap. Assembly joins neighbours with the same bits as their values.
//! * **Arguments**: with `sparse_run_length(unjoined)`, assembly makes a run of each coordinate, and values are not
//!   compared.
//! * **Place**: the last level.
//! * **Cost**: walking visits each coordinate, and reads a value for each run; locating is a binary search.
//!
//! Nothing is proposed by this level type: nobody looks at values before a format is proposed.
//!
//! Finch stores a `SparseRunList` in the same arrays: `sparse_run_list` is another name of this level. What Finch makes
//! with `merge=false` is unjoined.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_sparse_run_length::SparseRunLength;
//!
//! // The first row in the picture.
//! let site = Site { size: 7, ..Site::default() };
//! let mut entries = Entries::new(1, [0; 5], [1, 2, 3, 5, 6]);
//! entries.alike = Some([false, true, true, true, false].into());
//! let made = SparseRunLength::default().assemble(&site, &entries).unwrap();
//! let [pos, begin, end] = &made.arrays.0[..] else { panic!("three arrays") };
//! assert_eq!(pos.to_vec(), [0, 3]);
//! assert_eq!((begin.to_vec(), end.to_vec()), (vec![1, 5, 6], vec![4, 6, 7]));
//! assert_eq!(made.position, [0, 0, 0, 1, 2]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::assemble::Joined;
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::walk::binary_search;
use ust_level_api::{
    Alias, ArraySpec, Arrays, Assembled, Description, Entries, Interval, LevelError, LevelFactory,
    LevelType, LocateCost, Located, Per, Place, Props, Reach, Role, Run, Site, Step, Walk,
    WalkKind, WalkSite, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "sparse_run_length",
        aliases: &[Alias { name: "sparse_run_list", with: None }],
        summary: "runs of neighbouring coordinates with equal values",
        make: &|args| {
            let [unjoined] = args.switches([("unjoined", "joined")])?;
            Ok(Box::new(SparseRunLength { unjoined }))
        },
        samples: &["sparse_run_length", "sparse_run_length(unjoined)"],
    }
}

const POS: usize = 0;
const BEGIN: usize = 1;
const END: usize = 2;

/// The level type of runs with equal values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SparseRunLength {
    /// Assembly does not join equal values.
    pub unjoined: bool,
}

impl SparseRunLength {
    fn text(self) -> &'static str {
        match self.unjoined {
            true => "sparse_run_length(unjoined)",
            false => "sparse_run_length",
        }
    }
}

impl LevelType for SparseRunLength {
    fn describe(&self) -> Description {
        let of_runs = |name| ArraySpec {
            name,
            role: Role::Coordinate,
            per: Per::Other("pos[parents]"),
            min_bits: 8,
        };
        Description {
            name: "sparse_run_length",
            text: self.text().to_owned(),
            mlir: self.text().to_owned(),
            props: Props::SIDE_BY_SIDE,
            arrays: vec![ArraySpec::pos(), of_runs("begin"), of_runs("end")],
            walk: WalkKind::Other,
            locate: LocateCost::Logarithmic,
        }
    }

    fn joins_alike(&self) -> bool {
        true
    }

    fn fits(&self, place: &Place<'_>) -> Result<(), LevelError> {
        place.joins_values(self.text())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let unlike = self.unjoined.then(|| Entries { alike: None, ..entries.clone() });
        let Joined { offsets, begin, end, run } =
            unlike.as_ref().unwrap_or(entries).joined(site)?;
        let positions = begin.len() as u64;
        let arrays = vec![site.store_pos(offsets)?, site.store_crd(begin)?, site.store_crd(end)?];
        Ok(Assembled { arrays: Arrays(arrays), position: run, positions })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let [pos, begin, end] = &arrays.0[..] else { unreachable!("as described") };
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        let runs = check::offsets("pos", pos)?;
        check::length("begin", begin.len(), runs, "the last of pos")?;
        check::length("end", end.len(), runs, "the last of pos")?;
        let bounds = site.bounds();
        check::each(parents, &|parent| {
            let mut before = bounds.start;
            for run in check::at(pos, parent as usize)..check::at(pos, parent as usize + 1) {
                let [first, last] = [begin, end].map(|array| check::at(array, run as usize));
                check::rule(before <= first, "begin", run as u64, first, || {
                    format!("a run begins at {before} or behind")
                })?;
                check::rule(first < last && last <= bounds.end, "end", run as u64, last, || {
                    format!(
                        "a run that begins at {first} ends behind that, and before {}",
                        bounds.end
                    )
                })?;
                before = last;
            }
            Ok(())
        })?;
        Ok(parents.through(pos))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        Walk {
            kind: WalkKind::Other,
            cursor: runs(site, b),
            step: Box::new(|b, at| run(site, b, at)),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let crd = b.bind("crd", crd);
        let runs = runs(site, b);
        let hi = b.bind("above", runs.hi.clone());
        // The first run that ends behind the coordinate.
        let among = Interval { hi: hi.clone(), ..runs };
        let at = binary_search(b, site.arrays[END], among, crd.clone() + 1).pos;
        let Located { pos, found } = run(site, b, at.clone()).locate(crd)?;
        Some(Located { pos, found: at.lt(hi).select(found, Expr::Bool(false)) })
    }
}

/// The runs of a parent.
fn runs(site: &WalkSite, b: &Builder) -> Interval {
    let at = |parent: &Expr| b.load(site.arrays[POS], parent.clone());
    Interval { lo: at(&site.parent.lo), hi: at(&site.parent.hi) }
}

/// The coordinates of a run.
fn run(site: &WalkSite, b: &Builder, at: Expr) -> Step {
    let crd = b.load(site.arrays[BEGIN], at.clone());
    let count = b.load(site.arrays[END], at.clone()) - crd.clone();
    Step::run(crd, at, Run::Shared(count))
}
