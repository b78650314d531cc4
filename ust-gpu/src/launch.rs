//! Runs the kernels of a plan on a device: their choice by sizes, and what they are called with.

mod choose;
mod columns;
mod counted;
mod run;
mod tables;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use choose::{CHOICES, Choice, stored_range};
pub use columns::conversion_text;
pub(crate) use columns::write_columns;
use run::Running;
pub use tables::FullTable;
use tables::Tables;
use ust_cuda::{Device, Grid, Memory, Module, Source, Stream};
use ust_engine::ops::Operator;
use ust_engine::provider::plan::{Array, Facts, Plan, Sizes};
use ust_engine::provider::{Call, Cuts, Executable};
use ust_engine::schedule::Schedule;
use ust_engine::{Error, Tensor};
use ust_level_api::Scalar;
use ust_level_api::ir::interp::Param;
use ust_level_api::ir::schedule::Vector;
use ust_level_api::ir::{ArrayId, Function};

use crate::cache;
use crate::gpu::Gpu;
use crate::print::{About, Argument, Kernel, Program, SHORT, Target};
use crate::provider::Schedules;
use crate::room::Room;
use crate::there::{self, Operands, device};
use crate::tuning::WIDTHS;

/// The option of NVRTC for plans whose sums are formed in the order of the loops: products are not fused with sums.
pub(crate) const STRICT: &str = "--fmad=false";

/// A plan, which runs on tensors: the kernels are chosen by their sizes.
pub(crate) struct Launcher {
    facts: Facts,
    /// For each operand, whether the loops read one value of it.
    iso: Vec<bool>,
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
    /// Tells this plan from others.
    number: u64,
    /// What was found out about structures: ranges of parts, and lengths of rows.
    found: Mutex<HashMap<Vec<u64>, (i64, i64)>>,
}

/// Compiled kernels.
struct Kernels {
    program: Program,
    module: Module,
    device: Device,
    /// Whether they are for operands with at most [`SHORT`] elements.
    short: bool,
}

impl Kernels {
    /// Compiles a program.
    fn new(program: Program, source: &Source, device: &Device) -> Result<Self, Error> {
        let module = device.module(source).map_err(there::device)?;
        PROGRAMS.fetch_add(1, Ordering::Relaxed);
        Ok(Self { program, module, device: device.clone(), short: false })
    }
}

/// What kernels are called with.
#[derive(Clone)]
struct Arguments<'a> {
    params: &'a [Param],
    arrays: Vec<Given>,
    range: (i64, i64),
    /// Iterations of the plan's outermost loop, as far as they are known.
    iterations: u64,
    grain: u64,
    parts: u64,
    counts: u64,
    offsets: u64,
    error: u64,
    tables: Tables,
}

impl<'a> Arguments<'a> {
    /// One part, of all. `error`: the number of an integer division by zero.
    fn new(params: &'a [Param], arrays: Vec<Given>, error: &Memory) -> Self {
        Self {
            params,
            arrays,
            range: (i64::MIN, i64::MAX),
            iterations: u64::MAX,
            grain: 1,
            parts: 1,
            counts: 0,
            offsets: 0,
            error: error.address(),
            tables: Tables::default(),
        }
    }

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
        let mut made = Self {
            facts: plan.facts.clone(),
            iso: plan.operands.iter().map(|operand| operand.iso).collect(),
            about: About::new(plan),
            function: plan.function.clone(),
            operator: plan.reduce.map_or(Operator::Add, |(operator, _)| operator.clone()),
            begin: plan.result.fill,
            strict: plan.strict,
            sizes: plan.sizes.clone(),
            schedules,
            made: [const { Mutex::new(Vec::new()) }; CHOICES],
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            found: Mutex::default(),
        };
        // What cannot be printed is refused before anything runs.
        made.program(Choice::Threads(0), true)?;
        if made.schedules.tables.is_some() && made.program(Choice::Tables, true).is_err() {
            made.schedules.tables = None;
        }
        Ok(made)
    }

    fn schedule(&self, choice: Choice) -> &Schedule {
        let Schedules { alone, shared, several, elements, stored, stored_shared, tables } =
            &self.schedules;
        let other = match choice {
            Choice::Threads(0) => None,
            Choice::Threads(_) => shared.as_ref(),
            Choice::Several(which, _) => several.get(which),
            Choice::Elements => elements.as_ref(),
            Choice::Stored(0) => stored.as_ref(),
            Choice::Stored(_) => stored_shared.as_ref(),
            Choice::Tables | Choice::LargeTables => tables.as_ref(),
        };
        other.unwrap_or(alone)
    }

    /// The kernels as text. `short`: whether operands have at most [`SHORT`] elements.
    fn program(&self, choice: Choice, short: bool) -> Result<Program, String> {
        let grows: Vec<bool> = self.function.arrays.iter().map(|array| array.grows).collect();
        let target = match choice {
            Choice::Tables => Target::Tables { shared: true },
            Choice::LargeTables => Target::Tables { shared: false },
            choice => Target::Cuda { lanes: 1 << choice.width(), short },
        };
        Program::new(self.schedule(choice), &self.facts, &grows, &self.about, target)
    }

    /// The kernels for large tensors.
    pub(crate) fn usual_program(&self) -> Result<Program, String> {
        self.program(self.usual(), false)
    }

    /// The choice for large tensors.
    fn usual(&self) -> Choice {
        match &self.schedules {
            Schedules { elements: Some(_), .. } => Choice::Elements,
            schedules if schedules.is_always_stored() => Choice::Stored(0),
            Schedules { tables: Some(_), .. } => Choice::Tables,
            Schedules { shared: Some(_), .. } => Choice::Threads(WIDTHS - 1),
            _ => Choice::Threads(0),
        }
    }

    /// The text that is compiled.
    fn source(&self, choice: Choice, short: bool) -> Result<(Program, Source), String> {
        let program = self.program(choice, short)?;
        let source = Source::new(program.code());
        let source = if self.strict { source.option(STRICT) } else { source };
        Ok((program, source))
    }

    /// Whether one thread runs all loops.
    pub(crate) fn is_alone(&self) -> bool {
        let Schedules { alone, elements, stored, .. } = &self.schedules;
        alone.range.is_err() && elements.is_none() && stored.is_none()
    }

    /// Whether the kernels that probably run on tensors of these sizes are compiled, in memory or on disk.
    pub(crate) fn is_compiled(&self, sizes: &Sizes, gpu: &Device) -> Result<bool, Error> {
        let short = sizes.operands.iter().all(|operand| operand.nse <= SHORT as f64);
        let (_, source) = self.source(self.expected(sizes), short).map_err(Error::Unsupported)?;
        gpu.has_compiled(&source).map_err(device)
    }

    /// The kernels that run with these arguments.
    fn kernels(
        &self,
        choice: Choice,
        arguments: &Arguments<'_>,
        gpu: &Device,
    ) -> Result<Arc<Kernels>, Error> {
        let short = arguments.arrays.iter().all(|given| given.length as u64 <= SHORT);
        let made = || self.made[choice.number()].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made().iter().find(|made| made.device == *gpu && made.short == short) {
            return Ok(Arc::clone(made));
        }
        let (program, source) = self.source(choice, short).map_err(Error::Unsupported)?;
        let kernels = Arc::new(Kernels { short, ..Kernels::new(program, &source, gpu)? });
        made().push(Arc::clone(&kernels));
        Ok(kernels)
    }

    fn run_there(&self, call: &Call<'_>) -> Result<Tensor, Error> {
        if call.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let gpu = Gpu::current().map_err(device)?;
        let stream = gpu.stream();
        let operands = Operands::for_loops(call, &self.iso, stream)?;
        let mut arrays = vec![Given::default(); self.facts.arrays.len()];
        for (array, given) in self.facts.arrays.iter().zip(&mut arrays) {
            *given = match *array {
                Array::Level { operand, level, array } => Given {
                    address: operands.levels[operand].0[level][array].address(),
                    length: call.operands()[operand].levels()[level].0[array].len(),
                },
                Array::Values(operand) => Given {
                    address: operands.values[operand].0.address(),
                    length: call.operands()[operand].nse(),
                },
                _ => Given::default(),
            };
        }
        let params = call.parameters((i64::MIN, i64::MAX), 0);
        let error = cache::with_room(|| stream.upload(&0_i32.to_ne_bytes())).map_err(device)?;
        let mut arguments = Arguments::new(&params, arrays, &error);
        // What chooses kernels reads operands, too.
        operands.between(stream, || {
            let (choice, range) = self.choose(call, &mut arguments, &gpu)?;
            if let Some(range) = range {
                arguments.range = range;
                arguments.parts = length(range);
                self.coarsen(&mut arguments, choice)?;
            }
            let schedule = self.schedule(choice);
            let kernels = &*self.kernels(choice, &arguments, gpu.device())?;
            let (primitives, error) = (gpu.primitives(), &error);
            let (launcher, gpu, room) = (self, &gpu, Room::new(call));
            let run =
                Running { launcher, schedule, kernels, call, room, gpu, stream, primitives, error };
            match &self.facts.rows {
                None => run.in_place(arguments),
                Some(rows) => run.in_rows(arguments, &rows.block),
            }
        })
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
        Argument::Chosen => arguments.tables.chosen,
        Argument::Width => arguments.tables.width,
        Argument::Team => arguments.tables.team,
        Argument::Slots => arguments.tables.slots,
        Argument::Room => arguments.tables.room,
        Argument::Memory => arguments.tables.memory,
    };
    kernel.arguments.iter().map(word).collect()
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);
static PROGRAMS: AtomicUsize = AtomicUsize::new(0);
static LAUNCHES: AtomicUsize = AtomicUsize::new(0);
static BY_STORED: AtomicUsize = AtomicUsize::new(0);
static BY_TABLE: AtomicUsize = AtomicUsize::new(0);
static IN_VECTORS: AtomicUsize = AtomicUsize::new(0);
static IN_BLOCKS: AtomicUsize = AtomicUsize::new(0);
static IN_STRIDES: AtomicUsize = AtomicUsize::new(0);

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
    /// Runs that kept workspaces as hash tables.
    pub by_table: usize,
    /// Runs whose threads work on elements side by side.
    pub in_vectors: usize,
    /// Runs whose threads work on several elements that are apart.
    pub in_strides: usize,
    /// Those of them that run several iterations of the outermost loop as one.
    pub in_blocks: usize,
}

/// What this process did on its devices so far.
#[must_use]
pub fn tally() -> Tally {
    let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
    Tally {
        programs: of(&PROGRAMS),
        launches: of(&LAUNCHES),
        uploads: of(&there::UPLOADS),
        by_stored: of(&BY_STORED),
        by_table: of(&BY_TABLE),
        in_vectors: of(&IN_VECTORS),
        in_strides: of(&IN_STRIDES),
        in_blocks: of(&IN_BLOCKS),
    }
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
        let Schedules { alone, shared, several, elements, stored, tables, .. } = &self.schedules;
        if tables.is_some() {
            return "CUDA C++; 1 thread to a block for each iteration of the outermost loop, with a hash table of its \
                coordinates, by their number"
                .to_owned();
        }
        let mut how = match (&alone.range, shared) {
            (Err(why), _) => format!("one part: {why}"),
            (Ok(_), None) => "a thread for each iteration of the outermost loop".to_owned(),
            (Ok(_), Some(_)) => {
                "1 to 32 threads for each iteration of the outermost loop, by their work".to_owned()
            }
        };
        let of_kind = |apart| {
            let mut all = several.iter().flat_map(Schedule::vectors);
            all.find(|vector| vector.apart == apart)
        };
        if let Some(Vector { count, .. }) = of_kind(false) {
            how += &format!(
                ", each with {count} elements side by side where extents and addresses are multiples of that"
            );
        }
        if let Some(Vector { count, .. }) = of_kind(true) {
            let otherwise = if of_kind(false).is_some() { "otherwise" } else { "each with" };
            how += &format!(", {otherwise} {count} elements apart");
        }
        if let Some(Schedule { grain, .. }) = several.iter().find(|one| one.grain > 1) {
            how +=
                &format!(", and {grain} iterations of the outermost loop as one where it has many");
        }
        let has_workspace = self.facts.rows.as_ref().is_some_and(|rows| rows.opened.is_some());
        if has_workspace {
            how += match self.strict {
                true => {
                    ", with an element for each coordinate: sums are formed in the order of the loops"
                }
                false => ", with an element for each coordinate",
            };
        }
        if elements.is_some() {
            how += ", or a thread for each element where there are more of them";
        }
        if self.schedules.is_always_stored() {
            how += ", in fact a thread for each part of equally many stored elements";
        } else if stored.is_some() {
            how +=
                ", or parts of equally many stored elements where a row is much longer than others";
        }
        format!("CUDA C++; {how}")
    }

    fn disassembly(&self) -> Option<String> {
        Some(self.usual_program().ok()?.own_text().to_owned())
    }
}
