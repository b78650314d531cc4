//! `diagonals`: a matrix of diagonals, or its transpose, times a vector, by a kernel that takes a strip
//! of rows of all diagonals at a time.

use std::marker::PhantomData;

use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::{Memory, ValuesMut, ValuesRef};
use ust_level_api::{IndexArray, IndexKind, inventory};

use super::product::{self, Check, Kernel, Native, Parts, Summed};
use super::{Plan, Registration};
use crate::error::Error;
use crate::format::Format;
use crate::kernels::diagonals::{Along, Diagonals};

inventory::submit!(Registration(&Native::<Product>(PhantomData)));

/// As many parts in as many groups, of rows.
fn by_rows(parts: &Parts, rows: usize) -> Vec<Vec<(i64, i64)>> {
    let count = parts.iter().map(Vec::len).sum::<usize>() as u128;
    let mut bounds = (0..=count).map(|k| (rows as u128 * k / count) as i64);
    let mut lo = bounds.next().unwrap_or(0);
    let mut next = |_| {
        let part = (lo, bounds.next().unwrap_or(lo));
        lo = part.1;
        part
    };
    parts.iter().map(|group| group.iter().map(&mut next).collect()).collect()
}

#[derive(Clone, Copy, Debug)]
struct Product {
    /// By which dimension of the matrix its numbers are stored.
    along: Along,
    summed: Summed,
}

impl Kernel for Product {
    const NAME: &'static str = "diagonals";
    const SUMMARY: &'static str =
        "a kernel for diagonals, or their transpose, times a vector, of f32 and f64";
    const SHARE: f64 = 0.7;
    const BY_ROWS: bool = true;

    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let (a, summed) = product::either(plan)?;
        let named = |name: &str| Format::resolve(name, Some(2)).is_ok_and(|own| own == *a.format);
        let along = [("DIA-I", Along::Rows), ("DIA-J", Along::Columns)];
        // Of a single row or column, all differences have one sign, and are stored without.
        let offsets = plan.function.arrays.get(1).map(|array| array.elem);
        if offsets != Some(Elem::Index(IndexKind::I32)) {
            return Err("it takes differences of either sign");
        }
        let found = along.into_iter().find(|(name, _)| named(name));
        found
            .map(|(_, along)| Self { along, summed })
            .ok_or("it takes DIA-I and DIA-J with default widths")
    }

    fn run(
        &self,
        parts: &Parts,
        memory: &mut [Memory<'_>],
        check: Check<'_>,
    ) -> Option<Result<(), Error>> {
        macro_rules! of {
            ($($kind:ident),*) => {
                match memory {
                    $([
                        Memory::Index(pos),
                        Memory::Index(IndexArray::I32(offsets)),
                        Memory::Values(ValuesRef::$kind(values)),
                        Memory::Values(ValuesRef::$kind(x)),
                        Memory::ValuesMut(ValuesMut::$kind(y)),
                    ] => {
                        let stored = (pos.get(0)?, pos.get(1)?);
                        let place = |bound: i64| bound.clamp(stored.0, stored.1) as usize;
                        let mut all = parts.iter().flatten();
                        // Of nothing there may be no part at all.
                        let Some(&first) = all.next() else {
                            y.fill(0.0);
                            return Some(Ok(()));
                        };
                        let which = place(first.0)..place(all.last().unwrap_or(&first).1);
                        let rows = y.len();
                        let turned: Vec<i32>;
                        let (along, offsets) = match (self.summed, self.along) {
                            (Summed::Columns, along) => (along, &offsets[..]),
                            (Summed::Rows, along) => {
                                // What is below the diagonal of a matrix is above that of its transpose.
                                turned = offsets.iter().map(|d| d.wrapping_neg()).collect();
                                (along.other(), &turned[..])
                            }
                        };
                        let matrix = Diagonals { offsets, values, along, rows };
                        Some(product::run(y, 1, &by_rows(parts, rows), check, |rows, y| {
                            matrix.times(which.clone(), rows.start, x, y);
                        }))
                    })*
                    _ => None,
                }
            };
        }
        of!(F32, F64)
    }

    fn describe(&self) -> String {
        let by = match self.along {
            Along::Rows => "diagonals by row",
            Along::Columns => "diagonals by column",
        };
        match self.summed {
            Summed::Columns => by.to_owned(),
            Summed::Rows => format!("{by}, of the transpose"),
        }
    }
}
