//! Code that the native kernels for a matrix times a vector or a dense matrix share: recognition of the
//! product, the provider, and parts of the result.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use ust_format::IndexExpr;
use ust_kernels::pool::apart;
use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::{Dtype, IndexKind, Scalar};

use super::{Access, Children, Executable, Groups, Offer, Plan, Provider, Shape};
use crate::error::Error;
use crate::expr::Operator;
use crate::expr::term::Term;
use crate::tuning::{STRIP_BYTES, STRIP_MIN_ROWS};

/// The dimension of the matrix that the product sums over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Summed {
    /// `y(i) = A(i,j) * x(j)`.
    Columns,
    /// `y(j) = A(i,j) * x(i)`: the product with its transpose.
    Rows,
}

/// The right operand of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    Vector,
    /// A dense matrix in row-major order. Its number of columns is the parameter with this number.
    Matrix(usize),
}

impl Right {
    /// Number of columns.
    pub(super) fn width(self, params: &[Param]) -> Option<usize> {
        match self {
            Self::Vector => Some(1),
            Self::Matrix(at) => extent(params, at),
        }
    }
}

/// The value of the parameter with this number, as an extent.
pub(super) fn extent(params: &[Param], at: usize) -> Option<usize> {
    match params.get(at)? {
        Param::Int(extent) => usize::try_from(*extent).ok(),
        _ => None,
    }
}

/// The kinds of the level arrays of a plan's operands, in order.
pub(super) fn index_kinds(plan: &Plan<'_>) -> Vec<IndexKind> {
    let arrays = plan.function.arrays.iter().filter_map(|array| match array.elem {
        Elem::Index(kind) => Some(kind),
        Elem::Value(_) => None,
    });
    arrays.collect()
}

/// The dimension and the divisor of `i / n`, or `None`.
#[must_use]
pub fn quotient(expr: &IndexExpr) -> Option<(usize, usize)> {
    match expr {
        IndexExpr::FloorDiv(of, by) => dimension_and_number(of, by),
        _ => None,
    }
}

/// The dimension and the modulus of `i % n`, or `None`.
#[must_use]
pub fn remainder(expr: &IndexExpr) -> Option<(usize, usize)> {
    match expr {
        IndexExpr::Mod(of, by) => dimension_and_number(of, by),
        _ => None,
    }
}

fn dimension_and_number(of: &IndexExpr, by: &IndexExpr) -> Option<(usize, usize)> {
    match (of, by) {
        (IndexExpr::Var(dim), IndexExpr::Const(number)) => {
            Some((*dim, usize::try_from(*number).ok().filter(|&number| number > 0)?))
        }
        _ => None,
    }
}

/// The index variables of a tensor in full storage, in the order of its levels: for row-major `A(i,j)`,
/// `[i, j]`. `None` for other storage.
#[must_use]
pub fn in_full(of: &Access<'_>) -> Option<Vec<usize>> {
    let levels = of.format.levels().iter().map(|level| match level.expr {
        IndexExpr::Var(dim) => of.indices.get(dim).copied(),
        _ => None,
    });
    if of.format.is_full() { levels.collect() } else { None }
}

/// A plan for `y(i) = A(i,j) * x(j)` or `C(i,k) = A(i,j) * B(j,k)`, or for the same with the transpose
/// of `A`. The other tensors are in full row-major storage. All are of f32, or all of f64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product<'p, 'a> {
    pub(super) a: &'p Access<'a>,
    pub(super) summed: Summed,
    pub(super) right: Right,
}

pub(super) const NO_PRODUCT: &str = "it sums products of a matrix and a vector or a dense matrix";

/// The two operands and the summed index, if the plan sums products of two elements.
pub(super) fn element_product<'p, 'a>(
    plan: &'p Plan<'a>,
) -> Result<(&'p [Access<'a>; 2], usize), &'static str> {
    let product = matches!(plan.body, Term::Call { op: Operator::Mul, args, .. }
        if matches!(args[..], [Term::Element(0), Term::Element(1)]));
    if plan.operands.iter().any(|operand| operand.iso) {
        return Err("it takes a value for each element, and one operand stores one for all");
    }
    match (plan.operands.as_slice().try_into(), plan.reduce) {
        (Ok(operands), Some((Operator::Add, &[reduced]))) if product => Ok((operands, reduced)),
        _ => Err(NO_PRODUCT),
    }
}

/// Checks that all tensors of a plan have dtype f32 or all f64, that fill values are zero, and that sums
/// may be formed in any order.
pub(super) fn in_real_numbers(plan: &Plan<'_>) -> Result<(), &'static str> {
    let values = plan.function.arrays.iter().filter_map(|array| match array.elem {
        Elem::Value(dtype) => Some(dtype),
        Elem::Index(_) => None,
    });
    let a = &plan.operands[0];
    let real = matches!(a.dtype, Dtype::F32 | Dtype::F64);
    let zero = |fill: Scalar| fill.same(&a.dtype.zero());
    if !real || !values.eq([a.dtype; 3]) || !zero(a.fill) || !zero(plan.result.fill) {
        return Err("it takes f32 or f64 throughout, with fill value 0");
    }
    if plan.onto {
        return Err("it sets the result, and this one is added to");
    }
    match plan.strict {
        true => Err("it sums in another order than the loops"),
        false => Ok(()),
    }
}

impl<'p, 'a> Product<'p, 'a> {
    /// The product that a plan computes, or the reason why it computes none.
    pub(super) fn of(plan: &'p Plan<'a>) -> Result<Self, &'static str> {
        let ([a, x], reduced) = element_product(plan)?;
        let (own, taken, right) = match (plan.result.indices, x.indices) {
            (&[own], &[taken]) => (own, taken, Right::Vector),
            (&[own, k], &[taken, other]) if k == other && ![own, taken].contains(&k) => {
                (own, taken, Right::Matrix(k))
            }
            _ => return Err(NO_PRODUCT),
        };
        let summed = match *a.indices {
            [i, j] if [i, j] == [own, taken] => Some(Summed::Columns),
            [i, j] if [i, j] == [taken, own] => Some(Summed::Rows),
            _ => None,
        };
        let summed = summed.filter(|_| own != taken && reduced == taken).ok_or(NO_PRODUCT)?;
        let by_rows = |of: &Access<'_>| in_full(of).is_some_and(|order| order == of.indices);
        if !by_rows(x) || !by_rows(&plan.result) {
            return Err("it takes what is stored in full, row by row, and gives such");
        }
        in_real_numbers(plan)?;
        Ok(Self { a, summed, right })
    }
}

/// The levels of a matrix: what each stores, and in which shape. `None` for a slice, and where a coordinate
/// may stand twice or out of order.
#[must_use]
pub fn plain_levels<'a>(matrix: &Access<'a>) -> Option<Vec<(&'a IndexExpr, Shape)>> {
    let format = matrix.format;
    let plain = format.is_ordered() && format.is_unique() && !format.has_slices();
    plain.then(|| matrix.shapes())
}

/// The shape of children in segments, in the arrays `pos` and `crd`, in this order.
pub(super) const SEGMENTS: Shape = Shape::Listed { crd: 1, children: Children::Segment(0) };

/// The bounds of parts of the outermost loop, in a group for each thread.
pub(super) type Parts = [Vec<(i64, i64)>];
/// Called before each part; an error ends the run.
pub(super) type Check<'a> = &'a (dyn Fn() -> Result<(), Error> + Sync);

/// The arguments of a run.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) params: &'a [Param],
    pub(super) parts: &'a Parts,
    pub(super) check: Check<'a>,
}

/// A kernel for a matrix in some format times a vector or a dense matrix.
pub(super) trait Kernel: fmt::Debug + Send + Sync + Sized + 'static {
    /// The name of its provider.
    const NAME: &'static str;
    /// One line about it, for people.
    const SUMMARY: &'static str;
    /// The kernel for a plan, or why there is none.
    fn of(plan: &Plan<'_>) -> Result<Self, &'static str>;

    /// The kernel's time as a fraction of the time of the plan's loops.
    fn relative_time(&self) -> f64;

    /// Whether the kernel splits the result by rows, one group for each thread, instead of by the bounds
    /// of the parts.
    fn splits_rows(&self) -> bool {
        false
    }

    /// Whether the kernel adds to the result, which must be zero before. Otherwise it sets the result.
    fn adds(&self) -> bool {
        false
    }

    /// Runs parts of the outermost loop. `None` if the memory has other types than the plan.
    fn run(&self, job: Job<'_>, memory: &mut [Memory<'_>]) -> Option<Result<(), Error>>;

    /// A few words about it, for people.
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
            Ok(kernel) => {
                let run = kernel.relative_time() * plan.index_time() * plan.estimate;
                Offer::Time { run, compile: 0.0 }
            }
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
    fn run_job(&self, job: Job<'_>, memory: &mut [Memory<'_>]) -> Result<(), Error> {
        self.0.run(job, memory).unwrap_or_else(|| {
            let text = format!("`{}` is run on other memory than it was compiled for", K::NAME);
            Err(Error::Unsupported(text))
        })
    }
}

impl<K: Kernel> Executable for Ready<K> {
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
        let parts = [vec![part(params)]];
        self.run_job(Job { params, parts: &parts, check: &|| Ok(()) }, memory)
    }

    fn run_apart(
        &self,
        groups: &Groups<'_>,
        memory: &mut [Memory<'_>],
        check: Check<'_>,
    ) -> Result<(), Error> {
        let parts = groups.iter().map(|group| group.iter().map(|params| part(params)).collect());
        let parts = parts.collect::<Vec<_>>();
        // The parameters of all parts are equal but for the bounds.
        let params = groups.iter().flatten().next().copied().unwrap_or_default();
        self.run_job(Job { params, parts: &parts, check }, memory)
    }

    fn keeps_apart(&self) -> bool {
        self.0.splits_rows()
    }

    fn sets_all(&self, _: bool) -> bool {
        !self.0.adds()
    }

    fn describe(&self) -> String {
        format!("native, {}", self.0.describe())
    }
}

/// The bounds of the outermost loop, which are the last two parameters.
fn part(params: &[Param]) -> (i64, i64) {
    match *params {
        [.., Param::Int(lo), Param::Int(hi)] => (lo, hi),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Replaces parts by ranges of rows of equal length, in the same groups. One range with all rows if there
/// are no parts.
pub(super) fn by_rows(parts: &Parts, rows: usize) -> Vec<Vec<(i64, i64)>> {
    let count = parts.iter().map(Vec::len).sum::<usize>() as u128;
    if count == 0 {
        return vec![vec![(0, rows as i64)]];
    }
    let mut bounds = (0..=count).map(|k| (rows as u128 * k / count) as i64);
    let mut lo = bounds.next().unwrap_or(0);
    let mut next = |_| {
        let part = (lo, bounds.next().unwrap_or(lo));
        lo = part.1;
        part
    };
    parts.iter().map(|group| group.iter().map(&mut next).collect()).collect()
}

/// Runs groups of parts at the same time. Parts are consecutive ranges of rows, or of rows of blocks, each
/// with `height` elements of `y`. `times` is called with a strip of rows and their elements, which are
/// zero, and adds to them.
pub(super) fn run<T: Copy + Default + Send>(
    y: &mut [T],
    height: usize,
    groups: &Parts,
    check: Check<'_>,
    times: impl Fn(Range<usize>, &mut [T]) + Sync,
) -> Result<(), Error> {
    run_whole(y, height, groups, check, |rows, y| {
        let each = (STRIP_BYTES / size_of::<T>() / height).max(STRIP_MIN_ROWS);
        for (strip, y) in rows.step_by(each).zip(y.chunks_mut(each * height)) {
            y.fill(T::default());
            times(strip..strip + y.len().div_ceil(height), y);
        }
    })
}

/// As [`run`], but `sets` is called with all rows of a part at once, and sets their elements, which may
/// have any value before.
pub(super) fn run_whole<T: Send>(
    mut y: &mut [T],
    height: usize,
    groups: &Parts,
    check: Check<'_>,
    sets: impl Fn(Range<usize>, &mut [T]) + Sync,
) -> Result<(), Error> {
    if height == 0 {
        return Ok(());
    }
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
        job.into_iter().try_for_each(|(rows, y)| {
            check()?;
            sets(rows, y);
            Ok(())
        })
    };
    apart(jobs, run)
}
