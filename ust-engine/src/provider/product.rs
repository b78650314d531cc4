//! A matrix times a vector: what the native kernels for it share.

use std::ops::Range;

use rayon::prelude::*;
use ust_level_api::Dtype;
use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::Param;

use super::{Access, Groups, Plan};
use crate::error::Error;
use crate::format::{Format, IndexExpr};
use crate::ops::Operator;
use crate::ops::term::Term;

/// The matrix of a plan that is `y(i) = A(i,j) * x(j)` with vectors stored in full, of f32 or f64
/// throughout, or why it is none.
pub(super) fn matrix<'p, 'a>(plan: &'p Plan<'a>) -> Result<&'p Access<'a>, &'static str> {
    let ([a, x], Some((Operator::Add, reduced))) = (&plan.operands[..], &plan.reduce) else {
        return Err("it sums products of a matrix and a vector");
    };
    let product = matches!(plan.body, Term::Call { op: Operator::Mul, args, .. }
        if matches!(args[..], [Term::Element(0), Term::Element(1)]));
    let of_matrix = match a.indices {
        [i, j] => [*i] == *plan.result.indices && [*j] == *x.indices && [*j] == **reduced,
        _ => false,
    };
    if !product || !of_matrix {
        return Err("it sums products of a matrix and a vector");
    }
    let plain = |format: &Format| {
        matches!(format.levels(), [level] if level.expr == IndexExpr::Var(0)) && format.tail() == 0
    };
    if !plain(x.format) || !plain(plan.result.format) {
        return Err("it takes a vector that is stored in full, and gives one");
    }
    let values = plan.function.arrays.iter().filter_map(|array| match array.elem {
        Elem::Value(dtype) => Some(dtype),
        Elem::Index(_) => None,
    });
    let real = matches!(a.dtype, Dtype::F32 | Dtype::F64);
    if !real || !values.eq([a.dtype; 3]) || !a.fill.same(&a.dtype.zero()) {
        return Err("it takes f32 or f64 throughout, with fill value 0");
    }
    match plan.strict {
        true => Err("it sums in another order than the loops"),
        false => Ok(a),
    }
}

/// Where the outermost loop begins and ends.
pub(super) fn part(params: &[Param]) -> (i64, i64) {
    match *params {
        [.., Param::Int(lo), Param::Int(hi)] => (lo, hi),
        _ => (i64::MIN, i64::MAX),
    }
}

/// The parts of all groups.
pub(super) fn parts(groups: &Groups<'_>) -> Vec<Vec<(i64, i64)>> {
    groups.iter().map(|group| group.iter().map(|params| part(params)).collect()).collect()
}

/// Runs groups of ranges of rounds, which follow each other, at the same time. A round writes
/// `height` elements of `y`; `times` gets rounds and what they write.
pub(super) fn run<T: Send>(
    mut y: &mut [T],
    height: usize,
    groups: &[Vec<(i64, i64)>],
    check: &(dyn Fn() -> Result<(), Error> + Sync),
    times: impl Fn(Range<usize>, &mut [T]) + Sync,
) -> Result<(), Error> {
    let last = y.len().div_ceil(height);
    let place = |bound: i64| bound.clamp(0, last as i64) as usize;
    let mut jobs = Vec::with_capacity(groups.len());
    let mut done = 0;
    for group in groups {
        let mut job = Vec::with_capacity(group.len());
        for &(lo, hi) in group {
            let (lo, hi) = (place(lo).max(done), place(hi).max(done));
            let skipped = ((lo - done) * height).min(y.len());
            let (_, others) = std::mem::take(&mut y).split_at_mut(skipped);
            let mine = ((hi - lo) * height).min(others.len());
            let (mine, others) = others.split_at_mut(mine);
            job.push((lo..hi, mine));
            (y, done) = (others, hi);
        }
        jobs.push(job);
    }
    let run = |job: Vec<(Range<usize>, &mut [T])>| {
        job.into_iter().try_for_each(|(rounds, y)| {
            check()?;
            times(rounds, y);
            Ok(())
        })
    };
    match jobs.len() {
        1 => jobs.into_iter().try_for_each(run),
        _ => jobs.into_par_iter().try_for_each(run),
    }
}
