//! Products of small blocks, and products of rows for all places of one.

use ust_ir::idiom::{Leaf, Sum, Target};
use ust_ir::interp::Memory;
use ust_ir::testing::write_leaf;
use ust_ir::{BinOp, Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways, all_near, loops_of, nest_of};
use crate::tile::{Tile, tile};

/// The difference from the plain loops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum But {
    Nothing,
    /// A factor is read from the result.
    Overlaps,
    /// The other factor moves with every loop.
    Moves,
    /// Blocks are cut by what is read.
    Reads,
    /// The larger number is kept, not the sum.
    Max,
    /// Rows of the result overlap.
    Meets,
    /// Products are halved.
    Scaled,
    /// Every loop has at most as many iterations as `limit` says.
    Least,
}

/// How many `i`, `j` and `k` there are in a whole block.
const SIZES: [i64; 3] = [3, 2, 4];

/// `c[i,k] += a[i,j] * b[j,k]` in blocks `p` of three arrays, with loops in some order. Blocks may be
/// cut to `limit` rows; `by_columns` says of each matrix how its blocks are stored.
fn loops(order: [usize; 3], by_columns: [bool; 3], guarded: usize, but: But) -> Function {
    let mut b = Builder::new("tile");
    let [p, limit] = ["p", "limit"].map(|name| b.param(name, Ty::Int));
    let [x, y, out] = [("a", false), ("b", false), ("out", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    let [i, j, k] = SIZES;
    let at = p.clone();
    let index = move |by_columns: bool, [row, column]: [&Expr; 2], [rows, columns]: [i64; 2]| {
        // As loops over levels write it.
        match by_columns {
            false => (at.clone() * rows + row.clone()) * columns + column.clone(),
            true => (at.clone() * columns + column.clone()) * rows + row.clone(),
        }
    };
    let inner = move |b: &mut Builder, at: &[Option<Expr>; 3]| {
        let [row, sum, column] = at.each_ref().map(|at| at.as_ref().unwrap());
        let other = if but == But::Moves { row.clone() + sum.clone() } else { sum.clone() };
        let from = if but == But::Overlaps { out } else { x };
        let one = b.load(from, index(by_columns[0], [row, sum], [i, j]));
        let one = b.bind("one", one);
        let two = b.load(y, index(by_columns[1], [&other, column], [j, k]));
        let to = match but {
            But::Meets => p.clone() + row.clone() + column.clone(),
            _ => index(by_columns[2], [row, column], [i, k]),
        };
        let op = if but == But::Max { BinOp::Max } else { BinOp::Add };
        let mut factors = vec![one, two];
        if but == But::Scaled {
            factors.insert(0, Expr::Const(0.5.into()));
        }
        write_leaf(b, Leaf { op: Some(op), ..Leaf::product(Target::Element(out, to), factors) });
    };
    struct Nest<'a> {
        order: [usize; 3],
        guarded: usize,
        limit: Expr,
        least: bool,
        inner: &'a dyn Fn(&mut Builder, &[Option<Expr>; 3]),
    }
    impl Nest<'_> {
        fn write(&self, b: &mut Builder, depth: usize, at: &[Option<Expr>; 3]) {
            let Some(&which) = self.order.get(depth) else { return (self.inner)(b, at) };
            let round = |b: &mut Builder, var: Expr| {
                let mut at = at.clone();
                at[which] = Some(var);
                self.write(b, depth + 1, &at);
            };
            let size = SIZES[which];
            if self.least {
                return b.for_("c", 0.into(), Expr::Int(size).min(self.limit.clone()), round);
            }
            // The caller has written the condition around the outermost loop.
            if depth == 0 || self.guarded != which {
                return b.for_("c", 0.into(), size.into(), round);
            }
            let rest = b.bind("rest", self.limit.clone());
            b.if_else(
                Expr::Int(size).le(rest.clone()),
                |b| b.for_("c", 0.into(), size.into(), round),
                |b| b.for_("c", 0.into(), rest.clone(), round),
            );
        }
    }
    let limit = if but == But::Reads { Expr::ToInt(Box::new(b.load(x, 0.into()))) } else { limit };
    Nest { order, guarded, limit, least: but == But::Least, inner: &inner }.write(
        &mut b,
        0,
        &[None, None, None],
    );
    b.finish()
}

fn found(function: &Function) -> Option<(Tile, Vec<Expr>)> {
    loops_of(function).into_iter().find_map(|var| tile(nest_of(function, var)?, false))
}

#[test]
fn blocks_are_multiplied_as_the_interpreter_does() {
    const ORDERS: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let all = [
        But::Nothing,
        But::Overlaps,
        But::Moves,
        But::Reads,
        But::Max,
        But::Least,
        But::Meets,
        But::Scaled,
    ];
    let cases = ORDERS.iter().flat_map(|&order| (0..8).map(move |layout| (order, layout)));
    let cases = cases.flat_map(|case| (0..4).map(move |guarded| (case, guarded)));
    for (((order, layout), guarded), but) in cases.flat_map(|case| all.map(|but| (case, but))) {
        let by_columns = [1, 2, 4].map(|bit| layout & bit != 0);
        let function = loops(order, by_columns, guarded, but);
        let cuts = guarded < 3 && order[0] != guarded;
        // Whatever is different, is so in each order of loops.
        if but == But::Reads && !cuts || but != But::Nothing && layout != guarded {
            continue;
        }
        let [of_a, of_b, of_c] = by_columns;
        // Contiguous rows of the result need contiguous rows of a factor.
        let along = if of_c { of_a } else { !of_b };
        let tile = found(&function);
        let known = along && matches!(but, But::Nothing | But::Least);
        assert_eq!(tile.is_some(), known, "{order:?} {by_columns:?} {guarded} {but:?}\n{function}");
        let expected = if but == But::Least { 3 } else { cuts.into() };
        assert_eq!(tile.map_or(0, |(_, guards)| guards.len()), if known { expected } else { 0 });
        if but == But::Overlaps {
            assert_eq!(function.idioms, [], "{function}");
        }
        let numbers = |of: f64| (0..200).map(|at| (f64::from(at) * of).sin()).collect::<Vec<_>>();
        // The first number is read as a number of iterations.
        let (mut x, y) = (numbers(0.7), numbers(1.3));
        x[0] = 2.0;
        let run = |limit: i64, run: Run<'_>| {
            let mut out = numbers(0.4);
            let mut memory =
                [Memory::values(&x), Memory::values(&y), Memory::values_mut(&mut out[..])];
            run(&[5.into(), limit.into()], &mut memory);
            out
        };
        let ways = Ways::of(function);
        for limit in [1, 2, 3, 9] {
            let case = (order, by_columns, guarded, but, limit);
            ways.near(
                case,
                |way| run(limit, way),
                |a, b| all_near(a, b, |a, b| (a - b).abs() <= 1e-14),
            );
        }
    }
}

/// The difference from `out[i,j] = m[i,j] * sum of a[i,k] * b[j,k]`, in blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Other {
    Nothing,
    /// Rows of `b` are those of `a`.
    Rows,
    /// Rows of the result overlap.
    Meets,
    /// `m` is another block that is stored the other way round.
    Turned,
    /// Products are halved.
    Scaled,
    /// Sums begin at one.
    One,
    /// The loop reads the array that it writes.
    Overlaps,
}

fn rows(turned: bool, by_columns: bool, guarded: bool, other: Other) -> Function {
    let mut b = Builder::new("dots");
    let [p, limit, lo, hi] = ["p", "limit", "lo", "hi"].map(|name| b.param(name, Ty::Int));
    let [m, x, y, out] = [("m", false), ("a", false), ("b", false), ("out", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    let sizes = [5, 3];
    let place = {
        let p = p.clone();
        move |by_columns: bool, row: &Expr, column: &Expr| match by_columns {
            false => (p.clone() * sizes[0] + row.clone()) * sizes[1] + column.clone(),
            true => (p.clone() * sizes[1] + column.clone()) * sizes[0] + row.clone(),
        }
    };
    let body = |b: &mut Builder, i: &Expr, j: &Expr| {
        let at = match other {
            Other::Meets => p.clone() + i.clone() + j.clone(),
            _ => place(by_columns, i, j),
        };
        let at = b.bind("at", at);
        let of_m = match other {
            Other::Turned => place(!by_columns, i, j),
            _ => at.clone(),
        };
        let value = b.load(if other == Other::Overlaps { out } else { m }, of_m);
        let value = b.bind("value", value);
        let row = b.bind("row", p.clone() * sizes[0] + i.clone());
        let of_b = if other == Other::Rows { i } else { j };
        let column = b.bind("column", p.clone() * sizes[1] + of_b.clone());
        let first = if other == Other::One { 1.0 } else { 0.0 };
        let sum = b.var("sum", Expr::Const(first.into()));
        let inside = b.open_loops();
        b.for_("k", lo.clone(), hi.clone(), |b, k| {
            let one = b.load(x, row * 70 + k.clone());
            let two = b.load(y, column * hi.clone() + k);
            let mut factors = vec![value.clone(), one, two];
            if other == Other::Scaled {
                factors.insert(0, Expr::Const(0.5.into()));
            }
            let to = Sum { inside, start: first.into(), array: out, index: at.clone(), op: None };
            write_leaf(b, Leaf { sum: Some(to), ..Leaf::product(Target::Var(sum), factors) });
        });
        b.store(out, at, sum.into());
    };
    let [outer, inner] = if turned { [sizes[1], sizes[0]] } else { sizes };
    b.for_("c", 0.into(), outer.into(), |b, first| {
        let round = |b: &mut Builder, second: Expr| match turned {
            false => body(b, &first, &second),
            true => body(b, &second, &first),
        };
        if !guarded {
            return b.for_("d", 0.into(), inner.into(), round);
        }
        b.if_else(
            Expr::Int(inner).le(limit.clone()),
            |b| b.for_("d", 0.into(), inner.into(), round),
            |b| b.for_("d", 0.into(), limit.clone(), round),
        );
    });
    b.finish()
}

#[test]
fn rows_are_multiplied_for_all_places_as_the_interpreter_does() {
    let all = [
        Other::Nothing,
        Other::Rows,
        Other::Meets,
        Other::Turned,
        Other::Scaled,
        Other::One,
        Other::Overlaps,
    ];
    for (other, way) in all.into_iter().flat_map(|other| (0..8).map(move |way| (other, way))) {
        let [turned, by_columns, guarded] = [1, 2, 4].map(|bit| way & bit != 0);
        let function = rows(turned, by_columns, guarded, other);
        let tile = found(&function);
        let known = other == Other::Nothing;
        assert_eq!(tile.is_some(), known, "{function}");
        // There is to be something to sum, too.
        let expected = if known { 1 + usize::from(guarded) } else { 0 };
        assert_eq!(tile.map_or(0, |(_, guards)| guards.len()), expected);
        if other == Other::Overlaps {
            assert_eq!(function.idioms, [], "{function}");
        }
        let numbers = |of: f64| (0..900).map(|at| (f64::from(at) * of).sin()).collect::<Vec<_>>();
        let (mut m, x, y) = (numbers(0.3), numbers(0.7), numbers(1.3));
        // Of the first block: what is summed over nothing is zero all the same.
        m[14] = f64::INFINITY;
        let ways = Ways::of(function);
        let widths = [[0, 0], [0, 1], [3, 9], [0, 8], [0, 16], [7, 40], [0, 64], [0, 69]];
        for ((lo, hi), limit) in
            widths.iter().flat_map(|&[lo, hi]| [1, 3, 5].map(|limit| ((lo, hi), limit)))
        {
            let p = i64::from(hi > 0);
            let run = |run: Run<'_>| {
                let mut out = numbers(0.4);
                let mut memory = [
                    Memory::values(&m),
                    Memory::values(&x),
                    Memory::values(&y),
                    Memory::values_mut(&mut out[..]),
                ];
                run(&[p.into(), limit.into(), lo.into(), hi.into()], &mut memory);
                out
            };
            ways.near((other, way, lo, hi, limit), run, |a, b| {
                all_near(a, b, |a, b| (a - b).abs() <= 1e-12)
            });
        }
    }
}

/// A coordinate that a condition needs is read only where the conditions around hold.
#[test]
fn conditions_are_evaluated_in_the_order_of_the_loops() {
    let mut b = Builder::new("tile");
    let [first, last, m, n] = ["first", "last", "m", "n"].map(|name| b.param(name, Ty::Int));
    let crd = b.index_array("crd", IndexKind::U32);
    let [x, y, out] = [("a", false), ("b", false), ("out", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    b.for_("p", first, last, |b, p| {
        b.for_("i", 0.into(), 4.into(), |b, i| {
            b.if_(p.clone().lt(m.clone()), |b| {
                b.for_("j", 0.into(), 4.into(), |b, j| {
                    b.if_(b.load(crd, p.clone()).lt(n.clone()), |b| {
                        b.for_("k", 0.into(), 4.into(), |b, k| {
                            let factors = vec![
                                b.load(x, i.clone() * 4 + j.clone()),
                                b.load(y, j.clone() * 4 + k.clone()),
                            ];
                            let to = Target::Element(out, i.clone() * 4 + k);
                            write_leaf(b, Leaf::product(to, factors));
                        });
                    });
                });
            });
        });
    });
    let function = b.finish();
    assert!(matches!(found(&function), Some((Tile::Product { .. }, guards)) if guards.len() == 2));
    let ways = Ways::of(function);
    let crd = IndexArray::from(vec![3_u32]);
    let numbers = |of: f64| (0..16).map(|at| f64::from(at) * of).collect::<Vec<_>>();
    let (x, y) = (numbers(1.0), numbers(2.0));
    let far = 1_i64 << 40;
    for (p, m, n) in [(0, 1, 9), (0, 1, 2), (far, 1, 9)] {
        ways.same((p, m, n), |run| {
            let mut out = vec![1.0; 16];
            let mut memory = [
                Memory::Index(&crd),
                Memory::values(&x),
                Memory::values(&y),
                Memory::values_mut(&mut out[..]),
            ];
            run(&[p.into(), (p + 1).into(), m.into(), n.into()], &mut memory);
            out
        });
    }
}
