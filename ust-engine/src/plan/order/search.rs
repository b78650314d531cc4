//! The search for the cheapest order: loop by loop, as long as what is estimated is less than the best.

mod estimate;

use std::collections::BTreeSet;

use ust_format::{ExprKey, IndexExpr};
use ust_level_api::LocateCost;

use super::next::Next;
use super::{CONVERT, Order, Problem, REGROUP, Step, Table, Tree};
use crate::plan::access::Access;

/// Looks at all orders, where these uses are converted, or until it has looked at `most`; at the
/// first complete one only where `any` will do. Says at how many it looked.
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
    /// How many more are looked at.
    left: usize,
}

#[derive(Clone)]
struct State {
    /// For each use, the next level.
    next: Vec<usize>,
    /// For each use that is converted, its levels so far.
    flexible: Vec<Option<Tree>>,
    /// For a converted use, the positions of the level above.
    positions: Vec<f64>,
    /// For each use, how many loops were open when its position became known, and how often that is.
    since: Vec<(usize, f64)>,
    tables: Vec<Table>,
    /// Index variables.
    known: BTreeSet<usize>,
    keys: Vec<ExprKey>,
    steps: Vec<Step>,
    first: Vec<(usize, usize)>,
    /// How often the innermost loop so far runs, as estimated.
    count: f64,
    cost: f64,
    conversion_cost: f64,
}

impl Search<'_, '_> {
    fn start(&mut self, mut state: State) {
        if let Some(first) = self.found(&mut state) {
            state.first = first;
            self.go(state);
        }
    }

    fn go(&mut self, state: State) {
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
            if let Some(next) = self.take(&state, &expr, None) {
                self.go(next);
            }
            // Where nothing is done without one of them, that one may lead, and others be searched.
            let walking = self.walking(&state, &expr);
            for &at in walking.iter().filter(|_| walking.len() > 1) {
                if !problem.worth[(self.all() & !self.bit(at)) as usize]
                    && let Some(next) = self.take(&state, &expr, Some(at))
                {
                    self.go(next);
                }
            }
        }
    }

    /// The uses with a level, not a full one, that a loop over an expression can walk.
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

    /// All sparse uses, as bits.
    fn all(&self) -> u32 {
        (1_u32 << self.problem.sparse.len()) - 1
    }

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

    /// What the next loop can run over.
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
        // Index variables that some level will give.
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

    /// The state after a loop over an expression, by the uses that can walk it, or one of them
    /// `alone` beside full levels; `None` where it cannot be.
    fn take(&self, state: &State, expr: &IndexExpr, alone: Option<usize>) -> Option<State> {
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
                    // Beside others, to come by every coordinate is quicker than to meet them.
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
            (size + 2.0 * walked, size)
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
            (2.5 * walked, survivors)
        };
        let [weight, begin] = match fanouts.is_empty() {
            true if self.streams(expr) => [0.25, 1.0],
            _ => [1.0, 3.0],
        };
        state.cost += state.count * (iterations * weight + begin);
        state.count *= survivors.max(1e-9);
        state.keys.push(key.clone());
        let before = state.known.clone();
        if let Some(v) = plain {
            state.known.insert(v);
        }
        let step =
            Step { key, expr: expr.clone(), walkers, searches: Vec::new(), solved: Vec::new() };
        state.steps.push(step);
        for &(at, _) in &state.steps.last().expect("pushed above").walkers {
            state.since[at] = (state.steps.len(), state.count);
        }
        let searches = self.found(&mut state)?;
        let solved = state.known.difference(&before).copied().collect();
        let step = state.steps.last_mut().expect("pushed above");
        (step.searches, step.solved) = (searches, solved);
        Some(state)
    }

    /// Whether several uses have the level that a loop runs over next.
    fn has_company(&self, state: &State, key: &ExprKey, plain: Option<usize>) -> bool {
        let has = |&(at, access): &(usize, &Access)| match (&state.flexible[at], plain) {
            _ if access.full || self.is_done(state, at) => false,
            (Some(tree), Some(v)) => self.unbound(at, &tree.dims, v).is_some(),
            (Some(_), None) => false,
            (None, _) => access.levels[state.next[at]].key == *key,
        };
        self.problem.accesses.iter().enumerate().filter(has).nth(1).is_some()
    }

    fn bit(&self, at: usize) -> u32 {
        self.problem.sparse.iter().position(|&s| s == at).map_or(0, |bit| 1 << bit)
    }

    /// A dimension of a converted use that runs along an index variable and has no level yet.
    fn unbound(&self, at: usize, dims: &[usize], v: usize) -> Option<usize> {
        let all = &self.problem.accesses[at].dims;
        (0..all.len()).find(|dim| all[*dim] == v && !dims.contains(dim))
    }

    /// Gives a converted use its next level.
    fn bind(&self, state: &mut State, at: usize, dim: usize, next: &Next) {
        let access = &self.problem.accesses[at];
        let tree = state.flexible[at].as_mut().expect("a converted use");
        let own = access.levels.get(tree.dims.len());
        let stays = own.is_some_and(|own| own.expr == IndexExpr::Var(access.dims[dim]));
        if !stays && !tree.moved {
            let cost = (CONVERT - REGROUP) * access.nse;
            (tree.moved, state.cost) = (true, state.cost + cost);
            state.conversion_cost += cost;
        }
        tree.dims.push(dim);
        state.positions[at] *= next.fanout;
    }

    /// Searches every level whose coordinate is known, and learns the index variables that this
    /// completes, until nothing more is found. `None` where a level can be neither walked nor
    /// searched.
    fn found(&self, state: &mut State) -> Option<Vec<(usize, usize)>> {
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

    /// Learns the index variables that a use's levels so far give. Says whether there were any.
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
