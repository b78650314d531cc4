//! Functions that append to arrays, for machines on which arrays cannot grow: one function that counts, and
//! one that fills arrays of the right length.

use super::super::{ArrayId, Expr, Function, Stmt};

/// The function without stores to arrays that grow: it counts what the function appends. Such arrays are
/// only asked for their lengths.
#[must_use]
pub fn counting(function: &Function) -> Function {
    let grows = |array: ArrayId| function.arrays[array.0 as usize].grows;
    without(function, &|stmt| match stmt {
        Stmt::Store(array, ..) | Stmt::Reduce(_, array, ..) | Stmt::Sort(array, ..) => {
            grows(*array)
        }
        _ => false,
    })
}

/// The function for arrays that are long enough from the beginning: none grows.
#[must_use]
pub fn filling(function: &Function) -> Function {
    without(function, &|_| false)
}

/// The function with arrays of fixed length, and without statements that are `dropped`.
fn without(function: &Function, dropped: &dyn Fn(&Stmt) -> bool) -> Function {
    let keep = |stmt: &Stmt| !matches!(stmt, Stmt::Reserve(..)) && !dropped(stmt);
    let mut body = kept(&function.body, &keep);
    // Names and conditions that nothing uses any more.
    loop {
        let used = used(function.vars.len(), &body);
        let next = kept(&body, &|stmt| match stmt {
            Stmt::Let(var, _) | Stmt::Assign(var, _) => used[var.0 as usize],
            Stmt::If { then, otherwise, .. } => !then.is_empty() || !otherwise.is_empty(),
            Stmt::For { body, .. } => !body.is_empty(),
            _ => true,
        });
        if statements(&next) == statements(&body) {
            break;
        }
        body = next;
    }
    let mut arrays = function.arrays.clone();
    arrays.iter_mut().for_each(|array| array.grows = false);
    // Loops that append are not what they were.
    let mut idioms = function.idioms.clone();
    idioms.retain(|idiom| {
        idiom.written().iter().all(|array| !function.arrays[array.0 as usize].grows)
    });
    Function { arrays, body, idioms, ..function.clone() }
}

fn statements(body: &[Stmt]) -> usize {
    let mut count = 0;
    Stmt::visit_all(body, &mut |_| count += 1);
    count
}

/// For each variable, whether code reads it, other than to give it another value.
fn used(vars: usize, body: &[Stmt]) -> Vec<bool> {
    let mut used = vec![false; vars];
    Stmt::visit_all(body, &mut |stmt| {
        for expr in stmt.exprs() {
            expr.visit(&mut |part| match (part, stmt) {
                (Expr::Var(var), Stmt::Assign(own, _)) if var == own => {}
                (Expr::Var(var), _) => used[var.0 as usize] = true,
                _ => {}
            });
        }
    });
    used
}

fn kept(body: &[Stmt], keep: &dyn Fn(&Stmt) -> bool) -> Vec<Stmt> {
    let of = |stmt: &Stmt| match stmt.clone() {
        Stmt::For { var, lo, hi, body } => Stmt::For { var, lo, hi, body: kept(&body, keep) },
        Stmt::While { cond, body } => Stmt::While { cond, body: kept(&body, keep) },
        Stmt::If { cond, then, otherwise } => {
            Stmt::If { cond, then: kept(&then, keep), otherwise: kept(&otherwise, keep) }
        }
        other => other,
    };
    body.iter().filter(|stmt| keep(stmt)).map(of).collect()
}
