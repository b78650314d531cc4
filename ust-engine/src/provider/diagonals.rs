//! `diagonals`: a matrix of diagonals (DIA), or its transpose, times a vector or a dense matrix. The kernel
//! computes a strip of rows at a time, with all diagonals.

use std::marker::PhantomData;

use ust_format::IndexExpr;
use ust_kernels::diagonals::{Along, Diagonals};
use ust_kernels::panel::Dense;
use ust_level_api::ir::interp::{Memory, ValuesMut, ValuesRef};
use ust_level_api::{IndexArray, IndexKind, inventory};

use super::product::{
    self, Job, Kernel, Native, Product, Right, SEGMENTS, Summed, by_rows, index_kinds, plain_levels,
};
use super::{Plan, Registration, Shape};
use crate::error::Error;
use crate::tuning::{DIAGONALS_MATRIX_TIME, DIAGONALS_VECTOR_TIME};

inventory::submit!(Registration(&Native::<Times>(PhantomData)));

/// The dimension along which each diagonal is stored in full, in a matrix that lists its diagonals.
fn along(product: &Product<'_, '_>) -> Option<Along> {
    let levels = plain_levels(product.a)?;
    let [(IndexExpr::Sub(column, row), SEGMENTS), (&IndexExpr::Var(dim), Shape::Full)] = levels[..]
    else {
        return None;
    };
    let is_offset = [&**column, &**row] == [&IndexExpr::Var(1), &IndexExpr::Var(0)];
    is_offset.then_some([Along::Rows, Along::Columns][dim])
}

#[derive(Clone, Copy, Debug)]
struct Times {
    /// The dimension of the matrix along which the values of a diagonal are indexed.
    along: Along,
    summed: Summed,
    right: Right,
}

impl Kernel for Times {
    const NAME: &'static str = "diagonals";
    const SUMMARY: &'static str =
        "kernels for diagonals times a vector or a dense matrix, of f32 and f64";

    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let product = Product::of(plan)?;
        let along = along(&product).ok_or("it takes diagonals, each stored in full")?;
        // In a matrix of one row or column, all differences have one sign, and their type is unsigned.
        match index_kinds(plan)[..] {
            [_, IndexKind::I32] => Ok(Self { along, summed: product.summed, right: product.right }),
            _ => Err("it takes differences of either sign, of 32 bits"),
        }
    }

    fn relative_time(&self) -> f64 {
        match self.right {
            Right::Vector => DIAGONALS_VECTOR_TIME,
            Right::Matrix(_) => DIAGONALS_MATRIX_TIME,
        }
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
                        Memory::Index(pos),
                        Memory::Index(IndexArray::I32(offsets)),
                        Memory::Values(ValuesRef::$kind(values)),
                        Memory::Values(ValuesRef::$kind(x)),
                        Memory::ValuesMut(ValuesMut::$kind(y)),
                    ] => {
                        let which = pos.get(0)? as usize..pos.get(1)? as usize;
                        let Some(rows) = y.len().checked_div(width) else {
                            return Some(Ok(()));
                        };
                        let turned: Vec<i32>;
                        let (along, offsets) = match (self.summed, self.along) {
                            (Summed::Columns, along) => (along, &offsets[..]),
                            (Summed::Rows, along) => {
                                // A diagonal below the main one is above it in the transpose.
                                turned = offsets.iter().map(|d| d.wrapping_neg()).collect();
                                (along.other(), &turned[..])
                            }
                        };
                        let matrix = Diagonals { offsets, values, along, rows };
                        let b = Dense { values: x, width };
                        let parts = by_rows(parts, rows);
                        Some(product::run(y, width, &parts, check, |rows, y| match self.right {
                            Right::Vector => matrix.times(which.clone(), rows.start, x, y),
                            Right::Matrix(_) => {
                                matrix.times_dense(which.clone(), rows.start, b, y);
                            }
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
