//! Loops that store a sum at their end: sparse rows times a vector, and a product of dense matrices at the
//! entries of a sparse one (SDDMM).

use ust_ir::{ArrayId, Expr, Stmt, Var};

use super::recognise::{Pattern, Scope, Stream, Target, recognise, sets_constant};

/// `names; sum = 0; for inner in lo..hi { body }; out[place] = sum`.
pub(super) struct Summed<'a> {
    pub(super) names: Vec<&'a Stmt>,
    pub(super) sum: Var,
    pub(super) inner: Var,
    pub(super) lo: &'a Expr,
    pub(super) hi: &'a Expr,
    pub(super) body: &'a [Stmt],
    pub(super) out: ArrayId,
    pub(super) place: &'a Expr,
}

/// The parts of a body that has this form.
pub(super) fn summed(body: &[Stmt]) -> Option<Summed<'_>> {
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
    let whole = value == sum && zero.same(&zero.dtype().zero());
    let (names, sum, inner, out) = (names.to_vec(), *sum, *inner, *out);
    whole.then_some(Summed { names, sum, inner, lo, hi, body, out, place })
}

/// [`Pattern::Rows`]: the two loops of a sparse matrix times a vector.
pub(super) fn rows(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let Summed { names, sum, inner, lo, hi, body, out, place } = summed(body)?;
    let mut scope = Scope::new(var, &[out], assigned);
    for name in names {
        scope.name(name)?;
    }
    let place = scope.expand(place);
    let of_row = |term: &Expr| match term {
        Expr::Load(places, at) if **at == Expr::Var(var) && *places != out => Some(Some(*places)),
        Expr::Var(row) if *row == var => Some(None),
        _ => None,
    };
    let (places, to) = scope.split_by(&place, of_row)?;
    // The bounds `pos[p]` and `pos[p + 1]`.
    let [Expr::Load(array, first), Expr::Load(next, second)] = [lo, hi].map(|at| scope.expand(at))
    else {
        return None;
    };
    let (at, mut beside) = (scope.split(var, &first)?, scope.split(var, &second)?);
    beside.remove(beside.iter().position(|term| *term == Expr::Int(1))?);
    if array != next || at != beside {
        return None;
    }
    let pos = Stream { array, at };
    // A variable set in the body tells whether the row has an entry; the kernel would not set it.
    if body.iter().any(sets_constant) {
        return None;
    }
    let own = |stream: &Stream| stream.at.is_empty().then_some(stream.array);
    match recognise(inner, body, assigned)? {
        Pattern::GatherDot { target: Target::Var(into), a, crd, x, factor: None }
            if into == sum =>
        {
            let (a, crd) = (own(&a)?, own(&crd)?);
            let at: Vec<Expr> = x.at.iter().map(|term| scope.expand(term)).collect();
            let x = at.iter().all(|term| scope.constant(term)).then_some(Stream { at, ..x })?;
            let read = [pos.array, crd, a, x.array];
            let out = (!read.contains(&out)).then_some(Stream { array: out, at: to })?;
            Some(Pattern::Rows { pos, crd, a, x, out, places })
        }
        _ => None,
    }
}

/// `sum = 0; for k in lo..hi { sum += m[p] * a[.. + k] * b[crd[p] * stride + k] }; out[p] = sum`, in a
/// loop over `var`, which is `p`.
pub(super) fn sampled(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let Summed { names, sum, inner, lo, hi, body, out, place } = summed(body)?;
    let Pattern::Dot { target: Target::Var(into), a, b, factor: Some(factor) } =
        recognise(inner, body, assigned)?
    else {
        return None;
    };
    let mut scope = Scope::new(var, &[out], assigned);
    for name in names {
        scope.name(name)?;
    }
    let (lo, hi) = (scope.expand(lo), scope.expand(hi));
    if into != sum || !scope.constant(&lo) || !scope.constant(&hi) {
        return None;
    }
    let out = Stream { array: out, at: scope.split(var, &scope.expand(place))? };
    let m = scope.stream(var, &scope.expand(&factor))?;
    if [a.array, b.array].contains(&out.array) {
        return None;
    }
    // The row of an operand: the same for all entries, or read at the variable.
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
        // Rows of `b` are prefetched: `b` is the operand whose row changes.
        ((a, rows), (b, None)) => ((b, None), (a, rows?)),
        (a, (b, Some(rows))) => (a, (b, rows)),
    };
    let ((a, rows), (b, (crd, stride))) = (a, b);
    Some(Pattern::Sampled { out, m, a, rows, b, crd, stride, lo, hi })
}
