//! Runs the kernels of a plan on a device: their choice by sizes, and what they are called with.

mod run;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use run::Running;
use ust_cuda::{Device, Grid, Module, Source, Stream};
use ust_engine::format::IndexExpr;
use ust_engine::ops::Operator;
use ust_engine::provider::plan::{Array, Facts, Loop, Over, Plan, Sizes, evaluated};
use ust_engine::provider::{Call, Cuts, Executable};
use ust_engine::schedule::Schedule;
use ust_engine::{Error, Tensor};
use ust_level_api::ir::interp::Param;
use ust_level_api::ir::{ArrayId, Function};
use ust_level_api::{Interval, Scalar};

use crate::gpu::Gpu;
use crate::print::{About, Argument, Kernel, Program, Target};
use crate::provider::Schedules;
use crate::there::{self, Levels, ValuesThere, device};
use crate::tuning::{
    BLOCK_THREADS, ITEMS_PER_THREAD, MOST_SUMS, STRUCTURES, SUMMED_PER_THREAD, WIDTHS, is_skewed,
    width,
};

/// A plan, which runs on tensors: the kernels are chosen by their sizes.
pub(crate) struct Launcher {
    facts: Facts,
    about: About,
    /// The plan's loops.
    function: Function,
    /// The operator of the reduction.
    operator: Operator,
    /// The value of elements before the loops run.
    begin: Scalar,
    /// Whether sums are formed in the order of the loops.
    strict: bool,
    sizes: Sizes,
    schedules: Schedules,
    /// For each choice, the kernels for each device, made when they are first chosen.
    made: [Mutex<Vec<Arc<Kernels>>>; CHOICES],
    /// What was found out about structures: ranges of parts, and lengths of rows.
    found: Mutex<HashMap<Vec<u64>, (i64, i64)>>,
}

/// Number of choices.
const CHOICES: usize = 2 * WIDTHS + 1;

/// Which kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// 2^k threads for each part.
    Threads(usize),
    /// A thread for each element.
    Elements,
    /// Parts of equally many stored elements, with 2^k threads for each.
    Stored(usize),
}

impl Choice {
    fn number(self) -> usize {
        match self {
            Self::Threads(width) => width,
            Self::Elements => WIDTHS,
            Self::Stored(width) => WIDTHS + 1 + width,
        }
    }

    /// The binary logarithm of the number of threads that run a part together.
    fn width(self) -> usize {
        match self {
            Self::Threads(width) | Self::Stored(width) => width,
            Self::Elements => 0,
        }
    }
}

/// Compiled kernels.
struct Kernels {
    program: Program,
    module: Module,
    device: Device,
}

/// What kernels are called with.
#[derive(Clone)]
struct Arguments<'a> {
    params: &'a [Param],
    arrays: Vec<Given>,
    range: (i64, i64),
    grain: u64,
    parts: u64,
    counts: u64,
    offsets: u64,
    error: u64,
}

impl Arguments<'_> {
    /// The length of the range that parts cut.
    fn length(&self) -> u64 {
        length(self.range)
    }
}

fn length((lo, hi): (i64, i64)) -> u64 {
    if lo < hi { hi.wrapping_sub(lo) as u64 } else { 0 }
}

/// An array of the loops.
#[derive(Clone, Copy, Default)]
struct Given {
    address: u64,
    length: usize,
}

impl Launcher {
    /// # Errors
    /// Why the plan cannot run.
    pub(crate) fn new(plan: &Plan<'_>, schedules: Schedules) -> Result<Self, String> {
        let made = Self {
            facts: plan.facts.clone(),
            about: About::new(plan),
            function: plan.function.clone(),
            operator: plan.reduce.map_or(Operator::Add, |(operator, _)| operator.clone()),
            begin: plan.result.fill,
            strict: plan.strict,
            sizes: plan.sizes.clone(),
            schedules,
            made: [const { Mutex::new(Vec::new()) }; CHOICES],
            found: Mutex::default(),
        };
        // What cannot be printed is refused before anything runs.
        made.program(Choice::Threads(0))?;
        Ok(made)
    }

    fn schedule(&self, choice: Choice) -> &Schedule {
        let Schedules { alone, shared, elements, stored, stored_shared } = &self.schedules;
        let other = match choice {
            Choice::Threads(0) => None,
            Choice::Threads(_) => shared.as_ref(),
            Choice::Elements => elements.as_ref(),
            Choice::Stored(0) => stored.as_ref(),
            Choice::Stored(_) => stored_shared.as_ref(),
        };
        other.unwrap_or(alone)
    }

    /// The kernels as text.
    fn program(&self, choice: Choice) -> Result<Program, String> {
        let grows: Vec<bool> = self.function.arrays.iter().map(|array| array.grows).collect();
        let target = Target::Cuda { lanes: 1 << choice.width() };
        Program::new(self.schedule(choice), &self.facts, &grows, &self.about, target)
    }

    /// The kernels for large tensors.
    pub(crate) fn usual_program(&self) -> Result<Program, String> {
        self.program(self.usual())
    }

    /// The choice for large tensors.
    fn usual(&self) -> Choice {
        match &self.schedules {
            Schedules { elements: Some(_), .. } => Choice::Elements,
            Schedules { shared: Some(_), .. } => Choice::Threads(WIDTHS - 1),
            _ => Choice::Threads(0),
        }
    }

    fn kernels(&self, choice: Choice, gpu: &Device) -> Result<Arc<Kernels>, Error> {
        let made = || self.made[choice.number()].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made().iter().find(|made| made.device == *gpu) {
            return Ok(Arc::clone(made));
        }
        let program = self.program(choice).map_err(Error::Unsupported)?;
        let mut source = Source::new(program.code());
        if self.strict {
            source = source.option("--fmad=false");
        }
        let module = gpu.module(&source).map_err(device)?;
        PROGRAMS.fetch_add(1, Ordering::Relaxed);
        let kernels = Arc::new(Kernels { program, module, device: gpu.clone() });
        made().push(Arc::clone(&kernels));
        Ok(kernels)
    }

    /// The range that parts cut, and the kernels, for these tensors.
    fn choose(
        &self,
        call: &Call<'_>,
        arguments: &Arguments<'_>,
        gpu: &Gpu,
    ) -> Result<(Choice, Option<(i64, i64)>), Error> {
        let planned = match &self.schedules.alone.range {
            Ok(range) => Some(self.range(range, Choice::Threads(0), call, arguments, gpu)?),
            Err(_) => None,
        };
        let parts = planned.map_or(1, length);
        if let Some(Schedule { range: Ok(range), .. }) = &self.schedules.elements {
            let elements = self.range(range, Choice::Elements, call, arguments, gpu)?;
            if length(elements) > parts || planned.is_none() {
                return Ok((Choice::Elements, Some(elements)));
            }
        }
        let width = self.width(call, parts);
        if let (Some(planned), Some(Schedule { range: Ok(items), .. })) =
            (planned, &self.schedules.stored)
        {
            let items = self.range(items, Choice::Stored(0), call, arguments, gpu)?;
            let mean = length(items).saturating_sub(parts) as f64 / parts.max(1) as f64;
            let find = || self.longest(planned, arguments, gpu);
            let (_, longest) = self.once(CHOICES, call, arguments, find)?;
            if is_skewed(mean, longest) {
                BY_STORED.fetch_add(1, Ordering::Relaxed);
                return Ok((Choice::Stored(width), Some(items)));
            }
        }
        Ok((Choice::Threads(width), planned))
    }

    /// What `find` finds about these tensors. It is looked for once for each structure, by `what`.
    fn once(
        &self,
        what: usize,
        call: &Call<'_>,
        arguments: &Arguments<'_>,
        find: impl FnOnce() -> Result<(i64, i64), Error>,
    ) -> Result<(i64, i64), Error> {
        let ids = call.operands().iter().map(|tensor| tensor.kept_of_levels().id());
        let params = arguments.params.iter().map(|param| match param {
            Param::Int(value) => *value as u64,
            _ => 0,
        });
        let key: Vec<u64> = std::iter::once(what as u64).chain(ids).chain(params).collect();
        let known = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key) {
            return Ok(*found);
        }
        let found = find()?;
        let mut known = known();
        if known.len() >= STRUCTURES {
            known.clear();
        }
        known.insert(key, found);
        Ok(found)
    }

    /// The number of entries of the longest row.
    fn longest(
        &self,
        range: (i64, i64),
        arguments: &Arguments<'_>,
        gpu: &Gpu,
    ) -> Result<(i64, i64), Error> {
        let stream = gpu.stream();
        let Kernels { program, module, .. } = &*self.kernels(Choice::Stored(0), gpu.device())?;
        let kernel = program.longest.as_ref().expect("the longest row is found by a kernel");
        let to = stream.upload(&0_i64.to_ne_bytes()).map_err(device)?;
        let mut arguments =
            Arguments { range, grain: 1, parts: length(range), ..arguments.clone() };
        let place = kernel.arguments.iter().filter_map(|one| match one {
            Argument::Array(id) => Some(id.0 as usize),
            _ => None,
        });
        // The last array is the one that is written.
        let place = place.max().expect("it is stored");
        let count = arguments.arrays.len().max(place + 1);
        arguments.arrays.resize(count, Given::default());
        arguments.arrays[place] = Given { address: to.address(), length: 1 };
        let blocks = arguments.parts.div_ceil(BLOCK_THREADS).clamp(1, 1 << 16) as u32;
        let grid = Grid::new(blocks, BLOCK_THREADS as u32);
        launch(module, kernel, grid, &words(kernel, &arguments), stream)?;
        let mut found = [0_i64];
        there::read(&mut found, &to, stream).map_err(device)?;
        Ok((0, found[0]))
    }

    /// The binary logarithm of the number of threads that run a part together, for `parts` parts.
    fn width(&self, call: &Call<'_>, parts: u64) -> usize {
        let Some(shared) = &self.schedules.shared else { return 0 };
        let loops = &shared.scheduled.marks.loops;
        let is_shared = |one: &&Loop| one.vars.iter().any(|var| loops.contains_key(var));
        let iterations = self.facts.loops.iter().filter(is_shared);
        let iterations = iterations.map(|one| self.iterations(one, call, parts));
        width(iterations.fold(f64::INFINITY, f64::min), parts)
    }

    /// The iterations of a loop each time that it runs, on average.
    fn iterations(&self, of: &Loop, call: &Call<'_>, parts: u64) -> f64 {
        if let (Over::Coordinates, [], IndexExpr::Var(v)) = (of.over, &of.walks[..], &of.expr) {
            return call.extents()[*v] as f64;
        }
        let planned =
            |depth: usize| self.sizes.iterations.get(depth).copied().unwrap_or(1.0).max(1.0);
        match of.walks[..] {
            // The entries of one operand, which parts share.
            [(operand, _)] if of.depth == 1 => {
                let then = self.sizes.operands[operand].nse.max(1.0);
                let grown = call.operands()[operand].nse() as f64 / then;
                planned(of.depth) * grown / parts.max(1) as f64
            }
            _ if of.depth == 0 => planned(0),
            _ => planned(of.depth) / planned(of.depth - 1),
        }
    }

    /// Makes parts longer where the outermost loop itself is shared by the threads of a part.
    fn coarsen(&self, arguments: &mut Arguments<'_>, choice: Choice) {
        let (loops, width) = (&self.schedule(choice).scheduled.marks.loops, choice.width());
        let is_shared = |one: &&Loop| one.vars.iter().any(|var| loops.contains_key(var));
        let outermost = self.facts.loops.iter().filter(is_shared).any(|one| one.depth == 0);
        if let Choice::Stored(width) = choice {
            arguments.grain = ITEMS_PER_THREAD << width;
            arguments.parts = arguments.length().div_ceil(arguments.grain);
        } else if width > 0 && outermost {
            let length = arguments.length();
            arguments.grain = length.div_ceil(MOST_SUMS).max(SUMMED_PER_THREAD << width);
            arguments.parts = length.div_ceil(arguments.grain);
        }
    }

    fn run_there(&self, call: &Call<'_>) -> Result<Tensor, Error> {
        if call.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let gpu = Gpu::current().map_err(device)?;
        let stream = gpu.stream();
        let operands = call.operands().iter();
        let levels: Vec<Arc<Levels>> = operands
            .clone()
            .map(|tensor| there::levels(tensor, stream))
            .collect::<Result<_, _>>()?;
        let values: Vec<Arc<ValuesThere>> =
            operands.map(|tensor| there::values(tensor, stream)).collect::<Result<_, _>>()?;
        let mut arrays = vec![Given::default(); self.facts.arrays.len()];
        for (array, given) in self.facts.arrays.iter().zip(&mut arrays) {
            *given = match *array {
                Array::Level { operand, level, array } => Given {
                    address: levels[operand].0[level][array].address(),
                    length: call.operands()[operand].levels()[level].0[array].len(),
                },
                Array::Values(operand) => Given {
                    address: values[operand].0.address(),
                    length: call.operands()[operand].nse(),
                },
                _ => Given::default(),
            };
        }
        let params = call.parameters((i64::MIN, i64::MAX), 0);
        let error = stream.upload(&0_i32.to_ne_bytes()).map_err(device)?;
        let mut arguments = Arguments {
            params: &params,
            arrays,
            range: (i64::MIN, i64::MAX),
            grain: 1,
            parts: 1,
            counts: 0,
            offsets: 0,
            error: error.address(),
        };
        let (choice, range) = self.choose(call, &arguments, &gpu)?;
        if let Some(range) = range {
            arguments.range = range;
            arguments.parts = length(range);
            self.coarsen(&mut arguments, choice);
        }
        let (schedule, kernels) = (self.schedule(choice), &*self.kernels(choice, gpu.device())?);
        let of_levels =
            levels.iter().flat_map(|levels| levels.0.iter().flatten().map(AsRef::as_ref));
        let used = of_levels.chain(values.iter().map(|values| &values.0));
        let primitives = gpu.primitives();
        let error = &error;
        let run = Running { launcher: self, schedule, kernels, call, stream, primitives, error };
        there::between(stream, used, || match &self.facts.rows {
            None => run.in_place(arguments),
            Some(rows) => run.in_rows(arguments, &rows.block),
        })
    }

    /// The range that parts cut.
    fn range(
        &self,
        range: &Interval,
        choice: Choice,
        call: &Call<'_>,
        arguments: &Arguments<'_>,
        gpu: &Gpu,
    ) -> Result<(i64, i64), Error> {
        let bounds = [range.lo.clone(), range.hi.clone()];
        if let Some(found) = evaluated(&bounds, &self.function, arguments.params)? {
            return Ok((found[0], found[1]));
        }
        self.once(choice.number(), call, arguments, || self.stored_range(choice, arguments, gpu))
    }

    /// The range that parts cut, where it is read from arrays.
    fn stored_range(
        &self,
        choice: Choice,
        arguments: &Arguments<'_>,
        gpu: &Gpu,
    ) -> Result<(i64, i64), Error> {
        let stream = gpu.stream();
        let Kernels { program, module, .. } = &*self.kernels(choice, gpu.device())?;
        let unknown = || Error::Unsupported("the range of a loop is not known".to_owned());
        let kernel = program.range.as_ref().ok_or_else(unknown)?;
        let to = stream.alloc(16).map_err(device)?;
        let mut words = words(kernel, arguments);
        // The last argument is the array of the two bounds.
        let place = kernel.arguments.iter().rposition(|one| matches!(one, Argument::Array(_)));
        words[place.expect("the range is stored")] = to.address();
        launch(module, kernel, Grid::new(1, 1), &words, stream)?;
        let mut found = [0_i64; 2];
        there::read(&mut found, &to, stream).map_err(device)?;
        Ok((found[0], found[1]))
    }

    fn place(&self, wanted: Array) -> Option<usize> {
        self.facts.arrays.iter().position(|array| *array == wanted)
    }

    fn has_work(&self) -> bool {
        self.facts.arrays.iter().any(|array| array.is_work())
    }
}

/// The arguments of a kernel, in its order.
fn words(kernel: &Kernel, arguments: &Arguments<'_>) -> Vec<u64> {
    let array = |id: ArrayId| arguments.arrays.get(id.0 as usize).copied().unwrap_or_default();
    let word = |argument: &Argument| match *argument {
        Argument::Parameter(at) => match arguments.params[at] {
            Param::Int(value) => value as u64,
            _ => 0,
        },
        Argument::Array(id) => array(id).address,
        Argument::Length(id) => array(id).length as u64,
        Argument::RangeLo => arguments.range.0 as u64,
        Argument::RangeHi => arguments.range.1 as u64,
        Argument::Grain => arguments.grain,
        Argument::Parts => arguments.parts,
        Argument::Counts => arguments.counts,
        Argument::Offsets => arguments.offsets,
        Argument::Error => arguments.error,
    };
    kernel.arguments.iter().map(word).collect()
}

static PROGRAMS: AtomicUsize = AtomicUsize::new(0);
static LAUNCHES: AtomicUsize = AtomicUsize::new(0);
static BY_STORED: AtomicUsize = AtomicUsize::new(0);

/// What this process did on its devices so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Programs that were compiled, or found compiled.
    pub programs: usize,
    /// Kernels that were launched.
    pub launches: usize,
    /// Copies of level arrays, or of values, of tensors of the host.
    pub uploads: usize,
    /// Runs whose parts were intervals of stored elements.
    pub by_stored: usize,
}

/// What this process did on its devices so far.
#[must_use]
pub fn tally() -> Tally {
    let counts = [&PROGRAMS, &LAUNCHES, &there::UPLOADS, &BY_STORED];
    let [programs, launches, uploads, by_stored] =
        counts.map(|count| count.load(Ordering::Relaxed));
    Tally { programs, launches, uploads, by_stored }
}

fn launch(
    module: &Module,
    kernel: &Kernel,
    grid: Grid,
    words: &[u64],
    stream: &Stream,
) -> Result<(), Error> {
    LAUNCHES.fetch_add(1, Ordering::Relaxed);
    let compiled = module.kernel(kernel.name).map_err(device)?;
    crate::run_kernel(&compiled, grid, words, stream).map_err(device)
}

impl fmt::Debug for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Executable for Launcher {
    fn call(&self, call: &Call<'_>) -> Option<Result<Tensor, Error>> {
        Some(self.run_there(call))
    }

    fn cuts(&self) -> Cuts {
        Cuts::Never
    }

    fn describe(&self) -> String {
        let Schedules { alone, shared, elements, stored, .. } = &self.schedules;
        let mut how = match (&alone.range, shared) {
            (Err(why), _) => format!("one part: {why}"),
            (Ok(_), None) => "a thread for each iteration of the outermost loop".to_owned(),
            (Ok(_), Some(_)) => {
                "1 to 32 threads for each iteration of the outermost loop, by their work".to_owned()
            }
        };
        if elements.is_some() {
            how += ", or a thread for each element where there are more of them";
        }
        if stored.is_some() {
            how +=
                ", or parts of equally many stored elements where a row is much longer than others";
        }
        format!("CUDA C++; {how}")
    }

    fn disassembly(&self) -> Option<String> {
        Some(self.usual_program().ok()?.own_text().to_owned())
    }
}
