//! Rows that are added.

use ust_ir::idiom::{Idiom, Merged, Segments};
use ust_ir::interp::{Memory, ValueElement};
use ust_ir::{Builder, Elem, Expr, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways};

/// `A + B`, row by row, and where each row begins. With `own`, the first row is written over.
fn loops<T: ValueElement>(kind: IndexKind, own: bool) -> Function {
    let mut b = Builder::new("union");
    let [n, first] = ["n", "first"].map(|name| b.param(name, Ty::Int));
    let [a_pos, a_crd, b_pos, b_crd] =
        ["a_pos", "a_crd", "b_pos", "b_crd"].map(|name| b.index_array(name, kind));
    let [x, y] = ["x", "y"].map(|name| b.array(name, Elem::Value(T::DTYPE), false));
    let out = b.array("out", Elem::Value(T::DTYPE), true);
    let crd = b.array("crd", Elem::Index(kind), true);
    let [rows, starts] =
        ["rows", "starts"].map(|name| b.array(name, Elem::Index(IndexKind::I64), true));
    let x = if own { out } else { x };
    let row = b.var("row", Expr::Int(0));
    b.for_("i", 0.into(), n, |b, i| {
        b.store(starts, i.clone() - first.clone(), row.into());
        let next = |pos| Expr::Load(pos, Box::new(i.clone() + 1));
        let (p_end, q_end) = (b.bind("end", next(a_pos)), b.bind("end", next(b_pos)));
        let p = b.var("p", Expr::Load(a_pos, Box::new(i.clone())));
        let q = b.var("q", Expr::Load(b_pos, Box::new(i.clone())));
        let more = |p, end: &Expr| Expr::from(p).lt(end.clone());
        let step = |b: &mut Builder, var, by: Expr| b.assign(var, Expr::from(var) + by);
        b.while_(more(p, &p_end).and(more(q, &q_end)), |b| {
            let j = b.bind("j", Expr::Load(a_crd, Box::new(p.into())));
            let k = b.bind("k", Expr::Load(b_crd, Box::new(q.into())));
            let here = b.load(x, p.into());
            let here = b.bind("here", here);
            let there = b.load(y, q.into());
            let there = b.bind("there", there);
            b.if_else(
                j.clone().equals(k.clone()),
                |b| {
                    b.store(crd, row.into(), j.clone());
                    b.store(out, row.into(), here.clone() + there.clone());
                    step(b, row, 1.into());
                    step(b, p, 1.into());
                    step(b, q, 1.into());
                },
                |b| {
                    let mine = b.bind("mine", j.clone().lt(k.clone()));
                    let other = b.bind("other", k.clone().lt(j.clone()));
                    let least = b.bind("least", j.clone().min(k.clone()));
                    let zero = T::DTYPE.zero();
                    let here = mine.clone().select(here.clone(), Expr::Const(zero));
                    let there = other.clone().select(there.clone(), Expr::Const(zero));
                    b.store(crd, row.into(), least);
                    b.store(out, row.into(), here + there);
                    step(b, row, 1.into());
                    step(b, p, mine.select(1, 0));
                    step(b, q, other.select(1, 0));
                },
            );
        });
        for (at, end, own_crd, own) in [(p, &p_end, a_crd, x), (q, &q_end, b_crd, y)] {
            b.while_(more(at, end), |b| {
                let j = b.bind("j", Expr::Load(own_crd, Box::new(at.into())));
                let value = b.load(own, at.into());
                let value = b.bind("value", value);
                b.store(crd, row.into(), j);
                b.store(out, row.into(), value);
                step(b, row, 1.into());
                step(b, at, 1.into());
            });
        }
        let operand = |pos, crd, values| (Segments { pos, crd, values }, i.clone());
        let operands = [operand(a_pos, a_crd, x), operand(b_pos, b_crd, y)];
        let starts = Some((starts, first.clone()));
        b.declare(Merged { operands, row, crd, values: out, starts });
    });
    b.store(rows, 0.into(), row.into());
    b.finish()
}

/// Compares kernels with the interpreter: rows of up to `longest` entries, `alike` of ten at the same
/// coordinates.
fn check<T>(kind: IndexKind, longest: usize, alike: usize, value: impl Fn(f64) -> T)
where
    T: ValueElement + PartialEq + std::fmt::Debug,
{
    let function = loops::<T>(kind, false);
    assert!(matches!(function.idioms[..], [Idiom::Union(_)]), "{function}");
    let mut state = (longest * 10 + alike) as u64;
    let mut random = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % bound
    };
    let (rows, extent) = (60, 3 * longest as i64);
    let mut row = |same: Option<&[i64]>| -> Vec<i64> {
        let keep = random(longest + 1);
        (0..extent)
            .filter(|j| match same {
                Some(same) if random(10) < alike => same.contains(j),
                _ => random(extent as usize) < keep,
            })
            .collect()
    };
    let (mut a, mut b) = ((vec![0], vec![]), (vec![0], vec![]));
    for _ in 0..rows {
        let first = row(None);
        let second = row(Some(&first));
        for ((pos, crd), row) in [(&mut a, first), (&mut b, second)] {
            crd.extend(row);
            pos.push(crd.len() as i64);
        }
    }
    let values = |n: usize, by: f64| (0..n).map(|at| value(at as f64 * by)).collect::<Vec<T>>();
    let (x, y) = (values(a.1.len(), 1.0), values(b.1.len(), 0.7));
    let room = x.len() + y.len();
    let stored = |numbers: &[i64]| IndexArray::store(kind, numbers, "", "").unwrap();
    let [a_pos, a_crd, b_pos, b_crd] = [&a.0, &a.1, &b.0, &b.1].map(|numbers| stored(numbers));
    Ways::of(function).same((longest, alike), |run: Run<'_>| {
        let mut out = values(room, 0.3);
        let (mut narrow, mut signed, mut wide) = (vec![0_u32; room], vec![0; room], vec![0; room]);
        let (mut end, mut starts) = (vec![-1_i64], vec![-1_i64; rows]);
        let crd = match kind {
            IndexKind::U32 => Memory::indices_mut(&mut narrow[..]),
            IndexKind::I32 => Memory::indices_mut::<i32>(&mut signed[..]),
            _ => Memory::indices_mut::<i64>(&mut wide[..]),
        };
        let mut memory = [
            Memory::Index(&a_pos),
            Memory::Index(&a_crd),
            Memory::Index(&b_pos),
            Memory::Index(&b_crd),
            T::memory(&x),
            T::memory(&y),
            T::memory_mut(&mut out),
            crd,
            Memory::indices_mut(&mut end[..]),
            Memory::indices_mut(&mut starts[..]),
        ];
        run(&[(rows as i64).into(), 0.into()], &mut memory);
        // Merging from both ends leaves anything behind the sum.
        let sum = end[0] as usize;
        (
            out[..sum].to_vec(),
            narrow[..sum].to_vec(),
            signed[..sum].to_vec(),
            wide[..sum].to_vec(),
            starts,
        )
    });
}

#[test]
fn rows_are_added_as_the_interpreter_does() {
    for longest in [1, 4, 7, 9, 20, 70, 300] {
        for alike in [0, 5, 9, 10] {
            check(IndexKind::U32, longest, alike, f64::sin);
            check(IndexKind::I32, longest, alike, |at| at.cos() as f32);
            check(IndexKind::I64, longest, alike, f64::cos);
            // No kernel has these.
            check(IndexKind::U32, longest, alike, |at| at as i32);
        }
    }
}

#[test]
fn loops_that_write_over_a_row_are_left_as_they_are() {
    let function = loops::<f64>(IndexKind::U32, true);
    assert_eq!(function.idioms, [], "{function}");
}
