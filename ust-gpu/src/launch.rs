//! Runs the kernels of a plan on a device: their choice by sizes, and what they are called with.

mod run;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use run::Running;
use ust_cuda::{Device, Grid, Memory, Module, Source, Stream};
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
use crate::print::{Argument, Kernel, Program};
use crate::there::{self, Levels, ValuesThere, device};
use crate::tuning::{MOST_SUMS, SUMMED_PER_THREAD, WIDTHS, width};

/// A plan, which runs on tensors: the kernels are chosen by their sizes.
pub(crate) struct Launcher {
    facts: Facts,
    /// The plan's loops.
    function: Function,
    /// The operator of the reduction.
    operator: Operator,
    /// The value of elements before the loops run.
    begin: Scalar,
    /// Whether sums are formed in the order of the loops.
    strict: bool,
    sizes: Sizes,
    /// A thread for each part.
    alone: Schedule,
    /// Several threads for each part, if loops have a use for them.
    shared: Option<Schedule>,
    /// For each number of threads of a part: the kernels, made when they are first chosen.
    made: [OnceLock<Kernels>; WIDTHS],
}

/// Compiled kernels.
struct Kernels {
    program: Program,
    module: Module,
}

/// What kernels are called with.
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
        let (lo, hi) = self.range;
        if lo < hi { hi.wrapping_sub(lo) as u64 } else { 0 }
    }
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
    pub(crate) fn new(
        plan: &Plan<'_>,
        alone: Schedule,
        shared: Option<Schedule>,
    ) -> Result<Self, String> {
        let made = Self {
            facts: plan.facts.clone(),
            function: plan.function.clone(),
            operator: plan.reduce.map_or(Operator::Add, |(operator, _)| operator.clone()),
            begin: plan.result.fill,
            strict: plan.strict,
            sizes: plan.sizes.clone(),
            alone,
            shared: shared.filter(Schedule::has_lanes),
            made: [const { OnceLock::new() }; WIDTHS],
        };
        // What cannot be printed is refused before anything runs.
        made.program(0)?;
        Ok(made)
    }

    fn schedule(&self, width: usize) -> &Schedule {
        match &self.shared {
            Some(shared) if width > 0 => shared,
            _ => &self.alone,
        }
    }

    /// The text for 2^`width` threads of a part.
    pub(crate) fn program(&self, width: usize) -> Result<Program, String> {
        let schedule = self.schedule(width);
        let grows: Vec<bool> = self.function.arrays.iter().map(|array| array.grows).collect();
        Program::new(schedule, &self.facts, &grows, &schedule.describe(), 1 << width)
    }

    /// The largest choice.
    pub(crate) fn widest(&self) -> usize {
        if self.shared.is_some() { WIDTHS - 1 } else { 0 }
    }

    fn kernels(&self, width: usize, gpu: &Device) -> Result<&Kernels, Error> {
        if let Some(made) = self.made[width].get() {
            return Ok(made);
        }
        let program = self.program(width).map_err(Error::Unsupported)?;
        let mut source = Source::new(program.text.clone());
        if self.strict {
            source = source.option("--fmad=false");
        }
        let module = gpu.module(&source).map_err(device)?;
        PROGRAMS.fetch_add(1, Ordering::Relaxed);
        Ok(self.made[width].get_or_init(|| Kernels { program, module }))
    }

    /// The binary logarithm of the number of threads that run a part together, for `parts` parts.
    fn width(&self, call: &Call<'_>, parts: u64) -> usize {
        let Some(shared) = &self.shared else { return 0 };
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
    fn coarsen(&self, arguments: &mut Arguments<'_>, width: usize) {
        let loops = &self.schedule(width).scheduled.marks.loops;
        let is_shared = |one: &&Loop| one.vars.iter().any(|var| loops.contains_key(var));
        let outermost = self.facts.loops.iter().filter(is_shared).any(|one| one.depth == 0);
        if width > 0 && outermost {
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
        let (gpu, stream) = (gpu.device(), gpu.stream());
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
        let mut width = 0;
        if let Ok(range) = &self.alone.range {
            arguments.range = self.range(range, &arguments, gpu, stream)?;
            width = self.width(call, arguments.length());
            arguments.parts = arguments.length();
            self.coarsen(&mut arguments, width);
        }
        let (schedule, kernels) = (self.schedule(width), self.kernels(width, gpu)?);
        // Memory of other streams is used between what they do now and what they will do.
        let of_levels = levels.iter().flat_map(|levels| levels.0.iter().flatten());
        let used = of_levels.chain(values.iter().map(|values| &values.0));
        let mut others: Vec<&Stream> = used.filter_map(Memory::stream).collect();
        others.dedup_by_key(|other| other.handle());
        others.iter().try_for_each(|other| stream.wait_for(other)).map_err(device)?;
        let run = Running { launcher: self, schedule, kernels, call, stream, error: &error };
        let result = match &self.facts.rows {
            None => run.in_place(arguments),
            Some(rows) => run.in_rows(arguments, &rows.block),
        };
        others.iter().try_for_each(|other| other.wait_for(stream)).map_err(device)?;
        result
    }

    /// The range that parts cut.
    fn range(
        &self,
        range: &Interval,
        arguments: &Arguments<'_>,
        gpu: &Device,
        stream: &Stream,
    ) -> Result<(i64, i64), Error> {
        let bounds = [range.lo.clone(), range.hi.clone()];
        if let Some(found) = evaluated(&bounds, &self.function, arguments.params)? {
            return Ok((found[0], found[1]));
        }
        let Kernels { program, module } = self.kernels(0, gpu)?;
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
}

/// What this process did on its devices so far.
#[must_use]
pub fn tally() -> Tally {
    let [programs, launches, uploads] =
        [&PROGRAMS, &LAUNCHES, &there::UPLOADS].map(|count| count.load(Ordering::Relaxed));
    Tally { programs, launches, uploads }
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
        let how = match (&self.alone.range, &self.shared) {
            (Err(why), _) => format!("one part: {why}"),
            (Ok(_), None) => "a thread for each iteration of the outermost loop".to_owned(),
            (Ok(_), Some(_)) => {
                "1 to 32 threads for each iteration of the outermost loop, by their work".to_owned()
            }
        };
        format!("CUDA C++; {how}")
    }

    fn disassembly(&self) -> Option<String> {
        Some(self.program(self.widest()).ok()?.own_text().to_owned())
    }
}
