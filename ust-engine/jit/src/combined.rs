//! A sparse matrix times a sparse one: rows are added to a dense row, whose nonzero columns are listed.

use ust_ir::{BinOp, Expr, Stmt, Var};

use super::recognise::{Pattern, Scope};
use super::spread::at;

/// `for p in pos[crd[q]]..pos[crd[q] + 1] { k = columns[p]; if mark[k] != stamp { mark[k] = stamp;
/// list[touched] = k; touched += 1 }; sums[k] += a[q] * b[p] }`, in a loop over `var`, which is `q`.
pub(super) fn combined(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let mut scope = Scope::new(var, &[], assigned);
    let Stmt::For { var: inner, lo, hi, body } = scope.enter(body)? else { return None };
    let (Expr::Load(pos, first), Expr::Load(next, second)) = (scope.expand(lo), scope.expand(hi))
    else {
        return None;
    };
    let crd = at(&first, var)?;
    if pos != next || *second != *first + 1 {
        return None;
    }
    let (mut noted, mut sum) = (None, None);
    for stmt in body {
        match stmt {
            Stmt::Comment(_) => {}
            Stmt::Let(..) => scope.name(stmt)?,
            Stmt::If { cond, then, otherwise } if otherwise.is_empty() && noted.is_none() => {
                noted = Some((cond, then));
            }
            Stmt::Reduce(BinOp::Add, sums, index, value) if sum.is_none() => {
                sum = Some((*sums, scope.expand(index), scope.expand(value)));
            }
            _ => return None,
        }
    }
    let ((cond, then), (sums, place, value)) = (noted?, sum?);
    let columns = at(&place, *inner)?;
    let then: Vec<&Stmt> = then.iter().filter(|s| !matches!(s, Stmt::Comment(_))).collect();
    let [
        Stmt::Store(mark, of_mark, stamp),
        Stmt::Store(list, Expr::Var(touched), listed),
        Stmt::Assign(counted, more),
    ] = then[..]
    else {
        return None;
    };
    let fresh = Expr::binary(BinOp::Ne, Expr::Load(*mark, Box::new(place.clone())), stamp.clone());
    let notes = counted == touched
        && *more == Expr::Var(*touched) + 1
        && scope.expand(of_mark) == place
        && scope.expand(listed) == place
        && scope.expand(cond) == fresh;
    let Expr::Binary(BinOp::Mul, one, other) = value else { return None };
    let (a, b) = match (at(&one, var), at(&other, *inner)) {
        (Some(a), Some(b)) => (a, b),
        _ => (at(&other, var)?, at(&one, *inner)?),
    };
    let written = [sums, *mark, *list];
    let apart = sums != *mark && sums != *list && mark != list;
    let reads = [pos, crd, columns, a, b].iter().any(|read| written.contains(read));
    // The stamp is constant: a variable that the loop does not assign.
    let stamped = matches!(stamp, Expr::Var(stamp) if ![var, *inner, *touched].contains(stamp));
    let (mark, list, touched, stamp) = (*mark, *list, *touched, stamp.clone());
    (notes && apart && !reads && stamped).then_some(Pattern::Combined {
        pos,
        crd,
        a,
        columns,
        b,
        sums,
        mark,
        list,
        stamp,
        touched,
    })
}
