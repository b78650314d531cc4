//! Loops whose bounds have names: patterns are looked for with the bounds in their places.

use std::collections::{HashMap, HashSet};

use ust_ir::{ArrayId, Expr, Stmt, Var};

/// The body with the bounds of its loops in the places of their names, if it has names that stand in bounds
/// alone. A name stays if its value reads an array that the body writes, or a variable that is assigned.
pub(super) fn with_bounds(body: &[Stmt], assigned: &[bool]) -> Option<Vec<Stmt>> {
    let (mut bounds, mut others): (HashSet<Var>, HashSet<Var>) = Default::default();
    let mut written: HashSet<ArrayId> = HashSet::new();
    Stmt::visit_all(body, &mut |stmt| {
        let used = if matches!(stmt, Stmt::For { .. }) { &mut bounds } else { &mut others };
        for expr in stmt.exprs() {
            expr.visit(&mut |part| {
                if let Expr::Var(var) = part {
                    used.insert(*var);
                }
            });
        }
        if let Stmt::Store(array, ..) | Stmt::Reduce(_, array, ..) | Stmt::Sort(array, ..) = stmt {
            written.insert(*array);
        }
    });
    let is_fixed = |value: &Expr| {
        let mut fixed = written.iter().all(|array| !value.loads(*array));
        value.visit(&mut |part| {
            fixed &= !matches!(part, Expr::Var(var) if assigned[var.0 as usize]);
        });
        fixed
    };
    let mut names: HashMap<Var, Expr> = HashMap::new();
    Stmt::visit_all(body, &mut |stmt| {
        if let Stmt::Let(var, value) = stmt
            && bounds.contains(var)
            && !others.contains(var)
            && !assigned[var.0 as usize]
            && is_fixed(value)
        {
            names.insert(*var, value.clone());
        }
    });
    (!names.is_empty()).then(|| replaced(body, &names))
}

fn replaced(body: &[Stmt], names: &HashMap<Var, Expr>) -> Vec<Stmt> {
    let with = |expr: Expr| expr.replaced(&|var| names.get(&var).cloned());
    let kept =
        body.iter().filter(|stmt| !matches!(stmt, Stmt::Let(var, _) if names.contains_key(var)));
    let each = kept.cloned().map(|stmt| match stmt {
        Stmt::For { var, lo, hi, body } => {
            Stmt::For { var, lo: with(lo), hi: with(hi), body: replaced(&body, names) }
        }
        Stmt::While { cond, body } => Stmt::While { cond, body: replaced(&body, names) },
        Stmt::If { cond, then, otherwise } => {
            Stmt::If { cond, then: replaced(&then, names), otherwise: replaced(&otherwise, names) }
        }
        other => other,
    });
    each.collect()
}
