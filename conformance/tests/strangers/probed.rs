//! `probed`: a table for each parent, in which a coordinate is searched from its remainder on.
//!
//! ```text
//!  row 0  [ 0 1 0 0 0 2 ]    (i, j) -> (i : dense, j : probed), shape 2x6
//!  row 1  [ 3 0 0 0 0 0 ]
//!                            level 1  pos     0         4     6     parents + 1
//!                                     slot    - 1 5 -   0 -         pos[parents]
//!                            values           . 1 2 .   3 .
//! ```
//!
//! 1 and 5 leave the same remainder by 4; the second to come stands behind the first.

use ust_level_api::ir::{BinOp, Builder, Expr};
use ust_level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, Footprint, IndexArray, IndexKind, Interval,
    LevelError, LevelFactory, LevelType, LocateCost, Located, Per, Place, Population, Props, Reach,
    Role, Site, Step, Walk, WalkKind, WalkSite, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "probed",
        aliases: &[],
        summary: "a table of coordinates for each parent",
        make: &|args| match args.args.first() {
            None => Ok(Box::new(Probed)),
            Some(arg) => Err(args.bad(arg, "it takes no arguments".to_owned())),
        },
        samples: &["probed"],
    }
}

const POS: usize = 0;
const SLOT: usize = 1;
/// Stands where no coordinate does.
const NONE: i64 = i64::MIN;

#[derive(Clone, Copy, Debug)]
struct Probed;

/// The place of a coordinate in a table, or the free one that it would get. `None` if neither is there.
fn place(table: &[i64], crd: i64) -> Option<usize> {
    let first = crd.rem_euclid(table.len().max(1) as i64) as usize;
    (first..table.len()).chain(0..first).find(|&at| table[at] == crd || table[at] == NONE)
}

impl LevelType for Probed {
    fn describe(&self) -> Description {
        Description {
            name: "probed",
            text: "probed".to_owned(),
            mlir: "probed".to_owned(),
            props: Props {
                full: false,
                ordered: false,
                unique: true,
                branchless: false,
                compact: false,
                padded: false,
                overhangs: false,
                bounded: false,
                contiguous: true,
            },
            arrays: vec![
                ArraySpec::pos(),
                ArraySpec {
                    name: "slot",
                    role: Role::Own(IndexKind::I64),
                    per: Per::Position,
                    min_bits: 64,
                },
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
        let (offsets, crd) = (segments.offsets.to_vec(), segments.crd.to_vec());
        let (mut pos, mut slots, mut places) = (vec![0_i64], Vec::new(), Vec::new());
        for pair in offsets.windows(2) {
            let children = &crd[pair[0] as usize..pair[1] as usize];
            let size = match children.len() {
                0 => 0,
                children => (2 * children).next_power_of_two(),
            };
            let mut table = vec![NONE; size];
            for &crd in children {
                let at = place(&table, crd).expect("half of a table is free");
                table[at] = crd;
                places.push((slots.len() + at) as i64);
            }
            slots.extend(table);
            pos.push(site.positions(slots.len() as u64, 1)? as i64);
        }
        let position: Vec<i64> =
            segments.child.to_vec().into_iter().map(|child| places[child as usize]).collect();
        Ok(Assembled {
            positions: slots.len() as u64,
            arrays: Arrays(vec![site.store_pos(pos)?, IndexArray::from(slots)]),
            position: position.into(),
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let (pos, slot) = (&arrays.0[POS], &arrays.0[SLOT]);
        check::length("pos", pos.len(), parents.positions + 1, "parents + 1")?;
        let positions = check::offsets("pos", pos)?;
        check::length("slot", slot.len(), positions, "the last of pos")?;
        let (pos, slot) = (pos.to_vec(), slot.to_vec());
        let mut intervals = Vec::new();
        for parent in parents.iter() {
            let own = pos[parent as usize] as usize..pos[parent as usize + 1] as usize;
            let table = &slot[own.clone()];
            for (at, &crd) in table.iter().enumerate().filter(|(_, crd)| **crd != NONE) {
                let index = (own.start + at) as u64;
                check::rule(site.bounds().contains(&crd), "slot", index, crd, || {
                    format!("coordinates lie within {:?}", site.bounds())
                })?;
                check::rule(place(table, crd) == Some(at), "slot", index, crd, || {
                    "a coordinate is found once, from its remainder on".to_owned()
                })?;
                intervals.push(index..index + 1);
            }
        }
        Ok(Reach { positions, intervals: Some(intervals) })
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        Walk {
            kind: WalkKind::Position,
            cursor: table(site, b),
            step: Box::new(|b, pos| {
                let crd = b.bind("slot", b.load(site.arrays[SLOT], pos.clone()));
                let guard = Expr::binary(BinOp::Ne, crd.clone(), NONE.into());
                Step { crd, pos, guard: Some(guard), run: None }
            }),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let wanted = b.bind("wanted", crd);
        let Interval { lo, hi } = table(site, b);
        let (lo, size) = (b.bind("first", lo.clone()), b.bind("size", hi - lo));
        let (found, tried) = (b.var("found", Expr::Int(-1)), b.var("tried", Expr::Int(0)));
        let goes_on = Expr::from(tried).lt(size.clone()).and(Expr::from(found).lt(0));
        b.while_(goes_on, |b| {
            let from = wanted.clone().modulo(size.clone());
            let at = b.bind("at", lo + (from + Expr::from(tried)).modulo(size.clone()));
            let here = b.bind("here", b.load(site.arrays[SLOT], at.clone()));
            b.if_else(
                here.clone().equals(NONE),
                |b| b.assign(tried, size.clone()),
                |b| {
                    b.if_(here.equals(wanted), |b| b.assign(found, at));
                    b.assign(tried, Expr::from(tried) + 1);
                },
            );
        });
        Some(Located { pos: found.into(), found: Expr::Int(0).le(found) })
    }

    fn footprint(&self, _site: &Site, population: &Population) -> Footprint {
        let positions = 3.0 * population.stored;
        Footprint { positions, bytes: 8.0 * (population.parents + positions) }
    }
}

/// The slots of the tables of an interval of parents.
fn table(site: &WalkSite, b: &Builder) -> Interval {
    let at = |parent: &Expr| b.load(site.arrays[POS], parent.clone());
    Interval { lo: at(&site.parent.lo), hi: at(&site.parent.hi) }
}
