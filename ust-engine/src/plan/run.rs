//! Runs a planned stage on tensors: binds memory, splits the outermost loop among threads, and runs the
//! loops. `in_place` makes results with a known position for every value; `rows` collects and assembles
//! the others.

mod in_place;
mod long;
mod onto;
mod places;
mod rows;
mod starts;

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;

use smallvec::SmallVec;
use ust_format::{Bound, Format};
use ust_kernels::pool::{pays, within};
use ust_level_api::ir::interp::Memory;

use super::along::Along;
use super::choose::{Candidate, Conversion, Planned};
use super::collect::Tables;
use super::frame::{Params, Sizes};
use super::sink::SinkKind;
use super::split::Splitter;
use crate::convert::build::BuildOptions;
use crate::error::Error;
use crate::expr::control::Run;
use crate::expr::operator::Operator;
use crate::provider::plan::Parameter;
use crate::provider::{self, Backend, Chosen, Cuts, Plan};
use crate::storage::memory::Budget;
use crate::storage::{Outline, StoredElement, Tensor, Values};
use crate::tuning::{
    CANCEL_PARTS_PER_THREAD, COPY_ELEMENT_NS, ROWS_PARALLEL_NS, ROWS_PARTS_PER_THREAD,
};
use crate::walk::native::Code;

/// A stage, compiled.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) planned: Planned,
    /// The provider that runs the loops, and the executable.
    pub(crate) chosen: Chosen,
    /// The stage for the memory of this process, if nobody asked for the other memory that it runs in: for when that
    /// fails.
    pub(crate) instead: Option<Box<Compiled>>,
    /// If the loops run over the values of the operand alone: the kind of the result.
    pub(super) along: Option<Along>,
    /// Whether another stage reads the result.
    pub(super) between: bool,
    /// The operator of the reduction.
    reduce: Option<Operator>,
    /// The index variables that are reduced over.
    reduced: Vec<usize>,
    splitter: Option<Splitter>,
    /// Whether the loops combine values with values in memory.
    adds: bool,
    /// Whether the loops set every element of a result that is stored in full, so that it need not be
    /// filled before.
    sets_all: bool,
    /// Code that combines the copies of a result that threads made; compiled at first need.
    combining: OnceLock<Code>,
    /// Code for rows that several threads share, if the loops have such rows; made at first need.
    long: OnceLock<Option<long::Long>>,
    /// Whether sums are formed in the order of the loops.
    strict: bool,
    /// For each tensor, whether the loops read one value for all elements.
    iso: Vec<bool>,
    /// Number of rows that the last run collected, as a forecast for the next run.
    collected: AtomicUsize,
}

/// How the outermost loop is shared.
#[derive(Clone, Copy, Debug)]
struct Shares {
    threads: usize,
    /// Parts of each thread's share. Between two parts, a run may be cancelled, or another thread may take
    /// the next part.
    each: usize,
}

/// Parts of the outermost loop, as bounds, that one thread runs in turn.
type Parts = SmallVec<[(i64, i64); 1]>;
/// The parts of each thread.
type Groups = SmallVec<[Parts; 1]>;
/// The arrays that loops read and write.
type Bindings<'a> = SmallVec<[Memory<'a>; 12]>;

/// The tensors that a stage runs on.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    /// The tensor of each access, after conversions.
    pub(crate) tensors: &'a [&'a Tensor],
    /// The tensor whose levels the result shares, if it was converted: the loops run on the same positions.
    pub(crate) shared: Option<&'a Tensor>,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(tensors: &'a [&'a Tensor]) -> Self {
        Self { tensors, shared: None }
    }
}

impl Compiled {
    /// Compiles a stage by one of several plans: the one for which a provider offers the least time. `given` has
    /// the tensor of each access, before conversions.
    ///
    /// # Errors
    /// [`Error::Malformed`] if a level type emits invalid code; [`Error::Refused`] if the
    /// back end asked for cannot run the loops.
    pub(crate) fn new(
        candidates: Vec<Candidate>,
        stage: &super::stage::Stage,
        given: &[&Tensor],
        backend: Backend,
        strict: bool,
    ) -> Result<Self, Error> {
        let plans: Vec<Plan<'_>> =
            candidates.iter().map(|one| described(one, stage, given, strict)).collect();
        let (which, chosen) = provider::choose(&plans, backend)?;
        let instead = match chosen.elsewhere {
            true => {
                let (which, chosen) = provider::choose(&plans, Backend::Cpu)?;
                Some(Box::new(Self::of(candidates.clone(), which, chosen, stage, strict)?))
            }
            false => None,
        };
        Ok(Self { instead, ..Self::of(candidates, which, chosen, stage, strict)? })
    }

    /// A stage, by one of several plans.
    fn of(
        mut candidates: Vec<Candidate>,
        which: usize,
        chosen: Chosen,
        stage: &super::stage::Stage,
        strict: bool,
    ) -> Result<Self, Error> {
        let (planned, tensors) = candidates.swap_remove(which);
        let accesses: Vec<_> = stage
            .accesses
            .iter()
            .zip(&tensors)
            .map(|(u, tensor)| super::access::Access::new(tensor, &u.dims))
            .collect();
        let splitter = match planned.loops.facts.outermost.cut {
            Ok(cut) => Splitter::new(cut, &planned.order, &accesses, &tensors)?,
            Err(_) => None,
        };
        let reduce = stage.reduce.as_ref().map(|(op, _)| op.clone());
        let reduced = stage.reduce.as_ref().map_or(Vec::new(), |(_, indices)| indices.clone());
        let adds = planned.loops.combines();
        let sets_all = chosen.executable.sets_all(planned.loops.facts.sets_all);
        Ok(Self {
            planned,
            instead: None,
            along: None,
            between: false,
            chosen,
            reduce,
            reduced,
            splitter,
            adds,
            sets_all,
            combining: OnceLock::new(),
            long: OnceLock::new(),
            strict,
            iso: tensors.iter().map(Outline::is_iso).collect(),
            collected: AtomicUsize::new(0),
        })
    }

    /// Whether coordinates of a result of this shape have the widths that the plan has.
    pub(crate) fn fits(&self, bound: &Bound) -> bool {
        let sink = &self.planned.sink;
        sink.kind.is_in_place() || super::sink::columns(bound) == sink.columns
    }

    /// Runs the loops, and assembles the result in the planned format.
    ///
    /// # Errors
    /// [`Error::TooLarge`] beyond the limit, [`Error::Cancelled`], and as [`Tensor::convert`].
    pub(crate) fn run(&self, inputs: Inputs<'_>, sizes: &Sizes, how: Run) -> Result<Tensor, Error> {
        if let (Some(along), [tensor]) = (&self.along, inputs.tensors) {
            return self.run_along(along, tensor, how);
        }
        let Planned { rest, fill, .. } = self.planned;
        let shape = sizes.bound.shape();
        let levels = self.shared().map(|at| inputs.shared.unwrap_or(inputs.tensors[at]));
        if let Some(levels) = levels.filter(|_| shape.contains(&0) || self.combines_nothing(sizes))
        {
            return levels.with_clean_values(Values::filled(rest, levels.nse()));
        }
        if shape.contains(&0) || self.combines_nothing(sizes) && rest.same(&fill) {
            let options = BuildOptions { memory_limit: how.limit, ..Default::default() };
            return Tensor::empty_with(shape, &self.planned.format, fill.dtype(), fill, &options);
        }
        if self.combines_nothing(sizes) {
            // Every element is the identity, and no loop visits it.
            let dense = Format::full(shape.len())?.bind(shape)?;
            let all = Values::filled(rest, self.length(&dense, how)?);
            let all = Tensor::from_full(&dense, all, fill);
            return all.convert_within(&self.planned.format, how.limit);
        }
        let result = self.collected_on(inputs, sizes, how)?;
        if *result.format() == self.planned.format {
            return Ok(result);
        }
        let left = how.limit.saturating_sub(result.bytes() as u64);
        within(how.threads, result.nse(), || result.convert_within(&self.planned.format, left))
    }

    /// Runs the plan, with the result in the format of the sink, or in the one that was asked for.
    pub(super) fn collected_on(
        &self,
        Inputs { tensors, shared }: Inputs<'_>,
        sizes: &Sizes,
        how: Run,
    ) -> Result<Tensor, Error> {
        let shared = self.shared().map(|at| shared.unwrap_or(tensors[at]));
        if let Some(result) = self.called(tensors, shared, sizes, how) {
            return result;
        }
        fetch(tensors)?;
        match (self.planned.sink.kind, shared) {
            (SinkKind::Full, _) => self.in_full(tensors, sizes, how),
            (SinkKind::Shared { .. }, Some(levels)) => self.in_shared(tensors, levels, sizes, how),
            _ => {
                let shares = self.shares(sizes, how);
                let rows = || self.rows(tensors, sizes, shares, how);
                // The thread pool is entered once, for the loops and for the assembly of the rows.
                if shares.threads > 1 { within(how.threads, usize::MAX, rows) } else { rows() }
            }
        }
    }

    /// Gives the tensors to the executable. `None` if it runs on their arrays.
    fn called(
        &self,
        tensors: &[&Tensor],
        shared: Option<&Tensor>,
        sizes: &Sizes,
        how: Run,
    ) -> Option<Result<Tensor, Error>> {
        self.chosen.executable.call(&provider::Call {
            operands: tensors,
            parameters: &self.planned.loops.facts.parameters,
            extents: &sizes.extents,
            bound: &sizes.bound,
            shared,
            format: &self.planned.format,
            rest: self.planned.rest,
            fill: self.planned.fill,
            how,
        })
    }

    /// The access whose levels the result shares.
    pub(crate) fn shared(&self) -> Option<usize> {
        match self.planned.sink.kind {
            SinkKind::Shared { at } => Some(at),
            _ => None,
        }
    }

    /// Whether the tensors are taken without the conversions of the plan.
    pub(crate) fn takes_given(&self) -> bool {
        self.chosen.executable.takes_given()
    }

    /// Runs the loops into the caller's memory, for a result that is stored in full.
    ///
    /// # Errors
    /// As [`Compiled::run`].
    pub(crate) fn run_into<T: StoredElement>(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        how: Run,
        out: &mut [T],
    ) -> Result<(), Error> {
        if out.is_empty() || self.combines_nothing(sizes) {
            out.fill(T::from_scalar(self.planned.rest).unwrap_or(T::ZERO));
            return Ok(());
        }
        let shared = self.shared().map(|at| tensors[at]);
        if let Some(result) = self.called(tensors, shared, sizes, how) {
            let result = result?;
            result.fetch()?;
            out.copy_from_slice(result.values().typed::<T>()?);
            return Ok(());
        }
        fetch(tensors)?;
        let groups = self.groups(tensors, sizes, how)?;
        self.prepare(out);
        self.fill(tensors, sizes, groups.as_deref(), how, out)
    }

    /// Whether a reduction is over an index of extent 0. Outer loops may still have many iterations.
    fn combines_nothing(&self, sizes: &Sizes) -> bool {
        self.reduced.iter().any(|&v| sizes.extents[v] == 0)
    }

    /// The outermost loop in one piece.
    fn whole(&self) -> (i64, i64) {
        (if self.splitter.is_some() { i64::MIN } else { 0 }, i64::MAX)
    }

    /// How the outermost loop is shared.
    fn shares(&self, sizes: &Sizes, how: Run) -> Shares {
        // Rows with blocks of values cannot be combined afterwards.
        let blocks = self.planned.sink.format.tail() < self.planned.sink.levels.len();
        if self.splitter.is_none() || (self.is_around_all() && blocks) {
            return Shares { threads: 1, each: 1 };
        }
        let collects = !self.planned.sink.kind.is_in_place();
        let time = self.chosen.time;
        let is_worth = || match collects {
            true => time >= ROWS_PARALLEL_NS,
            false => pays(time - self.copying(sizes, how.threads)),
        };
        let cuts = self.chosen.executable.cuts();
        if cuts == Cuts::Never {
            return Shares { threads: 1, each: 1 };
        }
        let threads = match how.threads > 1 && cuts == Cuts::Threads && is_worth() {
            true => how.threads,
            false => 1,
        };
        let each = match how.cancels {
            true => CANCEL_PARTS_PER_THREAD,
            false if threads > 1 && collects && !self.is_around_all() => ROWS_PARTS_PER_THREAD,
            false => 1,
        };
        Shares { threads, each }
    }

    /// The parts of the outermost loop, a group for each thread. `None` if the loop runs in one piece.
    fn groups(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        how: Run,
    ) -> Result<Option<Groups>, Error> {
        let Shares { threads, each } = self.shares(sizes, how);
        let Some(splitter) = self.splitter.as_ref().filter(|_| threads * each > 1) else {
            return Ok(None);
        };
        let parts = splitter.parts(tensors, &sizes.extents, threads * each)?;
        Ok(Some(parts.chunks(each).map(Parts::from_slice).collect()))
    }

    /// Whether parts of the outermost loop may run at the same time on one result in place.
    fn keeps_apart(&self) -> bool {
        self.planned.loops.facts.outermost.owns
            || self.reduce.is_none()
            || self.chosen.executable.keeps_apart()
    }

    /// Estimated nanoseconds to clear and combine the copies of a full result that threads need: 0 if they
    /// need none.
    fn copying(&self, sizes: &Sizes, threads: usize) -> f64 {
        if self.keeps_apart() || self.planned.sink.kind != SinkKind::Full {
            return 0.0;
        }
        let length: f64 = sizes.bound.levels().iter().map(|level| level.size as f64).product();
        length * threads as f64 * COPY_ELEMENT_NS
    }

    /// Whether the workspace is opened once, around all loops.
    fn is_around_all(&self) -> bool {
        matches!(self.planned.sink.kind, SinkKind::Workspace { open: 0, .. })
    }

    /// Whether parameters of the loops depend on how many entries there are, not on shapes alone.
    fn depends_on_entries(&self) -> bool {
        let parameters = &self.planned.loops.facts.parameters;
        parameters.iter().any(|one| matches!(one, Parameter::Item { .. }))
    }

    /// The parameters of the loops for a part, which uses this region of each table.
    fn params(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        part: (i64, i64),
        region: usize,
    ) -> Params {
        let Sizes { extents, bound, .. } = sizes;
        let value = |one: &Parameter| one.value(extents, tensors, bound, part, region);
        self.planned.loops.facts.parameters.iter().map(value).collect()
    }

    /// Binds the arrays of tensors, in the order of their declarations in the loops.
    fn inputs<'a>(&self, tensors: &[&'a Tensor], to: &mut Bindings<'a>) {
        for array in tensors.iter().flat_map(|tensor| tensor.levels()).flat_map(|l| &l.0) {
            to.push(Memory::Index(array));
        }
        for (tensor, &iso) in tensors.iter().zip(&self.iso) {
            let one = || tensor.values().iso_memory().expect("a kernel expects such a tensor");
            to.push(if iso { one() } else { tensor.values().memory() });
        }
    }

    /// Binds the arrays of tensors, of the result, and of tables.
    fn bindings<'a>(
        &self,
        tensors: &[&'a Tensor],
        out: Memory<'a>,
        tables: &'a mut Tables,
    ) -> Bindings<'a> {
        let mut memory = Bindings::new();
        self.inputs(tensors, &mut memory);
        memory.push(out);
        memory.extend(tables.memory());
        memory
    }

    /// Tables with a region for each thread.
    fn tables(
        &self,
        tensors: &[&Tensor],
        budget: &Budget,
        regions: usize,
    ) -> Result<Tables, Error> {
        Tables::new(&self.planned.order.tables, tensors, budget, regions)
    }
}

/// Fetches what is elsewhere, so that looks at it do not fail.
fn fetch(tensors: &[&Tensor]) -> Result<(), Error> {
    tensors.iter().try_for_each(|tensor| tensor.fetch())
}

/// The description of a plan for providers.
fn described<'a>(
    (planned, tensors): &'a Candidate,
    stage: &'a super::stage::Stage,
    given: &[&'a Tensor],
    strict: bool,
) -> Plan<'a> {
    // The plan is no copy if its loops sum duplicates. For a result in place, the loops are as good: they
    // write it once.
    let plain = planned.formats.iter().all(Format::is_unique)
        && planned.sink.kind != SinkKind::Full
        && tensors.iter().all(|tensor| {
            let (fill, dtype) = (tensor.fill(), tensor.dtype());
            dtype == stage.dtype && planned.fill.same(&fill) && planned.rest.same(&fill)
        });
    let accesses = stage.accesses.iter().zip(tensors);
    Plan {
        function: &planned.loops.function,
        facts: &planned.loops.facts,
        guarded: planned.loops.guarded.as_ref(),
        split: planned.loops.split.as_ref().map(|split| provider::plan::Split {
            function: &split.function,
            facts: &split.facts,
            longest: split.longest.as_ref(),
        }),
        sizes: &planned.sizes,
        operands: accesses
            .map(|(u, tensor)| provider::Access {
                format: tensor.format(),
                dtype: tensor.dtype(),
                fill: tensor.fill(),
                indices: &u.dims,
                iso: tensor.is_iso(),
            })
            .collect(),
        tensors: given.to_vec(),
        converted: planned.conversions.iter().map(Option::is_some).collect(),
        result: provider::Access {
            format: &planned.sink.format,
            dtype: planned.rest.dtype(),
            fill: planned.rest,
            indices: &stage.result,
            iso: false,
        },
        body: &stage.body,
        copies: plain && stage.copied().is_some(),
        reduce: stage.reduce.as_ref().map(|(op, indices)| (op, &indices[..])),
        strict,
        estimate: planned.cost,
        converts: planned.conversions.iter().flatten().any(|to| matches!(to, Conversion::Tree(_))),
        in_32_bits: planned
            .conversions
            .iter()
            .flatten()
            .any(|to| matches!(to, Conversion::Widths(_))),
        other_widths: planned.other_widths,
        other_apart: planned.other_apart,
        onto: planned.onto,
    }
}
