//! The order of loops: which level of which tensor each loop walks, what is searched, and which
//! tensors are converted first because no order suits all of them.
//!
//! Every order that the tensors' levels allow is estimated, with every choice of tensors that are
//! converted, and the cheapest is taken. One unit of cost is about a nanosecond.

use std::collections::BTreeSet;

use ust_level_api::LocateCost;

use super::access::{Access, Level};
use super::sink::{Shape, SinkKind};
use crate::format::{ExprKey, IndexExpr};

/// A loop.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// What the loop runs over.
    pub(crate) key: ExprKey,
    pub(crate) expr: IndexExpr,
    /// Levels that run along: use and level.
    pub(crate) walkers: Vec<(usize, usize)>,
    /// Levels whose coordinate is known once this loop's is, in the order of searching.
    pub(crate) searches: Vec<(usize, usize)>,
    /// Index variables that are known from here on.
    pub(crate) solved: Vec<usize>,
}

/// All loops of a stage, outermost first.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// What can be searched before any loop.
    pub(crate) first: Vec<(usize, usize)>,
    pub(crate) steps: Vec<Step>,
    /// For each use, the order of dimensions of the tree that it is converted into, if it is.
    pub(crate) converted: Vec<Option<Vec<usize>>>,
    /// The estimated cost of conversions, in nanoseconds.
    pub(crate) conversion_cost: f64,
    /// The estimated cost of everything, in nanoseconds.
    pub(crate) cost: f64,
}

/// What the search is about.
pub(crate) struct Problem<'a> {
    pub(crate) accesses: &'a [Access],
    /// Extent of each index variable.
    pub(crate) extents: &'a [f64],
    /// The index variables that matter.
    pub(crate) indices: Vec<usize>,
    /// Uses that must be converted: views, duplicates, coordinates out of order.
    pub(crate) must_convert: Vec<bool>,
    /// The uses that may have nothing stored somewhere.
    pub(crate) sparse: Vec<usize>,
    /// For each set of sparse uses (as bits) that are stored, whether there is something to do.
    pub(crate) worth: Vec<bool>,
    /// What the result is like.
    pub(crate) result: &'a Shape,
}

/// Nanoseconds to convert a stored element.
const CONVERT: f64 = 30.0;
/// Orders looked at before the best one so far is taken.
const MOST_STATES: usize = 20_000;

/// Finds the cheapest order; `None` where there is none, which cannot be as long as everything may
/// be converted.
pub(crate) fn best(problem: &Problem<'_>) -> Option<Order> {
    let mut best: Option<Order> = None;
    let mut states = 0;
    let count = problem.sparse.len();
    let mut choices: Vec<u32> = (0..1_u32 << count).collect();
    choices.sort_by_key(|choice| choice.count_ones());
    for choice in choices {
        let flexible = |at: usize| {
            let bit = problem.sparse.iter().position(|&s| s == at);
            bit.is_some_and(|bit| choice >> bit & 1 == 1)
        };
        let given = 0..problem.accesses.len();
        if given.clone().any(|at| problem.must_convert[at] && !flexible(at)) {
            continue;
        }
        let conversion_cost: f64 = given
            .clone()
            .filter(|&at| flexible(at))
            .map(|at| 2000.0 + CONVERT * problem.accesses[at].nse)
            .sum();
        let state = State {
            next: vec![0; problem.accesses.len()],
            flexible: given.map(|at| flexible(at).then(Vec::new)).collect(),
            positions: vec![1.0; problem.accesses.len()],
            known: BTreeSet::new(),
            keys: Vec::new(),
            steps: Vec::new(),
            first: Vec::new(),
            count: 1.0,
            cost: conversion_cost,
            conversion_cost,
        };
        let mut search = Search { problem, best: &mut best, states: &mut states };
        search.start(state);
    }
    best
}

struct Search<'a, 'b> {
    problem: &'a Problem<'a>,
    best: &'b mut Option<Order>,
    states: &'b mut usize,
}

#[derive(Clone)]
struct State {
    /// For each use, the next level.
    next: Vec<usize>,
    /// For each use that is converted, the dimensions of its levels so far.
    flexible: Vec<Option<Vec<usize>>>,
    /// For a converted use, the positions of the level above.
    positions: Vec<f64>,
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

/// A level of a use that is next, for the estimate.
struct Next {
    mergeable: bool,
    full: bool,
    unique: bool,
    locate: LocateCost,
    size: f64,
    fanout: f64,
}

impl From<&Level> for Next {
    fn from(level: &Level) -> Self {
        Self {
            mergeable: level.mergeable,
            full: level.props.full,
            unique: level.props.unique,
            locate: level.locate,
            size: level.size,
            fanout: level.fanout,
        }
    }
}

impl Search<'_, '_> {
    fn start(&mut self, mut state: State) {
        if let Some(first) = self.found(&mut state) {
            state.first = first;
            self.go(state);
        }
    }

    fn go(&mut self, state: State) {
        *self.states += 1;
        if *self.states > MOST_STATES || self.best.as_ref().is_some_and(|b| state.cost >= b.cost) {
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
                    converted: state.flexible,
                    conversion_cost: state.conversion_cost,
                    cost,
                });
            }
            return;
        }
        for expr in self.candidates(&state) {
            if let Some(next) = self.take(&state, &expr) {
                self.go(next);
            }
        }
    }

    fn is_done(&self, state: &State, at: usize) -> bool {
        let access = &self.problem.accesses[at];
        if access.full {
            return true;
        }
        match &state.flexible[at] {
            Some(dims) => dims.len() == access.dims.len(),
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

    /// The state after a loop over an expression; `None` where it cannot be.
    fn take(&self, state: &State, expr: &IndexExpr) -> Option<State> {
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
        for (at, access) in problem.accesses.iter().enumerate() {
            if access.full || self.is_done(&state, at) {
                continue;
            }
            let level = match (&state.flexible[at], plain) {
                (Some(_), None) => continue,
                (Some(dims), Some(v)) => {
                    let Some(dim) = self.unbound(at, dims, v) else { continue };
                    let level = (at, dims.len());
                    let next = self.tree_level(&state, at, v);
                    state.bind(at, dim, &next);
                    fanouts.push((at, next));
                    level
                }
                (None, _) => {
                    let level = &access.levels[state.next[at]];
                    if level.key != key {
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
        let all = (1_u32 << problem.sparse.len()) - 1;
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
        let weight = match fanouts.is_empty() {
            true if self.streams(expr) => 0.25,
            _ => 1.0,
        };
        state.cost += state.count * (iterations * weight + 3.0);
        state.count *= survivors.max(1e-9);
        state.keys.push(key.clone());
        let before = state.known.clone();
        if let Some(v) = plain {
            state.known.insert(v);
        }
        let step =
            Step { key, expr: expr.clone(), walkers, searches: Vec::new(), solved: Vec::new() };
        state.steps.push(step);
        let searches = self.found(&mut state)?;
        let solved = state.known.difference(&before).copied().collect();
        let step = state.steps.last_mut().expect("pushed above");
        (step.searches, step.solved) = (searches, solved);
        Some(state)
    }

    /// Whether a loop over this runs along neighbours in every tensor that is stored in full.
    fn streams(&self, expr: &IndexExpr) -> bool {
        let IndexExpr::Var(v) = expr else { return true };
        let used = |access: &&Access| access.full && access.dims.contains(v);
        self.problem
            .accesses
            .iter()
            .filter(used)
            .all(|access| access.levels.last().is_some_and(|last| last.expr == *expr))
            && self.problem.result.streams(*v)
    }

    fn bit(&self, at: usize) -> u32 {
        self.problem.sparse.iter().position(|&s| s == at).map_or(0, |bit| 1 << bit)
    }

    /// A dimension of a converted use that runs along an index variable and has no level yet.
    fn unbound(&self, at: usize, dims: &[usize], v: usize) -> Option<usize> {
        let all = &self.problem.accesses[at].dims;
        (0..all.len()).find(|dim| all[*dim] == v && !dims.contains(dim))
    }

    /// The level that a converted use has next, for the estimate.
    fn tree_level(&self, state: &State, at: usize, v: usize) -> Next {
        let above = state.positions[at];
        let size = self.problem.extents[v];
        let positions = (above * size).min(self.problem.accesses[at].nse);
        Next {
            mergeable: true,
            full: false,
            unique: true,
            locate: LocateCost::Logarithmic,
            size,
            fanout: if above > 0.0 { positions / above } else { 0.0 },
        }
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
                        Some(dims) => {
                            let all = &access.dims;
                            let mut unbound = (0..all.len()).filter(|dim| !dims.contains(dim));
                            let Some(dim) = unbound.find(|&dim| state.known.contains(&all[dim]))
                            else {
                                break;
                            };
                            let this = (at, dims.len());
                            let next = self.tree_level(state, at, all[dim]);
                            state.bind(at, dim, &next);
                            (this, next)
                        }
                    };
                    let cost = match next.locate {
                        _ if next.full => 0.5,
                        _ if !next.unique => return None,
                        LocateCost::Constant => 2.0,
                        LocateCost::Logarithmic => 4.0 + 3.0 * (next.fanout + 1.0).log2(),
                        LocateCost::None => 2.0 * next.fanout + 4.0,
                    };
                    state.cost += state.count * cost;
                    if !next.full {
                        let bit = self.bit(at);
                        let all = (1_u32 << self.problem.sparse.len()) - 1;
                        if !self.problem.worth[(all & !bit) as usize] {
                            state.count *= (next.fanout / next.size.max(1.0)).clamp(1e-9, 1.0);
                        }
                    }
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

    /// The cost of the result.
    fn finish(&self, state: &State) -> f64 {
        let result = self.problem.result;
        let leaves = state.count.max(1.0);
        let domain = result.domain(self.problem.extents);
        let rows = (domain * (1.0 - (-leaves / domain.max(1.0)).exp())).min(leaves);
        let converted = match result.kind(&state.steps) {
            (SinkKind::Full, _) => return leaves * 0.5,
            (SinkKind::Sorted { .. }, exact) => (exact, rows * 3.0),
            (SinkKind::Workspace { .. }, exact) => (exact, leaves * 2.0 + rows * 15.0),
            (SinkKind::Unsorted, _) => (false, leaves * 60.0),
        };
        converted.1 + if converted.0 { 0.0 } else { rows * CONVERT }
    }
}

impl State {
    fn bind(&mut self, at: usize, dim: usize, next: &Next) {
        self.positions[at] *= next.fanout;
        self.flexible[at].as_mut().expect("a converted use").push(dim);
    }
}
