//! `shuffled`: a provider that runs plans as a parallel machine would, to find out whether what plans say is
//! true.
//!
//! The outermost loop is cut at random, its parts run in shuffled order, and innermost loops whose iterations
//! own what they write, or add to a sum, run in lanes. Results that grow are counted, and then filled. Every
//! access to a result is noted with who made it: two parts or lanes that meet are a race, which is an error.
//! Lanes without their sum, and parts that depend on each other's order, give wrong results.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use ust_engine::Error;
use ust_engine::provider::plan::{Array, Facts, Parameter, Plan, storing};
use ust_engine::provider::{Cuts, Executable, Offer, Provider, Registration};
use ust_engine::schedule::{Abilities, Carries, Schedule};
use ust_level_api::ir::interp::{IndicesMut, Memory, Param, Program, RunError, ValuesMut};
use ust_level_api::ir::schedule::{MarkError, Watched};
use ust_level_api::ir::{Elem, Expr, Function, Stmt, Var};
use ust_level_api::{Dtype, Element, inventory, with_dtype};

/// The largest number of parts.
const PARTS: i64 = 7;

/// How a plan is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// As it is planned.
    Planned,
    /// By [`Schedule::in_variables`].
    InVariables,
    /// By [`Schedule::in_vectors`] of 2 elements, where extents are multiples of that.
    InVectors,
    /// By [`Schedule::in_strides`] of 3 elements.
    InStrides,
    /// By [`Schedule::in_blocks`] of 3 iterations.
    InBlocks,
    /// The same, and by [`Schedule::in_vectors`].
    InBlocksOfVectors,
    /// By [`Schedule::by_elements`].
    ByElements,
    /// By [`Schedule::by_stored`].
    ByStored,
    /// By [`Schedule::by_table`].
    ByTable,
}

/// Number of elements side by side.
const VECTOR: u32 = 2;

/// Number of elements that are apart.
const STRIDES: u32 = 3;

struct Shuffled(Pass, &'static str);

inventory::submit!(Registration(&Shuffled(Pass::Planned, "shuffled")));
inventory::submit!(Registration(&Shuffled(Pass::InVariables, "shuffled-in-variables")));
inventory::submit!(Registration(&Shuffled(Pass::InVectors, "shuffled-in-vectors")));
inventory::submit!(Registration(&Shuffled(Pass::InStrides, "shuffled-in-strides")));
inventory::submit!(Registration(&Shuffled(Pass::InBlocks, "shuffled-in-blocks")));
inventory::submit!(Registration(&Shuffled(
    Pass::InBlocksOfVectors,
    "shuffled-in-blocks-of-vectors"
)));
inventory::submit!(Registration(&Shuffled(Pass::ByElements, "shuffled-by-elements")));
inventory::submit!(Registration(&Shuffled(Pass::ByStored, "shuffled-by-stored")));
inventory::submit!(Registration(&Shuffled(Pass::ByTable, "shuffled-by-table")));

/// Number of plans that were compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub plans: usize,
    /// Those whose outermost loop is cut into parts.
    pub cut: usize,
    /// Those of which a loop runs in lanes.
    pub lanes: usize,
    /// Those that append rows, and are counted and filled.
    pub rows: usize,
    /// Number of runs with elements side by side.
    pub in_vectors: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plans, cut, lanes, rows, in_vectors } = self;
        write!(
            f,
            "run in shuffled order: {plans} plans, {cut} of them cut into parts, {lanes} with a loop in \
             lanes, {rows} counted and filled; {in_vectors} runs with elements side by side"
        )
    }
}

static TALLY: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];
static IN_VECTORS: AtomicUsize = AtomicUsize::new(0);

/// What was compiled so far in this process.
#[must_use]
pub fn tally() -> Tally {
    let [plans, cut, lanes, rows] = TALLY.each_ref().map(|count| count.load(Ordering::Relaxed));
    Tally { plans, cut, lanes, rows, in_vectors: IN_VECTORS.load(Ordering::Relaxed) }
}

impl Provider for Shuffled {
    fn name(&self) -> &'static str {
        self.1
    }

    fn summary(&self) -> &'static str {
        "the interpreter, with parts and lanes in shuffled order; finds races; for tests"
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match self.0 == Pass::Planned || matches!(schedule(plan, plan.facts, self.0), Ok(Some(_))) {
            true => Offer::OnRequest("it looks for races".to_owned()),
            false => Offer::Refused("the plan has no such loops".to_owned()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        compile(plan, plan.facts, self.0)
    }
}

fn schedule(plan: &Plan<'_>, facts: &Facts, pass: Pass) -> Result<Option<Schedule>, MarkError> {
    let machine = Abilities { lanes: true, combines_rows: false };
    let in_lanes = || match Schedule::in_variables(plan, facts, machine)? {
        Some(schedule) => Ok(schedule),
        None => Schedule::new(plan, facts, machine),
    };
    match pass {
        Pass::Planned => Schedule::new(plan, facts, machine).map(Some),
        Pass::InVariables => Schedule::in_variables(plan, facts, machine),
        Pass::InVectors => in_lanes()?.in_vectors(VECTOR),
        Pass::InStrides => in_lanes()?.in_strides(STRIDES),
        Pass::InBlocks => in_lanes()?.in_blocks(facts, STRIDES),
        Pass::InBlocksOfVectors => match in_lanes()?.in_blocks(facts, STRIDES)? {
            Some(schedule) => schedule.in_vectors(VECTOR),
            None => Ok(None),
        },
        Pass::ByElements => Schedule::by_elements(plan, facts),
        Pass::ByStored => Schedule::by_stored(plan, facts, machine),
        Pass::ByTable => Schedule::by_table(plan, facts),
    }
}

/// Compiles a plan, as these facts allow.
///
/// # Errors
/// [`Error::Unsupported`] if the facts contradict the loops, or the pass is for other loops.
pub fn compile(plan: &Plan<'_>, facts: &Facts, pass: Pass) -> Result<Box<dyn Executable>, Error> {
    let contradicted = |error: MarkError| Error::Unsupported(format!("plans say: {error}"));
    let none = || Error::Unsupported("the plan has no such loops".to_owned());
    let schedule = schedule(plan, facts, pass).map_err(contradicted)?.ok_or_else(none)?;
    let function = plan.guarded.unwrap_or(plan.function);
    let facts = schedule.facts.as_deref().unwrap_or(facts);
    let loops = match schedule.facts {
        Some(_) => &schedule.scheduled.function,
        None => function,
    };
    if let Some(name) = untold(loops, facts) {
        let text = format!("plans do not say that `{name}` passes from one iteration to the next");
        return Err(Error::Unsupported(text));
    }
    let place = |of: Array| facts.arrays.iter().position(|array| *array == of);
    let rows = match (&facts.rows, &schedule.counting, place(Array::RowCounts)) {
        (Some(rows), Some(counting), Some(counts)) => Some(Rows {
            counting: Program::compile(counting)?,
            bounding: match &schedule.bounding {
                Some(bounding) => Some(Program::compile(&bounding.function)?),
                None => None,
            },
            counts,
            starts: place(Array::RowStarts),
            block: Program::compile(&storing(vec![rows.block.clone()], function))?,
        }),
        _ => None,
    };
    let bounds = schedule.bounds();
    let has_lanes = schedule.has_lanes();
    for (count, is) in TALLY.iter().zip([true, bounds.is_some(), has_lanes, rows.is_some()]) {
        count.fetch_add(usize::from(is), Ordering::Relaxed);
    }
    let side_by_side = schedule.vectors().filter(|vector| !vector.apart);
    let multiples: Vec<_> =
        side_by_side.map(|vector| (vector.extent.0 as usize, vector.count)).collect();
    let otherwise = match multiples[..] {
        [] => None,
        _ => Some(compile(plan, facts, Pass::Planned)?),
    };
    Ok(Box::new(Parts {
        multiples,
        otherwise,
        watched: Watched::new(&schedule.scheduled).map_err(contradicted)?,
        bounds: bounds.map(|function| Program::compile(&function)).transpose()?,
        part: [Parameter::PartLo, Parameter::PartHi]
            .map(|of| facts.parameters.iter().position(|one| *one == of).expect("parts")),
        rows,
        grows: function.arrays.iter().map(|array| array.grows).collect(),
        operands: function.arrays.iter().take_while(|array| !array.written).count(),
        sets_all: schedule.sets_all,
        adding: schedule.carries.map(|carries| Adding::new(&carries, function)).transpose()?,
        dtype: plan.result.dtype,
    }))
}

/// The name of a variable that is declared before the outermost loop and assigned in it, and of which the facts
/// say nothing.
fn untold(function: &Function, facts: &Facts) -> Option<String> {
    let sums = facts.loops.iter().filter_map(|one| one.sum.as_ref());
    let of_sums = sums.flat_map(|sum| [Some(sum.var), sum.hit]);
    let of_rows = facts.rows.iter().flat_map(|rows| [Some(rows.row), rows.opened, rows.listed]);
    let mut told: Vec<Var> = of_sums.chain(of_rows).flatten().collect();
    told.extend(facts.loops.iter().flat_map(|one| &one.vars));
    told.extend(&facts.carried);
    let loop_vars = |depth| {
        let of = facts.loops.iter().filter(move |one| one.depth == depth);
        of.flat_map(|one| one.vars.iter().copied())
    };
    let outermost: Vec<Var> = loop_vars(0).collect();
    let is_outermost = |stmt: &Stmt| match stmt {
        Stmt::For { var, .. } => outermost.contains(var),
        Stmt::While { cond, .. } => {
            let mut found = false;
            cond.visit(&mut |part| {
                found |= matches!(part, Expr::Var(var) if outermost.contains(var));
            });
            found
        }
        _ => false,
    };
    let mut declared = Vec::new();
    for stmt in &function.body {
        match stmt {
            Stmt::Let(var, _) => declared.push(*var),
            stmt if is_outermost(stmt) => {
                let mut missing = None;
                Stmt::visit_all(std::slice::from_ref(stmt), &mut |stmt| match stmt {
                    Stmt::Assign(var, _) if declared.contains(var) && !told.contains(var) => {
                        missing = Some(*var);
                    }
                    _ => {}
                });
                if let Some(var) = missing {
                    return Some(function.vars[var.0 as usize].name.clone());
                }
            }
            _ => {}
        }
    }
    None
}

/// How rows are counted.
#[derive(Debug)]
struct Rows {
    counting: Program,
    /// Stores a number that no workspace of a part has more coordinates than.
    bounding: Option<Program>,
    /// The number of [`Array::RowCounts`].
    counts: usize,
    /// The number of [`Array::RowStarts`].
    starts: Option<usize>,
    /// Stores the number of values of a row.
    block: Program,
}

#[derive(Debug)]
struct Parts {
    /// Parameters, and numbers that they have to be multiples of.
    multiples: Vec<(usize, u32)>,
    /// What runs where they are not.
    otherwise: Option<Box<dyn Executable>>,
    watched: Watched,
    /// Stores the range that parts cut. `None` if all runs in one part.
    bounds: Option<Program>,
    /// The numbers of the parameters that bound a part.
    part: [usize; 2],
    rows: Option<Rows>,
    grows: Vec<bool>,
    /// Number of arrays of operands.
    operands: usize,
    sets_all: bool,
    /// Adds the sums that parts left for others.
    adding: Option<Adding>,
    dtype: Dtype,
}

/// How sums that parts left for others are added.
#[derive(Debug)]
struct Adding {
    watched: Watched,
    /// Stores the number of sums of a part.
    block: Program,
}

/// Parts whose sums are added together.
const TOGETHER: usize = 3;

impl Adding {
    fn new(carries: &Carries, function: &Function) -> Result<Self, Error> {
        let block = Program::compile(&storing(vec![carries.block.clone()], function))?;
        let watched = Watched::new(&carries.adding);
        let watched = watched.map_err(|error| Error::Unsupported(format!("plans say: {error}")))?;
        Ok(Self { watched, block })
    }
}

/// What parts left for others: the row of each, and the sums of that.
struct Left<T> {
    rows: Vec<i64>,
    sums: Vec<T>,
}

/// Runs parts, the last one first, each with room for `block` sums that it leaves.
fn leaving<T: Element>(
    watched: &Watched,
    parts: &[Vec<Param>],
    block: usize,
    memory: &mut [Memory<'_>],
) -> Result<Left<T>, RunError>
where
    for<'a> ValuesMut<'a>: From<&'a mut [T]>,
{
    let (mut rows, mut sums) = (vec![i64::MIN; parts.len()], vec![T::ONE; parts.len() * block]);
    let mut fixed: Vec<Memory<'_>> = memory.iter_mut().map(Memory::reborrow).collect();
    fixed.push(Memory::indices_mut(&mut rows));
    fixed.push(Memory::values_mut(&mut sums[..]));
    let mut run = watched.begin(&fixed, parts.len() as u64);
    drop(fixed);
    for part in (0..parts.len()).rev() {
        let mut bound: Vec<Memory<'_>> = memory.iter_mut().map(Memory::reborrow).collect();
        bound.push(Memory::indices_mut(&mut rows[part..=part]));
        bound.push(Memory::values_mut(&mut sums[part * block..][..block]));
        run.part(part, &parts[part], &mut bound)?;
    }
    Ok(Left { rows, sums })
}

/// What a function stores, given the arrays of operands.
fn stored<const N: usize>(
    program: &Program,
    params: &[Param],
    memory: &mut [Memory<'_>],
) -> Result<[i64; N], RunError> {
    let mut values = [0_i64; N];
    let mut bound: Vec<Memory<'_>> = memory.iter_mut().map(Memory::reborrow).collect();
    bound.push(Memory::indices_mut(&mut values[..]));
    program.run(params, &mut bound)?;
    Ok(values)
}

impl Parts {
    /// The parameters of each part, and for each the distance of its beginning from that of the range.
    fn parts(
        &self,
        params: &[Param],
        memory: &mut [Memory<'_>],
    ) -> Result<Vec<(Vec<Param>, i64)>, RunError> {
        let Some(bounds) = &self.bounds else { return Ok(vec![(params.to_vec(), 0)]) };
        let [lo, hi] = stored(bounds, params, &mut memory[..self.operands])?;
        let length = hi - lo;
        let count = length.clamp(1, PARTS);
        // Parts of different lengths; some are empty.
        let at = |part: i64| match part {
            0 => lo,
            part if part == count => hi,
            part => lo + length * part * part / (count * count),
        };
        let of = |part: i64| {
            let mut own = params.to_vec();
            let [from, to] = [part, part + 1].map(at);
            for (at, bound) in self.part.into_iter().zip([from, to]) {
                own[at] = Param::Int(bound);
            }
            (own, from - lo)
        };
        Ok((0..count).map(of).collect())
    }

    fn in_place(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), RunError> {
        let parts: Vec<Vec<Param>> =
            self.parts(params, memory)?.into_iter().map(|(params, _)| params).collect();
        match &self.adding {
            Some(adding) => self.by_stored(adding, &parts, memory),
            None => self.watched.run(&parts, memory, parts.len() as u64),
        }
    }

    /// The same parameters for another part.
    fn for_part(&self, params: &[Param], part: [usize; 2]) -> Vec<Param> {
        let mut own = params.to_vec();
        for (at, bound) in self.part.into_iter().zip(part) {
            own[at] = Param::Int(bound as i64);
        }
        own
    }

    /// Runs parts in another order, each with room for a sum that it leaves, and adds these sums.
    fn by_stored(
        &self,
        adding: &Adding,
        parts: &[Vec<Param>],
        memory: &mut [Memory<'_>],
    ) -> Result<(), RunError> {
        let is_empty = |part: &&Vec<Param>| part[self.part[0]] == part[self.part[1]];
        let some: Vec<_> = parts.iter().filter(|part| !is_empty(part)).cloned().collect();
        let parts = if some.is_empty() { &parts[..1] } else { &some };
        let [block] = stored(&adding.block, &parts[0], &mut memory[..self.operands])?;
        let block = block.max(0) as usize;
        with_dtype!(self.dtype, T => {
            let mut left = leaving::<T>(&self.watched, parts, block, memory)?;
            while left.rows.len() > 1 {
                let count = left.rows.len();
                let bounds = (0..count).step_by(TOGETHER);
                let bounds = bounds.map(|first| [first, count.min(first + TOGETHER)]);
                let parts: Vec<_> = bounds.map(|part| self.for_part(&parts[0], part)).collect();
                let mut bound: Vec<Memory<'_>> = memory.iter_mut().map(Memory::reborrow).collect();
                bound.push(Memory::indices_mut(&mut left.rows));
                bound.push(Memory::values_mut(&mut left.sums));
                let next = leaving::<T>(&adding.watched, &parts, block, &mut bound)?;
                drop(bound);
                left = next;
            }
            Ok(())
        })
    }

    /// Counts the rows of all parts, makes room for them, and fills it.
    fn in_rows(
        &self,
        rows: &Rows,
        params: &[Param],
        memory: &mut [Memory<'_>],
    ) -> Result<(), RunError> {
        let parts = self.parts(params, memory)?;
        let [block] = stored(&rows.block, params, &mut memory[..self.operands])?;
        let [first, mut opened] = counts_of(&mut memory[rows.counts], None);
        let length = rows.starts.map_or(0, |starts| memory[starts].len());
        // The first row of each part.
        let mut before = vec![first];
        for (params, _) in &parts {
            let mut counts = [0, opened];
            let mut starts = vec![0_i64; length];
            let mut bound = replaced(memory, rows, &mut counts, &mut starts);
            rows.counting.run(params, &mut bound)?;
            drop(bound);
            if let Some(bounding) = &rows.bounding {
                let (mut most, mut starts) = ([0, 0], Vec::new());
                bounding.run(params, &mut replaced(memory, rows, &mut most, &mut starts))?;
                if most[0] < counts[0] {
                    let array = "a part has more rows than additions".to_owned();
                    return Err(RunError::OutOfBounds {
                        array,
                        index: counts[0],
                        len: most[0] as usize,
                    });
                }
            }
            before.push(before[before.len() - 1] + counts[0]);
            opened = counts[1];
        }
        let all = before[parts.len()];
        let mut fixed = Vec::new();
        for (at, one) in memory.iter_mut().enumerate() {
            let values = matches!(one.elem(), Elem::Value(_));
            let length = (all * if values { block } else { 1 }) as usize;
            if !self.grows[at] {
                fixed.push(one.reborrow());
                continue;
            }
            let out_of_memory =
                || RunError::OutOfMemory { array: "rows".to_owned(), len: length as i64 };
            if let Memory::Grow(grows) = one
                && !grows.reserve(length)
            {
                return Err(out_of_memory());
            }
            fixed.push(one.reborrow().split_off(length).ok_or_else(out_of_memory)?);
        }
        let mut run = self.watched.begin(&fixed, parts.len() as u64);
        let mut all_starts = vec![0_i64; length];
        // Every third part, and then those between.
        let order = (0..3).flat_map(|at| (at..parts.len()).step_by(3)).rev();
        for part in order {
            let (params, distance) = &parts[part];
            let mut counts = [before[part], opened];
            let mut starts = vec![0_i64; length];
            let mut bound = replaced(&mut fixed, rows, &mut counts, &mut starts);
            run.part(part, params, &mut bound)?;
            drop(bound);
            if counts[0] != before[part + 1] {
                let why = format!("part {part} appended other rows than were counted");
                return Err(RunError::OutOfBounds { array: why, index: counts[0], len: 0 });
            }
            opened = counts[1];
            if rows.starts.is_some() {
                let next = parts.get(part + 1).map_or(length, |next| next.1 as usize);
                let own = *distance as usize..next;
                all_starts[own.clone()].copy_from_slice(&starts[..own.len()]);
            }
        }
        drop(run);
        counts_of(&mut fixed[rows.counts], Some([all, opened]));
        if let Some(Memory::IndicesMut(IndicesMut::I64(starts))) =
            rows.starts.map(|at| &mut fixed[at])
        {
            starts.copy_from_slice(&all_starts);
        }
        Ok(())
    }
}

/// The two counts, after they are set if `to` is given.
fn counts_of(memory: &mut Memory<'_>, to: Option<[i64; 2]>) -> [i64; 2] {
    match memory {
        Memory::IndicesMut(IndicesMut::I64(counts)) => {
            let counts = counts.first_chunk_mut().expect("two counts");
            *counts = to.unwrap_or(*counts);
            *counts
        }
        _ => unreachable!("counts are written"),
    }
}

/// Memory with other counts and first rows.
fn replaced<'a>(
    memory: &'a mut [Memory<'_>],
    rows: &Rows,
    counts: &'a mut [i64],
    starts: &'a mut [i64],
) -> Vec<Memory<'a>> {
    let mut bound: Vec<Memory<'a>> = memory.iter_mut().map(Memory::reborrow).collect();
    bound[rows.counts] = Memory::indices_mut(counts);
    if let Some(at) = rows.starts {
        bound[at] = Memory::indices_mut(starts);
    }
    bound
}

impl Executable for Parts {
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
        if let Some(otherwise) = &self.otherwise {
            let fits = |(at, count): &(usize, u32)| match params[*at] {
                Param::Int(value) => value % i64::from(*count) == 0,
                _ => false,
            };
            if !self.multiples.iter().all(fits) {
                return otherwise.run(params, memory);
            }
            IN_VECTORS.fetch_add(1, Ordering::Relaxed);
        }
        let run = match &self.rows {
            Some(rows) => self.in_rows(rows, params, memory),
            None => self.in_place(params, memory),
        };
        Ok(run?)
    }

    fn cuts(&self) -> Cuts {
        Cuts::Never
    }

    fn sets_all(&self, loops: bool) -> bool {
        loops && self.sets_all
    }

    fn describe(&self) -> String {
        let cut = if self.bounds.is_some() { "parts in shuffled order" } else { "one part" };
        format!("{cut}, by the interpreter")
    }
}
