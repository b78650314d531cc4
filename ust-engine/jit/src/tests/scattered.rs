//! Entries that move to the next free places of their keys, and entries that are counted.

use ust_ir::idiom::Declared;
use ust_ir::interp::{IndicesMut, Memory};
use ust_ir::scalar::Complex;
use ust_ir::{Builder, Dtype, Elem, Expr, Function, IndexArray, IndexKind, Ty};

use super::{Run, Ways, pattern_over};
use crate::pattern::Pattern;

/// The number that is written for an entry that moves to its column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    /// The row, and something: all rows are one call.
    Row,
    /// Another number of the row: each is a call.
    ThreeTimesRow,
    /// The key, which no kernel writes.
    Key,
    /// None: entries are counted.
    Nothing,
}

/// Rows whose entries move to the next free places of their columns.
fn scattering(kind: IndexKind, given: Given) -> Function {
    let mut b = Builder::new("scatter");
    let (n, base) = (b.param("n", Ty::Int), b.param("base", Ty::Int));
    let [pos, crd] = ["pos", "crd"].map(|name| b.index_array(name, kind));
    let values = b.array("values", Elem::Value(Dtype::Complex64), false);
    let next = b.array("next", Elem::Index(IndexKind::U32), true);
    let column = b.array("column", Elem::Index(kind), true);
    let out = b.array("out", Elem::Value(Dtype::Complex64), true);
    b.for_("row", 0.into(), n, |b, row| {
        let (lo, hi) = (b.load(pos, row.clone()), b.load(pos, row.clone() + Expr::from(1)));
        b.for_("p", lo, hi, |b, p| {
            let key = b.load(crd, p.clone());
            let key = b.bind("key", key);
            let slot = b.bind("slot", base.clone() + key.clone());
            let at = b.load(next, slot.clone());
            let at = b.bind("at", at);
            b.store(next, slot.clone(), at.clone() + 1);
            let mut moves = Vec::new();
            if given == Given::Nothing {
                return b.declare(Declared::Placed(next, slot, moves));
            }
            let number = match given {
                Given::Row => row.clone() + base.clone(),
                Given::ThreeTimesRow => row.clone() * Expr::from(3),
                _ => key,
            };
            moves.extend([(column, number), (out, b.load(values, p))]);
            for (to, value) in &moves {
                b.store(*to, at.clone(), value.clone());
            }
            b.declare(Declared::Placed(next, slot, moves));
        });
    });
    b.finish()
}

fn check_scattering<I: Copy + Default + PartialEq + std::fmt::Debug>(kind: IndexKind)
where
    for<'a> IndicesMut<'a>: From<&'a mut [I]>,
{
    for given in [Given::Row, Given::ThreeTimesRow, Given::Key, Given::Nothing] {
        let function = scattering(kind, given);
        let rows = pattern_over(&function, "row");
        assert_eq!(matches!(rows, Some(Pattern::ScatterRows { .. })), given == Given::Row);
        assert_eq!(matches!(rows, Some(Pattern::Count { .. })), given == Given::Nothing);
        let of_row = [Given::Row, Given::ThreeTimesRow].contains(&given);
        let row = pattern_over(&function, "p");
        assert_eq!(matches!(row, Some(Pattern::Scatter { .. })), of_row, "{function}");
        let ways = Ways::of(function);
        let mut ends = vec![0_i64];
        [3, 40, 0, 8, 100, 7, 65, 1].iter().for_each(|n| ends.push(ends[ends.len() - 1] + n));
        let (rows, count) = (ends.len() - 1, ends[ends.len() - 1] as usize);
        let keys: Vec<i64> = (0..count as i64).map(|p| p * 31 % 11).collect();
        let numbers: Vec<_> = (0..count).map(|p| Complex::new(p as f32, -1.0)).collect();
        let [pos, crd] =
            [&ends, &keys].map(|numbers| IndexArray::store(kind, numbers, "", "").unwrap());
        ways.same(given, |run: Run<'_>| {
            // Room for every entry at each of the 11 keys, behind 3 that are none.
            let mut next: Vec<u32> = (0..14).map(|k| k * count as u32).collect();
            let mut column = vec![I::default(); 14 * count];
            let mut out = vec![Complex::new(-1.0_f32, 0.0); 14 * count];
            let mut memory = [
                Memory::Index(&pos),
                Memory::Index(&crd),
                Memory::values(&numbers),
                Memory::IndicesMut(IndicesMut::U32(&mut next)),
                Memory::indices_mut(&mut column[..]),
                Memory::values_mut(&mut out[..]),
            ];
            run(&[(rows as i64).into(), 3_i64.into()], &mut memory);
            (next, column, out)
        });
    }
}

#[test]
fn entries_that_go_to_the_next_free_place() {
    check_scattering::<u32>(IndexKind::U32);
    check_scattering::<i32>(IndexKind::I32);
    check_scattering::<i64>(IndexKind::I64);
    // No kernel has these.
    check_scattering::<u16>(IndexKind::U16);
}
