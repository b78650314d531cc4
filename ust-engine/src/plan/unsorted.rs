//! Rows in any order, with repetitions: sorted, and combined where they meet.

use rayon::prelude::*;
use ust_level_api::ir::interp::Memory;
use ust_level_api::ir::{Builder, Elem, Expr, Function, Ty};
use ust_level_api::{Dtype, with_dtype};
use ust_level_api::{IndexColumn, IndexKind};

use crate::error::Error;
use crate::format::Bound;
use crate::lower::native::Code;
use crate::ops::operator::Operator;
use crate::tensor::rows::Rows;
use crate::tensor::{StoredElement, Values};

/// Sorts rows of one value each by their level coordinates, and combines those at the same place.
///
/// Rows at the same place are combined in the order in which they came.
pub(super) fn sort_and_combine(rows: &Rows, bound: &Bound, op: &Operator) -> Result<Rows, Error> {
    let count = rows.columns.first().map_or(0, IndexColumn::len);
    let given: Vec<Vec<i64>> = rows.columns.iter().map(IndexColumn::to_vec).collect();
    let sizes: Vec<u64> = bound.levels().iter().map(|level| level.size.max(1)).collect();
    let all = sizes.iter().try_fold(1_u64, |all, &size| all.checked_mul(size));
    let same: Box<dyn Fn(u64, u64) -> bool + Sync> =
        Box::new(|a, b| given.iter().all(|column| column[a as usize] == column[b as usize]));
    let order: Vec<u64> = match all {
        Some(_) => {
            let key = |at: u64| {
                let levels = given.iter().zip(bound.levels()).zip(&sizes);
                levels.fold(0, |key, ((column, level), size)| {
                    key * size + (column[at as usize] - level.lower) as u64
                })
            };
            let mut pairs: Vec<(u64, u64)> =
                (0..count as u64).into_par_iter().map(|at| (key(at), at)).collect();
            pairs.par_sort_unstable();
            pairs.into_iter().map(|(_, at)| at).collect()
        }
        None => {
            let mut order: Vec<u64> = (0..count as u64).collect();
            order.par_sort_by(|&a, &b| {
                let each = given.iter().map(|c| c[a as usize].cmp(&c[b as usize]));
                each.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
            });
            order
        }
    };
    let mut starts: Vec<i64> = (0..count)
        .into_par_iter()
        .filter(|&at| at == 0 || !same(order[at - 1], order[at]))
        .map(|at| at as i64)
        .collect();
    drop(same);
    let heads: Vec<u64> = starts.iter().map(|&at| order[at as usize]).collect();
    let column = |column: &Vec<i64>| -> IndexColumn {
        heads.par_iter().map(|&at| column[at as usize]).collect::<Vec<i64>>().into()
    };
    let columns = given.iter().map(column).collect();
    if starts.len() == count {
        return Ok(Rows { columns, values: rows.values.gather(&order) });
    }
    starts.push(count as i64);
    let order: Vec<i64> = order.into_iter().map(|at| at as i64).collect();
    let dtype = rows.values.dtype();
    let code = Code::trusting(&grouped(op, dtype), count)?;
    let mut values = Values::filled(dtype.zero(), heads.len());
    with_dtype!(dtype, T => {
        let mut memory = [
            Memory::Indices(&starts),
            Memory::Indices(&order),
            Memory::values(rows.values.typed::<T>()?),
            Memory::values_mut(values.typed_mut::<T>()?),
        ];
        code.run(&[(heads.len() as i64).into()], &mut memory)?;
    });
    Ok(Rows { columns, values })
}

/// Combines groups of values: `out[g] = value[order[starts[g]]] op ...`.
fn grouped(op: &Operator, dtype: Dtype) -> Function {
    let mut b = Builder::new("combine");
    let groups = b.param("groups", Ty::Int);
    let long = Elem::Index(IndexKind::I64);
    let starts = b.array("starts", long, false);
    let order = b.array("order", long, false);
    let value = b.array("value", Elem::Value(dtype), false);
    let out = b.array("out", Elem::Value(dtype), true);
    b.for_("g", Expr::Int(0), groups, |b, g| {
        let lo = b.load(starts, g.clone());
        let lo = b.bind("lo", lo);
        let first = b.load(value, b.load(order, lo.clone()));
        let sum = b.var("sum", first);
        let hi = b.load(starts, g.clone() + 1);
        b.for_("t", lo + 1, hi, |b, t| {
            let next = b.load(value, b.load(order, t));
            b.assign(sum, op.emit(vec![sum.into(), next], dtype, dtype));
        });
        b.store(out, g, sum.into());
    });
    b.finish()
}

/// Combines copies of a result into it, element by element, in order.
pub(super) fn combine_copies<T: StoredElement>(
    op: &Operator,
    all: &mut [T],
    copies: &[Vec<T>],
) -> Result<(), Error> {
    let dtype = T::DTYPE;
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
    let code = Code::trusting(&b.finish(), all.len() * copies.len())?;
    for copy in copies {
        let mut memory = [T::memory_of(copy), T::memory(all)];
        code.run(&[(copy.len() as i64).into()], &mut memory)?;
    }
    Ok(())
}
