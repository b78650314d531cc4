//! A transposed sparse matrix times a vector, and a list of entries (COO) times a vector.

use ust_ir::{ArrayId, BinOp, Expr, Stmt, Var};

use super::recognise::{Pattern, Scope};

/// `for q in pos[p]..pos[p + 1] { out[crd[q]] += a[q] * x[p] }`, in a loop over `var`; or
/// `x[places[p]]`.
pub(super) fn spread(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let mut scope = Scope::new(var, &[], assigned);
    let Stmt::For { var: inner, lo, hi, body } = scope.enter(body)? else { return None };
    let pos = row(lo, hi, var)?;
    let Stmt::Reduce(BinOp::Add, out, index, value) = scope.enter(body)? else { return None };
    let of_row = |expr: &Expr| match expr {
        Expr::Load(x, index) => match **index {
            Expr::Var(row) if row == var => Some((*x, None)),
            ref index => Some((*x, Some(at(index, var)?))),
        },
        _ => None,
    };
    let crd = at(&scope.expand(index), *inner)?;
    let Expr::Binary(BinOp::Mul, one, other) = scope.expand(value) else { return None };
    let (a, (x, places)) = match (at(&one, *inner), at(&other, *inner)) {
        (Some(a), None) => (a, of_row(&other)?),
        (None, Some(a)) => (a, of_row(&one)?),
        _ => return None,
    };
    let read = [Some(pos), Some(crd), Some(a), Some(x), places];
    let apart = !read.contains(&Some(*out));
    apart.then_some(Pattern::Spread { pos, crd, a, x, out: *out, places })
}

/// `pos`, if the bounds of a loop are `pos[var]` and `pos[var + 1]`.
pub(super) fn row(lo: &Expr, hi: &Expr, var: Var) -> Option<ArrayId> {
    let (Expr::Load(pos, first), Expr::Load(next, second)) = (lo, hi) else { return None };
    let is_row = **first == Expr::Var(var) && **second == Expr::Var(var) + 1 && pos == next;
    is_row.then_some(*pos)
}

/// `array`, if an expression is `array[var]`.
pub(super) fn at(expr: &Expr, var: Var) -> Option<ArrayId> {
    match expr {
        Expr::Load(array, index) if **index == Expr::Var(var) => Some(*array),
        _ => None,
    }
}

/// `out[rows[p]] += a[p] * x[crd[p]]`, in a loop over `var`. The product may first be added to a variable
/// that is zero before.
pub(super) fn entries(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let is_sum = |stmt: &Stmt| match stmt {
        Stmt::Let(sum, Expr::Const(zero)) if assigned[sum.0 as usize] => {
            zero.same(&zero.dtype().zero()).then_some(*sum)
        }
        _ => None,
    };
    let sum = body.iter().find_map(is_sum);
    let mut product = None;
    let mut rest = Vec::with_capacity(body.len());
    for stmt in body {
        match stmt {
            stmt if is_sum(stmt).is_some() => {}
            Stmt::Assign(to, Expr::Binary(BinOp::Add, before, value))
                if sum == Some(*to) && **before == Expr::Var(*to) && product.is_none() =>
            {
                product = Some((**value).clone());
            }
            stmt => rest.push(stmt.clone()),
        }
    }
    let mut scope = Scope::new(var, &[], assigned);
    let Stmt::Reduce(BinOp::Add, out, index, value) = scope.enter(&rest)? else { return None };
    let value = match (value, product) {
        (Expr::Var(of), Some(product)) if sum == Some(*of) => product,
        (value, None) if sum.is_none() => value.clone(),
        _ => return None,
    };
    let at = |expr: &Expr| at(expr, var);
    let gathered = |expr: &Expr| match expr {
        Expr::Load(x, index) => Some((*x, at(index)?)),
        _ => None,
    };
    let rows = at(&scope.expand(index))?;
    let Expr::Binary(BinOp::Mul, one, other) = scope.expand(&value) else { return None };
    let (a, (x, crd)) = match (at(&one), at(&other)) {
        (Some(a), None) => (a, gathered(&other)?),
        (None, Some(a)) => (a, gathered(&one)?),
        _ => return None,
    };
    let apart = ![rows, crd, a, x].contains(out);
    apart.then_some(Pattern::Entries { rows, crd, a, x, out: *out })
}
