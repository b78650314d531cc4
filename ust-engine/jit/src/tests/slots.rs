//! Rows side by side: one entry of each, and then the next one of each.

use ust_ir::idiom::{Leaf, Target};
use ust_ir::interp::Memory;
use ust_ir::testing::write_leaf;
use ust_ir::{Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways, all_near, pattern_of};
use crate::pattern::Pattern;

/// What makes loops that are no such rows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    None,
    /// Coordinates of every other row.
    Apart,
    /// Every other row.
    Strided,
    /// All slots have one value.
    Shared,
}

/// `y[first + i] += a[skip + p * stride + i] * x[crd[skip + p * stride + i]]`.
fn loops(kind: IndexKind, swapped: bool, change: Change) -> Function {
    let mut b = Builder::new("slots");
    let [slots, rows, stride, skip] =
        ["slots", "rows", "stride", "skip"].map(|name| b.param(name, Ty::Int));
    let crd = b.index_array("crd", kind);
    let [a, x, y] = [("a", false), ("x", false), ("y", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    b.for_("p", 0.into(), slots, |b, p| {
        let first = b.bind("first", p * stride.clone() + skip.clone());
        b.for_("i", 0.into(), rows.clone(), |b, i| {
            let along = if change == Change::Strided { i.clone() * 2 } else { i.clone() };
            let pos = b.bind("pos", first.clone() + along);
            let place = match change {
                Change::Apart => first.clone() + i.clone() * 2,
                _ => pos.clone(),
            };
            let j = b.load(crd, place);
            let j = b.bind("j", j);
            let of_a = if change == Change::Shared { first.clone() } else { pos };
            let (value, other) = (b.load(a, of_a), b.load(x, j));
            let factors = if swapped { vec![other, value] } else { vec![value, other] };
            write_leaf(b, Leaf::product(Target::Element(y, i + skip.clone()), factors));
        });
    });
    b.finish()
}

#[test]
fn slots_of_rows_are_added() {
    for (kind, swapped, change) in [
        (IndexKind::U32, false, Change::None),
        (IndexKind::I32, true, Change::None),
        (IndexKind::U64, false, Change::None),
        (IndexKind::U32, false, Change::Apart),
        (IndexKind::U32, true, Change::Strided),
        (IndexKind::U32, false, Change::Shared),
        (IndexKind::U16, false, Change::None),
        // No kernel has these.
        (IndexKind::I16, false, Change::None),
    ] {
        let function = loops(kind, swapped, change);
        let pattern = pattern_of(&function);
        let found = matches!(pattern, Some(Pattern::Slots { .. }));
        assert_eq!(found, change == Change::None, "{change:?}: {pattern:?}\n{function}");
        let ways = Ways::of(function);
        for (slots, rows) in [(0, 5), (3, 0), (1, 1), (3, 5), (4, 9), (9, 33)] {
            let (stride, skip) = (2 * rows + 1, 3_usize);
            let len = slots * stride + skip + 1;
            let crd: Vec<i64> = (0..len as i64).map(|p| p * 7 % 11).collect();
            let crd = IndexArray::store(kind, &crd, "", "").unwrap();
            let numbers: Vec<f64> = (0..len).map(|p| (p as f64).sin()).collect();
            let x: Vec<f64> = (0..11).map(|i| (f64::from(i) + 0.5).cos()).collect();
            let run = |run: Run<'_>| {
                let mut y: Vec<f64> = (0..rows + skip + 1).map(|i| i as f64).collect();
                let mut memory = [
                    Memory::Index(&crd),
                    Memory::values(&numbers),
                    Memory::values(&x),
                    Memory::values_mut(&mut y[..]),
                ];
                run(&[slots, rows, stride, skip].map(|n| (n as i64).into()), &mut memory);
                y
            };
            // Products are fused with their sums.
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-14 * (1.0 + b.abs());
            ways.near(rows, run, |a: &Vec<f64>, b| all_near(a, b, near));
        }
    }
}

/// What makes loops that are no slices.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Other {
    None,
    /// A slice ends before the next one begins.
    Count,
    /// Every other slot.
    Strided,
    /// The last slice has as many rows as others.
    Whole,
    /// Sums begin anew in each slice.
    Shared,
    /// Coordinates of every other row.
    Apart,
}

/// Slices of `size` rows, whose slots are numbered from `from[slice]` on.
fn slices(kind: IndexKind, size: i64, swapped: bool, other: Other) -> Function {
    let mut b = Builder::new("slices");
    let [count, rows, skip] = ["count", "rows", "skip"].map(|name| b.param(name, Ty::Int));
    let [pos, from, crd] = ["pos", "from", "crd"].map(|name| b.index_array(name, kind));
    let [a, x, y] = [("a", false), ("x", false), ("y", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    b.for_("slice", 0.into(), count, |b, slice| {
        let begin = b.load(pos, slice.clone());
        let begin = b.bind("begin", begin);
        let slots = b.load(pos, slice.clone() + 1) - begin.clone();
        let slots = if other == Other::Count { slots - 1 } else { slots };
        let first = b.load(from, slice.clone());
        let first = b.bind("first", first);
        let shift = b.bind("shift", begin - first.clone());
        b.for_("slot", first.clone(), first + slots, |b, slot| {
            let slot = if other == Other::Strided { slot * 2 - 7 } else { slot };
            let start = b.bind("start", (slot + shift) * size + skip.clone());
            let end = match other {
                Other::Whole => Expr::Int(size),
                _ => Expr::Int(size).min(rows - slice.clone() * size),
            };
            b.for_("i", 0.into(), end, |b, i| {
                let at = b.bind("at", start.clone() + i.clone());
                let apart = b.bind("apart", start + i.clone() * 2);
                let place = if other == Other::Apart { apart } else { at.clone() };
                let j = b.load(crd, place);
                let j = b.bind("j", j);
                let (value, element) = (b.load(a, at), b.load(x, j));
                let factors = if swapped { vec![element, value] } else { vec![value, element] };
                let row = if other == Other::Shared { i } else { slice * size + i };
                write_leaf(b, Leaf::product(Target::Element(y, row + skip.clone()), factors));
            });
        });
    });
    b.finish()
}

#[test]
fn slices_of_rows_are_added() {
    let each = [Other::Count, Other::Strided, Other::Whole, Other::Shared, Other::Apart];
    let others = each.map(|other| (IndexKind::U32, 8, false, other));
    let sizes = [1, 4, 5, 8, 16, 32, 40].map(|size| (IndexKind::U32, size, false, Other::None));
    let kinds = [IndexKind::I32, IndexKind::I64].map(|kind| (kind, 8, true, Other::None));
    for (kind, size, swapped, other) in sizes.into_iter().chain(kinds).chain(others) {
        let function = slices(kind, size, swapped, other);
        let pattern = pattern_of(&function);
        let found = matches!(pattern, Some(Pattern::Slices { .. }));
        assert_eq!(found, other == Other::None, "{other:?}, {size}: {pattern:?}\n{function}");
        let ways = Ways::of(function);
        for rows in [0, 1, 3 * size, 9 * size, 11 * size + 1, 12 * size - 1] {
            let (count, skip) = ((rows + size - 1) / size, 3);
            let mut pos = vec![0];
            for slice in 0..count {
                pos.push(pos[slice as usize] + slice * 5 % 4 + i64::from(other != Other::None));
            }
            let from: Vec<i64> = (0..count).map(|slice| 7 + slice % 2).collect();
            let len = 3 * (pos[count as usize] + 9) * size + skip;
            let crd: Vec<i64> = (0..len).map(|p| p * 7 % 11).collect();
            let [pos, from, crd] =
                [pos, from, crd].map(|of| IndexArray::store(kind, &of, "", "").unwrap());
            let numbers: Vec<f64> = (0..len).map(|p| (p as f64).sin()).collect();
            let x: Vec<f64> = (0..11).map(|i| (f64::from(i) + 0.5).cos()).collect();
            let run = |run: Run<'_>| {
                let mut y: Vec<f64> = (0..(count + 1) * size + skip).map(|i| i as f64).collect();
                let mut memory = [
                    Memory::Index(&pos),
                    Memory::Index(&from),
                    Memory::Index(&crd),
                    Memory::values(&numbers),
                    Memory::values(&x),
                    Memory::values_mut(&mut y[..]),
                ];
                run(&[count, rows, skip].map(Into::into), &mut memory);
                y
            };
            // Products are fused with their sums.
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-14 * (1.0 + b.abs());
            ways.near(rows, run, |a: &Vec<f64>, b| all_near(a, b, near));
        }
    }
}
