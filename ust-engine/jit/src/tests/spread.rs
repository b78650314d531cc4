//! Rows that are added to what their coordinates say.

use ust_ir::idiom::{Leaf, Sum, Target};
use ust_ir::interp::Memory;
use ust_ir::testing::write_leaf;
use ust_ir::{BinOp, Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways, pattern_of};
use crate::pattern::Pattern;

/// `out[crd[p]] += a[p] * x[i]`; `named` rows have the numbers that `places` gives.
fn loops(kind: IndexKind, named: bool, swapped: bool) -> Function {
    let mut b = Builder::new("spread");
    let n = b.param("n", Ty::Int);
    let [pos, crd, places] = ["pos", "crd", "places"].map(|name| b.index_array(name, kind));
    let [a, x, out] = [("a", false), ("x", false), ("out", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    b.for_("row", 0.into(), n, |b, row| {
        let place = if named { b.load(places, row.clone()) } else { row.clone() };
        let place = b.bind("place", place);
        let factor = b.load(x, place);
        let factor = b.bind("factor", factor);
        let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row + Expr::from(1)));
        b.for_("p", lo, hi, |b, p| {
            let key = b.load(crd, p.clone());
            let key = b.bind("key", key);
            let value = b.load(a, p);
            let value = b.bind("value", value);
            let factor = factor.clone();
            let factors = if swapped { [factor, value] } else { [value, factor] };
            write_leaf(b, Leaf::product(Target::Element(out, key), factors.into()));
        });
    });
    b.finish()
}

#[test]
fn rows_are_added_to_what_their_coordinates_say() {
    for (kind, named, swapped) in [
        (IndexKind::U32, false, false),
        (IndexKind::U32, true, true),
        (IndexKind::I32, true, false),
        (IndexKind::I64, false, true),
        // No kernel has these.
        (IndexKind::U16, false, false),
    ] {
        let function = loops(kind, named, swapped);
        let pattern = pattern_of(&function);
        assert!(
            matches!(&pattern, Some(Pattern::Spread { places, .. }) if places.is_some() == named),
            "{pattern:?}\n{function}"
        );
        let ways = Ways::of(function);
        let lengths = [3, 0, 8, 1, 4, 17, 2, 0, 70, 9, 1];
        for rows in 0..=lengths.len() {
            let mut ends = vec![0_i64];
            lengths[..rows].iter().for_each(|n| ends.push(ends[ends.len() - 1] + n));
            let count = ends[rows];
            let keys: Vec<i64> = (0..count).map(|p| p * 7 % 11).collect();
            let backwards: Vec<i64> = (0..rows as i64).rev().collect();
            let [pos, crd, places] = [ends, keys, backwards]
                .map(|numbers| IndexArray::store(kind, &numbers, "", "").unwrap());
            let numbers: Vec<f64> = (0..count).map(|p| (p as f64).sin()).collect();
            let x: Vec<f64> = (0..rows).map(|i| (i as f64 + 0.5).cos()).collect();
            // Each sum is formed in the order of the loops.
            ways.same(rows, |run: Run<'_>| {
                let mut out: Vec<f64> = (0..11).map(f64::from).collect();
                let mut memory = [
                    Memory::Index(&pos),
                    Memory::Index(&crd),
                    Memory::Index(&places),
                    Memory::values(&numbers),
                    Memory::values(&x),
                    Memory::values_mut(&mut out[..]),
                ];
                run(&[(rows as i64).into()], &mut memory);
                out
            });
        }
    }
}

/// `out[rows[p]] += a[p] * x[crd[p]]`, through a variable or not.
fn entry_by_entry(kind: IndexKind, through: bool) -> Function {
    let mut b = Builder::new("entries");
    let (first, last) = (b.param("first", Ty::Int), b.param("last", Ty::Int));
    let [rows, crd] = ["rows", "crd"].map(|name| b.index_array(name, kind));
    let [a, x, out] = [("a", false), ("x", false), ("out", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F32), written));
    b.for_("p", first, last, |b, p| {
        let row = b.load(rows, p.clone());
        let row = b.bind("row", row);
        let (inside, start) = (b.open_loops(), Dtype::F32.zero());
        let sum = through.then(|| b.var("sum", Expr::Const(start)));
        let (key, value) = (b.load(crd, p.clone()), b.load(a, p));
        let factors = vec![value, b.load(x, key)];
        match sum {
            None => write_leaf(b, Leaf::product(Target::Element(out, row), factors)),
            Some(sum) => {
                let (op, index) = (Some(BinOp::Add), row.clone());
                let to = Sum { inside, start, array: out, index, op };
                write_leaf(b, Leaf { sum: Some(to), ..Leaf::product(Target::Var(sum), factors) });
                b.reduce(BinOp::Add, out, row, sum.into());
            }
        }
    });
    b.finish()
}

#[test]
fn entries_are_added_to_what_their_coordinates_say() {
    for (kind, through) in [
        (IndexKind::U32, true),
        (IndexKind::U32, false),
        (IndexKind::I32, true),
        (IndexKind::U64, true),
        // No kernel has these.
        (IndexKind::U8, true),
    ] {
        let function = entry_by_entry(kind, through);
        let pattern = pattern_of(&function);
        assert!(matches!(&pattern, Some(Pattern::Entries { .. })), "{pattern:?}\n{function}");
        let ways = Ways::of(function);
        for count in (0..40).chain([100]) {
            // Rows in order, with repetitions, and once more from the first.
            let in_order: Vec<i64> = (0..count).map(|p| p / 3 % 11).collect();
            let keys: Vec<i64> = (0..count).map(|p| p * 7 % 11).collect();
            let [rows, crd] =
                [in_order, keys].map(|numbers| IndexArray::store(kind, &numbers, "", "").unwrap());
            let numbers: Vec<f32> = (0..count).map(|p| (p as f32).sin()).collect();
            let x: Vec<f32> = (0..11).map(|i| (i as f32 + 0.5).cos()).collect();
            ways.same(count, |run: Run<'_>| {
                let mut out: Vec<f32> = (0..11).map(|at| at as f32).collect();
                let mut memory = [
                    Memory::Index(&rows),
                    Memory::Index(&crd),
                    Memory::values(&numbers),
                    Memory::values(&x),
                    Memory::values_mut(&mut out[..]),
                ];
                run(&[2_i64.min(count).into(), count.into()], &mut memory);
                out
            });
        }
    }
}

/// A loop that reads what it writes is left as it is.
#[test]
fn what_is_written_is_not_read() {
    let mut b = Builder::new("own");
    let n = b.param("n", Ty::Int);
    let [pos, crd] = ["pos", "crd"].map(|name| b.index_array(name, IndexKind::U32));
    let [a, out] = [("a", false), ("out", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    b.for_("row", 0.into(), n, |b, row| {
        let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row.clone() + Expr::from(1)));
        b.for_("p", lo, hi, |b, p| {
            let (key, value) = (b.load(crd, p.clone()), b.load(a, p));
            let own = b.load(out, row.clone());
            write_leaf(b, Leaf::product(Target::Element(out, key), vec![value, own]));
        });
    });
    assert_eq!(b.finish().idioms, []);
}
