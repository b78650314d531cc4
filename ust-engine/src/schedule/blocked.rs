//! Several iterations of a loop made one, where they share what they read in loops inside.
//!
//! ```text
//! for i in first..last {               for i in first..first + q {
//!     for k {                              for k {
//!         sum = 0                              sum = 0; sum_1 = 0
//!         for j {                              for j {
//!             b = B[j * n + k]    becomes          b = B[j * n + k]
//!             sum += A[i, j] * b                   sum += A[i, j] * b; sum_1 += A[i + q, j] * b
//!         }                                    }
//!         out[i * n + k] = sum                 out[i * n + k] = sum; if i + q < last { out[(i + q) * n + k] = sum_1 }
//!     }                                    }
//! }                                    }
//! ```

use std::collections::{BTreeSet, HashMap, HashSet};

use ust_level_api::ir::schedule::{LaneSum, Marks, carried};
use ust_level_api::ir::{BinOp, Expr, Function, Stmt, Ty, Var, VarDecl};

use super::fresh;
use super::several::{Layout, Several};
use crate::provider::plan::Facts;

/// Loops with several iterations as one.
pub(super) struct Blocked {
    pub(super) function: Function,
    pub(super) marks: Marks,
    /// Whether these are iterations of the outermost loop.
    pub(super) outermost: bool,
}

/// The loops with up to `count` iterations as one, of the outermost loop for which that is possible. `None` if there is
/// none: iterations depend on each other, share nothing that they read, or do not run the same loops inside.
pub(super) fn blocked(
    function: &Function,
    marks: &Marks,
    facts: &Facts,
    count: u32,
) -> Option<Blocked> {
    let has_own_memory = facts.arrays.iter().any(|array| array.is_work());
    if facts.rows.is_some() || has_own_memory || !facts.carried.is_empty() || !facts.outermost.owns
    {
        return None;
    }
    let mut vars = function.vars.clone();
    let mut blocking = Blocking { function, facts, marks: marks.clone(), count, vars: &mut vars };
    let (body, depth) = blocking.block(&function.body)?;
    let marks = blocking.marks;
    let function = Function { body, vars, idioms: Vec::new(), ..function.clone() };
    Some(Blocked { function, marks, outermost: depth == 0 })
}

struct Blocking<'a> {
    function: &'a Function,
    facts: &'a Facts,
    marks: Marks,
    count: u32,
    vars: &'a mut Vec<VarDecl>,
}

impl Blocking<'_> {
    /// The code with iterations of a loop as one, and the place of that loop in the order of loops.
    fn block(&mut self, body: &[Stmt]) -> Option<(Vec<Stmt>, usize)> {
        for (at, stmt) in body.iter().enumerate() {
            let Some((made, depth)) = self.stmt(stmt) else { continue };
            let mut all = body.to_vec();
            all.splice(at..=at, made);
            return Some((all, depth));
        }
        None
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<(Vec<Stmt>, usize)> {
        let Stmt::For { var, lo, hi, body } = stmt else { return None };
        if let Some(made) = self.as_one(*var, [lo, hi], body) {
            return Some(made);
        }
        let (body, depth) = self.block(body)?;
        Some((vec![Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body }], depth))
    }

    /// A loop with several iterations as one.
    fn as_one(
        &mut self,
        var: Var,
        [lo, hi]: [&Expr; 2],
        body: &[Stmt],
    ) -> Option<(Vec<Stmt>, usize)> {
        let fact = self.facts.loops.iter().find(|one| one.vars == [var])?;
        if !fact.owns
            || fact.sequential
            || fact.sum.is_some()
            || self.marks.loops.contains_key(&var)
        {
            return None;
        }
        if !carried(body).is_empty() {
            return None;
        }
        let vars = self.vars.len();
        let count = most(hi).map_or(self.count, |most| self.count.min(most));
        let step = fresh(self.vars, "step", Ty::Int);
        let each = i64::from(count);
        let rounds = (hi.clone() - lo.clone() + (each - 1)).floor_div(each);
        let names = HashMap::new();
        let mut several = Several {
            function: self.function,
            names: &names,
            vars: self.vars,
            count,
            var,
            layout: Layout::Apart { step, end: hi.clone() },
            copies: HashMap::new(),
            exist: Vec::new(),
            sums: &[],
            sharing: &self.marks.arrays,
            arrays: BTreeSet::new(),
            others: HashSet::new(),
        };
        let inside = several.iteration(body);
        let Several { copies, others, .. } = several;
        let Some(body) = inside.filter(|_| count > 1 && !others.is_empty()) else {
            self.vars.truncate(vars);
            return None;
        };
        for marks in self.marks.loops.values_mut() {
            let Some(sums) = &mut marks.lanes else { continue };
            let of = |sum: &LaneSum| {
                let rest = copies.get(&sum.var).map_or(&[][..], |copies| &copies[1..]);
                rest.iter().map(|var| LaneSum { var: *var, ..sum.clone() }).collect::<Vec<_>>()
            };
            let more: Vec<LaneSum> = sums.iter().flat_map(of).collect();
            sums.extend(more);
        }
        let hi = lo.clone() + Expr::from(step);
        let all = Stmt::For { var, lo: lo.clone(), hi, body };
        Some((vec![Stmt::Let(step, rounds), all], fact.depth))
    }
}

/// The largest value of the end of a loop, if it has a limit.
fn most(hi: &Expr) -> Option<u32> {
    match hi {
        Expr::Int(value) => u32::try_from(*value).ok(),
        Expr::Binary(BinOp::Min, a, b) => match (most(a), most(b)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        },
        _ => None,
    }
}
