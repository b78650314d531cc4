//! Loops that microkernels exist for, recognised by their shape.
//!
//! A pattern is an innermost loop, with up to two loops around it. Names given by `let` are first replaced by
//! their values, so that the notation of a loop does not matter. An index is the loop variable, or a
//! coordinate read at it, plus any expression that is *constant* in the loop: it contains no variable of
//! the loop and reads no array that the loop writes. Factors and bounds may be such expressions, too.

use std::collections::HashMap;

use ust_ir::{ArrayId, BinOp, Expr, Stmt, Var};

use super::combined::combined;
use super::products::products;
use super::scattered::{count, scatter, scatter_rows};
use super::spread::{entries, spread};
use super::summed::{rows, sampled};
use super::tuning::MAX_PATTERN_NODES;

/// Elements `array[sum of at + p]`, where `p` is the loop variable, or a coordinate that the loop reads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stream {
    pub(super) array: ArrayId,
    pub(super) at: Vec<Expr>,
}

/// The destination of a sum.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Target {
    /// A variable.
    Var(Var),
    /// One element, the same in every iteration.
    Element(ArrayId, Expr),
}

/// The operation of a loop `for p`. An optional factor that is `None` is left out of the product.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    /// `target += a[p] * x[crd[p]] * factor`.
    GatherDot { target: Target, a: Stream, crd: Stream, x: Stream, factor: Option<Expr> },
    /// `target += a[p] * b[p] * factor`.
    Dot { target: Target, a: Stream, b: Stream, factor: Option<Expr> },
    /// `y[p] = value`.
    Fill { y: Stream, value: Expr },
    /// `y[p] += factor * x[p]`.
    Axpy { y: Stream, x: Stream, factor: Expr },
    /// `y[p] += a[p] * x[p] * factor`.
    MultiplyAdd { y: Stream, a: Stream, x: Stream, factor: Option<Expr> },
    /// `sum = 0; for q in pos[p]..pos[p + 1] { sum += a[q] * x[crd[q]] }; out[p] = sum`, or
    /// `out[places[p]] = sum`.
    Rows { pos: Stream, crd: ArrayId, a: ArrayId, x: Stream, out: Stream, places: Option<ArrayId> },
    /// `for j in lo..hi { c[j] += a[p] * b[crd[p] * stride + j] * m[j] }`.
    Row {
        c: Stream,
        a: Stream,
        crd: Stream,
        b: Stream,
        stride: Expr,
        lo: Expr,
        hi: Expr,
        m: Option<Stream>,
    },
    /// `for j in lo..hi { c[rows[p] * pitch + j] += a[p] * b[crd[p] * stride + j] }`. Without `crd`, every
    /// iteration reads the same row of `b`.
    Added {
        c: Stream,
        rows: Stream,
        pitch: Expr,
        a: Stream,
        b: Stream,
        crd: Option<(Stream, Expr)>,
        lo: Expr,
        hi: Expr,
    },
    /// `for q in pos[p]..pos[p + 1] { for j in lo..hi { c[p * pitch + j] += a[q] * b[crd[q] * stride + j] } }`.
    /// With `clear`, these elements of `c` are set to zero first.
    Products {
        pos: ArrayId,
        crd: ArrayId,
        a: ArrayId,
        b: Stream,
        c: Stream,
        stride: Expr,
        pitch: Expr,
        lo: Expr,
        hi: Expr,
        clear: bool,
    },
    /// `for q in pos[p]..pos[p + 1] { out[crd[q]] += a[q] * x[p] }`, or `x[places[p]]`.
    Spread {
        pos: ArrayId,
        crd: ArrayId,
        a: ArrayId,
        x: ArrayId,
        out: ArrayId,
        places: Option<ArrayId>,
    },
    /// `for q in pos[crd[p]]..pos[crd[p] + 1] { sums[columns[q]] += a[p] * b[q] }`. A column whose `mark` is
    /// not `stamp` is marked, and appended to `list`, whose length is `touched`.
    Combined {
        pos: ArrayId,
        crd: ArrayId,
        a: ArrayId,
        columns: ArrayId,
        b: ArrayId,
        sums: ArrayId,
        mark: ArrayId,
        list: ArrayId,
        stamp: Expr,
        touched: Var,
    },
    /// `out[p] = m[p] * sum for k in lo..hi of a[rows[p] * pitch + k] * b[crd[p] * stride + k]`. Without
    /// `rows`, every iteration reads the same row of `a`.
    Sampled {
        out: Stream,
        m: Stream,
        a: Stream,
        rows: Option<(Stream, Expr)>,
        b: Stream,
        crd: Stream,
        stride: Expr,
        lo: Expr,
        hi: Expr,
    },
    /// `out[rows[p]] += a[p] * x[crd[p]]`.
    Entries { rows: ArrayId, crd: ArrayId, a: ArrayId, x: ArrayId, out: ArrayId },
    /// `at = next[crd[p]]; next[crd[p]] = at + 1; column[at] = number; out[at] = from[p]`.
    Scatter { crd: Stream, next: Stream, column: ArrayId, number: Expr, from: Stream, out: ArrayId },
    /// `for q in pos[p]..pos[p + 1] { at = next[crd[q]]; next[crd[q]] = at + 1; column[at] = p + number;
    /// out[at] = from[q] }`; `number` is a sum.
    ScatterRows {
        pos: ArrayId,
        crd: ArrayId,
        next: Stream,
        column: ArrayId,
        number: Vec<Expr>,
        from: ArrayId,
        out: ArrayId,
    },
    /// `for q in pos[p]..pos[p + 1] { counts[crd[q]] += 1 }`.
    Count { pos: ArrayId, crd: ArrayId, counts: Stream },
}

/// The context in which the body of a loop is analysed.
#[derive(Clone)]
pub(super) struct Scope<'a> {
    /// Variables that change while the loop runs: loop variables and sums.
    changing: Vec<Var>,
    /// The arrays that the loop writes.
    written: Vec<ArrayId>,
    /// The values of names given by `let`.
    pub(super) lets: HashMap<Var, Expr>,
    /// For each variable, whether any statement of the function assigns it.
    assigned: &'a [bool],
}

/// The pattern of a loop over `var`, if it has one. `assigned` tells of each variable whether any statement
/// of the function assigns it.
pub(super) fn recognise(var: Var, body: &[Stmt], assigned: &[bool]) -> Option<Pattern> {
    let nests = [rows, products, sampled, scatter, scatter_rows, count, spread, combined, entries];
    if let Some(found) = nests.iter().find_map(|of| of(var, body, assigned)) {
        return Some(found);
    }
    let mut scope = Scope::new(var, &[], assigned);
    // Assignments of constant truth values are left to the caller.
    let body: Vec<Stmt> = body.iter().filter(|stmt| !sets_constant(stmt)).cloned().collect();
    match scope.enter(&body)? {
        Stmt::Assign(sum, value) => {
            scope.changing.push(*sum);
            let value = scope.expand(value);
            let Expr::Binary(BinOp::Add, a, b) = &value else { return None };
            let product = match (&**a, &**b) {
                (Expr::Var(v), product) | (product, Expr::Var(v)) if v == sum => product,
                _ => return None,
            };
            scope.sum_of_products(var, Target::Var(*sum), product)
        }
        Stmt::Reduce(BinOp::Add, array, index, value) => {
            scope.written.push(*array);
            let (index, value) = (scope.expand(index), scope.expand(value));
            if scope.constant(&index) {
                return scope.sum_of_products(var, Target::Element(*array, index), &value);
            }
            let y = Stream { array: *array, at: scope.split(var, &index)? };
            let (factor, others) = scope.product(&value);
            let streams: Option<Vec<Stream>> =
                others.iter().map(|other| scope.stream(var, other)).collect();
            let mut streams = streams?.into_iter();
            Some(match (streams.next(), streams.next(), streams.next(), factor) {
                (Some(a), Some(x), None, factor) => Pattern::MultiplyAdd { y, a, x, factor },
                (Some(x), None, None, Some(factor)) => Pattern::Axpy { y, x, factor },
                _ => return None,
            })
        }
        Stmt::Store(array, index, value) => {
            scope.written.push(*array);
            let (index, value) = (scope.expand(index), scope.expand(value));
            let y = Stream { array: *array, at: scope.split(var, &index)? };
            scope.constant(&value).then_some(Pattern::Fill { y, value })
        }
        Stmt::For { var: column, lo, hi, body } => scope.row(var, *column, lo, hi, body),
        _ => None,
    }
}

/// Whether a statement assigns a variable the same truth value in every iteration.
pub(super) fn sets_constant(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Assign(_, Expr::Bool(_)))
}

/// The two factors of a product.
pub(super) fn factors(product: &Expr) -> Option<(&Expr, &Expr)> {
    match product {
        Expr::Binary(BinOp::Mul, a, b) => Some((a, b)),
        _ => None,
    }
}

/// The terms of a sum.
fn terms<'a>(expr: &'a Expr, into: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Binary(BinOp::Add, a, b) => {
            terms(a, into);
            terms(b, into);
        }
        _ => into.push(expr),
    }
}

impl<'a> Scope<'a> {
    pub(super) fn new(var: Var, written: &[ArrayId], assigned: &'a [bool]) -> Self {
        Self { changing: vec![var], written: written.to_vec(), lets: HashMap::new(), assigned }
    }

    /// Adds a variable that changes while the loop runs.
    pub(super) fn changes(&mut self, var: Var) {
        self.changing.push(var);
    }

    /// The last statement of a body whose other statements are `let`s, which are added to the names.
    pub(super) fn enter<'b>(&mut self, body: &'b [Stmt]) -> Option<&'b Stmt> {
        let mut last = None;
        for stmt in body {
            match stmt {
                Stmt::Comment(_) => {}
                _ if last.is_some() => return None,
                Stmt::Let(var, _) if !self.assigned[var.0 as usize] => self.name(stmt)?,
                stmt => last = Some(stmt),
            }
        }
        last
    }

    /// Adds the name of a `let`.
    pub(super) fn name(&mut self, stmt: &Stmt) -> Option<()> {
        let Stmt::Let(var, value) = stmt else { return None };
        let value = (!self.assigned[var.0 as usize]).then(|| self.expand(value))?;
        if size(&value) > MAX_PATTERN_NODES {
            return None;
        }
        self.lets.insert(*var, value);
        Some(())
    }

    /// An expression with names replaced by their values.
    pub(super) fn expand(&self, expr: &Expr) -> Expr {
        expr.replaced(&|var| self.lets.get(&var).cloned())
    }

    /// Whether an expression has the same value in every iteration.
    pub(super) fn constant(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Const(_) | Expr::Len(_) => true,
            Expr::Var(var) => !self.changing.contains(var),
            Expr::Load(array, a) => !self.written.contains(array) && self.constant(a),
            Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::ToInt(a) => self.constant(a),
            Expr::Binary(_, a, b) => self.constant(a) && self.constant(b),
            Expr::Select(c, a, b) => self.constant(c) && self.constant(a) && self.constant(b),
            Expr::Call(_, args) => args.iter().all(|a| self.constant(a)),
        }
    }

    /// The constant terms of an index that is the variable plus constant terms. For `3 + i + n`: `[3, n]`.
    pub(super) fn split(&self, var: Var, index: &Expr) -> Option<Vec<Expr>> {
        let (found, rest) = self.split_by(index, |term| (*term == Expr::Var(var)).then_some(()))?;
        let () = found;
        Some(rest)
    }

    /// Splits a sum into the one term that `find` accepts, and the other terms, which are constant.
    pub(super) fn split_by<T>(
        &self,
        sum: &Expr,
        find: impl Fn(&Expr) -> Option<T>,
    ) -> Option<(T, Vec<Expr>)> {
        let (mut all, mut found, mut rest) = (Vec::new(), None, Vec::new());
        terms(sum, &mut all);
        for term in all {
            match find(term) {
                Some(what) if found.is_none() => found = Some(what),
                Some(_) => return None,
                None if self.constant(term) => rest.push(term.clone()),
                None => return None,
            }
        }
        Some((found?, rest))
    }

    /// An element `array[var + constant terms]` of an array that the loop does not write.
    pub(super) fn stream(&self, var: Var, expr: &Expr) -> Option<Stream> {
        let Expr::Load(array, index) = expr else { return None };
        if self.written.contains(array) {
            return None;
        }
        Some(Stream { array: *array, at: self.split(var, index)? })
    }

    /// An element `x[crd[var + ..] + constant terms]` of an array that the loop does not write: the streams
    /// of `crd` and `x`.
    fn gathered(&self, var: Var, expr: &Expr) -> Option<(Stream, Stream)> {
        let Expr::Load(array, index) = expr else { return None };
        if self.written.contains(array) {
            return None;
        }
        let (crd, at) = self.split_by(index, |term| self.stream(var, term))?;
        Some((crd, Stream { array: *array, at }))
    }

    /// The pattern of a loop that adds `product` to `target`.
    fn sum_of_products(&self, var: Var, target: Target, product: &Expr) -> Option<Pattern> {
        let (factor, others) = self.product(product);
        let [a, b] = others[..] else { return None };
        let (first, second) = (self.stream(var, a), self.stream(var, b));
        match (first, second) {
            (Some(a), Some(b)) => Some(Pattern::Dot { target, a, b, factor }),
            (Some(a), None) => {
                let (crd, x) = self.gathered(var, b)?;
                Some(Pattern::GatherDot { target, a, crd, x, factor })
            }
            (None, Some(b)) => {
                let (crd, x) = self.gathered(var, a)?;
                Some(Pattern::GatherDot { target, a: b, crd, x, factor })
            }
            (None, None) => None,
        }
    }

    /// Splits a product into the product of its constant factors, if there are any, and the other factors.
    fn product<'e>(&self, product: &'e Expr) -> (Option<Expr>, Vec<&'e Expr>) {
        let mut all = Vec::new();
        let mut rest = vec![product];
        while let Some(next) = rest.pop() {
            match factors(next) {
                Some((a, b)) => rest.extend([b, a]),
                None => all.push(next),
            }
        }
        let (constant, others): (Vec<&Expr>, Vec<&Expr>) =
            all.into_iter().partition(|factor| self.constant(factor));
        let constant = constant.into_iter().cloned().reduce(|a, b| Expr::binary(BinOp::Mul, a, b));
        (constant, others)
    }

    /// [`Pattern::Row`] or [`Pattern::Added`]: a loop over entries whose body is a loop over columns.
    fn row(
        mut self,
        var: Var,
        column: Var,
        lo: &Expr,
        hi: &Expr,
        body: &[Stmt],
    ) -> Option<Pattern> {
        let (lo, hi) = (self.expand(lo), self.expand(hi));
        let Stmt::Reduce(BinOp::Add, array, index, value) = self.enter(body)? else {
            return None;
        };
        self.changing.push(column);
        self.written.push(*array);
        if !self.constant(&lo) || !self.constant(&hi) {
            return None;
        }
        let (index, value) = (self.expand(index), self.expand(value));
        let (rows, at) = self.row_at(var, column, &index)?;
        let c = Stream { array: *array, at };
        let (None, parts) = self.product(&value) else { return None };
        let (mut a, mut m, mut operand) = (None, None, None);
        for part in parts {
            let slot = if let Some(stream) = self.stream(var, part) {
                a.replace(stream).map(|_| ())
            } else if let (Some(stream), None) = (self.stream(column, part), &rows) {
                m.replace(stream).map(|_| ())
            } else {
                operand.replace(part).map(|_| ())
            };
            if slot.is_some() {
                return None;
            }
        }
        let (a, Expr::Load(b, index)) = (a?, operand?) else { return None };
        if *b == *array {
            return None;
        }
        let (crd, at) = self.row_at(var, column, index)?;
        let b = Stream { array: *b, at };
        match (rows, crd) {
            (Some((rows, pitch)), crd) => {
                Some(Pattern::Added { c, rows, pitch, a, b, crd, lo, hi })
            }
            (None, Some((crd, stride))) => Some(Pattern::Row { c, a, crd, b, stride, lo, hi, m }),
            (None, None) => None,
        }
    }

    /// The parts of an index `crd[var] * stride + column + constant terms` of a dense matrix.
    fn row_at(&self, var: Var, column: Var, index: &Expr) -> Option<Row> {
        let mut all = Vec::new();
        terms(index, &mut all);
        let place = all.iter().position(|&term| *term == Expr::Var(column))?;
        all.remove(place);
        let (mut row, mut at) = (None, Vec::new());
        for term in all {
            match self.scaled(var, term) {
                Some(found) if row.is_none() => row = Some(found),
                Some(_) => return None,
                None if self.constant(term) => at.push(term.clone()),
                None => return None,
            }
        }
        Some((row, at))
    }

    /// A term `crd[var + ..] * stride`, where the stride is constant: the stream of `crd`, and the stride.
    pub(super) fn scaled(&self, var: Var, term: &Expr) -> Option<(Stream, Expr)> {
        if let Some(crd) = self.stream(var, term) {
            return Some((crd, Expr::Int(1)));
        }
        let (a, b) = factors(term)?;
        match (self.stream(var, a), self.stream(var, b)) {
            (Some(crd), None) if self.constant(b) => Some((crd, b.clone())),
            (None, Some(crd)) if self.constant(a) => Some((crd, a.clone())),
            _ => None,
        }
    }
}

/// The stream of row coordinates and the stride between rows, if the row changes; and the constant terms.
type Row = (Option<(Stream, Expr)>, Vec<Expr>);

/// Number of nodes of an expression.
fn size(expr: &Expr) -> usize {
    let mut count = 0;
    expr.visit(&mut |_| count += 1);
    count
}
