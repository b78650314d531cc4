//! Back ends: `cuda` runs kernels on the first device, and `cuda-text` writes them only.

use ust_engine::provider::{Call, Executable, Offer, Plan, Provider, Registration};
use ust_engine::schedule::{Machine, Schedule};
use ust_engine::{Error, Tensor};
use ust_level_api::inventory;

use crate::launch::Launcher;
use crate::print::Program;
use crate::tuning::LANES;

/// The kernels of a plan, and their schedule.
fn program(plan: &Plan<'_>) -> Result<(Schedule, Program), String> {
    let machine = Machine { lanes: true, combines_rows: true };
    let schedule = Schedule::new(plan, plan.facts, machine).map_err(|error| error.to_string())?;
    let lanes = if schedule.has_lanes() { LANES } else { 1 };
    let grows: Vec<bool> = plan.function.arrays.iter().map(|array| array.grows).collect();
    let title = schedule.describe();
    let program = Program::new(&schedule, plan.facts, &grows, &title, lanes)?;
    Ok((schedule, program))
}

struct Cuda;

inventory::submit!(Registration(&Cuda));

impl Provider for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn summary(&self) -> &'static str {
        "generated CUDA, on the first GPU"
    }

    fn offer(&self, _plan: &Plan<'_>) -> Offer {
        match crate::default_device() {
            Ok(_) => Offer::OnRequest("tensors would have to be copied to the device".to_owned()),
            Err(error) => Offer::Refused(error.to_string()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let (schedule, program) = program(plan).map_err(Error::Unsupported)?;
        Ok(Box::new(Launcher::new(plan, schedule, program)))
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
        let (_, program) = program(plan).map_err(Error::Unsupported)?;
        Ok(Box::new(Written(program)))
    }
}

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
