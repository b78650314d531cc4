//! `diagonals`: a matrix of diagonals times a vector, by a kernel that takes a strip of rows of all
//! diagonals at a time.

use std::marker::PhantomData;

use ust_level_api::ir::interp::{Memory, ValuesMut, ValuesRef};
use ust_level_api::{IndexArray, inventory};

use super::product::{self, Check, Kernel, Native, Parts};
use super::{Plan, Registration};
use crate::error::Error;
use crate::format::Format;
use crate::kernels::diagonals::{Along, Diagonals};

inventory::submit!(Registration(&Native::<Product>(PhantomData)));

#[derive(Clone, Copy, Debug)]
struct Product(Along);

impl Kernel for Product {
    const NAME: &'static str = "diagonals";
    const SUMMARY: &'static str = "a kernel for diagonals times a vector, of f32 and f64";
    const SHARE: f64 = 0.7;

    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
        let a = product::matrix(plan)?;
        let named = |name: &str| Format::resolve(name, Some(2)).is_ok_and(|own| own == *a.format);
        let along = [("DIA-I", Along::Rows), ("DIA-J", Along::Columns)];
        let found = along.into_iter().find(|(name, _)| named(name));
        found.map(|(_, along)| Self(along)).ok_or("it takes DIA-I and DIA-J with default widths")
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
                        let matrix = Diagonals { offsets, values, along: self.0 };
                        // Every part writes all of `y`: one after another.
                        Some(parts.iter().flatten().try_for_each(|&(lo, hi)| {
                            check()?;
                            let place = |bound: i64| bound.clamp(stored.0, stored.1) as usize;
                            matrix.times(place(lo)..place(hi), x, y);
                            Ok(())
                        }))
                    })*
                    _ => None,
                }
            };
        }
        of!(F32, F64)
    }

    fn describe(&self) -> String {
        match self.0 {
            Along::Rows => "diagonals by row".to_owned(),
            Along::Columns => "diagonals by column".to_owned(),
        }
    }
}
