//! `blocks`: a matrix of dense blocks times a vector, by a kernel that keeps sums in registers over
//! a whole row of blocks.

use rayon::prelude::*;
use ust_level_api::ir::Elem;
use ust_level_api::ir::interp::{Memory, Param, ValuesMut, ValuesRef};
use ust_level_api::{Dtype, IndexArray, IndexKind, inventory};

use super::{Executable, Groups, Offer, Plan, Provider, Registration};
use crate::error::Error;
use crate::format::{Format, IndexExpr};
use crate::kernels::blocks::{Blocks, LANES, Number};
use crate::ops::Operator;
use crate::ops::term::Term;

struct Native;

inventory::submit!(Registration(&Native));

/// Of the time that the loops take as they are written.
const SHARE: f64 = 0.6;

impl Provider for Native {
    fn name(&self) -> &'static str {
        "blocks"
    }

    fn summary(&self) -> &'static str {
        "a kernel for BSR times a vector, of f32 and f64"
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match Product::of(plan) {
            Ok(_) => Offer::Time(SHARE * plan.estimate),
            Err(why) => Offer::Refused(why.to_owned()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let refused = |why: &str| Error::Refused { backend: self.name(), reason: why.to_owned() };
        Ok(Box::new(Product::of(plan).map_err(refused)?))
    }
}

/// What is known of the matrix before it is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Product {
    size: [usize; 2],
}

impl Product {
    /// The product that a plan is, or why it is none.
    fn of(plan: &Plan<'_>) -> Result<Self, &'static str> {
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
        let this = Self::blocks(a.format)
            .ok_or("it takes BSR with default widths and blocks as wide as vectors")?;
        let plain = |format: &Format| {
            matches!(format.levels(), [level] if level.expr == IndexExpr::Var(0))
                && format.tail() == 0
        };
        if !plain(x.format) || !plain(plan.result.format) {
            return Err("it takes a vector that is stored in full, and gives one");
        }
        let dtype = a.dtype;
        let index = Elem::Index(IndexKind::U32);
        let value = Elem::Value(dtype);
        let arrays = plan.function.arrays.iter().map(|array| array.elem);
        if !matches!(dtype, Dtype::F32 | Dtype::F64)
            || !arrays.eq([index, index, value, value, value])
            || !a.fill.same(&dtype.zero())
        {
            return Err("it takes f32 or f64 throughout, with fill value 0, and 32-bit indices");
        }
        match plan.strict {
            true => Err("it sums in another order than the loops"),
            false => Ok(this),
        }
    }

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
        let named = Format::resolve(&format!("BSR({}, {})", size[0], size[1]), Some(2)).ok()?;
        (named == *format && size[1].is_multiple_of(LANES)).then_some(Self { size })
    }

    /// Runs groups of ranges of rows of blocks, which follow each other.
    fn run_on<T: Number + Send + Sync>(
        self,
        blocks: Blocks<'_, T>,
        x: &[T],
        mut y: &mut [T],
        groups: &[Vec<(i64, i64)>],
        check: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        let last = y.len().div_ceil(self.size[0]);
        let place = |bound: i64| bound.clamp(0, last as i64) as usize;
        let mut jobs = Vec::with_capacity(groups.len());
        let mut done = 0;
        for group in groups {
            let mut job = Vec::with_capacity(group.len());
            for &(lo, hi) in group {
                let (lo, hi) = (place(lo).max(done), place(hi).max(done));
                let skipped = ((lo - done) * self.size[0]).min(y.len());
                let (_, others) = std::mem::take(&mut y).split_at_mut(skipped);
                let mine = ((hi - lo) * self.size[0]).min(others.len());
                let (mine, others) = others.split_at_mut(mine);
                job.push((lo..hi, mine));
                (y, done) = (others, hi);
            }
            jobs.push(job);
        }
        let run = |job: Vec<(std::ops::Range<usize>, &mut [T])>| {
            job.into_iter().try_for_each(|(rows, y)| {
                check()?;
                blocks.times(rows, x, y);
                Ok(())
            })
        };
        match jobs.len() {
            1 => jobs.into_iter().try_for_each(run),
            _ => jobs.into_par_iter().try_for_each(run),
        }
    }

    fn run_all(
        self,
        groups: &[Vec<(i64, i64)>],
        memory: &mut [Memory<'_>],
        check: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        let Self { size } = self;
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
                        let blocks = Blocks { pos, crd, values, size };
                        self.run_on(blocks, x, y, groups, check)
                    })*
                    _ => Err(Error::Unsupported(
                        "`blocks` is run on other memory than it was compiled for".to_owned(),
                    )),
                }
            };
        }
        of!(F32, F64)
    }
}

/// Where the outermost loop begins and ends.
fn part(params: &[Param]) -> (i64, i64) {
    match *params {
        [.., Param::Int(lo), Param::Int(hi)] => (lo, hi),
        _ => (i64::MIN, i64::MAX),
    }
}

impl Executable for Product {
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
        self.run_all(&[vec![part(params)]], memory, &|| Ok(()))
    }

    fn run_apart(
        &self,
        groups: &Groups<'_>,
        memory: &mut [Memory<'_>],
        check: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        let parts = groups.iter().map(|group| group.iter().map(|params| part(params)).collect());
        self.run_all(&parts.collect::<Vec<_>>(), memory, check)
    }

    fn describe(&self) -> String {
        let [rows, columns] = self.size;
        format!("native, blocks of {rows} x {columns}")
    }
}
