//! A sparse matrix times a dense one.

use ust_ir::interp::{Memory, Param, Program};
use ust_ir::{BinOp, Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Stmt, Ty};

use crate::recognise::{Pattern, recognise};
use crate::{Kernel, Options};

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
        if before != Before::Kept {
            b.for_("j", 0.into(), end, |b, j| b.store(c, base + j, Expr::Const(value.into())));
        }
        let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row.clone() + Expr::from(1)));
        b.for_("p", lo, hi, |b, p| {
            let key = b.load(crd, p.clone());
            let key = b.bind("key", key);
            let value = b.load(a, p);
            let value = b.bind("value", value);
            b.for_("j", 0.into(), width.clone(), |b, j| {
                let other = b.load(x, key * width.clone() + j.clone());
                b.reduce(BinOp::Add, c, row * width.clone() + j, value * other);
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
        let Stmt::For { var, body, .. } = &function.body[0] else { panic!("a loop") };
        let pattern = recognise(*var, body, &vec![false; function.vars.len()]);
        match before {
            Before::Kept | Before::Zero => {
                let Some(Pattern::Products { clear, .. }) = pattern else {
                    panic!("{pattern:?}\n{function}")
                };
                assert_eq!(clear, before == Before::Zero);
            }
            _ => assert_eq!(pattern, None, "{function}"),
        }
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
                let run = |run: &dyn Fn(&[Param], &mut [Memory<'_>])| {
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
                let program = Program::compile(&function).unwrap();
                let expected = run(&|params, memory| program.run(params, memory).unwrap());
                for (checked, strict) in [(true, true), (false, true), (false, false)] {
                    let kernel = Kernel::compile(&function, &Options { checked, strict }).unwrap();
                    let found = run(&|params, memory| kernel.run(params, memory).unwrap());
                    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * b.abs().max(1.0);
                    let same = if strict {
                        found == expected
                    } else {
                        found.iter().zip(&expected).all(near)
                    };
                    assert!(same, "{rows} rows of {width}\n{function}");
                }
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
        let any = b.var("any", Expr::Bool(false));
        b.for_("row", 0.into(), n, |b, row| {
            let sum = b.var("sum", Expr::Const(0.0.into()));
            let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row.clone() + Expr::from(1)));
            b.for_("p", lo, hi, |b, p| {
                b.assign(any, Expr::Bool(true));
                let (key, value) = (b.load(crd, p.clone()), b.load(a, p));
                if wide {
                    b.for_("j", 0.into(), width.clone(), |b, j| {
                        let other = b.load(x, key * width.clone() + j.clone());
                        b.reduce(BinOp::Add, c, row.clone() * width.clone() + j, value * other);
                    });
                } else {
                    let other = b.load(x, key);
                    b.assign(sum, Expr::from(sum) + value * other);
                }
            });
            if !wide {
                b.store(c, row, sum.into());
            }
        });
        let function = b.finish();
        let Some(Stmt::For { var, body, .. }) =
            function.body.iter().find(|stmt| matches!(stmt, Stmt::For { .. }))
        else {
            panic!("a loop")
        };
        let assigned: Vec<bool> =
            function.vars.iter().map(|v| ["sum", "any"].contains(&&v.name[..])).collect();
        let body: Vec<Stmt> = match wide {
            // Without the sum, which is of no use there.
            true => body[1..].to_vec(),
            false => body.clone(),
        };
        assert_eq!(recognise(*var, &body, &assigned), None, "{function}");
    }
}
