//! Several iterations of the outermost loop made one, where they share what they read in loops inside.
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

use ust_level_api::ir::schedule::{LaneSum, Marks};
use ust_level_api::ir::{Expr, Function, Stmt, Ty};

use super::fresh;
use super::several::{Layout, Several};
use crate::provider::plan::Facts;

/// The loops with `count` iterations of the outermost loop as one. `None` if these depend on each other, share nothing
/// that they read, or do not run the same loops inside.
pub(super) fn blocked(
    function: &Function,
    marks: &Marks,
    facts: &Facts,
    count: u32,
) -> Option<(Function, Marks)> {
    let has_own_memory = facts.arrays.iter().any(|array| array.is_work());
    if facts.rows.is_some() || has_own_memory || !facts.carried.is_empty() || !facts.outermost.owns
    {
        return None;
    }
    let mut outermost = facts.loops.iter().filter(|one| one.depth == 0);
    let (Some(fact), None) = (outermost.next(), outermost.next()) else { return None };
    if !fact.owns || fact.sequential || fact.sum.is_some() {
        return None;
    }
    let is_loop = |stmt: &Stmt| !matches!(stmt, Stmt::Let(..) | Stmt::Comment(_));
    let at = function.body.iter().position(is_loop)?;
    let [before @ .., Stmt::For { var, lo, hi, body }] = &function.body[..] else { return None };
    if at != before.len() || fact.vars != [*var] || marks.loops.contains_key(var) {
        return None;
    }
    let mut vars = function.vars.clone();
    let step = fresh(&mut vars, "rows", Ty::Int);
    let each = i64::from(count);
    let rounds = (hi.clone() - lo.clone() + (each - 1)).floor_div(each);
    let names = HashMap::new();
    let mut several = Several {
        function,
        names: &names,
        vars: &mut vars,
        count,
        var: *var,
        layout: Layout::Apart { step, end: hi.clone() },
        copies: HashMap::new(),
        exist: Vec::new(),
        sums: &[],
        sharing: &marks.arrays,
        arrays: BTreeSet::new(),
        others: HashSet::new(),
    };
    let inside = several.iteration(body)?;
    let Several { copies, others, .. } = several;
    if others.is_empty() {
        return None;
    }
    let mut marks = marks.clone();
    for marks in marks.loops.values_mut() {
        let Some(sums) = &mut marks.lanes else { continue };
        let of = |sum: &LaneSum| {
            let rest = copies.get(&sum.var).map_or(&[][..], |copies| &copies[1..]);
            rest.iter().map(|var| LaneSum { var: *var, ..sum.clone() }).collect::<Vec<_>>()
        };
        let more: Vec<LaneSum> = sums.iter().flat_map(of).collect();
        sums.extend(more);
    }
    let mut all = before.to_vec();
    all.push(Stmt::Let(step, rounds));
    let hi = lo.clone() + Expr::from(step);
    all.push(Stmt::For { var: *var, lo: lo.clone(), hi, body: inside });
    Some((Function { body: all, vars, idioms: Vec::new(), ..function.clone() }, marks))
}
