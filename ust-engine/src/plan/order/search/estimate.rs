//! What the search estimates: levels of operands that are converted, tables for searches, the result.

use ust_format::IndexExpr;
use ust_level_api::LocateCost;

use super::super::next::Next;
use super::super::{CONVERT, PLACES, SPARE, Step, Table};
use super::{Search, State};
use crate::plan::access::Access;
use crate::plan::sink::SinkKind;

impl Search<'_, '_> {
    /// Whether a level of a converted use may have every coordinate: the first, which is not much
    /// larger than what is stored.
    pub(super) fn may_be_full(&self, &(at, level): &(usize, usize), next: &Next) -> bool {
        let access = &self.problem.accesses[at];
        level == 0 && access.dims.len() > 1 && next.size <= SPARE * access.nse
    }

    /// Whether a loop over this runs along neighbours in every tensor that is stored in full.
    pub(super) fn streams(&self, expr: &IndexExpr) -> bool {
        let IndexExpr::Var(v) = expr else { return true };
        let used = |access: &&Access| access.full && access.dims.contains(v);
        self.problem
            .accesses
            .iter()
            .filter(used)
            .all(|access| access.levels.last().is_some_and(|last| last.expr == *expr))
            && self.problem.result.streams(*v)
    }

    /// The level that a converted use has next, for the estimate.
    pub(super) fn tree_level(&self, state: &State, at: usize, v: usize) -> Next {
        let above = state.positions[at];
        let size = self.problem.extents[v];
        let positions = (above * size).min(self.problem.accesses[at].nse);
        Next {
            mergeable: true,
            carries: false,
            padded: false,
            full: false,
            unique: true,
            locate: LocateCost::Logarithmic,
            size,
            fanout: if above > 0.0 { positions / above } else { 0.0 },
        }
    }

    /// A table for a level that is searched, and what looking everything up in it costs: where loops
    /// that do not move its use are around the innermost.
    pub(super) fn table(
        &self,
        state: &State,
        (at, level): (usize, usize),
        next: &Next,
    ) -> Option<(Table, f64)> {
        let (depth, count) = state.since[at];
        let entries: f64 = self.problem.accesses.iter().map(|access| access.nse).sum();
        if state.steps.len() < depth + 2 || next.size > PLACES * entries {
            return None;
        }
        Some((Table { at, level, depth }, next.table(count, state.count)?))
    }

    /// Whether coordinates say which rows are added to, entry by entry: kernels exist for that.
    fn adds_rows(&self, state: &State) -> bool {
        let is_full = |&(at, level): &(usize, usize)| {
            state.flexible[at].is_none() && self.problem.accesses[at].levels[level].props.full
        };
        let is_listed = |step: &Step| step.walkers.is_empty() || !step.walkers.iter().all(is_full);
        let plain = |step: &Step| matches!(step.expr, IndexExpr::Var(_));
        state.steps.iter().all(plain) && state.steps.iter().skip(1).all(is_listed)
    }

    /// The cost of the result.
    pub(super) fn finish(&self, state: &State) -> f64 {
        let result = self.problem.result;
        let leaves = state.count.max(1.0);
        let domain = result.domain(self.problem.extents);
        let rows = (domain * (1.0 - (-leaves / domain.max(1.0)).exp())).min(leaves);
        let converted = match result.kind(&state.steps) {
            // A sum around everything goes through the whole result again and again.
            (SinkKind::Full, _) => {
                let of = |v: &usize| result.dims.contains(v);
                let again = state.steps.first().is_some_and(|step| !step.solved.iter().any(of));
                return leaves
                    * match again && !result.dims.is_empty() {
                        true if self.adds_rows(state) => 0.6,
                        true => 1.0,
                        false => 0.5,
                    };
            }
            (SinkKind::Shared { .. } | SinkKind::Sorted { .. }, exact) => (exact, rows * 3.0),
            (SinkKind::Workspace { .. }, exact) => {
                // Kernels exist for loops that search nothing.
                let searches = state.steps.iter().any(|step| !step.searches.is_empty());
                (exact, leaves * if searches { 4.0 } else { 2.0 } + rows * 15.0)
            }
            (SinkKind::Unsorted, _) => (false, leaves * 60.0),
        };
        converted.1 + if converted.0 { 0.0 } else { rows * CONVERT }
    }
}
