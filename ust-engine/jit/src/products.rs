//! A sparse matrix times a dense one, row by row.

use ust_ir::{Expr, Stmt, Var};

use super::recognise::{Pattern, Scope, Stream, factors, recognise, sets_constant};

/// `for q in pos[p]..pos[p + 1] { for j { c[p * pitch + j] += a[q] * b[crd[q] * stride + j] } }`, in
/// a loop over `var`, which may set the row of `c` to zero first.
pub(super) fn products(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let body: Vec<&Stmt> = body.iter().filter(|s| !matches!(s, Stmt::Comment(_))).collect();
    let (Stmt::For { var: inner, lo, hi, body }, before) = body.split_last()? else { return None };
    let (Expr::Load(pos, first), Expr::Load(next, second)) = (lo, hi) else { return None };
    if **first != Expr::Var(var) || **second != Expr::Var(var) + 1 || pos != next {
        return None;
    }
    // A variable set in the body tells whether the row has an entry; the kernel would not set it.
    if body.iter().any(sets_constant) {
        return None;
    }
    let Pattern::Row { c, a, crd, b, stride, lo, hi, m: None } = recognise(*inner, body, assigned)?
    else {
        return None;
    };
    if *pos == c.array || !a.at.is_empty() || !crd.at.is_empty() {
        return None;
    }
    let mut scope = Scope::new(var, &[c.array], assigned);
    let (names, clear) = match before {
        [names @ .., Stmt::For { var: column, lo, hi, body }] => {
            (names, Some((lo, hi, recognise(*column, body, assigned)?)))
        }
        names => (names, None),
    };
    for name in names {
        scope.name(name)?;
    }
    let expand = |terms: &[Expr]| terms.iter().map(|term| scope.expand(term)).collect::<Vec<_>>();
    let (at, lo, hi) = (expand(&c.at), scope.expand(&lo), scope.expand(&hi));
    if let Some((from, to, fill)) = &clear {
        let Pattern::Fill { y, value: Expr::Const(zero) } = fill else { return None };
        let whole = y.array == c.array
            && expand(&y.at) == at
            && (scope.expand(from), scope.expand(to)) == (lo.clone(), hi.clone());
        if !whole || !zero.same(&zero.dtype().zero()) {
            return None;
        }
    }
    let pitch = |term: &Expr| match factors(term) {
        None => (*term == Expr::Var(var)).then_some(Expr::Int(1)),
        Some((row, pitch)) if *row == Expr::Var(var) => Some(pitch.clone()),
        Some((pitch, row)) => (*row == Expr::Var(var)).then(|| pitch.clone()),
    };
    let sum = at.into_iter().reduce(|a, b| a + b)?;
    let (pitch, at) = scope.split_by(&sum, pitch)?;
    let (stride, of_b) = (scope.expand(&stride), expand(&b.at));
    let same = [&pitch, &stride, &lo, &hi].into_iter().chain(&of_b).all(|e| scope.constant(e));
    same.then_some(Pattern::Products {
        pos: *pos,
        crd: crd.array,
        a: a.array,
        b: Stream { array: b.array, at: of_b },
        c: Stream { array: c.array, at },
        stride,
        pitch,
        lo,
        hi,
        clear: clear.is_some(),
    })
}
