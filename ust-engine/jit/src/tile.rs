//! Loops over small blocks: a product of two blocks, and dot products of rows for all elements of a block
//! (SDDMM).

use ust_ir::{ArrayId, BinOp, Expr, Stmt, Var};

use super::recognise::{Pattern, Scope, Stream, Target, recognise};
use super::summed::{Summed, summed};
use super::tuning::MAX_BLOCK_EXTENT;

/// A block: its first element, and its strides from row to row and from column to column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) start: Stream,
    pub(super) strides: [Expr; 2],
}

/// The operation of a nest of loops over a block.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tile {
    /// `c[i,k] += a[i,j] * b[j,k]` for all `i`, `j` and `k` below `counts`. Rows of `c` and `b` are
    /// contiguous.
    Product { c: Block, a: Block, b: Block, counts: [i64; 3] },
    /// `out[i,j] = m[i,j] * sum for k in lo..hi of a[i,k] * b[j,k]` for all `i` and `j` below `counts`. Rows
    /// of `a` and `b` are contiguous; the stride between rows stands beside each. `m` has the strides of
    /// `out`.
    Dots {
        out: Block,
        m: Stream,
        a: (Stream, Expr),
        b: (Stream, Expr),
        lo: Expr,
        hi: Expr,
        counts: [i64; 2],
    },
}

/// Nested loops that have a constant number of iterations if the conditions hold. For example, `for i in
/// 0..min(4, rest)` has four if `4 <= rest`. If a condition fails, the nest does not describe the loops.
struct Nest<'a> {
    /// Variable and number of iterations of each loop, the outermost first.
    loops: Vec<(Var, i64)>,
    /// The `let`s between the loops.
    names: Vec<&'a Stmt>,
    conditions: Vec<Expr>,
    /// The body of the innermost loop.
    body: &'a [Stmt],
}

impl<'a> Nest<'a> {
    fn of(var: Var, lo: &Expr, hi: &Expr, body: &'a [Stmt]) -> Option<Self> {
        let (loops, names, conditions) = (Vec::new(), Vec::new(), Vec::new());
        let mut nest = Nest { loops, names, conditions, body };
        if !nest.enter(var, lo, hi) {
            return None;
        }
        while let Some((last, before)) = nest.body.split_last() {
            match last {
                Stmt::For { var, lo, hi, body } => {
                    if !nest.enter(*var, lo, hi) {
                        break;
                    }
                    nest.body = body;
                }
                Stmt::If { cond, then, .. } => {
                    nest.conditions.push(cond.clone());
                    nest.body = then;
                }
                _ => break,
            }
            nest.names.extend(before.iter().filter(|stmt| !matches!(stmt, Stmt::Comment(_))));
        }
        Some(nest)
    }

    /// Adds a loop to the nest. False if its number of iterations is no constant.
    fn enter(&mut self, var: Var, lo: &Expr, hi: &Expr) -> bool {
        let (count, rest) = match hi {
            Expr::Int(count) => (*count, None),
            // Blocks at the border are cut.
            Expr::Binary(BinOp::Min, a, b) => match (&**a, &**b) {
                (Expr::Int(count), rest) | (rest, Expr::Int(count)) => (*count, Some(rest)),
                _ => return false,
            },
            _ => return false,
        };
        if *lo != Expr::Int(0) || !(1..=MAX_BLOCK_EXTENT).contains(&count) {
            return false;
        }
        self.loops.push((var, count));
        self.conditions.extend(rest.map(|rest| Expr::Int(count).le(rest.clone())));
        true
    }

    /// The scope inside all loops, which write the array `written`, and the conditions as expressions
    /// outside the loops. The caller evaluates them before the loops, so none may fail.
    fn scope<'b>(&self, written: ArrayId, assigned: &'b [bool]) -> Option<(Scope<'b>, Vec<Expr>)> {
        let mut scope = Scope::new(self.loops[0].0, &[written], assigned);
        self.loops[1..].iter().for_each(|&(var, _)| scope.changes(var));
        self.names.iter().try_for_each(|stmt| scope.name(stmt))?;
        let guards: Vec<Expr> = self.conditions.iter().map(|cond| scope.expand(cond)).collect();
        let known = guards.iter().all(|guard| guard.cannot_fail() && scope.constant(guard));
        known.then_some((scope, guards))
    }

    /// An index as a start plus multiples of the loop variables.
    fn place(&self, scope: &Scope<'_>, array: ArrayId, index: &Expr) -> Option<Place> {
        let strides = vec![Expr::Int(0); self.loops.len()];
        let mut place = Place { start: Stream { array, at: Vec::new() }, strides };
        place.add(scope, &self.loops, index, &Expr::Int(1))?;
        Some(place)
    }
}

/// The block operation of a nest of loops, the outermost of which is over `var`, and the conditions under
/// which it is that operation. If a condition fails at run time, the caller must run the loops instead.
/// With `strict`, the order of sums is kept.
pub(super) fn tile(
    var: Var,
    lo: &Expr,
    hi: &Expr,
    body: &[Stmt],
    assigned: &[bool],
    strict: bool,
) -> Option<(Tile, Vec<Expr>)> {
    let nest = Nest::of(var, lo, hi, body)?;
    match nest.loops.len() {
        2 if !strict => dots(&nest, assigned),
        3 => product(nest, assigned),
        _ => None,
    }
}

fn product(mut nest: Nest<'_>, assigned: &[bool]) -> Option<(Tile, Vec<Expr>)> {
    let (Stmt::Reduce(BinOp::Add, c, index, value), names) = nest.body.split_last()? else {
        return None;
    };
    nest.names.extend(names);
    let (scope, guards) = nest.scope(*c, assigned)?;
    let Expr::Binary(BinOp::Mul, left, right) = scope.expand(value) else { return None };
    let (Expr::Load(a, of_a), Expr::Load(b, of_b)) = (*left, *right) else { return None };
    if a == *c || b == *c {
        return None;
    }
    let [a, b] = [nest.place(&scope, a, &of_a)?, nest.place(&scope, b, &of_b)?];
    let c = nest.place(&scope, *c, &scope.expand(index))?;
    // Each variable indexes two of `c`, `a` and `b`: which two tells whether it is `i`, `j` or `k`.
    let moved = |by: [bool; 3]| {
        let is = |at: &usize| [&c, &a, &b].map(|place| place.moves(*at)) == by;
        let mut found = (0..3).filter(is);
        found.next().filter(|_| found.next().is_none())
    };
    let (i, k) = (moved([true, true, false])?, moved([true, false, true])?);
    let j = moved([false, true, true])?;
    // If rows of `c` and `b` are not contiguous, the product may be that of the transposes, b' a'.
    let along = |place: &Place, at: usize| place.strides[at] == Expr::Int(1);
    let (a, b, i, k) = match along(&c, k) && along(&b, k) {
        true => (a, b, i, k),
        false => (b, a, k, i),
    };
    let counts = [i, j, k].map(|at| nest.loops[at].1);
    if !along(&c, k) || !along(&b, k) || !are_apart((&c.strides[k], counts[2]), &c.strides[i]) {
        return None;
    }
    let product = Tile::Product { c: c.block(i, k), a: a.block(i, j), b: b.block(j, k), counts };
    Some((product, guards))
}

fn dots(nest: &Nest<'_>, assigned: &[bool]) -> Option<(Tile, Vec<Expr>)> {
    let Summed { names, sum, inner, lo, hi, body, out, place } = summed(nest.body)?;
    let Pattern::Dot { target: Target::Var(into), a, b, factor: Some(factor) } =
        recognise(inner, body, assigned)?
    else {
        return None;
    };
    if into != sum || a.array == out || b.array == out {
        return None;
    }
    let (mut scope, mut guards) = nest.scope(out, assigned)?;
    names.into_iter().try_for_each(|stmt| scope.name(stmt))?;
    let (lo, hi) = (scope.expand(lo), scope.expand(hi));
    // An empty sum is zero, whatever `m` is.
    let some = lo.clone().lt(hi.clone());
    if !some.cannot_fail() || !scope.constant(&some) {
        return None;
    }
    guards.push(some);
    let Expr::Load(m, of_m) = scope.expand(&factor) else { return None };
    let m = nest.place(&scope, m, &of_m).filter(|_| m != out)?;
    let out = nest.place(&scope, out, &scope.expand(place))?;
    let row = |of: &Stream| {
        let sum = of.at.iter().map(|term| scope.expand(term)).reduce(|a, b| a + b);
        nest.place(&scope, of.array, &sum.unwrap_or(Expr::Int(0)))
    };
    let [a, b] = [row(&a)?, row(&b)?];
    // One variable indexes rows of `a`, the other rows of `b`.
    let moves = |place: &Place| [place.moves(0), place.moves(1)];
    let (i, j) = match (moves(&a), moves(&b)) {
        ([true, false], [false, true]) => (0, 1),
        ([false, true], [true, false]) => (1, 0),
        _ => return None,
    };
    let [rows, columns] = [0, 1].map(|at| (&out.strides[at], nest.loops[at].1));
    let apart = are_apart(rows, columns.0) || are_apart(columns, rows.0);
    if !apart || out.strides != m.strides {
        return None;
    }
    let [of_a, of_b] = [a.strides[i].clone(), b.strides[j].clone()];
    let dots = Tile::Dots {
        out: out.block(i, j),
        m: m.start,
        a: (a.start, of_a),
        b: (b.start, of_b),
        lo,
        hi,
        counts: [i, j].map(|at| nest.loops[at].1),
    };
    Some((dots, guards))
}

/// An index `start + sum of strides[l] * loops[l]`, for the loop variables of a [`Nest`].
struct Place {
    start: Stream,
    strides: Vec<Expr>,
}

impl Place {
    /// Adds `times * expr` to the index.
    fn add(
        &mut self,
        scope: &Scope<'_>,
        loops: &[(Var, i64)],
        expr: &Expr,
        times: &Expr,
    ) -> Option<()> {
        if let Some(at) = loops.iter().position(|&(var, _)| *expr == Expr::Var(var)) {
            // A variable may stand in the index once.
            let first = !self.moves(at);
            self.strides[at] = times.clone();
            return first.then_some(());
        }
        if scope.constant(expr) {
            self.start.at.push(expr.clone() * times.clone());
            return Some(());
        }
        match expr {
            Expr::Binary(BinOp::Add, a, b) => {
                self.add(scope, loops, a, times)?;
                self.add(scope, loops, b, times)
            }
            Expr::Binary(BinOp::Mul, sum, by) | Expr::Binary(BinOp::Mul, by, sum)
                if scope.constant(by) =>
            {
                self.add(scope, loops, sum, &((**by).clone() * times.clone()))
            }
            _ => None,
        }
    }

    /// Whether the index depends on the variable of loop `at`.
    fn moves(&self, at: usize) -> bool {
        self.strides[at] != Expr::Int(0)
    }

    fn block(&self, rows: usize, columns: usize) -> Block {
        let strides = [rows, columns].map(|at| self.strides[at].clone());
        Block { start: self.start.clone(), strides }
    }
}

/// Whether the rows of a block do not overlap: `count` elements at stride `inner` end before the next row
/// begins, at stride `outer`. For example, 4 elements at stride 1 fit rows at stride 5.
fn are_apart((inner, count): (&Expr, i64), outer: &Expr) -> bool {
    match (inner, outer) {
        (Expr::Int(inner), Expr::Int(outer)) => {
            *inner > 0 && inner.checked_mul(count).is_some_and(|end| end <= *outer)
        }
        _ => false,
    }
}
