//! `blocks`: a matrix of dense blocks times a vector, by a kernel that keeps sums in registers over
//! a whole row of blocks.

use std::marker::PhantomData;

use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::{Memory, ValuesMut, ValuesRef};
use ust_level_api::{Dtype, IndexArray, IndexKind, inventory};

use super::product::{self, Check, Kernel, Native, Parts};
use super::{Plan, Registration};
use crate::error::Error;
use crate::format::{Format, IndexExpr};
use crate::kernels::blocks::{self, Blocks, Order};

inventory::submit!(Registration(&Native::<Product>(PhantomData)));

/// What is known of the matrix before it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Product {
    /// Rows and columns of a block.
    size: [usize; 2],
    /// How it is stored.
    order: Order,
}

impl Kernel for Product {
    const NAME: &'static str = "blocks";
    const SUMMARY: &'static str = "a kernel for BSR times a vector, of f32 and f64";
    const SHARE: f64 = 0.4;

    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let a = product::matrix(plan)?;
        let this = Self::blocks(a.format)
            .ok_or("it takes BSR, its blocks by rows or columns, with default widths")?;
        let suits = match a.dtype {
            Dtype::F32 => blocks::suits::<f32>(this.size, this.order),
            _ => blocks::suits::<f64>(this.size, this.order),
        };
        if !suits {
            return Err("it takes blocks of at most 8 columns, and some of more");
        }
        let indices = plan.function.arrays.iter().filter_map(|array| match array.elem {
            Elem::Index(kind) => Some(kind),
            Elem::Value(_) => None,
        });
        match indices.eq([IndexKind::U32; 2]) {
            true => Ok(this),
            false => Err("it takes 32-bit indices"),
        }
    }

    fn run(
        &self,
        parts: &Parts,
        memory: &mut [Memory<'_>],
        check: Check<'_>,
    ) -> Option<Result<(), Error>> {
        let Self { size, order } = *self;
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
                        let times = |rows, y: &mut [_]| blocks.times(rows, x, y);
                        Some(product::run(y, size[0], parts, check, times))
                    })*
                    _ => None,
                }
            };
        }
        of!(F32, F64)
    }

    fn describe(&self) -> String {
        let Self { size: [rows, columns], order } = self;
        let order = match order {
            Order::Rows => "row",
            Order::Columns => "column",
        };
        format!("blocks of {rows} x {columns}, {order} by {order}")
    }
}

impl Product {
    /// The blocks of a format that has some.
    fn blocks(format: &Format) -> Option<Self> {
        let [rows, columns, _, _] = format.levels() else { return None };
        let size = |expr: &IndexExpr, dim: usize| match expr {
            IndexExpr::FloorDiv(of, by) if **of == IndexExpr::Var(dim) => match **by {
                IndexExpr::Const(size) => usize::try_from(size).ok().filter(|&size| size > 0),
                _ => None,
            },
            _ => None,
        };
        let size = [size(&rows.expr, 0)?, size(&columns.expr, 1)?];
        let named = |name: &str| {
            Format::resolve(&format!("{name}({}, {})", size[0], size[1]), Some(2)).ok()
        };
        let orders = [("BSR", Order::Rows), ("BSR-Col", Order::Columns)];
        let (_, order) =
            orders.into_iter().find(|(name, _)| named(name).is_some_and(|own| own == *format))?;
        Some(Self { size, order })
    }
}
