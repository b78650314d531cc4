//! Rows of a dense matrix that are added to rows of another.

use ust_ir::idiom::{Leaf, Target};
use ust_ir::interp::Memory;
use ust_ir::testing::write_leaf;
use ust_ir::{Builder, Dtype, Elem, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways, pattern_of};
use crate::pattern::Pattern;

/// `c[rows[p], j] += a[p] * b[crd[p], j]`, or of the row `crd[first]` of `b` for each `p`; columns are
/// those from the second on.
fn loops(kind: IndexKind, stays: bool) -> Function {
    let mut b = Builder::new("added");
    let [first, last, width, pitch] =
        ["first", "last", "width", "pitch"].map(|name| b.param(name, Ty::Int));
    let [rows, crd] = ["rows", "crd"].map(|name| b.index_array(name, kind));
    let [a, x, c] = [("a", false), ("b", false), ("c", true)]
        .map(|(name, written)| b.array(name, Elem::Value(Dtype::F64), written));
    let key = stays.then(|| b.load(crd, first.clone()));
    let key = key.map(|key| b.bind("key", key));
    b.for_("p", first, last, |b, p| {
        let row = b.load(rows, p.clone());
        let row = b.bind("row", row);
        let key = key.clone().unwrap_or_else(|| b.load(crd, p.clone()));
        let key = b.bind("own", key);
        let value = b.load(a, p);
        let value = b.bind("value", value);
        b.for_("j", 1.into(), width.clone(), |b, j| {
            let other = b.load(x, key * width.clone() + j.clone());
            let place = Target::Element(c, row * pitch.clone() + j);
            write_leaf(b, Leaf::product(place, vec![value, other]));
        });
    });
    b.finish()
}

#[test]
fn rows_are_added_entry_by_entry() {
    let lists: [&[i64]; 4] =
        [&[], &[3], &[0, 0, 0, 2, 2, 5, 9, 9, 9, 9], &[7, 1, 1, 4, 0, 0, 8, 2]];
    for (kind, stays) in [
        (IndexKind::U32, false),
        (IndexKind::U32, true),
        (IndexKind::I32, false),
        (IndexKind::I64, true),
        // No kernel has these.
        (IndexKind::U16, false),
    ] {
        let function = loops(kind, stays);
        let pattern = pattern_of(&function);
        assert!(
            matches!(&pattern, Some(Pattern::Added { crd, .. }) if crd.is_none() == stays),
            "{pattern:?}\n{function}"
        );
        let ways = Ways::of(function);
        // The last matrices are too large for a near cache.
        for (width, pitch) in [(1, 1), (3, 3), (17, 20), (41, 41), (130, 10_000), (9000, 9000)] {
            for rows in lists {
                let crd: Vec<i64> = (0..rows.len() as i64).map(|p| p * 7 % 11).collect();
                let numbers: Vec<f64> = (0..rows.len()).map(|p| (p % 5) as f64 - 2.0).collect();
                let b: Vec<f64> = (0..11 * width).map(|at| (at % 13) as f64 - 6.0).collect();
                let [of_c, of_b] =
                    [rows, &crd].map(|list| IndexArray::store(kind, list, "", "").unwrap());
                // Before a loop that is not run, a row of `b` is read.
                if stays && rows.is_empty() {
                    continue;
                }
                // Small integers: sums are exact, fused or not.
                ways.same((width, rows), |run: Run<'_>| {
                    let mut c: Vec<f64> = (0..10 * pitch).map(|at| (at % 3) as f64).collect();
                    let mut memory = [
                        Memory::Index(&of_c),
                        Memory::Index(&of_b),
                        Memory::values(&numbers),
                        Memory::values(&b),
                        Memory::values_mut(&mut c[..]),
                    ];
                    let first = usize::from(rows.len() > 4);
                    let params = [first, rows.len(), width, pitch].map(|n| (n as i64).into());
                    run(&params, &mut memory);
                    c
                });
            }
        }
    }
}
