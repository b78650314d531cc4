//! `padded(k)`: `k` places under each parent, and those at the end that nothing needs are marked.
//!
//! ```text
//!  row 0  [ 0 1 0 2 ]    (i, j) -> (i : dense, j : padded(3)), shape 2x4
//!  row 1  [ 3 0 0 0 ]
//!                        level 1  own     1 3 -   0 - -       3 * parents
//!                        values           1 2 .   3 . .
//! ```

use ust_level_api::ir::{BinOp, Builder, Expr};
use ust_level_api::{
    Arg, ArraySpec, Arrays, Assembled, Description, Entries, Footprint, IndexArray, IndexKind,
    Interval, LevelError, LevelFactory, LevelType, LocateCost, Located, Per, Place, Population,
    Props, Reach, Role, Site, Step, Walk, WalkKind, WalkSite, check, inventory,
};

inventory::submit! {
    LevelFactory {
        name: "padded",
        aliases: &[],
        summary: "so many places under each parent",
        make: |args| match args.args[..] {
            [Arg::Int(places @ 1..=64)] => Ok(Box::new(Padded { places })),
            _ => Err(LevelError::BadArgument {
                level: args.name.clone(),
                argument: args.args.first().map_or(String::new(), ToString::to_string),
                help: "it takes the number of places, from 1 to 64".to_owned(),
            }),
        },
        samples: &["padded(7)", "padded(1)"],
    }
}

const OWN: usize = 0;
/// Stands where no coordinate does.
const NONE: i64 = i64::MIN;

#[derive(Clone, Copy, Debug)]
struct Padded {
    places: u64,
}

impl Padded {
    fn text(self) -> String {
        format!("padded({})", self.places)
    }

    fn of(self, parents: &Interval) -> Interval {
        let places = self.places as i64;
        Interval { lo: parents.lo.clone() * places, hi: parents.hi.clone() * places }
    }
}

impl LevelType for Padded {
    fn describe(&self) -> Description {
        Description {
            name: "padded",
            text: self.text(),
            mlir: self.text(),
            props: Props {
                full: false,
                ordered: true,
                unique: true,
                branchless: false,
                compact: false,
                // A place without a coordinate is passed over.
                padded: false,
                overhangs: false,
                bounded: true,
                contiguous: true,
            },
            arrays: vec![ArraySpec {
                name: "own",
                role: Role::Own(IndexKind::I64),
                per: Per::Position,
                min_bits: 64,
            }],
            walk: WalkKind::Position,
            locate: LocateCost::Constant,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let positions = site.positions(entries.parents, self.places)?;
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let (offsets, crd) = (segments.offsets.to_vec(), segments.crd.to_vec());
        let mut own = vec![NONE; positions as usize];
        let mut places = Vec::with_capacity(crd.len());
        for (parent, pair) in (0_u64..).zip(offsets.windows(2)) {
            let children = &crd[pair[0] as usize..pair[1] as usize];
            if let Some(&crd) = children.get(self.places as usize) {
                let reason = format!("there are {} places for coordinates", self.places);
                return Err(LevelError::CannotHold { parent, crd, reason });
            }
            for (at, crd) in (parent * self.places..).zip(children) {
                own[at as usize] = *crd;
                places.push(at as i64);
            }
        }
        let position: Vec<i64> =
            segments.child.to_vec().into_iter().map(|child| places[child as usize]).collect();
        Ok(Assembled {
            arrays: Arrays(vec![IndexArray::from(own)]),
            position: position.into(),
            positions,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        let all = parents.times(self.places)?;
        check::length("own", arrays.0[OWN].len(), all.positions, "places * parents")?;
        let own = arrays.0[OWN].to_vec();
        let mut intervals = Vec::new();
        for parent in parents.iter() {
            let first = parent * self.places;
            let (mut end, mut before) = (first, None);
            for at in first..first + self.places {
                let crd = own[at as usize];
                if crd == NONE {
                    continue;
                }
                check::rule(end == at, "own", at, crd, || "coordinates come first".to_owned())?;
                check::rule(site.bounds().contains(&crd), "own", at, crd, || {
                    format!("coordinates lie within {:?}", site.bounds())
                })?;
                check::rule(before < Some(crd), "own", at, crd, || "they ascend".to_owned())?;
                (end, before) = (at + 1, Some(crd));
            }
            if end > first {
                intervals.push(first..end);
            }
        }
        Ok(Reach { positions: all.positions, intervals: Some(intervals) })
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, _b: &mut Builder) -> Walk<'a> {
        Walk {
            kind: WalkKind::Position,
            cursor: self.of(&site.parent),
            step: Box::new(|b, pos| {
                let crd = b.bind("own", b.load(site.arrays[OWN], pos.clone()));
                let guard = Expr::binary(BinOp::Ne, crd.clone(), NONE.into());
                Step { crd, pos, guard: Some(guard), run: None }
            }),
            advance: None,
        }
    }

    fn locate(&self, site: &WalkSite, crd: Expr, b: &mut Builder) -> Option<Located> {
        let wanted = b.bind("wanted", crd);
        let places = self.of(&site.parent);
        let at = b.var("at", Expr::Int(-1));
        b.for_("place", places.lo, places.hi, |b, place| {
            let here = b.load(site.arrays[OWN], place.clone()).equals(wanted.clone());
            // Any integer may be looked for.
            let there = here.and(Expr::binary(BinOp::Ne, wanted, NONE.into()));
            b.if_(there, |b| b.assign(at, place));
        });
        Some(Located { pos: at.into(), found: Expr::Int(0).le(at) })
    }

    fn footprint(&self, _site: &Site, population: &Population) -> Footprint {
        let positions = population.parents * self.places as f64;
        Footprint { positions, bytes: 8.0 * positions }
    }
}
