//! Loops over the entries of several tensors, merged by coordinate.

use ust_level_api::ir::{BinOp, Builder, Expr, Var};
use ust_level_api::{Interval, Walk};

use super::loops::Arrival;
use super::{Emit, Pos, State};
use crate::plan::order::Step;
use crate::tuning::MERGE_MAX_TEST_CHAIN;
use crate::walk::find::first_from;
use crate::walk::nest::Reach;

impl Emit<'_> {
    /// Emits a loop over the coordinates that some of several tensors store, or with `universe` over all.
    pub(super) fn merge(
        &self,
        b: &mut Builder,
        depth: usize,
        step: &Step,
        walkers: &[(usize, usize)],
        universe: bool,
        state: &State,
    ) {
        if !universe && self.zip(b, depth, step, walkers, state) {
            return;
        }
        let state = &State { covers: false, ..state.clone() };
        let name = self.loop_name(step);
        let accesses: Vec<usize> = walkers.iter().map(|w| w.0).collect();
        // The sets of tensors (bits) that may store the coordinate, larger sets first.
        let mut sets: Vec<u32> = (0..1_u32 << accesses.len()).collect();
        sets.sort_by_key(|set| std::cmp::Reverse(set.count_ones()));
        let others = |set: u32| -> Vec<usize> {
            (0..accesses.len()).filter(|bit| set >> bit & 1 == 0).map(|bit| accesses[bit]).collect()
        };
        let worth = |set: u32| self.worth_without(&state.term, &others(set));
        let all = (1_u32 << accesses.len()) - 1;
        let required: Vec<bool> =
            (0..accesses.len()).map(|bit| !worth(all & !(1 << bit))).collect();

        let parents: Vec<Interval> = accesses
            .iter()
            .map(|&at| state.live[at].as_ref().expect("a walker is live").interval())
            .collect();
        let sites: Vec<_> = walkers
            .iter()
            .zip(parents)
            .map(|(&(at, level), parent)| {
                self.operands[at].site(level, parent, &state.coordinates[at], Reach::Inside)
            })
            .collect();
        let walks: Vec<Walk<'_>> = walkers
            .iter()
            .zip(&sites)
            .map(|(&(at, level), site)| self.operands[at].format.levels()[level].ty.walk(site, b))
            .collect();
        let (cursors, ends) = self.cursors(b, depth, &name, &walks);
        let more = |bit: usize| Expr::from(cursors[bit]).lt(ends[bit].clone());

        let body = |b: &mut Builder, crd: Option<Expr>, valid: bool| {
            let mut coordinates = Vec::new();
            let mut steps = Vec::new();
            for (bit, walk) in walks.iter().enumerate() {
                let here = (walk.step)(b, cursors[bit].into());
                let must = required[bit] && crd.is_none();
                let at = match must {
                    true => here.crd.clone(),
                    false => more(bit).select(here.crd.clone(), Expr::Int(i64::MAX)),
                };
                coordinates
                    .push(b.bind(&format!("{name}_{}", self.input.names[accesses[bit]]), at));
                steps.push(here);
            }
            let crd = crd.unwrap_or_else(|| {
                let least = coordinates.iter().cloned().reduce(Expr::min).expect("a walker");
                b.bind(&name, least)
            });
            let ends_of: Vec<Option<Expr>> = (0..accesses.len())
                .map(|bit| {
                    if self.level(walkers[bit]).props.unique {
                        return None;
                    }
                    // The run is empty if this cursor does not have the coordinate.
                    let mine = coordinates[bit].clone().equals(crd.clone());
                    let stop = mine.select(ends[bit].clone(), Expr::from(cursors[bit]));
                    let stop = b.bind("stop", stop);
                    let q = b.var("q", cursors[bit].into());
                    let next = (walks[bit].step)(b, q.into());
                    let same = next.crd.equals(crd.clone());
                    let go = Expr::from(q).lt(stop).select(same, Expr::Bool(false));
                    b.while_(go, |b| b.assign(q, Expr::from(q) + 1));
                    Some(q.into())
                })
                .collect();
            let mine: Vec<Expr> =
                coordinates.iter().map(|c| c.clone().equals(crd.clone())).collect();
            let mine: Vec<Expr> = mine.into_iter().map(|m| b.bind("mine", m)).collect();
            let wanted: Vec<u32> =
                sets.iter().copied().filter(|&set| (universe || set != 0) && worth(set)).collect();
            self.sets(b, &wanted, &mine, &mut |b, set| {
                let absent = others(set);
                let Some(state) = self.without(state, &absent) else { return };
                let mut arrived = Vec::new();
                for bit in (0..accesses.len()).filter(|bit| set >> bit & 1 == 1) {
                    let pos = match &ends_of[bit] {
                        None => Pos::One(b.bind("pos", steps[bit].pos.clone())),
                        Some(q) => Pos::Run(Interval { lo: cursors[bit].into(), hi: q.clone() }),
                    };
                    arrived.push((accesses[bit], pos));
                }
                let arrival = Arrival { crd: crd.clone(), stored: &arrived, valid };
                self.arrive(b, depth, step, arrival, state);
            });
            for (bit, walk) in walks.iter().enumerate() {
                let next = match &ends_of[bit] {
                    None => Expr::from(cursors[bit]) + mine[bit].clone().select(1, 0),
                    Some(q) => q.clone(),
                };
                match &walk.advance {
                    None => b.assign(cursors[bit], next),
                    Some(advance) => b.if_(mine[bit].clone(), |b| {
                        advance(b, cursors[bit].into());
                        b.assign(cursors[bit], next);
                    }),
                }
            }
        };
        if universe {
            let (domain, valid) = self.domain(step, state);
            let domain = self.part(b, depth, domain);
            return b.for_(&name, domain.lo, domain.hi, |b, crd| body(b, Some(crd), valid));
        }
        let must = (0..accesses.len()).filter(|&bit| required[bit]);
        let all_of = must.map(more).reduce(Expr::and);
        let go = all_of.unwrap_or_else(|| {
            let any = (0..accesses.len()).map(more);
            any.reduce(|a, b| Expr::binary(BinOp::Or, a, b)).expect("a walker")
        });
        b.while_(go, |b| body(b, None, false));
    }

    /// Declares the cursors of merged walks, and their ends. In the outermost loop, they are within the
    /// bounds of the part.
    pub(super) fn cursors(
        &self,
        b: &mut Builder,
        depth: usize,
        name: &str,
        walks: &[Walk<'_>],
    ) -> (Vec<Var>, Vec<Expr>) {
        let within = |b: &mut Builder, walk: &Walk<'_>| match &self.part {
            Some(part) if depth == 0 => {
                let end = b.bind("end", walk.cursor.hi.clone());
                let lo = first_from(b, walk, walk.cursor.lo.clone(), end.clone(), &part.lo);
                Interval { hi: first_from(b, walk, lo.clone(), end, &part.hi), lo }
            }
            _ => walk.cursor.clone(),
        };
        let cursors: Vec<Interval> = walks.iter().map(|walk| within(b, walk)).collect();
        let ends = cursors.iter().map(|cursor| b.bind("end", cursor.hi.clone())).collect();
        let cursors = cursors.into_iter().map(|cursor| b.var(&format!("p_{name}"), cursor.lo));
        (cursors.collect(), ends)
    }

    /// Emits tests that find the first set whose members all store the coordinate, and the code for it.
    fn sets(
        &self,
        b: &mut Builder,
        sets: &[u32],
        mine: &[Expr],
        then: &mut dyn FnMut(&mut Builder, u32),
    ) {
        let Some((&set, rest)) = sets.split_first() else { return };
        let then = std::cell::RefCell::new(then);
        if sets.len() > MERGE_MAX_TEST_CHAIN
            && let Some(bit) = (0..mine.len()).find(|&bit| !matches!(mine[bit], Expr::Bool(_)))
        {
            // One test decides whether the first member stores the coordinate. If it does, only sets with
            // it remain.
            let has = |set: &u32| set >> bit & 1 == 1;
            let with: Vec<u32> = sets
                .iter()
                .copied()
                .filter(|set| has(set) || !sets.contains(&(set | 1 << bit)))
                .collect();
            let without: Vec<u32> = sets.iter().copied().filter(|set| !has(set)).collect();
            let mut there = mine.to_vec();
            there[bit] = Expr::Bool(true);
            let mut missing = mine.to_vec();
            missing[bit] = Expr::Bool(false);
            return b.if_else(
                mine[bit].clone(),
                |b| self.sets(b, &with, &there, &mut **then.borrow_mut()),
                |b| self.sets(b, &without, &missing, &mut **then.borrow_mut()),
            );
        }
        let members = (0..mine.len()).filter(|bit| set >> bit & 1 == 1);
        let here = members.map(|bit| mine[bit].clone()).fold(Expr::Bool(true), Expr::and);
        b.if_else(
            here,
            |b| (then.borrow_mut())(b, set),
            |b| self.sets(b, rest, mine, &mut **then.borrow_mut()),
        );
    }
}
