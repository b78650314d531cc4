//! A sparse matrix times a dense one.

use ust_ir::idiom::{Clear, Leaf, Sum, Target};
use ust_ir::interp::Memory;
use ust_ir::testing::write_leaf;
use ust_ir::{Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways, all_near, pattern_of, pattern_over};
use crate::pattern::Pattern;

/// How the rows of the result begin.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Kept,
    Zero,
    One,
    /// Only the first columns are zero.
    Part,
}

/// `c[row, j] += a[p] * b[crd[p], j]`.
fn loops(kind: IndexKind, before: Before) -> Function {
    let mut b = Builder::new("products");
    let (n, width) = (b.param("n", Ty::Int), b.param("width", Ty::Int));
    let [pos, crd] = ["pos", "crd"].map(|name| b.index_array(name, kind));
    let [a, x, c] = [("a", false), ("b", false), ("c", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    b.for_("row", 0.into(), n, |b, row| {
        let base = b.bind("base", row.clone() * width.clone());
        let (value, end) = match before {
            Before::Kept => (0.0, Expr::from(0)),
            Before::Zero => (0.0, width.clone()),
            Before::One => (1.0, width.clone()),
            Before::Part => (0.0, width.clone() - Expr::from(1)),
        };
        let (inside, count) = (b.open_loops(), end.clone());
        let clear = Clear { inside, array: c, from: base.clone(), count, value: value.into() };
        let clear = (before != Before::Kept).then_some(clear);
        if before != Before::Kept {
            b.for_("in_row", 0.into(), end, |b, j| {
                let place = Target::Element(c, base + j);
                let value = vec![Expr::Const(value.into())];
                write_leaf(b, Leaf { op: None, ..Leaf::product(place, value) });
            });
        }
        let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row.clone() + Expr::from(1)));
        b.for_("p", lo, hi, |b, p| {
            let key = b.load(crd, p.clone());
            let key = b.bind("key", key);
            let value = b.load(a, p);
            let value = b.bind("value", value);
            b.for_("j", 0.into(), width.clone(), |b, j| {
                let other = b.load(x, key * width.clone() + j.clone());
                let place = Target::Element(c, row * width.clone() + j);
                write_leaf(b, Leaf { clear, ..Leaf::product(place, vec![value, other]) });
            });
        });
    });
    b.finish()
}

#[test]
fn rows_of_a_result_are_formed_as_the_interpreter_does() {
    for (kind, before) in [
        (IndexKind::U32, Before::Kept),
        (IndexKind::U32, Before::Zero),
        (IndexKind::I32, Before::Zero),
        (IndexKind::I64, Before::Kept),
        // No kernel has these.
        (IndexKind::U16, Before::Zero),
        (IndexKind::U32, Before::One),
        (IndexKind::U32, Before::Part),
    ] {
        let function = loops(kind, before);
        let pattern = pattern_over(&function, "row");
        match before {
            Before::Kept | Before::Zero => {
                let Some(Pattern::Products { clear, .. }) = pattern else {
                    panic!("{pattern:?}\n{function}")
                };
                assert_eq!(clear, before == Before::Zero);
            }
            _ => assert_eq!(pattern, None, "{function}"),
        }
        let ways = Ways::of(function);
        let lengths = [3, 0, 8, 1, 4, 17, 2, 0, 30, 9, 1];
        for rows in 0..=lengths.len() {
            let mut ends = vec![0_i64];
            lengths[..rows].iter().for_each(|n| ends.push(ends[ends.len() - 1] + n));
            let count = ends[rows];
            let keys: Vec<i64> = (0..count).map(|p| p * 7 % 11).collect();
            let [pos, crd] =
                [ends, keys].map(|numbers| IndexArray::store(kind, &numbers, "", "").unwrap());
            let numbers: Vec<f64> = (0..count).map(|p| (p as f64).sin()).collect();
            for width in [0, 1, 7, 8, 9, 32, 77] {
                let x: Vec<f64> = (0..11 * width).map(|at| (at as f64 + 0.5).cos()).collect();
                let run = |run: Run<'_>| {
                    let mut c: Vec<f64> = (0..rows * width).map(|at| at as f64 % 5.0).collect();
                    let mut memory = [
                        Memory::Index(&pos),
                        Memory::Index(&crd),
                        Memory::values(&numbers),
                        Memory::values(&x),
                        Memory::values_mut(&mut c[..]),
                    ];
                    run(&[(rows as i64).into(), (width as i64).into()], &mut memory);
                    c
                };
                ways.near((rows, width), run, |a, b| {
                    all_near(a, b, |a, b| (a - b).abs() <= 1e-13 * b.abs().max(1.0))
                });
            }
        }
    }
}

/// A variable that is set where a row has an entry is still set.
#[test]
fn rows_that_tell_whether_they_have_entries_are_left_alone() {
    for wide in [false, true] {
        let mut b = Builder::new("told");
        let (n, width) = (b.param("n", Ty::Int), b.param("width", Ty::Int));
        let [pos, crd] = ["pos", "crd"].map(|name| b.index_array(name, IndexKind::U32));
        let [a, x, c] = [("a", false), ("b", false), ("c", true)]
            .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
        let told = b.array("told", Elem::Index(IndexKind::I64), true);
        let any = b.var("any", Expr::Bool(false));
        b.for_("row", 0.into(), n, |b, row| {
            // Without the sum, which is of no use where rows are wide.
            let inside = b.open_loops();
            let sum = (!wide).then(|| b.var("sum", Expr::Const(0.0.into())));
            let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row.clone() + Expr::from(1)));
            b.for_("p", lo, hi, |b, p| {
                let (key, value) = (b.load(crd, p.clone()), b.load(a, p));
                if let Some(sum) = sum {
                    let other = b.load(x, key);
                    let to =
                        Sum { inside, start: 0.0.into(), array: c, index: row.clone(), op: None };
                    let leaf = Leaf::product(Target::Var(sum), vec![value, other]);
                    write_leaf(b, Leaf { sum: Some(to), hit: Some(any), ..leaf });
                } else {
                    b.for_("j", 0.into(), width.clone(), |b, j| {
                        let other = b.load(x, key * width.clone() + j.clone());
                        let place = Target::Element(c, row.clone() * width.clone() + j);
                        write_leaf(b, Leaf::product(place, vec![value, other]));
                    });
                }
                b.assign(any, Expr::Bool(true));
            });
            if let Some(sum) = sum {
                b.store(c, row, sum.into());
            }
        });
        b.store(told, 0.into(), Expr::from(any).select(1, 0));
        let function = b.finish();
        assert_eq!(pattern_over(&function, "row"), None, "{function}");
        let expected = |found: &Pattern| match wide {
            false => matches!(found, Pattern::GatherDot { .. }),
            true => matches!(found, Pattern::Axpy { .. }),
        };
        assert!(pattern_of(&function).is_some_and(|found| expected(&found)), "{function}");
        let ways = Ways::of(function);
        for count in [0, 1, 30] {
            let ends = IndexArray::from(vec![0_u32, 0, count, count]);
            let keys = IndexArray::from((0..count).map(|p| p * 7 % 11).collect::<Vec<u32>>());
            let numbers: Vec<f64> = (0..count).map(|p| f64::from(p) - 2.0).collect();
            let x: Vec<f64> = (0..11 * 9).map(f64::from).collect();
            // Small integers: sums are exact in any order.
            let (any, _) = ways.same(count, |run: Run<'_>| {
                let (mut told, mut c) = ([-1_i64], [0.5; 3 * 9]);
                let mut memory = [
                    Memory::Index(&ends),
                    Memory::Index(&keys),
                    Memory::values(&numbers),
                    Memory::values(&x),
                    Memory::values_mut(&mut c[..]),
                    Memory::indices_mut(&mut told[..]),
                ];
                run(&[3.into(), 9.into()], &mut memory);
                (told, c)
            });
            assert_eq!(any, [i64::from(count > 0)]);
        }
    }
}
