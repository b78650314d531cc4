//! Back ends: `cuda` runs kernels on the first device, and `cuda-text` writes them only.

use ust_engine::provider::{Call, Executable, Offer, Plan, Provider, Registration};
use ust_engine::schedule::{Machine, Schedule};
use ust_engine::{Error, Tensor};
use ust_level_api::inventory;
use ust_level_api::ir::schedule::MarkError;

use crate::gpu::Gpu;
use crate::launch::Launcher;

/// The launcher of a plan.
fn launcher(plan: &Plan<'_>) -> Result<Launcher, Error> {
    let schedules = Schedules::new(plan).map_err(|error| Error::Unsupported(error.to_string()))?;
    Launcher::new(plan, schedules).map_err(Error::Unsupported)
}

/// Schedules of a plan, of which one is chosen when it runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Schedules {
    /// For a thread for each part.
    pub alone: Schedule,
    /// For several threads for each part, if loops have a use for them.
    pub shared: Option<Schedule>,
    /// For a thread for each element, where the outermost loop has few iterations.
    pub elements: Option<Schedule>,
    /// For a thread for each part of equally many stored elements, where some rows are long.
    pub stored: Option<Schedule>,
    /// For several threads for each of these parts.
    pub stored_shared: Option<Schedule>,
}

impl Schedules {
    /// All schedules that there are for a plan.
    ///
    /// # Errors
    /// [`MarkError`] if what the plan says contradicts its loops.
    pub fn new(plan: &Plan<'_>) -> Result<Self, MarkError> {
        let schedule = |lanes| {
            let machine = Machine { lanes, combines_rows: true };
            match Schedule::in_variables(plan, plan.facts, machine)? {
                Some(schedule) => Ok(schedule),
                None => Schedule::new(plan, plan.facts, machine),
            }
        };
        let shared = Some(schedule(true)?).filter(Schedule::has_lanes);
        let elements = Schedule::by_elements(plan, plan.facts)?;
        let by_stored =
            |lanes| Schedule::by_stored(plan, plan.facts, Machine { lanes, combines_rows: true });
        let (stored, stored_shared) = (by_stored(false)?, by_stored(true)?);
        Ok(Self { alone: schedule(false)?, shared, elements, stored, stored_shared })
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

    fn offer(&self, _plan: &Plan<'_>) -> Offer {
        match Gpu::current() {
            Ok(_) => Offer::OnRequest("tensors would have to be copied to the device".to_owned()),
            Err(error) => Offer::Refused(error.to_string()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        Ok(Box::new(launcher(plan)?))
    }
}

struct Text;

inventory::submit!(Registration(&Text));

impl Provider for Text {
    fn name(&self) -> &'static str {
        TEXT
    }

    fn summary(&self) -> &'static str {
        "CUDA C++ as text, to be read or compiled elsewhere: it runs nothing"
    }

    fn offer(&self, _plan: &Plan<'_>) -> Offer {
        Offer::OnRequest("it runs nothing".to_owned())
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let launcher = launcher(plan)?;
        let text = launcher.text().map_err(Error::Unsupported)?;
        Ok(Box::new(Written(text)))
    }
}

/// The name of the back end that runs kernels.
pub(crate) const CUDA: &str = "cuda";
const TEXT: &str = "cuda-text";

#[derive(Debug)]
struct Written(String);

impl Executable for Written {
    fn call(&self, _call: &Call<'_>) -> Option<Result<Tensor, Error>> {
        let reason = "it writes CUDA C++, and runs nothing".to_owned();
        Some(Err(Error::Refused { backend: TEXT, reason }))
    }

    fn describe(&self) -> String {
        format!("{} lines of CUDA C++", self.0.lines().count())
    }

    fn disassembly(&self) -> Option<String> {
        Some(self.0.clone())
    }
}
