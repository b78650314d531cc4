//! Back ends: `cuda` runs kernels on the first device, and `cuda-text` writes them only.

use ust_engine::provider::{Call, Executable, Offer, Plan, Provider, Registration};
use ust_engine::schedule::{Machine, Schedule};
use ust_engine::{Error, Tensor};
use ust_level_api::inventory;

use crate::gpu::Gpu;
use crate::launch::Launcher;
use crate::print::Program;

/// The launcher of a plan.
fn launcher(plan: &Plan<'_>) -> Result<Launcher, Error> {
    let schedule = |lanes| {
        let machine = Machine { lanes, combines_rows: true };
        Schedule::new(plan, plan.facts, machine)
            .map_err(|error| Error::Unsupported(error.to_string()))
    };
    Launcher::new(plan, schedule(false)?, Some(schedule(true)?)).map_err(Error::Unsupported)
}

/// Runs a plan by schedules that the caller made: one for a thread for each part, and one for several.
///
/// # Errors
/// [`Error::Unsupported`] if there are no kernels for them.
pub fn executable(
    plan: &Plan<'_>,
    alone: Schedule,
    shared: Option<Schedule>,
) -> Result<Box<dyn Executable>, Error> {
    Ok(Box::new(Launcher::new(plan, alone, shared).map_err(Error::Unsupported)?))
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
        let program = launcher.program(launcher.widest()).map_err(Error::Unsupported)?;
        Ok(Box::new(Written(program)))
    }
}

/// The name of the back end that runs kernels.
pub(crate) const CUDA: &str = "cuda";
const TEXT: &str = "cuda-text";

#[derive(Debug)]
struct Written(Program);

impl Executable for Written {
    fn call(&self, _call: &Call<'_>) -> Option<Result<Tensor, Error>> {
        let reason = "it writes CUDA C++, and runs nothing".to_owned();
        Some(Err(Error::Refused { backend: TEXT, reason }))
    }

    fn describe(&self) -> String {
        format!("{} lines of CUDA C++", self.0.own_text().lines().count())
    }

    fn disassembly(&self) -> Option<String> {
        Some(self.0.text.clone())
    }
}
