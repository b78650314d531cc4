//! A product of two dense matrices, where a sparse one has entries.

use ust_level_api::ir::{Expr, Stmt, Var};

use super::recognise::{Pattern, Scope, Stream, Target, recognise};

/// `sum = 0; for k in lo..hi { sum += m[p] * a[.. + k] * b[crd[p] * stride + k] }; out[p] = sum`, in a
/// loop over `var`, which is `p`.
pub(super) fn sampled(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let body: Vec<&Stmt> = body.iter().filter(|s| !matches!(s, Stmt::Comment(_))).collect();
    let [
        ref names @ ..,
        Stmt::Let(sum, Expr::Const(zero)),
        Stmt::For { var: inner, lo, hi, body },
        Stmt::Store(out, place, Expr::Var(value)),
    ] = body[..]
    else {
        return None;
    };
    if value != sum || !zero.same(&zero.dtype().zero()) {
        return None;
    }
    let Pattern::Dot { target: Target::Var(into), a, b, factor: Some(factor) } =
        recognise(*inner, body, assigned)?
    else {
        return None;
    };
    let mut scope = Scope::new(var, &[*out], assigned);
    for name in names {
        scope.name(name)?;
    }
    let (lo, hi) = (scope.expand(lo), scope.expand(hi));
    if into != *sum || !scope.constant(&lo) || !scope.constant(&hi) {
        return None;
    }
    let out = Stream { array: *out, at: scope.split(var, &scope.expand(place))? };
    let m = scope.stream(var, &scope.expand(&factor))?;
    if [a.array, b.array].contains(&out.array) {
        return None;
    }
    // The row that is read is the same for all, or read at the variable.
    let row_of = |of: Stream| {
        let at: Vec<Expr> = of.at.iter().map(|term| scope.expand(term)).collect();
        if at.iter().all(|term| scope.constant(term)) {
            return Some((Stream { at, ..of }, None));
        }
        let sum = at.into_iter().reduce(|a, b| a + b)?;
        let (row, at) = scope.split_by(&sum, |term| scope.scaled(var, term))?;
        Some((Stream { array: of.array, at }, Some(row)))
    };
    let (a, b) = match (row_of(a)?, row_of(b)?) {
        // The one that moves is asked for ahead.
        ((a, rows), (b, None)) => ((b, None), (a, rows?)),
        (a, (b, Some(rows))) => (a, (b, rows)),
    };
    let ((a, rows), (b, (crd, stride))) = (a, b);
    Some(Pattern::Sampled { out, m, a, rows, b, crd, stride, lo, hi })
}
