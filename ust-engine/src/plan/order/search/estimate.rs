//! Estimates of the search: levels of converted operands, tables, and the cost of the result.

use ust_format::IndexExpr;
use ust_level_api::LocateCost;

use super::super::next::Next;
use super::super::{Step, Table};
use super::{Search, State};
use crate::plan::access::Access;
use crate::plan::sink::SinkKind;
use crate::tuning::{
    ADD_AGAIN_NS, ADD_IN_PLACE_NS, ADD_ROW_ELEMENT_NS, APPEND_ROW_NS,
    FULL_LEVEL_COORDINATES_PER_ENTRY, REORDER_ENTRY_NS, TABLE_COORDINATES_PER_ENTRY,
    UNSORTED_ROW_NS, WORKSPACE_ADD_NS, WORKSPACE_KERNEL_ADD_NS, WORKSPACE_ROW_NS,
};

impl Search<'_, '_> {
    /// Whether a level of a converted access may be full: it is the first of several, and has not many more
    /// coordinates than the tensor has stored elements.
    pub(super) fn may_be_full(&self, &(at, level): &(usize, usize), next: &Next) -> bool {
        let access = &self.problem.accesses[at];
        level == 0
            && access.dims.len() > 1
            && next.size <= FULL_LEVEL_COORDINATES_PER_ENTRY * access.nse
    }

    /// Whether a loop over this expression reads and writes neighbouring values of every tensor that is
    /// stored in full.
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

    /// The next level of a converted access, for a dimension along the index variable `v`.
    pub(super) fn tree_level(&self, state: &State, at: usize, v: usize) -> Next {
        let above = state.positions[at];
        let size = self.problem.extents[v];
        let positions = (above * size).min(self.problem.accesses[at].nse);
        Next {
            mergeable: true,
            searchable: true,
            padded: false,
            full: false,
            unique: true,
            locate: LocateCost::Logarithmic,
            size,
            fanout: if above > 0.0 { positions / above } else { 0.0 },
        }
    }

    /// A table for a level that is searched, and the nanoseconds that the table costs. `None` unless two
    /// loops or more are between the point where the parent's position is known and the search: else
    /// each table would be looked into by one loop only.
    pub(super) fn table(
        &self,
        state: &State,
        (at, level): (usize, usize),
        next: &Next,
    ) -> Option<(Table, f64)> {
        let (depth, count) = state.since[at];
        let entries: f64 = self.problem.accesses.iter().map(|access| access.nse).sum();
        if state.steps.len() < depth + 2 || next.size > TABLE_COORDINATES_PER_ENTRY * entries {
            return None;
        }
        Some((Table { at, level, depth }, next.table(count, state.count)?))
    }

    /// Whether the loops add a row to the result for each entry of an operand: microkernels exist for
    /// that.
    fn adds_rows(&self, state: &State) -> bool {
        let is_full = |&(at, level): &(usize, usize)| {
            state.flexible[at].is_none() && self.problem.accesses[at].levels[level].props.full
        };
        let is_listed = |step: &Step| step.walkers.is_empty() || !step.walkers.iter().all(is_full);
        let plain = |step: &Step| matches!(step.expr, IndexExpr::Var(_));
        state.steps.iter().all(plain) && state.steps.iter().skip(1).all(is_listed)
    }

    /// Nanoseconds to collect the result, and to convert it to the format asked for.
    pub(super) fn finish(&self, state: &State) -> f64 {
        let result = self.problem.result;
        let leaves = state.count.max(1.0);
        let domain = result.domain(self.problem.extents);
        let rows = (domain * (1.0 - (-leaves / domain.max(1.0)).exp())).min(leaves);
        let converted = match result.kind(&state.steps) {
            // If the outermost loop is over a summed index, each iteration passes through the result. One over blocks
            // of the result does not.
            (SinkKind::Full, _) => {
                let of = |v: &usize| result.dims.contains(v);
                let is_own =
                    |step: &Step| step.solved.iter().any(of) || step.expr.vars().iter().all(of);
                let again = state.steps.first().is_some_and(|step| !is_own(step));
                return leaves
                    * match again && !result.dims.is_empty() {
                        true if self.adds_rows(state) => ADD_ROW_ELEMENT_NS,
                        true => ADD_AGAIN_NS,
                        false => ADD_IN_PLACE_NS,
                    };
            }
            (SinkKind::Shared { .. } | SinkKind::Sorted { .. }, exact) => {
                (exact, rows * APPEND_ROW_NS)
            }
            (SinkKind::Workspace { .. }, exact) => {
                // Microkernels exist for loops without a search.
                let searches = state.steps.iter().any(|step| !step.searches.is_empty());
                let add = if searches { WORKSPACE_ADD_NS } else { WORKSPACE_KERNEL_ADD_NS };
                (exact, leaves * add + rows * WORKSPACE_ROW_NS)
            }
            (SinkKind::Unsorted, _) => (false, leaves * UNSORTED_ROW_NS),
        };
        converted.1 + if converted.0 { 0.0 } else { rows * REORDER_ENTRY_NS }
    }
}
