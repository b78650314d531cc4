//! How many elements of a tensor have the same values of expressions as an entry.
//!
//! Dimensions that occur together in expressions are looked at together, and the numbers are multiplied. Where they have
//! few elements, these are counted. Else one expression may be a sum of functions of one dimension each, such as `j - i`:
//! then the values of both functions are counted, and the numbers of pairs with this sum are added.

use std::collections::BTreeSet;

use ust_format::IndexExpr;
use ust_level_api::IndexColumn;

use crate::convert::tally::{Tally, evaluated, tally};
use crate::error::Error;
use crate::storage::coo::Columns;
use crate::tuning::{COUNTED_ELEMENTS, COUNTED_VALUES};

/// For each entry, the number of elements with its values of these expressions.
///
/// # Errors
/// [`Error::Unsupported`] if that is not known how to count; as [`evaluated`].
pub(super) fn elements(exprs: &[IndexExpr], entries: &Columns) -> Result<Vec<f64>, Error> {
    let (shape, len) = (&entries.shape, entries.values.len());
    let occurs: BTreeSet<usize> = exprs.iter().flat_map(IndexExpr::vars).collect();
    let free = (0..shape.len()).filter(|dim| !occurs.contains(dim));
    let mut each = vec![free.map(|dim| shape[dim] as f64).product(); len];
    for (dims, exprs) in together(exprs) {
        let some: Option<usize> = dims.iter().try_fold(1_usize, |n, &d| n.checked_mul(shape[d]));
        let few = some.filter(|&some| dims.len() == 1 || some <= COUNTED_ELEMENTS);
        match (few, &exprs[..]) {
            (Some(count), exprs) => counted(exprs, &dims, count, entries, &mut each)?,
            (None, [one]) => paired(one, &dims, entries, &mut each)?,
            _ => return Err(unknown()),
        }
    }
    Ok(each)
}

fn unknown() -> Error {
    Error::Unsupported(
        "the number of elements with equal values of the expressions of `fill` is not known for this shape: use `count`"
            .to_owned(),
    )
}

/// Sets of dimensions that occur in expressions together, with these expressions.
fn together(exprs: &[IndexExpr]) -> Vec<(BTreeSet<usize>, Vec<&IndexExpr>)> {
    let mut sets: Vec<(BTreeSet<usize>, Vec<&IndexExpr>)> = Vec::new();
    for expr in exprs {
        let mut joined = (expr.vars(), vec![expr]);
        let (meet, apart): (Vec<_>, Vec<_>) =
            sets.into_iter().partition(|(dims, _)| !dims.is_disjoint(&joined.0));
        for (dims, exprs) in meet {
            joined.0.extend(dims);
            joined.1.extend(exprs);
        }
        sets = apart;
        // A constant is no condition.
        if !joined.0.is_empty() {
            sets.push(joined);
        }
    }
    sets
}

/// Multiplies by numbers that are counted over all elements of these dimensions.
fn counted(
    exprs: &[&IndexExpr],
    dims: &BTreeSet<usize>,
    count: usize,
    entries: &Columns,
    each: &mut [f64],
) -> Result<(), Error> {
    let shape = &entries.shape;
    let mut columns = vec![IndexColumn::Same(0, count); shape.len()];
    let mut stride = 1;
    // For each entry, its place among all elements of these dimensions.
    let mut places = vec![0_usize; each.len()];
    for &dim in dims {
        let coordinate = |at: usize| (at / stride % shape[dim]) as i64;
        columns[dim] = match dims.len() {
            1 => IndexColumn::Count(count),
            _ => (0..count).map(coordinate).collect::<Vec<i64>>().into(),
        };
        let own = &entries.crd[dim];
        let all = places.iter_mut().enumerate();
        all.for_each(|(at, place)| *place += own.at(at) as usize * stride);
        stride *= shape[dim];
    }
    let values = exprs.iter().map(|expr| evaluated(expr, &columns, count));
    let numbers = tally(&values.collect::<Result<Vec<_>, _>>()?, count, Tally::Count)?;
    each.iter_mut().zip(places).for_each(|(n, place)| *n *= f64::from(numbers[place]));
    Ok(())
}

/// Consecutive values, each of which the same number of coordinates have.
struct Run {
    first: i64,
    len: i64,
    count: f64,
}

/// Multiplies by numbers of pairs of coordinates in two dimensions, for an expression that is a sum of functions of one
/// of them each.
fn paired(
    expr: &IndexExpr,
    dims: &BTreeSet<usize>,
    entries: &Columns,
    each: &mut [f64],
) -> Result<(), Error> {
    let dims: Vec<usize> = dims.iter().copied().collect();
    let (Some(terms), &[first, second]) = (terms(expr), &dims[..]) else { return Err(unknown()) };
    let of = |dim: usize| -> Result<Vec<Run>, Error> {
        let own = terms.iter().filter(|term| {
            let vars = term.vars();
            vars.contains(&dim) || (vars.is_empty() && dim == first)
        });
        let sum = own.cloned().reduce(|a, b| IndexExpr::Add(Box::new(a), Box::new(b)));
        runs(&sum.unwrap_or(IndexExpr::Const(0)), dim, entries)
    };
    let (a, b) = (of(first)?, of(second)?);
    if a.len() * b.len() > COUNTED_VALUES {
        return Err(unknown());
    }
    // Where `a` is in its run, and `value - a` in that of `b`.
    let pairs = |value: i64| -> f64 {
        let pair = |a: &Run, b: &Run| {
            let from = (value - b.first - b.len + 1).max(a.first);
            let until = (value - b.first).min(a.first + a.len - 1);
            (until - from + 1).max(0) as f64 * a.count * b.count
        };
        a.iter().map(|a| b.iter().map(|b| pair(a, b)).sum::<f64>()).sum()
    };
    let values = evaluated(expr, &entries.crd, each.len())?;
    let extremes = values.extremes().map_err(Error::Device)?;
    let Some((lo, hi)) = extremes else { return Ok(()) };
    let size = usize::try_from(hi.abs_diff(lo)).unwrap_or(usize::MAX).saturating_add(1);
    // Entries of one diagonal share their number.
    let mut known = match size <= each.len().saturating_mul(4) {
        true => vec![0.0; size],
        false => Vec::new(),
    };
    for (at, n) in each.iter_mut().enumerate() {
        let value = values.at(at);
        *n *= match known.get_mut(value.abs_diff(lo) as usize) {
            Some(known) => {
                if *known == 0.0 {
                    *known = pairs(value);
                }
                *known
            }
            None => pairs(value),
        };
    }
    Ok(())
}

/// The terms of a sum, of one variable at most each. `None` if there are others.
fn terms(expr: &IndexExpr) -> Option<Vec<IndexExpr>> {
    let negated = |term: IndexExpr| IndexExpr::Mul(Box::new(IndexExpr::Const(-1)), Box::new(term));
    Some(match expr {
        one if one.vars().len() <= 1 => vec![one.clone()],
        IndexExpr::Add(a, b) => [terms(a)?, terms(b)?].concat(),
        IndexExpr::Sub(a, b) => {
            let others = terms(b)?.into_iter().map(negated);
            terms(a)?.into_iter().chain(others).collect()
        }
        IndexExpr::Mul(a, b) if **a == IndexExpr::Const(-1) => {
            terms(b)?.into_iter().map(negated).collect()
        }
        _ => return None,
    })
}

/// The values of an expression over all coordinates of a dimension.
fn runs(expr: &IndexExpr, dim: usize, entries: &Columns) -> Result<Vec<Run>, Error> {
    let extent = entries.shape[dim];
    let mut columns = vec![IndexColumn::Same(0, extent); entries.shape.len()];
    columns[dim] = IndexColumn::Count(extent);
    let mut values = evaluated(expr, &columns, extent)?.into_vec();
    values.sort_unstable();
    let mut runs: Vec<Run> = Vec::new();
    for same in values.chunk_by(|a, b| a == b) {
        let (value, count) = (same[0], same.len() as f64);
        match runs.last_mut() {
            Some(run) if run.count.to_bits() == count.to_bits() && run.first + run.len == value => {
                run.len += 1;
            }
            _ => runs.push(Run { first: value, len: 1, count }),
        }
    }
    Ok(runs)
}
