//! `blocks`: a matrix of dense blocks (BSR, BSC), or its transpose, times a vector or a dense matrix. The
//! kernels keep sums in registers.

use std::borrow::Cow;
use std::marker::PhantomData;

use ust_kernels::Number;
use ust_kernels::blocks::{self, Blocks, Order};
use ust_kernels::panel::Dense;
use ust_level_api::ir::interp::{Memory, ValuesMut, ValuesRef};
use ust_level_api::{Dtype, IndexArray, IndexKind, inventory};

use super::product::{
    self, Job, Kernel, Native, Parts, Product, Right, SEGMENTS, Summed, by_rows, index_kinds,
    plain_levels, quotient, remainder,
};
use super::{Plan, Registration, Shape};
use crate::error::Error;
use crate::tuning::{BLOCKS_MATRIX_TIME, BLOCKS_VECTOR_TIME};

inventory::submit!(Registration(&Native::<Times>(PhantomData)));

/// A product with a matrix of blocks, as the plan describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    /// Rows and columns of a block in BSR. In BSC, columns and rows: BSC is BSR of the transpose.
    size: [usize; 2],
    /// The order of values in a block.
    order: Order,
    /// Whether the sum is over the dimension of the first level (rows of BSR, for the product with the
    /// transpose): each block adds to the elements of the result for its columns.
    spreads: bool,
    /// Whether parts of the outermost loop are ranges of rows of blocks.
    in_order: bool,
    right: Right,
}

impl Kernel for Times {
    const NAME: &'static str = "blocks";
    const SUMMARY: &'static str =
        "kernels for BSR and BSC times a vector or a dense matrix, of f32 and f64";

    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let product = Product::of(plan)?;
        let in_order = plan.facts.outermost.walks.contains(&(0, 0));
        let this = Self::of_product(&product, in_order)
            .ok_or("it takes BSR and BSC, their blocks by rows or columns")?;
        let Self { size, order, spreads, right, .. } = this;
        let suits = match (right, spreads, product.a.dtype) {
            (Right::Matrix(_), ..) => true,
            (_, true, _) => blocks::spreads(size, order),
            (_, false, Dtype::F32) => blocks::suits::<f32>(size, order),
            (_, false, _) => blocks::suits::<f64>(size, order),
        };
        if !suits {
            return Err("it takes blocks of at most 8 columns times a vector, and some of more");
        }
        match index_kinds(plan)[..] {
            [IndexKind::U32, IndexKind::U32] => Ok(this),
            _ => Err("it takes 32-bit indices"),
        }
    }

    fn relative_time(&self) -> f64 {
        match self.right {
            Right::Vector => BLOCKS_VECTOR_TIME,
            Right::Matrix(_) => BLOCKS_MATRIX_TIME,
        }
    }

    fn splits_rows(&self) -> bool {
        !self.in_order
    }

    fn adds(&self) -> bool {
        self.spreads
    }

    fn run(&self, job: Job<'_>, memory: &mut [Memory<'_>]) -> Option<Result<(), Error>> {
        let Self { size, order, .. } = *self;
        let width = self.right.width(job.params)?;
        macro_rules! of {
            ($($kind:ident),*) => {
                match memory {
                    $([
                        Memory::Index(IndexArray::U32(pos)),
                        Memory::Index(IndexArray::U32(crd)),
                        Memory::Values(ValuesRef::$kind(values)),
                        Memory::Values(ValuesRef::$kind(x)),
                        Memory::ValuesMut(ValuesMut::$kind(y)),
                    ] => {
                        let blocks = Blocks { pos, crd, values, size, order };
                        Some(self.run_on(job, &blocks, Dense { values: x, width }, y))
                    })*
                    _ => None,
                }
            };
        }
        of!(F32, F64)
    }

    fn describe(&self) -> String {
        let Self { size: [rows, columns], order, spreads, .. } = self;
        let order = match order {
            Order::Rows => "row",
            Order::Columns => "column",
        };
        let how = if *spreads { ", each added where it belongs" } else { "" };
        format!("blocks of {rows} x {columns}, {order} by {order}{how}")
    }
}

impl Times {
    fn run_on<T: Number + Default + Send + Sync>(
        &self,
        Job { parts, check, .. }: Job<'_>,
        blocks: &Blocks<'_, T>,
        b: Dense<'_, T>,
        y: &mut [T],
    ) -> Result<(), Error> {
        let rows = blocks.pos.len().saturating_sub(1);
        let mut parts = Cow::Borrowed(parts);
        if !self.in_order {
            // Blocks of several rows add to the same elements, so one thread runs all rows.
            let one: &Parts = &[vec![(0, 0)]];
            parts = by_rows(if self.spreads { one } else { &parts }, rows).into();
        }
        if !self.spreads {
            let height = self.size[0] * b.width;
            return product::run(y, height, &parts, check, |rows, y| match self.right {
                Right::Vector => blocks.times(rows, b.values, y),
                Right::Matrix(_) => blocks.times_dense(rows, b, y),
            });
        }
        let place = |bound: i64| bound.clamp(0, rows as i64) as usize;
        parts.iter().flatten().try_for_each(|&(lo, hi)| {
            check()?;
            let rows = place(lo)..place(hi);
            match self.right {
                Right::Vector => blocks.spread(rows, b.values, y),
                Right::Matrix(_) => blocks.spread_dense(rows, b, y),
            }
            Ok(())
        })
    }

    /// A product whose matrix is stored as blocks: rows of blocks in full, their columns in segments, and
    /// the blocks in full. `None` for another format.
    fn of_product(product: &Product<'_, '_>, in_order: bool) -> Option<Self> {
        let levels = plain_levels(product.a)?;
        let [(first, Shape::Full), (second, SEGMENTS), (third, Shape::Full), (fourth, Shape::Full)] =
            levels[..]
        else {
            return None;
        };
        let (of, across) = (quotient(first)?, quotient(second)?);
        let within = [remainder(third)?, remainder(fourth)?];
        let order = match within {
            _ if within == [of, across] => Order::Rows,
            _ if within == [across, of] => Order::Columns,
            _ => return None,
        };
        let summed = match of.0 {
            0 => Summed::Rows,
            _ => Summed::Columns,
        };
        let (size, spreads) = ([of.1, across.1], product.summed == summed);
        let right = product.right;
        (of.0 != across.0).then_some(Self { size, order, spreads, in_order, right })
    }
}
