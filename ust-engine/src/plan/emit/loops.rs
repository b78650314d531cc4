//! Loops over every coordinate, or over the entries of one tensor.

use ust_format::IndexExpr;
use ust_level_api::ir::{BinOp, Builder, Expr};
use ust_level_api::{Interval, Walk};

use super::{Emit, Origin, Pos, State};
use crate::plan::order::Step;
use crate::provider::plan::Over;
use crate::tuning::WHOLE_BLOCK_MAX_SIZE;
use crate::walk::find::first_from;
use crate::walk::nest::{Reach, in_run};

/// The beginning of an iteration: its coordinate, and the positions of tensors there.
pub(super) struct Arrival<'a> {
    pub(super) crd: Expr,
    /// The accesses that store the coordinate, and their positions.
    pub(super) stored: &'a [(usize, Pos)],
    /// Whether the coordinate is inside the bounds of every full level that the loop walks.
    pub(super) valid: bool,
    /// Whether padding, too, has coordinates inside the shape here.
    pub(super) whole: bool,
}

/// For a loop bound `min(block size, rest of the dimension)` of a small block: both operands.
fn whole_block(hi: &Expr) -> Option<(i64, Expr)> {
    match hi {
        Expr::Binary(BinOp::Min, a, b) => match (&**a, &**b) {
            (Expr::Int(size), rest) | (rest, Expr::Int(size))
                if (2..=WHOLE_BLOCK_MAX_SIZE).contains(size) =>
            {
                Some((*size, rest.clone()))
            }
            _ => None,
        },
        _ => None,
    }
}

impl Emit<'_> {
    /// Emits a loop.
    pub(super) fn step(&self, b: &mut Builder, depth: usize, step: &Step, state: State) {
        let walkers: Vec<(usize, usize)> = step
            .walkers
            .iter()
            .copied()
            .filter(|w| state.live[w.0].is_some() && !self.level(*w).props.full)
            .collect();
        let accesses: Vec<usize> = walkers.iter().map(|w| w.0).collect();
        let universe = self.worth_without(&state.term, &accesses);
        match &walkers[..] {
            [] => self.every(b, depth, step, state),
            [one] if !universe => self.single(b, depth, step, *one, state),
            _ => self.merge(b, depth, step, &walkers, universe, &state),
        }
    }

    /// The interval of a loop over every coordinate, and whether it is inside the bounds of all levels that
    /// the loop walks.
    pub(super) fn domain(&self, step: &Step, state: &State) -> (Interval, bool) {
        let mut domains = step.walkers.iter().map(|&(at, level)| {
            let above = &state.coordinates[at];
            self.operands[at].bounds.interval(level, above, &self.operands[at].sizes)
        });
        match (domains.next(), &step.expr) {
            (Some(first), _) if domains.all(|other| other == first) => (first, true),
            (_, IndexExpr::Var(v)) => {
                (Interval { lo: Expr::Int(0), hi: self.extents[*v].clone() }, false)
            }
            _ => {
                let (at, level) = step.walkers[0];
                let sizes = &self.operands[at].sizes;
                let lo = sizes.lowers[level].clone();
                (Interval { hi: lo.clone() + sizes.sizes[level].clone(), lo }, false)
            }
        }
    }

    pub(super) fn part(&self, b: &mut Builder, depth: usize, whole: Interval) -> Interval {
        match &self.part {
            Some(part) if depth == 0 => Interval {
                lo: b.bind("first", whole.lo.max(part.lo.clone())),
                hi: b.bind("last", whole.hi.min(part.hi.clone())),
            },
            _ => whole,
        }
    }

    /// As [`part`](Self::part), for a cursor that may have a coordinate several times. Each part begins and
    /// ends at the first cursor of a coordinate, wherever its bounds are: no two parts visit the same
    /// coordinate.
    fn part_of_runs(
        &self,
        b: &mut Builder,
        depth: usize,
        walk: &Walk<'_>,
        whole: Interval,
    ) -> Interval {
        if self.part.is_none() || depth > 0 {
            return whole;
        }
        let [begin, end] = [b.bind("begin", whole.lo), b.bind("end", whole.hi)];
        let bounds = self.part(b, depth, Interval { lo: begin.clone(), hi: end.clone() });
        let [lo, hi] = [bounds.lo, bounds.hi].map(|bound| {
            let at = b.var("bound", bound);
            let inside = begin.clone().lt(at).and(Expr::from(at).lt(end.clone()));
            let here = (walk.step)(b, at.into()).crd;
            let above = (walk.step)(b, Expr::from(at) - 1).crd;
            let same = inside.select(here.equals(above), Expr::Bool(false));
            b.while_(same, |b| b.assign(at, Expr::from(at) + 1));
            Expr::from(at)
        });
        Interval { lo, hi }
    }

    pub(super) fn loop_name(&self, step: &Step) -> String {
        match &step.expr {
            IndexExpr::Var(v) => self.input.indices[*v].clone(),
            _ => "c".to_owned(),
        }
    }

    /// A loop over every coordinate.
    fn every(&self, b: &mut Builder, depth: usize, step: &Step, mut state: State) {
        let (domain, valid) = self.domain(step, &state);
        state.covers &= match &step.expr {
            IndexExpr::Var(v) => {
                let whole = Interval { lo: Expr::Int(0), hi: self.extents[*v].clone() };
                domain == whole && self.input.result.contains(v)
            }
            _ => false,
        };
        self.note_range(depth, &domain);
        let whole = domain.clone();
        let domain = self.part(b, depth, domain);
        if depth == 0 {
            state.begin = Some(domain.lo.clone());
        }
        let name = self.loop_name(step);
        let run = |b: &mut Builder, hi: Expr, state: State| {
            let mut var = None;
            b.for_(&name, domain.lo.clone(), hi, |b, crd| {
                if let Expr::Var(own) = &crd {
                    var = Some(*own);
                }
                self.note(&[&crd], depth, step, Over::Coordinates, &[], &state);
                if depth == 0 {
                    self.begin_iteration(b, &crd, &domain.lo, &whole.lo);
                }
                let arrival = Arrival { crd, stored: &[], valid, whole: false };
                self.arrive(b, depth, step, arrival, state);
            });
            var
        };
        // Except at the border, blocks of values have a constant size, for which there is a loop of its own. Border
        // blocks are few, so inner dimensions make no further distinction for them.
        match whole_block(&domain.hi) {
            Some((size, rest))
                if domain.lo == Expr::Int(0) && !state.cut && self.ends_in_block(step) =>
            {
                let rest = b.bind("rest", rest);
                let whole = Expr::Int(size).le(rest.clone());
                let mut vars = [None; 2];
                let [of_whole, of_border] = &mut vars;
                b.if_else(
                    whole,
                    |b| *of_whole = run(b, Expr::Int(size), state.clone()),
                    |b| *of_border = run(b, rest, State { cut: true, ..state.clone() }),
                );
                self.note_border(vars);
            }
            _ => {
                run(b, domain.hi.clone(), state);
            }
        }
    }

    /// Whether all levels inside a loop are full, in each tensor that it walks.
    fn ends_in_block(&self, step: &Step) -> bool {
        step.walkers.iter().all(|&(at, level)| {
            self.input.accesses[at].levels[level..].iter().all(|inner| inner.props.full)
        })
    }

    /// A loop over the entries of one tensor.
    fn single(
        &self,
        b: &mut Builder,
        depth: usize,
        step: &Step,
        (at, level): (usize, usize),
        mut state: State,
    ) {
        state.covers = false;
        let operand = &self.operands[at];
        let info = self.level((at, level));
        let parent = state.live[at].clone().expect("a walker is live");
        let site = operand.site(level, parent.interval(), &state.coordinates[at], Reach::Inside);
        let walk = self.walk(b, depth, (at, level), &site);
        let cursor = Interval { lo: walk.cursor.lo.clone(), hi: walk.cursor.hi.clone() };
        self.note_range(depth, &cursor);
        let cursor = match !info.props.unique && info.props.ordered {
            _ if self.is_split() => self.within(b, depth, &walk, &state),
            true => self.part_of_runs(b, depth, &walk, cursor),
            false => self.part(b, depth, cursor),
        };
        let name = self.loop_name(step);
        if !info.props.unique && !self.input.plain {
            // All positions with the same coordinate are one iteration.
            let hi = b.bind("end", cursor.hi);
            let p = b.var("p", cursor.lo);
            self.note(&[&p.into()], depth, step, Over::Runs, &[(at, level)], &state);
            return b.while_(Expr::from(p).lt(hi.clone()), |b| {
                let first = (walk.step)(b, p.into());
                let crd = b.bind(&name, first.crd);
                let q = self.run_end(b, &walk, p.into(), &hi, &crd);
                let run = Pos::Run(Interval { lo: p.into(), hi: q.clone() });
                // The inner code assigns only its own variables, so `p` is unchanged.
                let stored = [(at, run)];
                let arrival = Arrival { crd, stored: &stored, valid: false, whole: false };
                self.arrive(b, depth, step, arrival, state);
                b.assign(p, q);
            });
        }
        let run = |b: &mut Builder, whole: bool, state: State| {
            let once = cursor.is_one();
            b.for_(&format!("p_{name}"), cursor.lo.clone(), cursor.hi.clone(), |b, cursor| {
                self.note(&[&cursor], depth, step, Over::Cursor, &[(at, level)], &state);
                if once {
                    self.note_once();
                }
                let ust_level_api::Step { crd, pos, guard, run } = (walk.step)(b, cursor.clone());
                if guard.is_none() && run.is_none() {
                    self.note_coordinate(&crd);
                }
                b.if_(guard.unwrap_or(Expr::Bool(true)), |b| match run {
                    None => {
                        let crd = b.bind(&name, crd);
                        let pos = b.bind(&format!("pos_{name}"), pos);
                        let stored = [(at, Pos::One(pos))];
                        let arrival = Arrival { crd, stored: &stored, valid: false, whole };
                        self.arrive(b, depth, step, arrival, state);
                    }
                    Some(run) => in_run(b, &name, (crd, pos), run, |b, var, (crd, pos)| {
                        self.note(&[&var], depth, step, Over::Run, &[(at, level)], &state);
                        let pos = b.bind(&format!("pos_{name}"), pos);
                        let stored = [(at, Pos::One(pos))];
                        let arrival = Arrival { crd, stored: &stored, valid: false, whole };
                        self.arrive(b, depth, step, arrival, state);
                    }),
                });
                if let Some(advance) = &walk.advance {
                    advance(b, cursor);
                }
            });
        };
        // As with blocks, groups at the border are few: a test of each coordinate is for them alone.
        match self.is_whole((at, level), &state) {
            whole if info.props.overhangs && !matches!(whole, Expr::Bool(_)) && !state.cut => {
                let cut = State { cut: true, ..state.clone() };
                b.if_else(whole, |b| run(b, true, state), |b| run(b, false, cut));
            }
            _ => run(b, false, state),
        }
    }

    /// Whether no coordinate of a level is outside the shape, given those above.
    pub(super) fn is_whole(&self, (at, level): (usize, usize), state: &State) -> Expr {
        let operand = &self.operands[at];
        operand.bounds.is_whole(level, &state.coordinates[at], &operand.sizes)
    }

    /// The end of the run of positions from `p` on with the same coordinate.
    fn run_end(&self, b: &mut Builder, walk: &Walk<'_>, p: Expr, hi: &Expr, crd: &Expr) -> Expr {
        if self.cut_depth() > 0 {
            let next = b.bind("next", crd.clone() + 1);
            return first_from(b, walk, p, hi.clone(), &next);
        }
        let q = b.var("q", p + 1);
        // The select evaluates the step only if the cursor is before the end.
        let next = (walk.step)(b, q.into());
        let same = next.crd.equals(crd.clone());
        b.while_(Expr::from(q).lt(hi.clone()).select(same, Expr::Bool(false)), |b| {
            b.assign(q, Expr::from(q) + 1);
        });
        q.into()
    }

    /// Emits the body of a loop, from the coordinate and the positions of tensors on.
    pub(super) fn arrive(
        &self,
        b: &mut Builder,
        depth: usize,
        step: &Step,
        arrival: Arrival<'_>,
        mut state: State,
    ) {
        let Arrival { crd, stored, valid, whole } = arrival;
        state.keys.push((step.key.clone(), crd.clone()));
        for &(at, level) in &step.walkers {
            let mine = stored.iter().any(|(a, _)| *a == at);
            let own = match mine && self.level((at, level)).props.overhangs {
                true => whole || self.is_whole((at, level), &state) == Expr::Bool(true),
                false => valid || mine,
            };
            state.coordinates[at].push(crd.clone());
            state.origins[at].push(if own { Origin::Own } else { Origin::Elsewhere });
            let sizes = &self.operands[at].sizes;
            if let (true, Some(parent)) = (self.level((at, level)).props.full, &state.live[at]) {
                let Pos::One(parent) = parent else { unreachable!("a full level has one parent") };
                let offset = crd.clone() - sizes.lowers[level].clone();
                let pos = parent.clone() * sizes.sizes[level].clone() + offset;
                state.live[at] = Some(Pos::One(b.bind("pos", pos)));
            }
        }
        for (at, pos) in stored {
            state.live[*at] = Some(pos.clone());
        }
        if let (IndexExpr::Var(v), None) = (&step.expr, step.walkers.first()) {
            state.index[*v] = Some(crd);
            return self.enter(b, depth + 1, state);
        }
        let mut accesses: Vec<usize> = step.walkers.iter().map(|w| w.0).collect();
        accesses.dedup();
        self.solve(b, &accesses, state, &mut |b, state| self.enter(b, depth + 1, state));
    }
}
