//! Products of dense matrices, where a sparse one has entries.

use ust_ir::idiom::{Leaf, Sum, Target};
use ust_ir::interp::Memory;
use ust_ir::testing::write_leaf;
use ust_ir::{Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways, all_near, pattern_over};
use crate::pattern::Pattern;

/// The difference from the plain loops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Plain,
    /// Rows of the first operand change, too.
    Moves,
    /// Rows of the first operand change instead.
    Turned,
    /// Nothing scales the sums.
    Alone,
    /// Sums begin at one.
    One,
    /// The loop reads the array that it writes.
    Overlaps,
}

/// `out[p] = sum of m[p] * a[.., k] * b[crd[p], k]`.
fn loops(kind: IndexKind, case: Case) -> Function {
    let mut b = Builder::new("sampled");
    let (n, width) = (b.param("n", Ty::Int), b.param("width", Ty::Int));
    let [rows, crd] = ["rows", "crd"].map(|name| b.index_array(name, kind));
    let [m, x, y, out] = [("m", false), ("a", false), ("b", false), ("out", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    b.for_("p", 0.into(), n, |b, p| {
        let (row, key) = (b.load(rows, p.clone()), b.load(crd, p.clone()));
        let (row, key) = (b.bind("row", row), b.bind("key", key));
        let [row, key] = match case {
            Case::Moves => [row, key],
            Case::Turned => [row, Expr::Int(3)],
            _ => [Expr::Int(3), key],
        };
        let read = if case == Case::Overlaps { out } else { m };
        let value = b.load(read, p.clone());
        let value = b.bind("value", value);
        let first = if case == Case::One { 1.0 } else { 0.0 };
        let sum = b.var("sum", Expr::Const(first.into()));
        let inside = b.open_loops();
        b.for_("k", 0.into(), width.clone(), |b, k| {
            let one = b.load(x, row * width.clone() + k.clone());
            let other = b.load(y, key * width.clone() + k);
            let to = Sum { inside, start: first.into(), array: out, index: p.clone(), op: None };
            let factors = match case {
                Case::Alone => vec![one, other],
                _ => vec![value.clone(), one, other],
            };
            let leaf = Leaf::product(Target::Var(sum), factors);
            write_leaf(b, Leaf { sum: Some(to), ..leaf });
        });
        b.store(out, p, sum.into());
    });
    b.finish()
}

#[test]
fn products_where_there_is_an_entry_are_formed_as_the_interpreter_does() {
    for (kind, case) in [
        (IndexKind::U32, Case::Plain),
        (IndexKind::U32, Case::Moves),
        (IndexKind::U32, Case::Turned),
        (IndexKind::I32, Case::Plain),
        (IndexKind::U32, Case::Alone),
        (IndexKind::I64, Case::Moves),
        // No kernel has these.
        (IndexKind::U16, Case::Plain),
        (IndexKind::U32, Case::One),
        (IndexKind::U32, Case::Overlaps),
    ] {
        let function = loops(kind, case);
        let pattern = pattern_over(&function, "p");
        match case {
            Case::One => assert_eq!(pattern, None, "{function}"),
            Case::Overlaps => assert_eq!(function.idioms, [], "{function}"),
            _ => {
                let Some(Pattern::Sampled { rows, m, .. }) = &pattern else {
                    panic!("{pattern:?}\n{function}")
                };
                assert_eq!(m.is_none(), case == Case::Alone);
                assert_eq!(rows.is_some(), case == Case::Moves);
            }
        }
        let ways = Ways::of(function);
        for count in [0, 1, 2, 7, 8, 9, 40] {
            let keys = |step: i64| (0..count).map(|p| p * step % 11).collect::<Vec<i64>>();
            let [rows, crd] = [keys(5), keys(7)]
                .map(|numbers| IndexArray::store(kind, &numbers, "", "").unwrap());
            let numbers: Vec<f64> = (0..count).map(|p| (p as f64).sin()).collect();
            for width in [0, 1, 7, 8, 9, 16, 32, 77] {
                let operand = |shift: f64| -> Vec<f64> {
                    (0..11 * width).map(|at| (at as f64 + shift).cos()).collect()
                };
                let (x, y) = (operand(0.5), operand(0.8));
                let run = |run: Run<'_>| {
                    let mut out: Vec<f64> = (0..count).map(|at| at as f64 % 5.0).collect();
                    let mut memory = [
                        Memory::Index(&rows),
                        Memory::Index(&crd),
                        Memory::values(&numbers),
                        Memory::values(&x),
                        Memory::values(&y),
                        Memory::values_mut(&mut out[..]),
                    ];
                    run(&[count.into(), width.into()], &mut memory);
                    out
                };
                ways.near((count, width, case), run, |a, b| {
                    all_near(a, b, |a, b| (a - b).abs() <= 1e-13 * b.abs().max(77.0))
                });
            }
        }
    }
}
