//! Transposition: entries are counted by column, then each entry moves to the next free place of its
//! column, which a table holds.

use ust_ir::{ArrayId, BinOp, Expr, Stmt, Var};

use super::recognise::{Pattern, Scope, Stream};
use super::spread::row;

/// [`Pattern::Scatter`]: each entry moves to the place in a table, which is incremented.
pub(super) fn scatter(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let body = statements(body);
    let [
        ref names_and_count @ ..,
        Stmt::Store(column, place, number),
        Stmt::Store(out, beside, value),
    ] = body[..]
    else {
        return None;
    };
    let (names, at, slot, next) = counted(names_and_count)?;
    let is_at = |expr: &Expr| *expr == Expr::Var(at);
    let written = [next, *column, *out];
    if !is_at(place) || !is_at(beside) || next == *column || next == *out || column == out {
        return None;
    }
    let scope = scope(var, &written, at, names, assigned)?;
    let (slot, number, value) = (scope.expand(slot), scope.expand(number), scope.expand(value));
    let (crd, keys) = scope.split_by(&slot, |term| scope.stream(var, term))?;
    let next = Stream { array: next, at: keys };
    let from = scope.stream(var, &value)?;
    let (column, out) = (*column, *out);
    scope.constant(&number).then_some(Pattern::Scatter { crd, next, column, number, from, out })
}

/// [`Pattern::ScatterRows`]: the same for all entries of a row, in a loop over rows.
pub(super) fn scatter_rows(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let [Stmt::For { var: inner, lo, hi, body }] = statements(body)[..] else { return None };
    let pos = row(lo, hi, var)?;
    let Pattern::Scatter { crd, next, column, number, from, out } =
        scatter(*inner, body, assigned)?
    else {
        return None;
    };
    let written = [next.array, column, out];
    let outer = Scope::new(var, &written, assigned);
    let number = outer.split(var, &number)?;
    let fits = crd.at.is_empty()
        && from.at.is_empty()
        && next.at.iter().all(|term| outer.constant(term))
        && !written.contains(&pos);
    let (crd, from) = (crd.array, from.array);
    fits.then_some(Pattern::ScatterRows { pos, crd, next, column, number, from, out })
}

/// [`Pattern::Count`]: the entries of rows are counted by their coordinates.
pub(super) fn count(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let [Stmt::For { var: inner, lo, hi, body }] = statements(body)[..] else { return None };
    let pos = row(lo, hi, var)?;
    let body = statements(body);
    let (names, at, slot, counts) = counted(&body)?;
    let scope = scope(*inner, &[counts], at, names, assigned)?;
    let (crd, keys) = scope.split_by(&scope.expand(slot), |term| scope.stream(*inner, term))?;
    let outer = Scope::new(var, &[counts], assigned);
    let fits = crd.at.is_empty() && pos != counts && keys.iter().all(|term| outer.constant(term));
    let counts = Stream { array: counts, at: keys };
    fits.then_some(Pattern::Count { pos, crd: crd.array, counts })
}

/// The statements of a body but for comments.
fn statements(body: &[Stmt]) -> Vec<&Stmt> {
    body.iter().filter(|stmt| !matches!(stmt, Stmt::Comment(_))).collect()
}

/// Statements that end with `at = table[slot]; table[slot] = at + 1`: the statements before, `at`, `slot`, and
/// `table`.
fn counted<'a, 'b>(body: &'a [&'b Stmt]) -> Option<(&'a [&'b Stmt], Var, &'b Expr, ArrayId)> {
    let [
        names @ ..,
        Stmt::Let(at, Expr::Load(table, slot)),
        Stmt::Store(next, same, Expr::Binary(BinOp::Add, old, one)),
    ] = body
    else {
        return None;
    };
    let counts = table == next && **slot == *same && **old == Expr::Var(*at);
    (counts && **one == Expr::Int(1)).then_some((names, *at, &**slot, *table))
}

/// The scope of a loop over `var` that writes these arrays, and sets `at` in each iteration.
fn scope<'a>(
    var: Var,
    written: &[ArrayId],
    at: Var,
    names: &[&Stmt],
    assigned: &'a [bool],
) -> Option<Scope<'a>> {
    let mut scope = Scope::new(var, written, assigned);
    scope.changes(at);
    names.iter().try_for_each(|name| scope.name(name))?;
    Some(scope)
}
