//! A level's IR, run: its walk and its search, on arrays that may be anything.

use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{ArrayId, Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Arrays, Crd, IndexKind, Interval, Pos, Run, Site, WalkKind, WalkSite};

use crate::report::Trouble;
use crate::samples::Sample;

/// A child as a walk sees it. `parent` is the first of the parents walked under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Visit {
    pub(super) parent: Pos,
    pub(super) crd: Crd,
    pub(super) pos: Pos,
}

/// A level and its arrays.
pub(super) struct Machine<'a> {
    pub(super) sample: &'a Sample,
    pub(super) site: &'a Site,
    arrays: &'a Arrays,
}

/// More children than any test has.
const ROOM: usize = 4096;

impl<'a> Machine<'a> {
    pub(super) fn new(sample: &'a Sample, site: &'a Site, arrays: &'a Arrays) -> Self {
        Self { sample, site, arrays }
    }

    /// The site that emitted code sees, with parents `p .. p + 1` or `p .. q`.
    fn declare(&self, b: &mut Builder, run: bool) -> (WalkSite, Vec<Expr>) {
        let params = ["size", "lower", "lo", "hi", "parent", "parents"];
        let params: Vec<Expr> = params.iter().map(|name| b.param(name, Ty::Int)).collect();
        let [size, lower, lo, hi, first, last] = &params[..] else {
            unreachable!("six parameters are declared")
        };
        let specs = &self.sample.description.arrays;
        let arrays = specs.iter().zip(&self.arrays.0);
        let site = WalkSite {
            arrays: arrays
                .map(|(spec, array)| b.array(spec.name, Elem::Index(array.kind()), false))
                .collect(),
            size: size.clone(),
            lower: lower.clone(),
            bounds: Interval { lo: lo.clone(), hi: hi.clone() },
            parent: match run {
                true => Interval { lo: first.clone(), hi: last.clone() },
                false => Interval::one(first.clone()),
            },
            item: None,
        };
        (site, params)
    }

    fn outputs<const N: usize>(b: &mut Builder) -> [ArrayId; N] {
        std::array::from_fn(|at| b.array(&format!("out{at}"), Elem::Index(IndexKind::I64), true))
    }

    fn run<const N: usize>(
        &self,
        function: &Function,
        params: &[i64],
        room: usize,
    ) -> Result<[Vec<i64>; N], Trouble> {
        let program = Program::compile(function)?;
        let mut out: [Vec<i64>; N] = std::array::from_fn(|_| vec![0; room]);
        let mut memory: Vec<Memory<'_>> = self.arrays.0.iter().map(Memory::Index).collect();
        memory.extend(out.iter_mut().map(|column| Memory::indices_mut(column)));
        let params: Vec<Param> = params.iter().map(|&param| Param::Int(param)).collect();
        program.run(&params, &mut memory)?;
        drop(memory);
        Ok(out)
    }

    fn params(&self, bounds: (Crd, Crd), parents: (Pos, Pos)) -> Vec<i64> {
        let Site { size, lower, .. } = *self.site;
        vec![size as i64, lower, bounds.0, bounds.1, parents.0 as i64, parents.1 as i64]
    }

    /// The bounds of the level.
    pub(super) fn bounds(&self) -> (Crd, Crd) {
        let bounds = self.site.bounds();
        (bounds.start, bounds.end)
    }

    /// Walks under one parent, or under a run of neighbours; tells what the cursor is.
    pub(super) fn walk(
        &self,
        parents: (Pos, Pos),
        bounds: (Crd, Crd),
    ) -> Result<(WalkKind, Vec<Visit>), Trouble> {
        let mut b = Builder::new("walk");
        let (site, _) = self.declare(&mut b, parents.1 - parents.0 != 1);
        let [count, crds, positions] = Self::outputs(&mut b);
        let row = b.var("row", Expr::Int(0));
        let walk = self.sample.ty.walk(&site, &mut b);
        let kind = walk.kind;
        b.for_("cursor", walk.cursor.lo.clone(), walk.cursor.hi.clone(), |b, cursor| {
            let mut step = (walk.step)(b, cursor.clone());
            b.if_(step.guard.take().unwrap_or(Expr::Bool(true)), |b| {
                step.crd = b.bind("crd", step.crd);
                step.pos = b.bind("pos", step.pos);
                let child = |b: &mut Builder, crd: Expr, pos: Expr| {
                    b.store(crds, row.into(), crd);
                    b.store(positions, row.into(), pos);
                    b.assign(row, Expr::from(row) + 1);
                };
                match step.run {
                    None => child(b, step.crd, step.pos),
                    Some(Run::Coded(code)) => b.coded("in_run", (step.crd, step.pos), code, child),
                    Some(run) => b.for_("in_run", Expr::Int(0), run.count(), |b, at| {
                        let pos = if run.is_shared() { Expr::Int(0) } else { at.clone() };
                        child(b, step.crd.clone() + at, step.pos.clone() + pos);
                    }),
                }
            });
            if let Some(advance) = &walk.advance {
                advance(b, cursor);
            }
        });
        b.store(count, Expr::Int(0), row.into());
        let function = b.finish();
        let [count, crds, positions] = self.run(&function, &self.params(bounds, parents), ROOM)?;
        let visits = crds.iter().zip(&positions).take(count[0] as usize);
        let visit = |(&crd, &pos): (&i64, &i64)| Visit { parent: parents.0, crd, pos: pos as Pos };
        Ok((kind, visits.map(visit).collect()))
    }

    /// Searches under one parent: the position where it is found, and `None` for a level that
    /// cannot search.
    pub(super) fn locate(
        &self,
        parent: Pos,
        crds: &[Crd],
        bounds: (Crd, Crd),
    ) -> Result<Option<Vec<Option<Pos>>>, Trouble> {
        let mut b = Builder::new("locate");
        let (site, _) = self.declare(&mut b, false);
        let crd = b.param("crd", Ty::Int);
        let [found, pos] = Self::outputs(&mut b);
        let Some(located) = self.sample.ty.locate(&site, crd, &mut b) else { return Ok(None) };
        let is_there = b.bind("is_there", located.found);
        b.if_(is_there, |b| {
            b.store(found, Expr::Int(0), Expr::Int(1));
            b.store(pos, Expr::Int(0), located.pos);
        });
        let function = b.finish();
        crds.iter()
            .map(|&crd| {
                let mut params = self.params(bounds, (parent, parent + 1));
                params.push(crd);
                let [found, pos] = self.run(&function, &params, 1)?;
                Ok((found[0] == 1).then_some(pos[0] as Pos))
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }
}
