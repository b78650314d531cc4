//! `groups`: a 2:4 matrix, which stores two of every four neighbouring elements, times a vector or a dense
//! matrix. The kernel for vectors multiplies the entries of several groups at once.

use std::marker::PhantomData;

use bytemuck::cast_slice;
use ust_format::IndexExpr;
use ust_kernels::groups;
use ust_kernels::panel::Dense;
use ust_level_api::ir::interp::{Memory, ValuesMut, ValuesRef};
use ust_level_api::{IndexArray, inventory};

use super::product::{
    self, Job, Kernel, Native, Product, Right, Summed, by_rows, index_kinds, plain_levels,
    quotient, remainder,
};
use super::{Children, Plan, Registration, Shape};
use crate::error::Error;
use crate::tuning::GROUPS_TIME;

inventory::submit!(Registration(&Native::<Times>(PhantomData)));

/// Whether a matrix lists two columns of every four, row by row.
fn is_two_of_four(product: &Product<'_, '_>) -> bool {
    const TWO: Shape = Shape::Listed { crd: 0, children: Children::Fixed(2) };
    let levels = plain_levels(product.a).unwrap_or_default();
    let [(IndexExpr::Var(0), Shape::Full), (group, Shape::Full), (within, TWO)] = levels[..] else {
        return false;
    };
    let of = Some((1, 4));
    quotient(group) == of && remainder(within) == of
}

#[derive(Debug)]
struct Times {
    /// Whether parts of the outermost loop are ranges of rows.
    in_order: bool,
    right: Right,
}

impl Kernel for Times {
    const NAME: &'static str = "groups";
    const SUMMARY: &'static str =
        "kernels for 2:4 times a vector or a dense matrix, of f32 and f64";

    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let product = Product::of(plan)?;
        if !is_two_of_four(&product) || product.summed == Summed::Rows {
            return Err("it takes two of every four columns, and sums over columns");
        }
        if index_kinds(plan).len() != 1 {
            return Err("it takes one array of coordinates");
        }
        match groups::available() {
            true => Ok(Self {
                in_order: plan.facts.outermost.walks.contains(&(0, 0)),
                right: product.right,
            }),
            false => Err("it needs AVX2 and FMA, which this machine lacks"),
        }
    }

    fn relative_time(&self) -> f64 {
        GROUPS_TIME
    }

    fn splits_rows(&self) -> bool {
        !self.in_order
    }

    fn run(&self, job: Job<'_>, memory: &mut [Memory<'_>]) -> Option<Result<(), Error>> {
        let Job { params, parts, check } = job;
        let width = self.right.width(params)?;
        macro_rules! of {
            ($($kind:ident),*) => {
                match memory {
                    $([
                        Memory::Index(crd),
                        Memory::Values(ValuesRef::$kind(values)),
                        Memory::Values(ValuesRef::$kind(x)),
                        Memory::ValuesMut(ValuesMut::$kind(y)),
                    ] => {
                        macro_rules! with {
                            ($crd:expr) => {{
                                let matrix = groups::Groups { crd: $crd, values };
                                let Some(rows) = y.len().checked_div(width) else {
                                    return Some(Ok(()));
                                };
                                let parts =
                                    if self.in_order { parts.to_vec() } else { by_rows(parts, rows) };
                                let b = Dense { values: x, width };
                                Some(product::run(y, width, &parts, check, |rows, y: &mut [_]| {
                                    match self.right {
                                        Right::Vector => matrix.times(rows, x, y),
                                        Right::Matrix(_) => matrix.times_dense(rows, b, y),
                                    }
                                }))
                            }};
                        }
                        // No coordinate is negative, so signed coordinates are read as unsigned.
                        match crd {
                            IndexArray::U2(packed) => with!(groups::Packed::of(packed.bytes())),
                            IndexArray::U8(crd) => with!(&crd[..]),
                            IndexArray::U16(crd) => with!(&crd[..]),
                            IndexArray::U32(crd) => with!(&crd[..]),
                            IndexArray::U64(crd) => with!(&crd[..]),
                            IndexArray::I8(crd) => with!(cast_slice::<i8, u8>(crd)),
                            IndexArray::I16(crd) => with!(cast_slice::<i16, u16>(crd)),
                            IndexArray::I32(crd) => with!(cast_slice::<i32, u32>(crd)),
                            IndexArray::I64(crd) => with!(cast_slice::<i64, u64>(crd)),
                        }
                    })*
                    _ => None,
                }
            };
        }
        of!(F32, F64)
    }

    fn describe(&self) -> String {
        "two of every four".to_owned()
    }
}
