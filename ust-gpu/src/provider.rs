//! Back ends: `cuda` runs kernels on the first device; `cuda-text` and `cpp-text` write only.

use ust_engine::ops::Operator;
use ust_engine::provider::{Call, Executable, Offer, Plan, Provider, Registration};
use ust_engine::schedule::{Abilities, Schedule};
use ust_engine::{Error, Tensor};
use ust_level_api::inventory;
use ust_level_api::ir::Expr;
use ust_level_api::ir::schedule::MarkError;

use crate::convert::combination;
use crate::gpu::Gpu;
use crate::launch::Launcher;
use crate::offer;
use crate::print::{About, Program, Target};
use crate::tuning::{APART, AS_ONE, SIDE_BY_SIDE};

/// The launcher of a plan.
fn launcher(plan: &Plan<'_>) -> Result<Launcher, Error> {
    let schedules = Schedules::new(plan).map_err(|error| Error::Unsupported(error.to_string()))?;
    Launcher::new(plan, schedules).map_err(Error::Unsupported)
}

/// Whether rows of parts can be combined: those of single values also by the host.
fn combines_rows(plan: &Plan<'_>) -> bool {
    let is_one = plan.facts.rows.as_ref().is_none_or(|rows| rows.block == Expr::Int(1));
    let operator = plan.reduce.map_or(&Operator::Add, |(operator, _)| operator);
    is_one || combination(operator, plan.result.dtype).is_some()
}

/// The schedule of the outermost loop in parts, with elements formed in variables where loops allow it.
fn in_parts(plan: &Plan<'_>, machine: Abilities) -> Result<Schedule, MarkError> {
    match Schedule::in_variables(plan, plan.facts, machine)? {
        Some(schedule) => Ok(schedule),
        None => Schedule::new(plan, plan.facts, machine),
    }
}

/// Why another plan of the stage is to be run instead of this one, if one is.
fn stands_back(plan: &Plan<'_>) -> Option<Offer> {
    let by_elements = || matches!(Schedule::by_elements(plan, plan.facts), Ok(Some(_)));
    let is_alone = plan.other_apart && !by_elements();
    is_alone.then(|| Offer::Refused("one thread would run all loops".to_owned()))
}

/// The kernels for large tensors.
fn cuda(plan: &Plan<'_>) -> Result<Program, Error> {
    launcher(plan)?.usual_program().map_err(Error::Unsupported)
}

/// A function or two of C++, for one thread.
fn cpp(plan: &Plan<'_>) -> Result<Program, Error> {
    let schedule = in_parts(plan, Abilities::default());
    let schedule = schedule.map_err(|error| Error::Unsupported(error.to_string()))?;
    let grows: Vec<bool> = plan.function.arrays.iter().map(|array| array.grows).collect();
    Program::new(&schedule, plan.facts, &grows, &About::new(plan), Target::Cpp)
        .map_err(Error::Unsupported)
}

/// Schedules of a plan, of which one is chosen when it runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Schedules {
    /// For a thread for each part.
    pub alone: Schedule,
    /// For several threads for each part, if loops have a use for them.
    pub shared: Option<Schedule>,
    /// For the same with several elements for each thread, the best first: each for elements of some kind, and some
    /// for several iterations of the outermost loop as one.
    pub several: Vec<Schedule>,
    /// For a thread for each element, where the outermost loop has few iterations.
    pub elements: Option<Schedule>,
    /// For a thread for each part of equally many stored elements, where some rows are long.
    pub stored: Option<Schedule>,
    /// For several threads for each of these parts.
    pub stored_shared: Option<Schedule>,
    /// For a hash table for each row that is collected in a workspace.
    pub tables: Option<Schedule>,
}

impl Schedules {
    /// Whether parts are intervals of stored elements however long rows are, because rows are searched.
    pub(crate) fn is_always_stored(&self) -> bool {
        self.stored.as_ref().is_some_and(|stored| stored.longest.is_none())
    }

    /// All schedules that there are for a plan.
    ///
    /// # Errors
    /// [`MarkError`] if what the plan says contradicts its loops.
    pub fn new(plan: &Plan<'_>) -> Result<Self, MarkError> {
        let combines_rows = combines_rows(plan);
        let schedule = |lanes| in_parts(plan, Abilities { lanes, combines_rows });
        let shared = Some(schedule(true)?).filter(Schedule::has_lanes);
        let mut several = Vec::new();
        if let Some(shared) = &shared {
            let blocks = shared.in_blocks(plan.facts, AS_ONE)?;
            for schedule in blocks.iter().chain([shared]) {
                several.extend(schedule.in_vectors(SIDE_BY_SIDE)?);
                several.extend(schedule.in_strides(APART)?);
            }
        }
        let elements = Schedule::by_elements(plan, plan.facts)?;
        let by_stored =
            |lanes| Schedule::by_stored(plan, plan.facts, Abilities { lanes, combines_rows });
        let (stored, stored_shared) = (by_stored(false)?, by_stored(true)?);
        let tables = Schedule::by_table(plan, plan.facts)?;
        let alone = schedule(false)?;
        Ok(Self { alone, shared, several, elements, stored, stored_shared, tables })
    }
}

/// Runs a plan by schedules that the caller made.
///
/// # Errors
/// [`Error::Unsupported`] if there are no kernels for them.
pub fn executable(plan: &Plan<'_>, schedules: Schedules) -> Result<Box<dyn Executable>, Error> {
    Ok(Box::new(Launcher::new(plan, schedules).map_err(Error::Unsupported)?))
}

struct Cuda;

inventory::submit!(Registration(&Cuda));

impl Provider for Cuda {
    fn name(&self) -> &'static str {
        CUDA
    }

    fn summary(&self) -> &'static str {
        "generated CUDA, on the first GPU"
    }

    fn runs_elsewhere(&self) -> bool {
        true
    }

    fn state_of(&self, tensor: &Tensor) -> u64 {
        offer::state_of(tensor)
    }

    fn offer_unasked(&self, plan: &Plan<'_>) -> Offer {
        offer::unasked(plan, || launcher(plan).map_err(|error| error.to_string()))
    }

    fn reasons(&self, plan: &Plan<'_>) -> Option<String> {
        offer::reasons(plan)
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match Gpu::current() {
            Ok(_) if let Some(refused) = stands_back(plan) => refused,
            Ok(_) => Offer::OnRequest("tensors would have to be copied to the device".to_owned()),
            Err(error) => Offer::Refused(error.to_string()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        Ok(Box::new(launcher(plan)?))
    }
}

/// The name of the back end that runs kernels.
pub(crate) const CUDA: &str = "cuda";

/// Writes loops, and runs nothing.
struct Text {
    name: &'static str,
    summary: &'static str,
    offer: fn(&Plan<'_>) -> Option<Offer>,
    write: fn(&Plan<'_>) -> Result<Program, Error>,
}

static CUDA_TEXT: Text = Text {
    name: "cuda-text",
    summary: "CUDA C++ as text, to be read or compiled elsewhere: it runs nothing",
    offer: stands_back,
    write: cuda,
};
static CPP_TEXT: Text = Text {
    name: "cpp-text",
    summary: "C++17 for one thread as text, to be read or compiled elsewhere: it runs nothing",
    offer: |_| None,
    write: cpp,
};

inventory::submit!(Registration(&CUDA_TEXT));
inventory::submit!(Registration(&CPP_TEXT));

impl Provider for Text {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        (self.offer)(plan).unwrap_or_else(|| Offer::OnRequest("it runs nothing".to_owned()))
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        Ok(Box::new(Written { name: self.name, program: (self.write)(plan)? }))
    }
}

#[derive(Debug)]
struct Written {
    name: &'static str,
    program: Program,
}

impl Executable for Written {
    fn call(&self, _call: &Call<'_>) -> Option<Result<Tensor, Error>> {
        let reason = "it writes code, and runs nothing".to_owned();
        Some(Err(Error::Refused { backend: self.name, reason }))
    }

    fn runs(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        self.program.describe()
    }

    fn disassembly(&self) -> Option<String> {
        Some(self.program.text.clone())
    }
}
