//! Loops in lanes whose iterations work on several elements.
//!
//! Side by side, a machine may access them at once:
//!
//! ```text
//! for k in 0..n {                              for k in 0..n / 2 {
//!     sum = start                                  sum = start; sum_1 = start
//!     for p {                                      for p {
//!         b = B[j * n + k]             becomes         b = B[j * n + k * 2]; b_1 = B[j * n + k * 2 + 1]
//!         sum += a[p] * b                              sum += a[p] * b; sum_1 += a[p] * b_1
//!     }                                            }
//!     out[i * n + k] = sum                         out[i * n + k * 2] = sum; out[i * n + k * 2 + 1] = sum_1
//! }                                            }
//! ```
//!
//! What does not depend on `k` is done once for all. The loops are right if `n` is a multiple of the number of elements.
//! Apart, the elements of an iteration are `k`, `k + q`, `k + 2 * q` and so on, with `q` iterations, which is right for
//! any `n`.

use std::collections::{BTreeSet, HashMap, HashSet};

use ust_level_api::ir::schedule::{Marks, Vector};
use ust_level_api::ir::{Expr, Function, Stmt, Ty, Var, VarDecl};

use super::fresh;
use super::several::{Layout, Several};

/// The loops with so many elements for each iteration of loops in lanes, side by side or apart. `None` if there are no
/// such loops.
pub(super) fn in_vectors(
    function: &Function,
    marks: &Marks,
    count: u32,
    apart: bool,
) -> Option<(Function, Marks)> {
    let mut made = Making {
        function,
        names: names(function),
        count,
        apart,
        vars: function.vars.clone(),
        marks: marks.clone(),
    };
    let body = made.block(&function.body);
    let Making { vars, marks, .. } = made;
    let found = marks.loops.values().any(|marks| marks.vector.is_some());
    let function = Function { body, vars, idioms: Vec::new(), ..function.clone() };
    found.then_some((function, marks))
}

/// The values of names that do not change.
fn names(function: &Function) -> HashMap<Var, Expr> {
    let assigned = function.assigned();
    let mut names: HashMap<Var, Expr> = HashMap::new();
    Stmt::visit_all(&function.body, &mut |stmt| {
        if let Stmt::Let(var, value) = stmt
            && !assigned[var.0 as usize]
        {
            let value = value.replaced(&|var| names.get(&var).cloned());
            names.insert(*var, value);
        }
    });
    names
}

struct Making<'a> {
    function: &'a Function,
    names: HashMap<Var, Expr>,
    count: u32,
    apart: bool,
    vars: Vec<VarDecl>,
    marks: Marks,
}

impl Making<'_> {
    fn block(&mut self, body: &[Stmt]) -> Vec<Stmt> {
        body.iter().flat_map(|stmt| self.stmt(stmt)).collect()
    }

    fn stmt(&mut self, stmt: &Stmt) -> Vec<Stmt> {
        vec![match stmt {
            Stmt::For { var, lo, hi, body } => {
                if let Some(made) = self.in_vectors(*var, lo, hi, body) {
                    return made;
                }
                let body = self.block(body);
                Stmt::For { var: *var, lo: lo.clone(), hi: hi.clone(), body }
            }
            Stmt::While { cond, body } => {
                Stmt::While { cond: cond.clone(), body: self.block(body) }
            }
            Stmt::If { cond, then, otherwise } => {
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                Stmt::If { cond: cond.clone(), then, otherwise }
            }
            other => other.clone(),
        }]
    }

    /// A loop with several elements for each iteration.
    fn in_vectors(&mut self, var: Var, lo: &Expr, hi: &Expr, body: &[Stmt]) -> Option<Vec<Stmt>> {
        let sums = self.marks.loops.get(&var)?.lanes.clone()?;
        let (Expr::Int(0), Expr::Var(extent)) = (lo, hi) else { return None };
        if extent.0 as usize >= self.function.params {
            return None;
        }
        // What elements apart share is the work of loops inside.
        let has_loop = |stmt: &Stmt| matches!(stmt, Stmt::For { .. } | Stmt::While { .. });
        if self.apart && !(sums.is_empty() && body.iter().any(has_loop)) {
            return None;
        }
        let vars = self.vars.len();
        let count = i64::from(self.count);
        let (layout, hi, mut made) = match self.apart {
            false => (Layout::SideBySide(*extent), hi.clone().floor_div(count), Vec::new()),
            true => {
                let step = fresh(&mut self.vars, "step", Ty::Int);
                let rounds = (hi.clone() + (count - 1)).floor_div(count);
                let made = vec![Stmt::Let(step, rounds)];
                (Layout::Apart { step, end: hi.clone() }, step.into(), made)
            }
        };
        let mut several = Several {
            function: self.function,
            names: &self.names,
            vars: &mut self.vars,
            count: self.count,
            var,
            layout,
            copies: HashMap::new(),
            exist: Vec::new(),
            sums: &sums,
            sharing: &self.marks.arrays,
            arrays: BTreeSet::new(),
            others: HashSet::new(),
        };
        let body = several.iteration(body);
        let arrays = several.arrays.iter().copied().collect();
        let Some(body) = body else {
            self.vars.truncate(vars);
            return None;
        };
        let vector = Vector { count: self.count, arrays, extent: *extent, apart: self.apart };
        self.marks.loops.entry(var).or_default().vector = Some(vector);
        made.push(Stmt::For { var, lo: lo.clone(), hi, body });
        Some(made)
    }
}
