//! `groups`: a matrix that stores two of every four neighbours times a vector, by a kernel that
//! takes what is stored of several groups at once.

use std::marker::PhantomData;

use bytemuck::cast_slice;
use ust_level_api::ir::interp::{Memory, ValuesMut, ValuesRef};
use ust_level_api::{IndexArray, inventory};

use super::product::{self, Check, Kernel, Native, Parts};
use super::{Plan, Registration};
use crate::error::Error;
use crate::format::Format;
use crate::kernels::groups;

inventory::submit!(Registration(&Native::<Product>(PhantomData)));

#[derive(Debug)]
struct Product;

impl Kernel for Product {
    const NAME: &'static str = "groups";
    const SUMMARY: &'static str = "a kernel for 2:4 times a vector, of f32 and f64";
    const SHARE: f64 = 0.25;

    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let a = product::matrix(plan)?;
        let same = |named: Format| {
            let named = named.with_widths(a.format.pos_width(), a.format.crd_width());
            named.is_ok_and(|named| named == *a.format)
        };
        if !Format::resolve("2:4", Some(2)).is_ok_and(same) {
            return Err("it takes 2:4");
        }
        match groups::available() {
            true => Ok(Self),
            false => Err("it needs AVX2 and FMA, which this machine lacks"),
        }
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
                        Memory::Index(crd),
                        Memory::Values(ValuesRef::$kind(values)),
                        Memory::Values(ValuesRef::$kind(x)),
                        Memory::ValuesMut(ValuesMut::$kind(y)),
                    ] => {
                        macro_rules! with {
                            ($crd:expr) => {{
                                let matrix = groups::Groups { crd: $crd, values };
                                let times = |rows, y: &mut [_]| matrix.times(rows, x, y);
                                Some(product::run(y, 1, parts, check, times))
                            }};
                        }
                        // No coordinate is negative: signed ones are read as they are.
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
