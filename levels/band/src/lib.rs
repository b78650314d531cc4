//! The `band` level: under each parent one interval of coordinates, from the first that is stored to the
//! last.
//!
//! ```text
//!      0 1 2 3 4         (i, j) -> (i : dense, j : band), shape 4x5
//!  0 [ 1 2 . . . ]
//!  1 [ . 3 0 4 . ]       level 1  end   2      4        0    5         one past the last coordinate
//!  2 [ . . . . . ]                pos   0      2        5    5    6    parents + 1
//!  3 [ . . . . 5 ]       values         1 2    3 0 4         5
//! ```
//!
//! The coordinates under parent `p` are the `pos[p + 1] - pos[p]` ones before `end[p]`, at the positions
//! from `pos[p]` on. An element of the interval that is no entry holds padding.
//!
//! * **Arrays**: `end` with an element for each parent, `pos` with `parents + 1` elements.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; each interval lies within the level. The `end` of
//!   a parent without coordinates may be any number.
//! * **Cost**: walking visits consecutive memory, padding included; locating takes constant time.
//!
//! Finch stores a `SparseBand` in the same arrays: `sparse_band` is another name of this level.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_band::Band;
//!
//! // The matrix in the picture.
//! let site = Site { size: 5, ..Site::default() };
//! let entries = Entries::new(4, [0, 0, 1, 1, 3], [0, 1, 1, 3, 4]);
//! let made = Band.assemble(&site, &entries).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [2, 4, 0, 5]);
//! assert_eq!(made.arrays.0[1].to_vec(), [0, 2, 5, 5, 6]);
//! assert_eq!(made.position, [0, 1, 2, 4, 5]);
//! ```
#![forbid(unsafe_code)]

use ust_level_api::column::IndexRead;
use ust_level_api::ir::{Builder, Expr};
use ust_level_api::{
    Alias, ArraySpec, Arrays, Assembled, Description, Entries, Footprint, Interval, LevelError,
    LevelFactory, LevelType, LocateCost, Located, Per, Place, Population, Props, Reach, Role, Run,
    Site, Step, TensorStats, Walk, WalkKind, WalkSite, assemble, check, inventory, with_column,
};

inventory::submit! {
    LevelFactory {
        name: "band",
        aliases: &[Alias { name: "sparse_band", with: None }],
        summary: "one interval of coordinates under each parent",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Band))
        },
        samples: &["band"],
    }
}

const END: usize = 0;
const POS: usize = 1;

/// The band level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Band;

impl LevelType for Band {
    fn describe(&self) -> Description {
        Description {
            name: "band",
            text: "band".to_owned(),
            mlir: "band".to_owned(),
            props: Props {
                padded: true,
                // Where the level's expression passes over coordinates, padding has those, too.
                overhangs: true,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![
                ArraySpec { name: "end", role: Role::Coordinate, per: Per::Parent, min_bits: 8 },
                ArraySpec::pos(),
            ],
            walk: WalkKind::Other,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let parents = entries.parents as usize;
        // For each parent, the first coordinate and one past the last.
        let (first, end) = with_column!(&segments.crd, crd => {
            with_column!(&segments.offsets, offsets => {
                let of = |parent: usize, at: &dyn Fn(usize, usize) -> i64| {
                    let [lo, hi] = [offsets.at(parent) as usize, offsets.at(parent + 1) as usize];
                    if lo < hi { at(lo, hi) } else { site.lower }
                };
                let first = assemble::fill(parents, |parent| of(parent, &|lo, _| crd.at(lo)));
                let end = assemble::fill(parents, |parent| of(parent, &|_, hi| crd.at(hi - 1) + 1));
                (first, end)
            })
        });
        let pos = site.starts(parents, |parent| (end[parent] - first[parent]) as u64)?;
        let positions = pos[parents] as u64;
        // Slices: a buffer finds its memory anew at each access.
        let (starts, lowest) = (&pos[..], &first[..]);
        let position =
            entries.positions(positions, |parent, crd| starts[parent] + crd - lowest[parent])?;
        let arrays = Arrays(vec![site.store_crd(end)?, site.store_pos(pos)?]);
        Ok(Assembled { arrays, position, positions })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let (end, pos) = (&arrays.0[END], &arrays.0[POS]);
        check::length("end", end.len(), parents.positions, "parents")?;
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        check::offsets("pos", pos)?;
        let bounds = site.bounds();
        check::each(parents, &|parent| {
            let at = parent as usize;
            let count = check::at(pos, at + 1) - check::at(pos, at);
            let last = check::at(end, at);
            let after = bounds.start.checked_add(count).is_some_and(|least| least <= last);
            let inside = count == 0 || (after && last <= bounds.end);
            check::rule(inside, "end", parent, last, || {
                let (lo, hi) = (bounds.start, bounds.end);
                format!("the {count} coordinates before it lie in [{lo}, {hi})")
            })
        })?;
        Ok(parents.through(pos))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        let Span { first, pos, count } = Span::of(site, b);
        Walk {
            kind: WalkKind::Other,
            cursor: Interval::one(Expr::Int(0)),
            step: Box::new(move |_, _| {
                Step::run(first.clone(), pos.clone(), Run::Consecutive(count.clone()))
            }),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let Span { first, pos, count } = Span::of(site, b);
        let crd = b.bind("crd", crd);
        let found = first.clone().le(crd.clone()).and(crd.clone().lt(first.clone() + count));
        Some(Located { pos: pos + (crd - first), found })
    }

    /// Competes where it takes less memory than rows with a coordinate of 32 bits for each entry.
    fn candidates(&self, stats: &TensorStats) -> Vec<String> {
        let value = stats.value_bytes as u64;
        let saves = stats.span * value < stats.entries * (value + 4);
        stats.along_last("band").filter(|_| saves).into_iter().collect()
    }

    /// A position for each coordinate from the first to the last.
    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        let stored = population.span;
        Footprint::described(&self.describe(), site, &Population { stored, ..*population })
    }
}

/// The coordinates under one parent.
struct Span {
    first: Expr,
    pos: Expr,
    count: Expr,
}

impl Span {
    fn of(site: &WalkSite, b: &mut Builder) -> Self {
        let parent = site.parent.lo.clone();
        let pos = b.load(site.arrays[POS], parent.clone());
        let pos = b.bind("pos", pos);
        let count = b.load(site.arrays[POS], parent.clone() + 1) - pos.clone();
        let count = b.bind("count", count);
        let first = b.load(site.arrays[END], parent) - count.clone();
        Self { first: b.bind("first", first), pos, count }
    }
}
