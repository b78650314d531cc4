//! Sorting of rows in any order, and combination of rows with equal coordinates.

use ust_format::Bound;
use ust_kernels::pool::{apart, threads};
use ust_level_api::ir::interp::Memory;
use ust_level_api::ir::{Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Dtype, IndexKind, with_dtype};

use crate::convert::rows::Rows;
use crate::error::Error;
use crate::expr::operator::Operator;
use crate::storage::{StoredElement, Values};
use crate::walk::native::Code;

/// Sorts rows of one value each by their level coordinates, and combines rows with equal coordinates.
///
/// These are combined in the order in which they were appended. Cost: as sorting entries.
pub(crate) fn sort_and_combine(rows: Rows, bound: &Bound, op: &Operator) -> Result<Rows, Error> {
    rows.fetch()?;
    let (rows, starts) = rows.sorted(bound)?;
    let Some(starts) = starts else { return Ok(rows) };
    let dtype = rows.values.dtype();
    let groups = starts.len() - 1;
    let code = Code::trusting(&grouped(op, dtype), rows.values.len())?;
    let mut values = Values::unspecified(dtype, groups);
    with_dtype!(dtype, T => {
        let mut memory = [
            Memory::Indices(&starts),
            Memory::values(rows.values.typed::<T>()?),
            Memory::values_mut(values.typed_mut::<T>()?),
        ];
        code.run(&[(groups as i64).into()], &mut memory)?;
    });
    Ok(Rows { columns: rows.columns, values })
}

/// Combines groups of values: `out[g] = value[starts[g]] op ...`.
fn grouped(op: &Operator, dtype: Dtype) -> Function {
    let mut b = Builder::new("combine");
    let groups = b.param("groups", Ty::Int);
    let starts = b.array("starts", Elem::Index(IndexKind::I64), false);
    let value = b.array("value", Elem::Value(dtype), false);
    let out = b.array("out", Elem::Value(dtype), true);
    b.for_("g", Expr::Int(0), groups, |b, g| {
        let lo = b.load(starts, g.clone());
        let lo = b.bind("lo", lo);
        let first = b.load(value, lo.clone());
        let sum = b.var("sum", first);
        let hi = b.load(starts, g.clone() + 1);
        b.for_("t", lo + 1, hi, |b, t| {
            let next = b.load(value, t);
            b.assign(sum, op.emit(vec![sum.into(), next], dtype, dtype));
        });
        b.store(out, g, sum.into());
    });
    b.finish()
}

/// Code that combines copies of a result, element by element.
///
/// # Errors
/// As [`Code::trusting`].
pub(crate) fn combining(op: &Operator, dtype: Dtype) -> Result<Code, Error> {
    let mut b = Builder::new("combine");
    let length = b.param("length", Ty::Int);
    let from = b.array("from", Elem::Value(dtype), false);
    let to = b.array("to", Elem::Value(dtype), true);
    b.for_("at", Expr::Int(0), length, |b, at| {
        let (a, z) = (b.load(to, at.clone()), b.load(from, at.clone()));
        match op.reduction(dtype) {
            Some(op) => b.reduce(op, to, at, z),
            None => b.store(to, at, op.emit(vec![a, z], dtype, dtype)),
        }
    });
    // The code runs many times, so it is worth compiling.
    Code::trusting(&b.finish(), usize::MAX)
}

/// Combines copies of a result into the result, in order, by the code from [`combining`].
pub(crate) fn combine_copies<T: StoredElement>(
    code: &Code,
    all: &mut [T],
    copies: &[Values],
) -> Result<(), Error> {
    let copies: Vec<&[T]> = copies.iter().map(Values::typed).collect::<Result<_, _>>()?;
    let each = all.len().div_ceil(threads(all.len() * copies.len())).max(1);
    apart(all.chunks_mut(each).enumerate(), |(at, all)| {
        copies.iter().try_for_each(|copy| {
            let copy = &copy[at * each..][..all.len()];
            let mut memory = [T::memory(copy), T::memory_mut(all)];
            Ok(code.run(&[(copy.len() as i64).into()], &mut memory)?)
        })
    })
}
