//! Products of small blocks.

use ust_level_api::Dtype;
use ust_level_api::ir::interp::{Memory, Param, Program};
use ust_level_api::ir::{BinOp, Builder, Elem, Expr, Function, Stmt, Ty};

use crate::jit::tile::{Tile, tile};
use crate::jit::{Kernel, Options};

/// What differs from the plain loops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum But {
    Nothing,
    /// A factor is read from what is written.
    Overlaps,
    /// The other factor moves with every loop.
    Moves,
    /// Blocks are cut by what is read.
    Reads,
    /// What is formed is the larger one.
    Max,
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
    let index = move |by_columns: bool, [row, column]: [&Expr; 2], [rows, columns]: [i64; 2]| {
        // As loops over levels write it.
        match by_columns {
            false => (p.clone() * rows + row.clone()) * columns + column.clone(),
            true => (p.clone() * columns + column.clone()) * rows + row.clone(),
        }
    };
    let inner = move |b: &mut Builder, at: &[Option<Expr>; 3]| {
        let [row, sum, column] = at.each_ref().map(|at| at.as_ref().unwrap());
        let other = if but == But::Moves { row.clone() + sum.clone() } else { sum.clone() };
        let from = if but == But::Overlaps { out } else { x };
        let one = b.load(from, index(by_columns[0], [row, sum], [i, j]));
        let one = b.bind("one", one);
        let two = b.load(y, index(by_columns[1], [&other, column], [j, k]));
        let op = if but == But::Max { BinOp::Max } else { BinOp::Add };
        b.reduce(op, out, index(by_columns[2], [row, column], [i, k]), one * two);
    };
    struct Nest<'a> {
        order: [usize; 3],
        guarded: usize,
        limit: Expr,
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
            // Around the outermost one, whoever asks has written it.
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
    Nest { order, guarded, limit, inner: &inner }.write(&mut b, 0, &[None, None, None]);
    b.finish()
}

fn found(function: &Function) -> Option<Tile> {
    let Stmt::For { var, lo, hi, body } = &function.body[0] else { panic!("a loop\n{function}") };
    tile(*var, lo, hi, body, &vec![false; function.vars.len()])
}

#[test]
fn blocks_are_multiplied_as_the_interpreter_does() {
    const ORDERS: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let all = [But::Nothing, But::Overlaps, But::Moves, But::Reads, But::Max];
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
        // Neighbours in the result are neighbours in a factor.
        let along = if of_c { of_a } else { !of_b };
        let tile = found(&function);
        let known = along && but == But::Nothing;
        assert_eq!(tile.is_some(), known, "{order:?} {by_columns:?} {guarded} {but:?}\n{function}");
        assert_eq!(tile.map_or(0, |tile| tile.guards.len()), usize::from(known && cuts));
        let numbers = |of: f64| (0..200).map(|at| (f64::from(at) * of).sin()).collect::<Vec<_>>();
        // The first of them is a number of rounds, where it is read.
        let (mut x, y) = (numbers(0.7), numbers(1.3));
        x[0] = 2.0;
        let run = |limit: i64, run: &dyn Fn(&[Param], &mut [Memory<'_>])| {
            let mut out = numbers(0.4);
            let mut memory =
                [Memory::values(&x), Memory::values(&y), Memory::values_mut(&mut out[..])];
            run(&[5.into(), limit.into()], &mut memory);
            out
        };
        let program = Program::compile(&function).unwrap();
        for (checked, strict) in [(true, true), (false, true), (false, false)] {
            let kernel = Kernel::compile(&function, &Options { checked, strict }).unwrap();
            for limit in [1, 2, 3, 9] {
                let expected = run(limit, &|params, memory| program.run(params, memory).unwrap());
                let found = run(limit, &|params, memory| kernel.run(params, memory).unwrap());
                let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-14;
                let same = match strict {
                    true => found == expected,
                    false => found.iter().zip(&expected).all(near),
                };
                assert!(same, "{order:?} {by_columns:?} {guarded} {but:?} {limit}\n{function}");
            }
        }
    }
}
