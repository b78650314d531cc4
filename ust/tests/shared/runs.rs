//! A level type that stores runs: one position, and one value, for many coordinates. For test programs of their own.

use ust::level_api::{
    ArraySpec, Arrays, Assembled, Description, Entries, IndexKind, Interval, LevelError,
    LevelFactory, LevelType, LocateCost, Per, Place, Props, Reach, Role, Run, Site, Step, Walk,
    WalkKind, WalkSite, check, inventory,
    ir::{Builder, Expr},
};

inventory::submit! {
    LevelFactory {
        name: "runs",
        aliases: &[],
        summary: "runs of coordinates with one value each",
        make: &|_| Ok(Box::new(Runs)),
        samples: &["runs"],
    }
}

/// `pos` (parents + 1), and for each run its first coordinate and its length.
#[derive(Clone, Debug)]
struct Runs;

impl LevelType for Runs {
    fn describe(&self) -> Description {
        let own = |name| ArraySpec {
            name,
            role: Role::Own(IndexKind::U64),
            per: Per::Position,
            min_bits: 8,
        };
        Description {
            name: "runs",
            text: "runs".to_owned(),
            mlir: "runs".to_owned(),
            props: Props {
                full: false,
                ordered: true,
                unique: true,
                branchless: false,
                compact: true,
                padded: false,
                overhangs: false,
                bounded: false,
                contiguous: true,
            },
            arrays: vec![ArraySpec::pos(), own("first"), own("run")],
            walk: WalkKind::Other,
            locate: LocateCost::None,
        }
    }

    fn fits(&self, _place: &Place<'_>) -> Result<(), LevelError> {
        Ok(())
    }

    fn assemble(&self, site: &Site, entries: &Entries) -> Result<Assembled, LevelError> {
        let segments = entries.segments(true)?;
        segments.fetch()?;
        let first = segments.crd.to_vec().into_iter().map(|c| c as u64).collect::<Vec<_>>();
        let run = vec![1_u64; first.len()];
        Ok(Assembled {
            positions: first.len() as u64,
            arrays: Arrays(vec![site.store_pos(segments.offsets)?, first.into(), run.into()]),
            position: segments.child,
        })
    }

    fn check(&self, site: &Site, arrays: &Arrays, parents: &Reach) -> Result<Reach, LevelError> {
        check::length("pos", arrays.0[0].len(), parents.positions + 1, "parents + 1")?;
        let (first, run) = (arrays.0[1].to_vec(), arrays.0[2].to_vec());
        check::length("run", run.len(), first.len() as u64, "as first")?;
        for (at, (&first, &run)) in first.iter().zip(&run).enumerate() {
            let inside = 0 <= first && 0 < run && first.saturating_add(run) <= site.size as i64;
            check::rule(inside, "run", at as u64, run, || "a run lies in the level".to_owned())?;
        }
        Ok(Reach::all(first.len() as u64))
    }

    fn walk<'a>(&'a self, site: &'a WalkSite, b: &mut Builder) -> Walk<'a> {
        Walk {
            kind: WalkKind::Other,
            cursor: Interval {
                lo: b.load(site.arrays[0], site.parent.lo.clone()),
                hi: b.load(site.arrays[0], site.parent.hi.clone()),
            },
            step: Box::new(|b: &mut Builder, at: Expr| {
                let [crd, count] = [1, 2].map(|array| b.load(site.arrays[array], at.clone()));
                Step::run(crd, at, Run::Shared(count))
            }),
            advance: None,
        }
    }
}
