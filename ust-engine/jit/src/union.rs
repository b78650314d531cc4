//! The sum of two sparse matrices, row by row. A row takes three loops: one while both rows have entries left,
//! then one for the rest of each row.

use std::collections::HashMap;

use ust_ir::{ArrayId, BinOp, Expr, Stmt, Var};

use super::recognise::Scope;

/// The compressed rows of an operand: row `i` has the entries `pos[i]..pos[i + 1]`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    pub(super) pos: ArrayId,
    pub(super) crd: ArrayId,
    pub(super) values: ArrayId,
}

/// The operation of a loop `for i`: `starts[i - first] = row`, if there is such an array. Then row `i` of `a`
/// and row `i` of `b` are merged, and their sum is appended to `crd` and `out` at `row`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Union {
    pub(super) a: Rows,
    pub(super) b: Rows,
    pub(super) row: Var,
    pub(super) crd: ArrayId,
    pub(super) out: ArrayId,
    pub(super) starts: Option<(ArrayId, Expr)>,
}

/// The [`Union`] of a loop over `i`, if the loop is one. It may reserve memory for the result.
pub(super) fn union(i: Var, body: &[Stmt], assigned: &[bool]) -> Option<Union> {
    let at = body.iter().position(|stmt| matches!(stmt, Stmt::While { .. }))?;
    let (before, loops) = body.split_at(at);
    let Merge { a, b, row, crd, out } = merge(loops, assigned)?;
    let mut lets: HashMap<Var, Expr> = HashMap::new();
    let mut starts = None;
    for stmt in before {
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let(var, value) => {
                let value = value.replaced(&|var| lets.get(&var).cloned());
                lets.insert(*var, value);
            }
            Stmt::Store(array, Expr::Binary(BinOp::Sub, at, first), Expr::Var(start))
                if starts.is_none() && **at == Expr::Var(i) && *start == row =>
            {
                // Constant in the loop.
                let fixed = matches!(**first, Expr::Var(var) if !assigned[var.0 as usize]);
                starts = fixed.then(|| Some((*array, (**first).clone())))?;
            }
            Stmt::If { then, otherwise, .. } if otherwise.is_empty() => {
                let reserves = |stmt: &Stmt| matches!(stmt, Stmt::Let(..) | Stmt::Reserve(..));
                if !then.iter().all(reserves) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    let rows = |cursor: &Cursor| {
        let Expr::Load(pos, index) = lets.get(&cursor.at)? else { return None };
        let ends = Expr::Load(*pos, Box::new(Expr::Var(i) + 1));
        let of_row = **index == Expr::Var(i) && *lets.get(&cursor.end)? == ends;
        of_row.then_some(Rows { pos: *pos, crd: cursor.crd, values: cursor.values })
    };
    let (a, b) = (rows(&a)?, rows(&b)?);
    let written = [Some(crd), Some(out), starts.as_ref().map(|(array, _)| *array)];
    let read = [a.pos, a.crd, a.values, b.pos, b.crd, b.values];
    let apart = read.iter().all(|&read| !written.contains(&Some(read)))
        && (0..3).all(|at| !written[..at].contains(&written[at]));
    apart.then_some(Union { a, b, row, crd, out, starts })
}

/// A cursor over a sparse row: its position, its end, and the arrays that it walks.
struct Cursor {
    at: Var,
    end: Var,
    crd: ArrayId,
    values: ArrayId,
}

/// A merge of two rows, and the destination of the sum.
struct Merge {
    a: Cursor,
    b: Cursor,
    row: Var,
    crd: ArrayId,
    out: ArrayId,
}

/// `while p < p_end && q < q_end { append the lesser coordinate and the sum of its values }`, then `while p <
/// p_end { append the rest }` and `while q < q_end { append the rest }`.
fn merge(stmts: &[Stmt], assigned: &[bool]) -> Option<Merge> {
    let [
        Stmt::While { cond: both, body },
        Stmt::While { cond: first, body: of_first },
        Stmt::While { cond: second, body: of_second },
    ] = stmts
    else {
        return None;
    };
    let ((p, p_end), (q, q_end)) = (below(first)?, below(second)?);
    let conditions = *both == first.clone().and(second.clone());
    // The ends of the loops do not change.
    let kept = |end: Var| !assigned[end.0 as usize];
    if !conditions || p == q || !kept(p_end) || !kept(q_end) {
        return None;
    }
    let (a_crd, a, of_a) = rest(p, of_first, assigned)?;
    let (b_crd, b, of_b) = rest(q, of_second, assigned)?;
    if of_a != of_b {
        return None;
    }
    let (crd, out, row) = of_a;
    if row == p || row == q {
        return None;
    }
    let mut scope = Scope::new(p, &[crd, out], assigned);
    let Stmt::If { cond, then, otherwise } = scope.enter(body)? else { return None };
    let load = |array: ArrayId, at: Var| Expr::Load(array, Box::new(Expr::Var(at)));
    let (j, k, x, y) = (load(a_crd, p), load(b_crd, q), load(a, p), load(b, q));
    if scope.expand(cond) != j.clone().equals(k.clone()) {
        return None;
    }
    let add = |x: Expr, y: Expr| Expr::binary(BinOp::Add, x, y);
    let one = Expr::Int(1);
    let alike = [
        Stmt::Store(crd, Expr::Var(row), j.clone()),
        Stmt::Store(out, Expr::Var(row), add(x.clone(), y.clone())),
        step(row, one.clone()),
        step(p, one.clone()),
        step(q, one),
    ];
    if effects(&scope, then)? != alike {
        return None;
    }
    let (of_a, of_b) = (j.clone().lt(k.clone()), k.clone().lt(j.clone()));
    let [_, Stmt::Store(_, _, Expr::Binary(BinOp::Add, one, other)), ..] =
        &effects(&scope, otherwise)?[..]
    else {
        return None;
    };
    // A row without the coordinate counts as zero.
    let zero = |expr: &Expr| match expr {
        Expr::Select(_, _, fill) => match **fill {
            Expr::Const(zero) if zero.same(&zero.dtype().zero()) => Some(Expr::Const(zero)),
            _ => None,
        },
        _ => None,
    };
    let (no_x, no_y) = (zero(one)?, zero(other)?);
    let apart = [
        Stmt::Store(crd, Expr::Var(row), j.min(k)),
        Stmt::Store(
            out,
            Expr::Var(row),
            add(of_a.clone().select(x, no_x), of_b.clone().select(y, no_y)),
        ),
        step(row, Expr::Int(1)),
        step(p, of_a.select(1, 0)),
        step(q, of_b.select(1, 0)),
    ];
    (effects(&scope, otherwise)? == apart).then_some(Merge {
        a: Cursor { at: p, end: p_end, crd: a_crd, values: a },
        b: Cursor { at: q, end: q_end, crd: b_crd, values: b },
        row,
        crd,
        out,
    })
}

/// `at` and `end`, if a condition is `at < end`.
fn below(cond: &Expr) -> Option<(Var, Var)> {
    match cond {
        Expr::Binary(BinOp::Lt, at, end) => match (&**at, &**end) {
            (Expr::Var(at), Expr::Var(end)) => Some((*at, *end)),
            _ => None,
        },
        _ => None,
    }
}

fn step(var: Var, by: Expr) -> Stmt {
    Stmt::Assign(var, Expr::Var(var) + by)
}

/// The stores and assignments of a body, with names replaced by their values.
fn effects(outer: &Scope<'_>, body: &[Stmt]) -> Option<Vec<Stmt>> {
    let mut scope = outer.clone();
    let mut done = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let(..) if done.is_empty() => scope.name(stmt)?,
            Stmt::Store(array, index, value) => {
                done.push(Stmt::Store(*array, scope.expand(index), scope.expand(value)));
            }
            Stmt::Assign(var, value) => done.push(Stmt::Assign(*var, scope.expand(value))),
            _ => return None,
        }
    }
    Some(done)
}

/// `crd[row] = own_crd[p]; out[row] = own[p]; row += 1; p += 1`: the arrays read, and the arrays and the
/// variable written.
#[allow(clippy::type_complexity)]
fn rest(
    p: Var,
    body: &[Stmt],
    assigned: &[bool],
) -> Option<(ArrayId, ArrayId, (ArrayId, ArrayId, Var))> {
    let done = effects(&Scope::new(p, &[], assigned), body)?;
    let [
        Stmt::Store(crd, Expr::Var(row), Expr::Load(own_crd, first)),
        Stmt::Store(out, Expr::Var(beside), Expr::Load(own, second)),
        more_rows,
        more,
    ] = &done[..]
    else {
        return None;
    };
    let here = Expr::Var(p);
    let walks = **first == here && **second == here && *more == step(p, Expr::Int(1));
    let appends = row == beside && *more_rows == step(*row, Expr::Int(1));
    (walks && appends).then_some((*own_crd, *own, (*crd, *out, *row)))
}
