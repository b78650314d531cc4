//! The `hashed` level: under each parent a hash table of coordinates.
//!
//! ```text
//!      0 1 2 3 4 5      (i, j) -> (i : dense, j : hashed), shape 2x6
//!  0 [ . 1 . . . 2 ]
//!  1 [ 3 . . . . . ]    level 1  pos     0         4     6    parents + 1
//!                                crd     5 6 1 6   0 6        a slot for each position
//!                                values  2 . 1 .   3 .
//! ```
//!
//! The table of parent `p` has the slots `pos[p] .. pos[p + 1]`. A search for a coordinate begins at a slot that
//! is computed from it, and goes on slot by slot, behind the last one from the first, to the coordinate or to an
//! empty slot. The mark of an empty slot is one past the last coordinate of the level.
//!
//! * **Arrays**: `pos` with `parents + 1` elements; `crd` with `pos[parents]`.
//! * **Invariants**: `pos[0] = 0`; `pos` does not descend; the slots of a parent are none, or a power of two; a
//!   search finds each coordinate.
//! * **Cost**: locating takes constant time on average; walking visits all slots, in no order. Assembly leaves a
//!   third of the slots empty, or more. A coordinate is inserted in place, in constant time on average, where its
//!   table has an empty slot and is not nearly full; and removed in place.
//!
//! It suits tensors that are searched, as a factor whose entries are wanted at the entries of another. A walk over
//! a compressed level moves less memory: nothing is proposed by this level type.
//!
//! ```
//! use ust_level_api::{Entries, LevelType, Site};
//! use ust_level_hashed::Hashed;
//!
//! // The matrix in the picture.
//! let site = Site { size: 6, ..Site::default() };
//! let made = Hashed.assemble(&site, &Entries::new(2, [0, 0, 1], [1, 5, 0])).unwrap();
//! assert_eq!(made.arrays.0[0].to_vec(), [0, 4, 6]);
//! assert_eq!(made.arrays.0[1].to_vec(), [5, 6, 1, 6, 0, 6]);
//! assert_eq!(made.position, [2, 0, 4]);
//! ```
#![forbid(unsafe_code)]

mod change;

use std::ops::Range;

use ust_level_api::check::MAX_POSITIONS;
use ust_level_api::column::IndexRead;
use ust_level_api::ir::{BinOp, Builder, Expr};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Change, Crd, Description, Entries, Footprint, Interval,
    LevelError, LevelFactory, LevelType, LocateCost, Located, Per, Place, Population, Pos, Props,
    Reach, Site, Step, Walk, WalkKind, WalkSite, assemble, check, inventory, with_column,
};

inventory::submit! {
    LevelFactory {
        name: "hashed",
        aliases: &[],
        summary: "a hash table of coordinates under each parent",
        make: &|args| {
            let [] = args.switches([])?;
            Ok(Box::new(Hashed))
        },
        samples: &["hashed"],
    }
}

const POS: usize = 0;
const CRD: usize = 1;

/// The hashed level type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hashed;

/// The lowest bits of a coordinate, which the product takes: it does not overflow.
const TAKEN: i64 = (1 << 31) - 1;
/// The golden section of 2^32: Knuth's multiplicative hashing. The product modulo 2^32, as a part of 2^32, is the part of
/// the table before the slot where a search begins: consecutive coordinates are far from each other there.
const FACTOR: i64 = 0x9E37_79B1;
/// The bits of that part.
const PART: u32 = 32;
const PART_MASK: i64 = (1 << PART) - 1;

/// The slots that a search looks at, in turn. Their number is a power of two.
fn probes(slots: usize, crd: i64) -> impl Iterator<Item = usize> {
    let part = ((crd & TAKEN) * FACTOR) & PART_MASK;
    let first = (part.wrapping_mul(slots as i64) >> PART) as usize;
    (0..slots).map(move |tried| first.wrapping_add(tried) & (slots - 1))
}

/// The slots for so many coordinates, and perhaps for as many again, and two.
fn slots(children: u64, room: bool) -> u64 {
    let children = if room { children.saturating_mul(2).saturating_add(2) } else { children };
    let children = children.min(MAX_POSITIONS);
    if children == 0 { 0 } else { (children + children.div_ceil(2)).next_power_of_two() }
}

impl LevelType for Hashed {
    fn describe(&self) -> Description {
        Description {
            name: "hashed",
            text: "hashed".to_owned(),
            mlir: "hashed".to_owned(),
            props: Props {
                ordered: false,
                compact: false,
                // An empty slot is passed over.
                padded: false,
                ..Props::SIDE_BY_SIDE
            },
            arrays: vec![
                ArraySpec::pos(),
                // A mark is no coordinate, so it is no list of coordinates.
                ArraySpec { per: Per::Other("pos[parents]"), ..ArraySpec::crd() },
            ],
            walk: WalkKind::Position,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let (offsets, mark) = (segments.offsets.to_vec(), site.bounds().end);
        let pos = site.starts(offsets.len() - 1, |parent| {
            slots((offsets[parent + 1] - offsets[parent]) as u64, site.room)
        })?;
        let (table, place) = with_column!(&segments.crd, crd => {
            let children = |parent| (offsets[parent]..offsets[parent + 1]).map(|at| crd.at(at as usize));
            let table = assemble::parts(&pos, 0, |parent, table: &mut [i64]| {
                table.fill(mark);
                for crd in children(parent) {
                    let free = probes(table.len(), crd).find(|&slot| table[slot] == mark);
                    table[free.expect("some slots stay empty")] = crd;
                }
            });
            let place = assemble::parts(&offsets, 0, |parent, places: &mut [i64]| {
                let own = &table[pos[parent] as usize..pos[parent + 1] as usize];
                for (place, crd) in places.iter_mut().zip(children(parent)) {
                    let slot = probes(own.len(), crd).find(|&slot| own[slot] == crd);
                    *place = pos[parent] + slot.expect("it stands there") as i64;
                }
            });
            (table, place)
        });
        let positions = table.len() as u64;
        Ok(Assembled {
            arrays: Arrays(vec![site.store_pos(pos)?, site.store_crd(table)?]),
            position: assemble::of_children(&segments.child, &place, positions),
            positions,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let (pos, crd) = (&arrays.0[POS], &arrays.0[CRD]);
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        let positions = check::offsets("pos", pos)?;
        check::length("crd", crd.len(), positions, "the last of pos")?;
        let bounds = site.bounds();
        let intervals = check::reached(parents, &|parents, used| {
            let (mut tables, mut slots) = (Vec::new(), Vec::new());
            check::between(pos, parents.clone(), &mut tables);
            for (parent, own) in parents.zip(tables) {
                let (first, len) = (own.start, (own.end - own.start) as usize);
                check::rule(
                    len == 0 || len.is_power_of_two(),
                    "pos",
                    parent + 1,
                    own.end as i64,
                    || format!("none or a power of two lie behind {first}"),
                )?;
                slots.resize(len, 0);
                crd.read(first as usize, &mut slots);
                for (slot, at) in own.enumerate() {
                    let found = slots[slot];
                    if found == bounds.end {
                        continue;
                    }
                    check::rule(bounds.contains(&found), "crd", at, found, || {
                        format!("a coordinate lies in [{}, {})", bounds.start, bounds.end)
                    })?;
                    let stops = |&slot: &usize| [found, bounds.end].contains(&slots[slot]);
                    check::rule(
                        probes(len, found).find(stops) == Some(slot),
                        "crd",
                        at,
                        found,
                        || "a search for it ends elsewhere".to_owned(),
                    )?;
                    match used.last_mut() {
                        Some(Range { end, .. }) if *end == at => *end += 1,
                        _ => used.push(at..at + 1),
                    }
                }
            }
            Ok(())
        })?;
        Ok(Reach { positions, intervals: Some(intervals) })
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        Walk {
            kind: WalkKind::Position,
            cursor: table(site, b),
            step: Box::new(|b, pos| {
                let crd = b.bind("slot", b.load(site.arrays[CRD], pos.clone()));
                let guard = crd.clone().lt(mark(site));
                Step { crd, pos, guard: Some(guard), run: None }
            }),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let wanted = b.bind("wanted", crd);
        let Interval { lo, hi } = table(site, b);
        let (lo, slots) = (b.bind("lo", lo.clone()), b.bind("slots", hi - lo));
        let masked = |a, mask| Expr::binary(BinOp::BitAnd, a, mask);
        let part = masked(masked(wanted.clone(), TAKEN.into()) * FACTOR, PART_MASK.into());
        let first = Expr::binary(BinOp::Shr, part * slots.clone(), i64::from(PART).into());
        let first = b.bind("first", first);
        let (found, tried) = (b.var("found", Expr::Int(-1)), b.var("tried", Expr::Int(0)));
        // The mark is no coordinate.
        let is_coordinate = wanted.clone().lt(mark(site));
        let last = b.bind("last", is_coordinate.select(slots.clone(), Expr::Int(0)));
        b.while_(Expr::from(tried).lt(last.clone()), |b| {
            let slot = masked(first + Expr::from(tried), slots - 1);
            let at = b.bind("at", lo + slot);
            let here = b.bind("here", b.load(site.arrays[CRD], at.clone()));
            b.assign(tried, Expr::from(tried) + 1);
            b.if_(here.clone().equals(wanted.clone()), |b| b.assign(found, at));
            let ends =
                here.clone().equals(wanted).select(Expr::Bool(true), here.equals(mark(site)));
            b.if_(ends, |b| b.assign(tried, last));
        });
        Some(Located { pos: found.into(), found: Expr::Int(0).le(found) })
    }

    fn insert(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        crd: Crd,
    ) -> Result<Option<Change>, LevelError> {
        Ok(change::insert(site, arrays, parent, crd))
    }

    fn remove(
        &self,
        site: &Site,
        arrays: &mut Arrays,
        parent: Pos,
        pos: Pos,
    ) -> Result<Option<Change>, LevelError> {
        Ok(change::remove(site, arrays, parent, pos))
    }

    fn footprint(&self, site: &Site, population: &Population) -> Footprint {
        // A power of two is 1.5 to 3 times as many, and 1.5 / ln 2 on average.
        let stored = 1.5 / std::f64::consts::LN_2 * population.stored;
        Footprint::described(&self.describe(), site, &Population { stored, ..*population })
    }
}

/// One past the last coordinate.
fn mark(site: &WalkSite) -> Expr {
    site.lower.clone() + site.size.clone()
}

/// The slots of the tables of an interval of parents.
fn table(site: &WalkSite, b: &Builder) -> Interval {
    let at = |parent: &Expr| b.load(site.arrays[POS], parent.clone());
    Interval { lo: at(&site.parent.lo), hi: at(&site.parent.hi) }
}

#[cfg(test)]
mod tests {
    use super::{probes, slots};

    /// The slots that a search for a coordinate looks at, on average, in a table of these.
    fn steps(coordinates: impl Iterator<Item = i64> + Clone) -> f64 {
        let children = coordinates.clone().count();
        let mut table = vec![false; slots(children as u64, false) as usize];
        let mut looked_at = 0;
        for crd in coordinates {
            let (steps, slot) =
                probes(table.len(), crd).enumerate().find(|&(_, slot)| !table[slot]).unwrap();
            looked_at += steps + 1;
            table[slot] = true;
        }
        looked_at as f64 / children as f64
    }

    #[test]
    fn searches_are_short() {
        for children in [10, 1000, 100_000, 170_000] {
            for stride in [1, 2, 3, 7, 64, 100, 1024, 4096, 10_007] {
                let found = steps((0..children).map(|at| 5 + at * stride));
                assert!(found < 6.0, "{children} coordinates, each {stride}th: {found} steps");
            }
        }
    }
}
