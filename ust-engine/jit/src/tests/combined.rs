//! Rows that are combined in a dense row.

use ust_ir::idiom::{Leaf, List, Target};
use ust_ir::interp::{Memory, ValueElement};
use ust_ir::testing::write_leaf;
use ust_ir::{BinOp, Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways, pattern_of};
use crate::pattern::Pattern;

/// Rows of `A` times `B`, each in the dense row `sums`; what is touched is counted in `counts`.
fn loops(kind: IndexKind, mark: IndexKind, dtype: Dtype, swapped: bool, own: bool) -> Function {
    let mut b = Builder::new("combined");
    let n = b.param("n", Ty::Int);
    let [starts, crd, pos, columns] =
        ["starts", "crd", "pos", "columns"].map(|name| b.index_array(name, kind));
    let [a, factors] = ["a", "b"].map(|name| b.array(name, Elem::Value(dtype), false));
    let sums = b.array("sums", Elem::Value(dtype), true);
    let mark = b.array("mark", Elem::Index(mark), true);
    let [list, counts] =
        ["list", "counts"].map(|name| b.array(name, Elem::Index(IndexKind::I64), true));
    let touched = b.var("touched", Expr::Int(0));
    b.for_("i", 0.into(), n, |b, i| {
        b.assign(touched, Expr::Int(0));
        let stamp = b.bind("stamp", i.clone() + Expr::from(1));
        let (lo, hi) = (b.load(starts, i.clone()), b.load(starts, i.clone() + Expr::from(1)));
        b.for_("q", lo, hi, |b, q| {
            let row = b.load(crd, q.clone());
            let row = b.bind("row", row);
            let factor = b.load(a, q.clone());
            let factor = b.bind("factor", factor);
            let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row + Expr::from(1)));
            b.for_("p", lo, hi, |b, p| {
                let place = b.load(columns, p.clone());
                let place = b.bind("place", place);
                let value = b.load(if own { sums } else { factors }, p);
                let value = b.bind("value", value);
                let fresh = Expr::binary(BinOp::Ne, b.load(mark, place.clone()), stamp.clone());
                b.if_(fresh, |b| {
                    b.store(mark, place.clone(), stamp.clone());
                    b.store(list, touched.into(), place.clone());
                    b.assign(touched, Expr::from(touched) + 1);
                });
                let factors = if swapped { [value, factor] } else { [factor, value] };
                let notes = List { mark, stamp: stamp.clone(), list, length: touched };
                let sum = Leaf::product(Target::Element(sums, place), factors.into());
                write_leaf(b, Leaf { list: Some(notes), ..sum });
            });
        });
        b.store(counts, i, touched.into());
    });
    b.finish()
}

/// Compares kernels with the interpreter, for numbers that `value` makes.
fn check<T>(kind: IndexKind, mark: IndexKind, swapped: bool, value: impl Fn(f64) -> T)
where
    T: ValueElement + PartialEq + std::fmt::Debug,
{
    let function = loops(kind, mark, T::DTYPE, swapped, false);
    let pattern = pattern_of(&function);
    assert!(matches!(pattern, Some(Pattern::Combined { .. })), "{pattern:?}\n{function}");
    let ways = Ways::of(function);
    for (places, each) in [(1, 1), (7, 3), (40, 9), (300, 5)] {
        let mut state = places as u64;
        let mut random = |bound: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % bound
        };
        // Rows of any length, columns in order.
        let mut matrix = |rows: usize, width: usize, mean: usize| {
            let (mut ends, mut crd) = (vec![0_i64], Vec::new());
            for _ in 0..rows {
                let keep = random(2 * mean + 1);
                crd.extend((0..width as i64).filter(|_| random(width) < keep));
                ends.push(crd.len() as i64);
            }
            (ends, crd)
        };
        let rows = 60;
        let (starts, crd) = matrix(rows, 50, 12);
        let (pos, columns) = matrix(50, places, each);
        let values = |n: usize, by: f64| (0..n).map(|at| value(at as f64 * by)).collect::<Vec<T>>();
        let (a, factors) = (values(crd.len(), 1.0), values(columns.len(), 0.7));
        let [starts, crd, pos, columns] = [starts, crd, pos, columns]
            .map(|numbers| IndexArray::store(kind, &numbers, "", "").unwrap());
        // Each sum is formed in the order of the loops.
        let (.., counts) = ways.same(places, |run: Run<'_>| {
            let mut sums = values(places, 0.3);
            let (mut narrow, mut wide) = (vec![0_u32; places], vec![0_i64; places]);
            let (mut list, mut counts) = (vec![-1_i64; places], vec![-1_i64; rows]);
            let mark = match mark {
                IndexKind::U32 => Memory::indices_mut(&mut narrow[..]),
                _ => Memory::indices_mut(&mut wide[..]),
            };
            let mut memory = [
                Memory::Index(&starts),
                Memory::Index(&crd),
                Memory::Index(&pos),
                Memory::Index(&columns),
                T::memory(&a),
                T::memory(&factors),
                T::memory_mut(&mut sums),
                mark,
                Memory::indices_mut(&mut list[..]),
                Memory::indices_mut(&mut counts[..]),
            ];
            run(&[(rows as i64).into()], &mut memory);
            (sums, narrow, wide, list, counts)
        });
        assert!(counts.contains(&(places as i64)) || places > 40, "some rows are full");
    }
}

#[test]
fn rows_are_combined_and_their_places_are_noted() {
    let (u32, i64) = (IndexKind::U32, IndexKind::I64);
    check(u32, u32, false, f64::sin);
    check(u32, i64, true, |at| at.cos() as f32);
    check(IndexKind::I32, i64, true, f64::cos);
    check(i64, i64, false, f64::sin);
    // No kernel has these.
    check(IndexKind::U16, u32, false, f64::sin);
    check(u32, u32, true, |at| at as i32);
}

/// A loop that reads what it writes is left as it is.
#[test]
fn what_is_written_is_not_read() {
    let function = loops(IndexKind::U32, IndexKind::U32, Dtype::F64, false, true);
    assert_eq!(function.idioms, []);
}
