//! The search for the cheapest order, depth first: a state has some outer loops, and its successors add
//! one loop. A state that costs more than the best complete order is dropped.

mod estimate;

use std::collections::BTreeSet;

use ust_format::{ExprKey, IndexExpr};
use ust_level_api::LocateCost;

use super::next::Next;
use super::{Apart, Order, Problem, Step, Table, Tree};
use crate::plan::access::Access;
use crate::tuning::{
    ITERATION_NS, LOOP_BEGIN_NS, MERGE_STEPS, MERGE_WITH_ALL_STEPS, REGROUP_ENTRY_NS,
    REORDER_ENTRY_NS, STREAM_BEGIN_NS, STREAM_ITERATION_NS,
};

/// Searches the orders for one choice of converted accesses (`flexible`). It visits `most` states at
/// most, and with `any` it ends at the first complete order. Returns the number of states it visited.
pub(super) fn search(
    problem: &Problem<'_>,
    best: &mut Option<Order>,
    most: usize,
    any: bool,
    flexible: Vec<Option<Tree>>,
    conversion_cost: f64,
) -> usize {
    let state = State {
        next: vec![0; problem.accesses.len()],
        flexible,
        positions: vec![1.0; problem.accesses.len()],
        since: vec![(0, 1.0); problem.accesses.len()],
        tables: Vec::new(),
        known: BTreeSet::new(),
        keys: Vec::new(),
        steps: Vec::new(),
        first: Vec::new(),
        count: 1.0,
        cost: conversion_cost,
        conversion_cost,
    };
    let mut search = Search { problem, best, any, left: most };
    search.start(state);
    most - search.left
}

struct Search<'a, 'b> {
    problem: &'a Problem<'a>,
    best: &'b mut Option<Order>,
    any: bool,
    /// Number of states that may still be visited.
    left: usize,
}

#[derive(Clone)]
struct State {
    /// For each access, its next level.
    next: Vec<usize>,
    /// For each converted access, the levels of its tree so far.
    flexible: Vec<Option<Tree>>,
    /// For each converted access, the number of positions of its last level so far.
    positions: Vec<f64>,
    /// For each access, the number of loops around the point where its position became known, and how
    /// often the loops come there.
    since: Vec<(usize, f64)>,
    tables: Vec<Table>,
    /// The index variables that the loops so far give.
    known: BTreeSet<usize>,
    /// The expressions of the loops so far.
    keys: Vec<ExprKey>,
    steps: Vec<Step>,
    first: Vec<(usize, usize)>,
    /// Estimated number of iterations of the innermost loop so far, over all outer loops.
    count: f64,
    /// Estimated nanoseconds of conversions and of the loops so far.
    cost: f64,
    conversion_cost: f64,
}

impl Search<'_, '_> {
    fn start(&mut self, mut state: State) {
        if let Some(first) = self.add_searches(&mut state) {
            state.first = first;
            self.visit(state);
        }
    }

    /// Visits a state and, if it is not too expensive, its successors.
    fn visit(&mut self, state: State) {
        let is_done = self.left == 0 || self.any && self.best.is_some();
        self.left = self.left.saturating_sub(1);
        if is_done || self.best.as_ref().is_some_and(|best| state.cost >= best.cost) {
            return;
        }
        let problem = self.problem;
        let done = problem.indices.iter().all(|i| state.known.contains(i))
            && (0..problem.accesses.len()).all(|at| self.is_done(&state, at));
        if done {
            let cost = state.cost + self.finish(&state);
            if self.best.as_ref().is_none_or(|best| cost < best.cost) {
                *self.best = Some(Order {
                    first: state.first,
                    steps: state.steps,
                    tables: state.tables,
                    converted: state.flexible,
                    conversion_cost: state.conversion_cost,
                    cost,
                });
            }
            return;
        }
        for expr in self.candidates(&state) {
            if !self.may_be_next(&state, &expr) {
                continue;
            }
            if let Some(next) = self.with_loop(&state, &expr, None) {
                self.visit(next);
            }
            let leader = problem.leads.filter(|&at| !self.is_done(&state, at));
            // If the term has its unstored value wherever one access stores nothing, the loop may walk
            // that access alone and search the others.
            let walking = self.walking(&state, &expr);
            let alone = walking.iter().filter(|&&at| leader.is_none_or(|leader| leader == at));
            for &at in alone.filter(|_| walking.len() > 1) {
                if !problem.worth[(self.all() & !self.bit(at)) as usize]
                    && let Some(next) = self.with_loop(&state, &expr, Some(at))
                {
                    self.visit(next);
                }
            }
        }
    }

    /// Whether the next loop may run over an expression, for [`Problem::leads`] and [`Problem::apart`].
    fn may_be_next(&self, state: &State, expr: &IndexExpr) -> bool {
        if let Some(at) = self.problem.leads.filter(|&at| !self.is_done(state, at)) {
            let level = &self.problem.accesses[at].levels[state.next[at]];
            return level.key == ExprKey::new(expr);
        }
        let Some(Apart { result, sums }) = self.problem.apart else { return true };
        let next = sums.iter().find(|v| !state.known.contains(v));
        match expr {
            IndexExpr::Var(v) if result.contains(v) => true,
            IndexExpr::Var(v) => !state.steps.is_empty() && next == Some(v),
            _ => false,
        }
    }

    /// The accesses whose next level is not full and can be walked by a loop over an expression.
    fn walking(&self, state: &State, expr: &IndexExpr) -> Vec<usize> {
        let key = ExprKey::new(expr);
        let walks = |at: &usize| {
            let access = &self.problem.accesses[*at];
            if access.full || self.is_done(state, *at) {
                return false;
            }
            match (&state.flexible[*at], expr) {
                (Some(tree), IndexExpr::Var(v)) => self.unbound(*at, &tree.dims, *v).is_some(),
                (Some(_), _) => false,
                (None, _) => {
                    let level = &access.levels[state.next[*at]];
                    level.key == key && !level.props.full
                }
            }
        };
        (0..self.problem.accesses.len()).filter(walks).collect()
    }

    /// All sparse accesses, as bits.
    fn all(&self) -> u32 {
        (1_u32 << self.problem.sparse.len()) - 1
    }

    /// Whether all levels of an access are walked or searched.
    fn is_done(&self, state: &State, at: usize) -> bool {
        let access = &self.problem.accesses[at];
        if access.full {
            return true;
        }
        match &state.flexible[at] {
            Some(tree) => tree.dims.len() == access.dims.len(),
            None => state.next[at] == access.levels.len(),
        }
    }

    /// The expressions that the next loop can run over.
    fn candidates(&self, state: &State) -> Vec<IndexExpr> {
        let problem = self.problem;
        let mut exprs: Vec<IndexExpr> = Vec::new();
        let mut keys: Vec<ExprKey> = Vec::new();
        let mut push = |expr: IndexExpr| {
            let key = ExprKey::new(&expr);
            if !keys.contains(&key) {
                keys.push(key);
                exprs.push(expr);
            }
        };
        // Index variables that a remaining level gives.
        let mut given: BTreeSet<usize> = BTreeSet::new();
        for (at, access) in problem.accesses.iter().enumerate() {
            if access.full || self.is_done(state, at) {
                continue;
            }
            if state.flexible[at].is_some() {
                for &v in access.dims.iter().filter(|v| !state.known.contains(v)) {
                    push(IndexExpr::Var(v));
                    given.insert(v);
                }
            } else {
                push(access.levels[state.next[at]].expr.clone());
                given.extend(access.levels[state.next[at]..].iter().flat_map(|l| &l.vars));
            }
        }
        for &v in &problem.indices {
            if !state.known.contains(&v) && !given.contains(&v) {
                push(IndexExpr::Var(v));
            }
        }
        exprs
    }

    /// The state after a loop over an expression. The loop walks every access that can, or full levels
    /// and the access `alone` only. `None` if there is no such loop.
    fn with_loop(&self, state: &State, expr: &IndexExpr, alone: Option<usize>) -> Option<State> {
        let problem = self.problem;
        let mut state = state.clone();
        let key = ExprKey::new(expr);
        let plain = match expr {
            IndexExpr::Var(v) => Some(*v),
            _ => None,
        };
        let mut walkers = Vec::new();
        let mut size = plain.map(|v| problem.extents[v]);
        let mut fanouts = Vec::new();
        let mut together = 0_u32;
        let company = self.has_company(&state, &key, plain);
        for (at, access) in problem.accesses.iter().enumerate() {
            if access.full || self.is_done(&state, at) {
                continue;
            }
            let left_out = alone.is_some_and(|alone| alone != at);
            let level = match (&state.flexible[at], plain) {
                (Some(_), None) => continue,
                (Some(_), _) if left_out => continue,
                (Some(tree), Some(v)) => {
                    let Some(dim) = self.unbound(at, &tree.dims, v) else { continue };
                    let level = (at, tree.dims.len());
                    let mut next = self.tree_level(&state, at, v);
                    // Beside another access, visiting every coordinate is quicker than merging.
                    let full = company && self.may_be_full(&level, &next);
                    next.fanout = if full { next.size } else { next.fanout };
                    self.bind(&mut state, at, dim, &next);
                    if full {
                        state.flexible[at].as_mut().expect("a converted use").full = true;
                        walkers.push(level);
                        continue;
                    }
                    fanouts.push((at, next));
                    level
                }
                (None, _) => {
                    let level = &access.levels[state.next[at]];
                    if level.key != key || (left_out && !level.props.full) {
                        continue;
                    }
                    let this = (at, state.next[at]);
                    state.next[at] += 1;
                    size.get_or_insert(level.size);
                    if level.props.full {
                        walkers.push(this);
                        continue;
                    }
                    fanouts.push((at, level.into()));
                    this
                }
            };
            together |= self.bit(at);
            walkers.push(level);
        }
        let size = size?;
        let all = self.all();
        let universe = problem.worth[(all & !together) as usize];
        if fanouts.iter().any(|(_, n)| !n.mergeable) && (fanouts.len() > 1 || universe) {
            return None;
        }
        let walked: f64 = fanouts.iter().map(|(_, n)| n.fanout).sum();
        let (iterations, survivors) = if universe || fanouts.is_empty() {
            (size + MERGE_WITH_ALL_STEPS * walked, size)
        } else if fanouts.len() == 1 {
            (walked, walked)
        } else {
            let required: Vec<&Next> = fanouts
                .iter()
                .filter(|(at, _)| !problem.worth[(all & !self.bit(*at)) as usize])
                .map(|(_, next)| next)
                .collect();
            let densities = required.iter().map(|n| (n.fanout / n.size.max(1.0)).min(1.0));
            let survivors = match required.is_empty() {
                true => walked.min(size),
                false => (size * densities.product::<f64>()).min(walked),
            };
            (MERGE_STEPS * walked, survivors)
        };
        let [weight, begin] = match fanouts.is_empty() {
            true if self.streams(expr) => [STREAM_ITERATION_NS, STREAM_BEGIN_NS],
            _ => [ITERATION_NS, LOOP_BEGIN_NS],
        };
        state.cost += state.count * (iterations * weight + begin);
        let iterations = state.count * iterations;
        state.count *= survivors.max(1e-9);
        state.keys.push(key.clone());
        let before = state.known.clone();
        if let Some(v) = plain {
            state.known.insert(v);
        }
        let step = Step {
            key,
            expr: expr.clone(),
            walkers,
            searches: Vec::new(),
            solved: Vec::new(),
            iterations,
        };
        state.steps.push(step);
        for &(at, _) in &state.steps.last().expect("pushed above").walkers {
            state.since[at] = (state.steps.len(), state.count);
        }
        let searches = self.add_searches(&mut state)?;
        let solved = state.known.difference(&before).copied().collect();
        let step = state.steps.last_mut().expect("pushed above");
        (step.searches, step.solved) = (searches, solved);
        Some(state)
    }

    /// Whether a loop over this expression can walk the next level of several accesses.
    fn has_company(&self, state: &State, key: &ExprKey, plain: Option<usize>) -> bool {
        let has = |&(at, access): &(usize, &Access)| match (&state.flexible[at], plain) {
            _ if access.full || self.is_done(state, at) => false,
            (Some(tree), Some(v)) => self.unbound(at, &tree.dims, v).is_some(),
            (Some(_), None) => false,
            (None, _) => access.levels[state.next[at]].key == *key,
        };
        self.problem.accesses.iter().enumerate().filter(has).nth(1).is_some()
    }

    /// The bit of an access among the sparse ones.
    fn bit(&self, at: usize) -> u32 {
        self.problem.sparse.iter().position(|&s| s == at).map_or(0, |bit| 1 << bit)
    }

    /// A dimension of a converted access that runs along an index variable and has no level yet.
    fn unbound(&self, at: usize, dims: &[usize], v: usize) -> Option<usize> {
        let all = &self.problem.accesses[at].dims;
        (0..all.len()).find(|dim| all[*dim] == v && !dims.contains(dim))
    }

    /// Adds a level to the tree of a converted access.
    fn bind(&self, state: &mut State, at: usize, dim: usize, next: &Next) {
        let access = &self.problem.accesses[at];
        let tree = state.flexible[at].as_mut().expect("a converted use");
        let own = access.levels.get(tree.dims.len());
        let stays = own.is_some_and(|own| own.expr == IndexExpr::Var(access.dims[dim]));
        if !stays && !tree.moved {
            let cost = (REORDER_ENTRY_NS - REGROUP_ENTRY_NS) * access.nse;
            (tree.moved, state.cost) = (true, state.cost + cost);
            state.conversion_cost += cost;
        }
        tree.dims.push(dim);
        state.positions[at] *= next.fanout;
    }

    /// Adds a search of every level whose coordinate is known, and the index variables that follow from
    /// the levels found, until neither adds more. `None` if a level can be neither walked nor searched.
    fn add_searches(&self, state: &mut State) -> Option<Vec<(usize, usize)>> {
        let mut searches = Vec::new();
        loop {
            let mut more = false;
            for (at, access) in self.problem.accesses.iter().enumerate() {
                if access.full {
                    continue;
                }
                more |= self.solve(state, at);
                while !self.is_done(state, at) {
                    let (level, next) = match &state.flexible[at] {
                        None => {
                            let level = &access.levels[state.next[at]];
                            let known = state.keys.contains(&level.key)
                                || level.vars.iter().all(|v| state.known.contains(v));
                            if !known {
                                break;
                            }
                            let this = (at, state.next[at]);
                            state.next[at] += 1;
                            (this, Next::from(level))
                        }
                        Some(tree) => {
                            let all = &access.dims;
                            let mut unbound = (0..all.len()).filter(|dim| !tree.dims.contains(dim));
                            let Some(dim) = unbound.find(|&dim| state.known.contains(&all[dim]))
                            else {
                                break;
                            };
                            let this = (at, tree.dims.len());
                            let mut next = self.tree_level(state, at, all[dim]);
                            self.bind(state, at, dim, &next);
                            if self.may_be_full(&this, &next) {
                                next.locate = LocateCost::Constant;
                                state.flexible[at].as_mut().expect("a converted use").full = true;
                            }
                            (this, next)
                        }
                    };
                    let cost = state.count * next.search()?;
                    state.cost += match self.table(state, level, &next) {
                        Some((table, with)) if with < cost => {
                            state.tables.push(table);
                            with
                        }
                        _ => cost,
                    };
                    let needed = !self.problem.worth[(self.all() & !self.bit(at)) as usize];
                    if !next.full && needed {
                        state.count *= (next.fanout / next.size.max(1.0)).clamp(1e-9, 1.0);
                    }
                    state.since[at] = (state.steps.len(), state.count);
                    searches.push(level);
                    self.solve(state, at);
                    more = true;
                }
            }
            if !more {
                return Some(searches);
            }
        }
    }

    /// Adds the index variables that follow from an access's levels so far. Returns whether any is new.
    fn solve(&self, state: &mut State, at: usize) -> bool {
        let access = &self.problem.accesses[at];
        if state.flexible[at].is_some() {
            return false;
        }
        let before = state.known.len();
        for (dim, inverse) in access.inverse.iter().enumerate() {
            let complete = inverse.vars().into_iter().all(|level| level < state.next[at]);
            if complete {
                state.known.insert(access.dims[dim]);
            }
        }
        state.known.len() > before
    }
}
