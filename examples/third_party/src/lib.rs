//! The `ragged` level: under each parent the coordinates from the lowest on, up to the last that has an entry.
//!
//! ```text
//!      0 1 2 3           (i, j) -> (i : dense, j : ragged), shape 4x4
//!  0 [ 1 2 . . ]
//!  1 [ 3 . 4 . ]         level 1  pos      0     2       5   5  6     parents + 1
//!  2 [ . . . . ]         values            1 2   3 0 4       5
//!  3 [ 5 . . . ]
//! ```
//!
//! The children of parent `p` are at the positions `pos[p] .. pos[p + 1]`, and have the coordinates
//! `lower, lower + 1, ...`. One that is no entry holds padding.
//!
//! * **Arrays**: `pos`, with `parents + 1` elements.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; no parent has more children than there are
//!   coordinates.
//! * **Cost**: walking visits consecutive memory, padding included; locating takes constant time.
//!
//! ```
//! use ragged_level as _;
//! use ust::{Coo, Tensor};
//!
//! // The matrix in the picture.
//! let crd = vec![vec![0, 0, 1, 1, 3], vec![0, 1, 0, 2, 0]];
//! let coo = Coo::new(vec![4, 4], crd, vec![1.0, 2.0, 3.0, 4.0, 5.0])?;
//! let tensor = Tensor::from_coo(&coo, "(i, j) -> (i : dense, j : ragged)")?;
//! assert_eq!(tensor.pos(1).unwrap().to_vec(), [0, 2, 5, 5, 6]);
//! assert_eq!(tensor.to_coo()?, coo);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, Footprint, Interval, LevelError,
    LevelFactory, LevelType, LocateCost, Located, Place, Population, Props, Reach, Site, Step,
    TensorStats, Walk, WalkKind, WalkSite, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "ragged",
        aliases: &[],
        summary: "under each parent the coordinates from the lowest to the last that has an entry",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Ragged))
        },
        samples: &["ragged"],
    }
}

/// The `ragged` level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ragged;

impl LevelType for Ragged {
    fn describe(&self) -> Description {
        Description {
            name: "ragged",
            text: "ragged".to_owned(),
            mlir: "ragged".to_owned(),
            props: Props {
                // Only coordinates up to the last entry have a position.
                full: false,
                ordered: true,
                unique: true,
                branchless: false,
                compact: true,
                padded: true,
                overhangs: false,
                bounded: false,
                contiguous: true,
            },
            arrays: vec![ArraySpec::pos()],
            walk: WalkKind::Coordinate,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(true)?;
        segments.fetch()?;
        // The children with entries, of one parent after another, and where those of each parent begin.
        let (crd, offsets) = (segments.crd.to_vec(), segments.offsets.to_vec());
        let children = |parent: usize| &crd[offsets[parent] as usize..offsets[parent + 1] as usize];
        let parents = entries.parents as usize;
        let pos = site.starts(parents, |parent| match children(parent) {
            [] => 0,
            [.., last] => (last - site.lower + 1) as u64,
        })?;
        let positions = pos[parents] as u64;
        let position =
            entries.positions(positions, |parent, crd| pos[parent] + (crd - site.lower))?;
        Ok(Assembled { arrays: Arrays(vec![site.store_pos(pos)?]), position, positions })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let pos = &arrays.0[POS];
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        check::offsets("pos", pos)?;
        check::each(parents, &|parent| {
            let at = parent as usize;
            let (first, end) = (check::at(pos, at), check::at(pos, at + 1));
            let fits = (end - first) as u64 <= site.size;
            check::rule(fits, "pos", parent + 1, end, || {
                format!("a parent has {} children at most, and {first} stands before it", site.size)
            })
        })?;
        Ok(parents.through(pos))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let Row { first, end } = Row::of(site, b);
        Walk {
            kind: WalkKind::Coordinate,
            cursor: Interval { lo: site.bounds.lo.clone(), hi: site.bounds.hi.clone().min(end) },
            step: Box::new(move |_, crd| Step {
                pos: first.clone() + (crd.clone() - site.lower.clone()),
                crd,
                guard: None,
                run: None,
            }),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let Row { first, end } = Row::of(site, b);
        let crd = b.bind("crd", crd);
        let found = site.lower.clone().le(crd.clone()).and(crd.clone().lt(end));
        Some(Located { pos: first + (crd - site.lower.clone()), found })
    }

    /// Competes where at least a quarter of the elements is stored.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let text = stats.along_last("ragged");
        text.filter(|_| stats.density() >= 0.25).into_iter().collect()
    }

    /// Between the first entry and the last there is padding, and before the first as well: half of what lies
    /// outside is guessed to lie there.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let Population { parents, span, .. } = *population;
        let positions = (span + parents * site.size as f64) / 2.0;
        Footprint { positions, bytes: site.offset_bytes(parents, positions) }
    }
}

/// The place of `pos` among the arrays.
const POS: usize = 0;

/// The children of a parent.
struct Row {
    /// The position of the first.
    first: Expr,
    /// One past the coordinate of the last.
    end: Expr,
}

impl Row {
    fn of(site: &WalkSite, b: &mut Builder) -> Self {
        let parent = site.parent.lo.clone();
        let first = b.load(site.arrays[POS], parent.clone());
        let first = b.bind("first", first);
        let count = b.load(site.arrays[POS], parent + 1) - first.clone();
        Self { first, end: b.bind("end", site.lower.clone() + count) }
    }
}
