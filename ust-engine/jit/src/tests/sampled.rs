//! Products of dense matrices, where a sparse one has entries.

use ust_ir::interp::{Memory, Param, Program};
use ust_ir::{Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Stmt, Ty};

use crate::recognise::{Pattern, recognise};
use crate::{Kernel, Options};

/// The difference from the plain loops.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Plain,
    /// Rows of the first operand change, too.
    Moves,
    /// Rows of the first operand change instead.
    Turned,
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
        b.for_("k", 0.into(), width.clone(), |b, k| {
            let one = b.load(x, row * width.clone() + k.clone());
            let other = b.load(y, key * width.clone() + k);
            b.assign(sum, Expr::from(sum) + value.clone() * one * other);
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
        (IndexKind::I64, Case::Moves),
        // No kernel has these.
        (IndexKind::U16, Case::Plain),
        (IndexKind::U32, Case::One),
        (IndexKind::U32, Case::Overlaps),
    ] {
        let function = loops(kind, case);
        let Stmt::For { var, body, .. } = &function.body[0] else { panic!("a loop") };
        let assigned: Vec<bool> = function.vars.iter().map(|v| v.name == "sum").collect();
        let pattern = recognise(*var, body, &assigned);
        match case {
            Case::One | Case::Overlaps => assert_eq!(pattern, None, "{function}"),
            _ => {
                let Some(Pattern::Sampled { rows, .. }) = &pattern else {
                    panic!("{pattern:?}\n{function}")
                };
                assert_eq!(rows.is_some(), case == Case::Moves);
            }
        }
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
                let run = |run: &dyn Fn(&[Param], &mut [Memory<'_>])| {
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
                let program = Program::compile(&function).unwrap();
                let expected = run(&|params, memory| program.run(params, memory).unwrap());
                for (checked, strict) in [(true, true), (false, true), (false, false)] {
                    let kernel = Kernel::compile(&function, &Options { checked, strict }).unwrap();
                    let found = run(&|params, memory| kernel.run(params, memory).unwrap());
                    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * b.abs().max(77.0);
                    let same = match strict {
                        true => found == expected,
                        false => found.iter().zip(&expected).all(near),
                    };
                    assert!(same, "{count} entries of {width}, {case:?}\n{function}");
                }
            }
        }
    }
}
