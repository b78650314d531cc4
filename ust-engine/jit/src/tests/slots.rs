//! Rows side by side: one entry of each, and then the next one of each.

use ust_ir::idiom::{Leaf, Target};
use ust_ir::interp::Memory;
use ust_ir::testing::write_leaf;
use ust_ir::{Builder, Dtype, Elem, Function, IndexArray, IndexKind, Ty};

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
