//! Operations on small blocks: a product of two blocks, and dot products of rows for all elements of a block
//! (SDDMM).

use ust_ir::idiom::{By, Index, Range};
use ust_ir::{ArrayId, BinOp, Expr};

use super::nest::{Element, Inner};
use super::pattern::Stream;
use super::tuning::{BLOCK_ROW_DISTANCE, MAX_BLOCK_EXTENT};

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
        /// The first row of `b` in a later iteration of the loop that reads it, to be prefetched.
        later: Option<Stream>,
        lo: Expr,
        hi: Expr,
        counts: [i64; 2],
    },
}

/// The operation on blocks of three loops, and the conditions under which the loops are that operation, each to
/// be evaluated if those before hold. If one fails at run time, the caller must run the loops instead. With `strict`, the order of sums is kept.
pub(super) fn tile(loops: Inner<'_>, strict: bool) -> Option<(Tile, Vec<Expr>)> {
    let nest = loops.nest;
    if loops.count() != 3 || !loops.adds() || nest.list.is_some() || nest.hit.is_some() {
        return None;
    }
    let within = |inside: usize| inside > loops.from;
    let clears = nest.clear.as_ref().is_some_and(|clear| within(clear.inside));
    if clears || loops.factor().is_some() {
        return None;
    }
    // The caller evaluates conditions before the loops, so none may fail; and in the order of the loops, so that
    // a coordinate is read only where they would read it.
    let mut conditions: Vec<Expr> = Vec::new();
    let sums = nest.sum.as_ref().is_some_and(|sum| within(sum.inside));
    let counted = if sums { 2 } else { 3 };
    let mut counts = Vec::new();
    for at in 0..3 {
        if at < counted {
            let (count, rest) = count(loops, at)?;
            counts.push(count);
            conditions.extend(rest);
        }
        let inside = nest.conditions.iter().filter(|(around, _)| *around == loops.from + at + 1);
        conditions.extend(inside.map(|(_, condition)| condition.clone()));
    }
    let found = match counts[..] {
        [rows, columns] if !strict => {
            let (lo, hi) = loops.between(2)?;
            // An empty sum is zero, whatever the factors are.
            conditions.push(lo.clone().lt(hi.clone()));
            dots(loops, [rows, columns], (lo, hi))?
        }
        [rows, columns, inner] => product(loops, [rows, columns, inner])?,
        _ => return None,
    };
    let is_known = |condition: &Expr| {
        without_coordinates(condition, loops).cannot_fail() && loops.is_constant(condition)
    };
    conditions.iter().all(is_known).then_some((found, conditions))
}

/// An expression without the coordinates that loops around read: the loops read them, too.
fn without_coordinates(expr: &Expr, loops: Inner<'_>) -> Expr {
    let outer = &loops.nest.loops[..loops.from];
    expr.mapped(&|part| match part {
        Expr::Load(_, at) => {
            outer.iter().any(|one| **at == Expr::Var(one.var)).then_some(Expr::Int(0))
        }
        _ => None,
    })
}

/// The number of iterations of a loop, if it is constant under a condition: `for i in 0..min(4, rest)` has four
/// if `4 <= rest`, as blocks inside the border have.
fn count(loops: Inner<'_>, at: usize) -> Option<(i64, Option<Expr>)> {
    let Range::Between(lo, hi) = &loops.nest.loops[loops.from + at].range else { return None };
    let (count, rest) = match hi {
        Expr::Int(count) => (*count, None),
        Expr::Binary(BinOp::Min, a, b) => match (&**a, &**b) {
            (Expr::Int(count), rest) | (rest, Expr::Int(count)) => (*count, Some(rest)),
            _ => return None,
        },
        _ => return None,
    };
    let is_block = *lo == Expr::Int(0) && (1..=MAX_BLOCK_EXTENT).contains(&count);
    is_block.then(|| (count, rest.map(|rest| Expr::Int(count).le(rest.clone()))))
}

/// An element, and what each loop adds to its index.
struct Place {
    start: Stream,
    strides: Vec<Expr>,
}

impl Place {
    fn of(element: &Element<'_>) -> Option<Self> {
        Some(Self { start: element.stream(), strides: element.strides(3)? })
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

fn product(loops: Inner<'_>, counts: [i64; 3]) -> Option<Tile> {
    let [a, b] = &loops.elements()?[..] else { return None };
    let ([a, b], c) = ([Place::of(a)?, Place::of(b)?], Place::of(&loops.target()?)?);
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
    let counts = [i, j, k].map(|at| counts[at]);
    if !along(&c, k) || !along(&b, k) || !are_apart((&c.strides[k], counts[2]), &c.strides[i]) {
        return None;
    }
    Some(Tile::Product { c: c.block(i, k), a: a.block(i, j), b: b.block(j, k), counts })
}

fn dots(loops: Inner<'_>, counts: [i64; 2], (lo, hi): (Expr, Expr)) -> Option<Tile> {
    let elements = loops.elements()?;
    if elements.len() != 3 {
        return None;
    }
    let places: Option<Vec<Place>> = elements.iter().map(Place::of).collect();
    let (mut rows, m): (Vec<Place>, Vec<Place>) =
        places?.into_iter().partition(|place| place.strides[2] == Expr::Int(1));
    let (Ok([m]), Some(b), Some(a)) = (<[Place; 1]>::try_from(m), rows.pop(), rows.pop()) else {
        return None;
    };
    let out = Place::of(&loops.stored(2)?)?;
    // One variable indexes rows of `a`, the other rows of `b`.
    let moves = |place: &Place| [place.moves(0), place.moves(1)];
    let (i, j) = match (moves(&a), moves(&b)) {
        ([true, false], [false, true]) => (0, 1),
        ([false, true], [true, false]) => (1, 0),
        _ => return None,
    };
    let [of_rows, of_columns] = [0, 1].map(|at| (&out.strides[at], counts[at]));
    let apart = are_apart(of_rows, of_columns.0) || are_apart(of_columns, of_rows.0);
    if !apart || out.strides != m.strides {
        return None;
    }
    let factors = loops.nest.factors.iter().filter_map(|factor| factor.element.as_ref());
    let mut of_b = factors.filter(|(array, _)| *array == b.start.array);
    let later = of_b.next().and_then(|(array, index)| later(loops, *array, index));
    let [of_a, of_b] = [a.strides[i].clone(), b.strides[j].clone()];
    let counts = [i, j].map(|at| counts[at]);
    let (a, b) = ((a.start, of_a), (b.start, of_b));
    Some(Tile::Dots { out: out.block(i, j), m: m.start, a, b, later, lo, hi, counts })
}

/// The terms of an index outside the loops, as they are some iterations later in the loop around that reads a
/// coordinate.
fn later(loops: Inner<'_>, array: ArrayId, index: &Index) -> Option<Stream> {
    let outer = |by: By| loops.is_constant(&Expr::from(by));
    let read = index.steps.iter().find(|step| matches!(step.by, By::Read(..)) && outer(step.by))?;
    let By::Read(crd, var) = read.by else { return None };
    let last = Expr::Len(crd) - 1;
    let at = (Expr::Var(var) + BLOCK_ROW_DISTANCE).min(last);
    let others = index.steps.iter().filter(|step| step.by != read.by && outer(step.by));
    let terms = others.map(|step| Expr::from(step.by) * step.stride.clone());
    let mut at: Vec<Expr> = vec![Expr::Load(crd, Box::new(at)) * read.stride.clone()];
    at.extend(terms.chain(index.base.iter().cloned()));
    Some(Stream { array, at })
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
