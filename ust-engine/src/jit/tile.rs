//! Products of small blocks.

use ust_level_api::ir::{ArrayId, BinOp, Expr, Stmt, Var};

use super::recognise::{Scope, Stream};

/// Elements of a block: where it begins, and how far apart its rows are, and its columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) start: Stream,
    pub(super) strides: [i64; 2],
}

/// `c[i,k] += a[i,j] * b[j,k]` for all `i`, `j` and `k` below constants, where columns of `c` are
/// neighbours, and those of `b`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tile {
    pub(super) c: Block,
    pub(super) a: Block,
    pub(super) b: Block,
    /// How many `i`, `j` and `k` there are.
    pub(super) counts: [i64; 3],
    /// That is so only where these hold; else, whoever asked writes the loops.
    pub(super) guards: Vec<Expr>,
}

/// Loops of more rounds are no part of a block.
const MOST: i64 = 64;

/// What three loops do, the outermost of which is over `var`, if they multiply blocks. Around each of
/// the inner ones there may be conditions: nobody looks at what is done where they fail.
pub(super) fn tile(
    var: Var,
    lo: &Expr,
    hi: &Expr,
    body: &[Stmt],
    assigned: &[bool],
) -> Option<Tile> {
    let count = |lo: &Expr, hi: &Expr| match (lo, hi) {
        (Expr::Int(0), &Expr::Int(count)) if (1..=MOST).contains(&count) => Some(count),
        _ => None,
    };
    let mut loops = vec![(var, count(lo, hi)?)];
    let (mut names, mut conditions) = (Vec::new(), Vec::new());
    let mut body = body;
    let (c, index, value) = loop {
        let (last, before) = body.split_last()?;
        names.extend(before.iter().filter(|stmt| !matches!(stmt, Stmt::Comment(_))));
        body = match last {
            Stmt::For { var, lo, hi, body } if loops.len() < 3 => {
                loops.push((*var, count(lo, hi)?));
                body
            }
            Stmt::If { cond, then, .. } => {
                conditions.push(cond);
                then
            }
            Stmt::Reduce(BinOp::Add, array, index, value) if loops.len() == 3 => {
                break (*array, index, value);
            }
            _ => return None,
        };
    };
    let mut scope = Scope::new(var, &[c], assigned);
    loops[1..].iter().for_each(|&(var, _)| scope.changes(var));
    names.into_iter().try_for_each(|stmt| scope.name(stmt))?;
    let guards: Vec<Expr> = conditions.into_iter().map(|cond| scope.expand(cond)).collect();
    if !guards.iter().all(|guard| is_plain(guard) && scope.constant(guard)) {
        return None;
    }
    let Expr::Binary(BinOp::Mul, left, right) = scope.expand(value) else { return None };
    let (Expr::Load(a, of_a), Expr::Load(b, of_b)) = (*left, *right) else { return None };
    if a == c || b == c {
        return None;
    }
    let place = |array: ArrayId, index: &Expr| {
        let mut place = Place { start: Stream { array, at: Vec::new() }, strides: [0; 3] };
        place.add(&scope, &loops, index, 1)?;
        Some(place)
    };
    let [a, b] = [place(a, &of_a)?, place(b, &of_b)?];
    let c = place(c, &scope.expand(index))?;
    // Each variable moves two of the three: which, tells what it is.
    let moved = |by: [bool; 3]| {
        let is = |at: &usize| [&c, &a, &b].map(|place| place.strides[*at] != 0) == by;
        let mut found = (0..3).filter(is);
        found.next().filter(|_| found.next().is_none())
    };
    let (i, k) = (moved([true, true, false])?, moved([true, false, true])?);
    let j = moved([false, true, true])?;
    // Else the transpose is what is multiplied: the other way round.
    let (a, b, i, k) = match (c.strides[k], b.strides[k]) {
        (1, 1) => (a, b, i, k),
        _ => (b, a, k, i),
    };
    if (c.strides[k], b.strides[k]) != (1, 1) {
        return None;
    }
    let block = |place: Place, rows: usize, columns: usize| Block {
        strides: [place.strides[rows], place.strides[columns]],
        start: place.start,
    };
    let counts = [i, j, k].map(|at| loops[at].1);
    Some(Tile { c: block(c, i, k), a: block(a, i, j), b: block(b, j, k), counts, guards })
}

/// An index that is a sum of multiples of the variables of three loops, and what else is added.
struct Place {
    start: Stream,
    strides: [i64; 3],
}

impl Place {
    /// Adds so many times an expression.
    fn add(
        &mut self,
        scope: &Scope<'_>,
        loops: &[(Var, i64)],
        expr: &Expr,
        times: i64,
    ) -> Option<()> {
        if let Some(at) = loops.iter().position(|&(var, _)| *expr == Expr::Var(var)) {
            self.strides[at] = self.strides[at].checked_add(times)?;
            return Some(());
        }
        if scope.constant(expr) {
            let all = if times == 1 { expr.clone() } else { expr.clone() * times };
            self.start.at.push(all);
            return Some(());
        }
        match expr {
            Expr::Binary(BinOp::Add, a, b) => {
                self.add(scope, loops, a, times)?;
                self.add(scope, loops, b, times)
            }
            Expr::Binary(BinOp::Mul, a, b) => match (&**a, &**b) {
                (sum, Expr::Int(by)) | (Expr::Int(by), sum) => {
                    self.add(scope, loops, sum, times.checked_mul(*by)?)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether an expression may be computed where the loops would not come to it: it reads nothing, and
/// cannot fail.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Var(_) | Expr::Len(_) => true,
        Expr::Binary(op, a, b) => {
            !matches!(op, BinOp::Div | BinOp::FloorDiv | BinOp::Mod) && is_plain(a) && is_plain(b)
        }
        _ => false,
    }
}
