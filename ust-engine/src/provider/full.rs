//! `full`: a matrix that is stored in full, or its transpose, times a dense matrix.

use std::marker::PhantomData;

use ust_level_api::inventory;
use ust_level_api::ir::interp::{Memory, ValuesMut, ValuesRef};

use super::product::{self, Job, Kernel, Native, Product, Right, Summed, by_rows};
use super::{Plan, Registration};
use crate::error::Error;
use crate::kernels::panel::{Dense, Full};

inventory::submit!(Registration(&Native::<Times>(PhantomData)));

#[derive(Clone, Copy, Debug)]
struct Times {
    /// Whether the numbers that are summed lie one after another.
    along: bool,
    right: Right,
}

impl Kernel for Times {
    const NAME: &'static str = "full";
    const SUMMARY: &'static str =
        "a kernel for Dense and DenseCol times a dense matrix, of f32 and f64";

    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let product = Product::of(plan)?;
        let formats = [("Dense", Summed::Columns), ("DenseCol", Summed::Rows)];
        let found = formats.into_iter().find(|(name, _)| product.is_in(name));
        let (_, contiguous) = found.ok_or("it takes Dense and DenseCol")?;
        match product.right {
            Right::Vector => Err("it takes a dense matrix as the second factor"),
            right => Ok(Self { along: product.summed == contiguous, right }),
        }
    }

    fn share(&self) -> f64 {
        0.1
    }

    fn splits_rows(&self) -> bool {
        true
    }

    fn run(&self, job: Job<'_>, memory: &mut [Memory<'_>]) -> Option<Result<(), Error>> {
        let Job { params, parts, check } = job;
        let width = self.right.width(params)?;
        macro_rules! of {
            ($($kind:ident),*) => {
                match memory {
                    $([
                        Memory::Values(ValuesRef::$kind(values)),
                        Memory::Values(ValuesRef::$kind(b)),
                        Memory::ValuesMut(ValuesMut::$kind(c)),
                    ] => {
                        let Some(rows) = c.len().checked_div(width) else { return Some(Ok(())) };
                        let b = Dense { values: b, width };
                        let columns = b.rows();
                        let strides = if self.along { [columns, 1] } else { [1, rows] };
                        let parts = by_rows(parts, rows);
                        Some(product::run(c, width, &parts, check, |rows, c| {
                            let values = values.get(rows.start * strides[0]..).unwrap_or_default();
                            Full { values, strides, first: 0, columns }.times(b, c);
                        }))
                    })*
                    _ => None,
                }
            };
        }
        of!(F32, F64)
    }

    fn describe(&self) -> String {
        let by = if self.along { "row by row" } else { "column by column" };
        format!("all of a matrix, {by}")
    }
}
