//! The two loops of a sparse matrix, transposed, times a vector.

use ust_level_api::ir::{BinOp, Expr, Stmt, Var};

use super::recognise::{Pattern, Scope};

/// `for q in pos[p]..pos[p + 1] { out[crd[q]] += a[q] * x[p] }`, in a loop over `var`; or
/// `x[places[p]]`.
pub(super) fn spread(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let mut scope = Scope::new(var, &[], assigned);
    let Stmt::For { var: inner, lo, hi, body } = scope.enter(body)? else { return None };
    let (Expr::Load(pos, first), Expr::Load(next, second)) = (lo, hi) else { return None };
    if **first != Expr::Var(var) || **second != Expr::Var(var) + 1 || pos != next {
        return None;
    }
    let Stmt::Reduce(BinOp::Add, out, index, value) = scope.enter(body)? else { return None };
    let at = |expr: &Expr, var: Var| match expr {
        Expr::Load(array, index) if **index == Expr::Var(var) => Some(*array),
        _ => None,
    };
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
    let read = [Some(*pos), Some(crd), Some(a), Some(x), places];
    let apart = !read.contains(&Some(*out));
    apart.then_some(Pattern::Spread { pos: *pos, crd, a, x, out: *out, places })
}
