//! A matrix times a vector: what the native kernels for it share.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::{Dtype, Scalar};

use super::{Access, Executable, Groups, Offer, Plan, Provider};
use crate::error::Error;
use crate::format::{Format, IndexExpr};
use crate::ops::Operator;
use crate::ops::term::Term;
use crate::pool::apart;

/// Which of its dimensions a matrix is summed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Summed {
    /// `y(i) = A(i,j) * x(j)`.
    Columns,
    /// `y(j) = A(i,j) * x(i)`: the product with its transpose.
    Rows,
}

/// The matrix of a plan that is `y(i) = A(i,j) * x(j)` with vectors stored in full, of f32 or f64
/// throughout, or why it is none.
pub(super) fn matrix<'p, 'a>(plan: &'p Plan<'a>) -> Result<&'p Access<'a>, &'static str> {
    match either(plan)? {
        (a, Summed::Columns) => Ok(a),
        _ => Err("it sums products of a matrix and a vector"),
    }
}

/// The matrix of such a plan, or of one for its transpose.
pub(super) fn either<'p, 'a>(plan: &'p Plan<'a>) -> Result<(&'p Access<'a>, Summed), &'static str> {
    let ([a, x], Some((Operator::Add, reduced))) = (&plan.operands[..], &plan.reduce) else {
        return Err("it sums products of a matrix and a vector");
    };
    let product = matches!(plan.body, Term::Call { op: Operator::Mul, args, .. }
        if matches!(args[..], [Term::Element(0), Term::Element(1)]));
    let is =
        |i: usize, j: usize| [i] == *plan.result.indices && [j] == *x.indices && [j] == **reduced;
    let summed = match *a.indices {
        [i, j] if is(i, j) => Some(Summed::Columns),
        [i, j] if is(j, i) => Some(Summed::Rows),
        _ => None,
    };
    let Some(summed) = summed.filter(|_| product) else {
        return Err("it sums products of a matrix and a vector");
    };
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
    let zero = |fill: Scalar| fill.same(&a.dtype.zero());
    if !real || !values.eq([a.dtype; 3]) || !zero(a.fill) || !zero(plan.result.fill) {
        return Err("it takes f32 or f64 throughout, with fill value 0");
    }
    match plan.strict {
        true => Err("it sums in another order than the loops"),
        false => Ok((a, summed)),
    }
}

/// Where parts of the outermost loop begin and end: a group for each thread.
pub(super) type Parts = [Vec<(i64, i64)>];
/// Asked before each part.
pub(super) type Check<'a> = &'a (dyn Fn() -> Result<(), Error> + Sync);

/// A kernel for a matrix in some format times a vector.
pub(super) trait Kernel: fmt::Debug + Send + Sync + Sized + 'static {
    /// The name of its provider.
    const NAME: &'static str;
    /// What it is, for people: a line.
    const SUMMARY: &'static str;
    /// Of the time that the loops take as they are written.
    const SHARE: f64;
    /// Whether it splits the rows of the result among as many threads as there are groups of parts,
    /// whatever the parts.
    const BY_ROWS: bool = false;

    /// The kernel for a plan, or why there is none.
    fn of(plan: &Plan<'_>) -> Result<Self, &'static str>;

    /// Sets the result, part by part. None for memory that is not what the plan said.
    fn run(
        &self,
        parts: &Parts,
        memory: &mut [Memory<'_>],
        check: Check<'_>,
    ) -> Option<Result<(), Error>>;

    /// What it is, for people: a few words.
    fn describe(&self) -> String;
}

/// The provider of a kernel.
pub(super) struct Native<K>(pub(super) PhantomData<K>);

impl<K: Kernel + Sync> Provider for Native<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn summary(&self) -> &'static str {
        K::SUMMARY
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match K::of(plan) {
            Ok(_) => Offer::Time(K::SHARE * plan.estimate),
            Err(why) => Offer::Refused(why.to_owned()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let refused = |why: &str| Error::Refused { backend: K::NAME, reason: why.to_owned() };
        Ok(Box::new(Ready(K::of(plan).map_err(refused)?)))
    }
}

/// A kernel, ready to run.
#[derive(Debug)]
struct Ready<K>(K);

impl<K: Kernel> Ready<K> {
    fn run_parts(
        &self,
        parts: &Parts,
        memory: &mut [Memory<'_>],
        check: Check<'_>,
    ) -> Result<(), Error> {
        self.0.run(parts, memory, check).unwrap_or_else(|| {
            let text = format!("`{}` is run on other memory than it was compiled for", K::NAME);
            Err(Error::Unsupported(text))
        })
    }
}

impl<K: Kernel> Executable for Ready<K> {
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
        self.run_parts(&[vec![part(params)]], memory, &|| Ok(()))
    }

    fn run_apart(
        &self,
        groups: &Groups<'_>,
        memory: &mut [Memory<'_>],
        check: Check<'_>,
    ) -> Result<(), Error> {
        let parts = groups.iter().map(|group| group.iter().map(|params| part(params)).collect());
        self.run_parts(&parts.collect::<Vec<_>>(), memory, check)
    }

    fn keeps_apart(&self) -> bool {
        K::BY_ROWS
    }

    fn sets_all(&self, _: bool) -> bool {
        true
    }

    fn describe(&self) -> String {
        format!("native, {}", self.0.describe())
    }
}

/// Where the outermost loop begins and ends.
fn part(params: &[Param]) -> (i64, i64) {
    match *params {
        [.., Param::Int(lo), Param::Int(hi)] => (lo, hi),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Bytes of the result that are formed at a time: they stay in the closest cache.
const STRIP: usize = 16 << 10;

/// Runs groups of ranges of rounds, which follow each other, at the same time. A round sets
/// `height` elements of `y`; `times` gets rounds and zeros to which it adds.
pub(super) fn run<T: Copy + Default + Send>(
    mut y: &mut [T],
    height: usize,
    groups: &Parts,
    check: Check<'_>,
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
            let each = (STRIP / size_of::<T>() / height).max(1);
            for (strip, y) in rounds.step_by(each).zip(y.chunks_mut(each * height)) {
                y.fill(T::default());
                times(strip..strip + y.len().div_ceil(height), y);
            }
            Ok(())
        })
    };
    apart(jobs, run)
}
