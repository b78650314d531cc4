//! CUDA C++ of some expressions: a change of what is generated shows here. Each text is compiled by NVRTC for
//! several architectures where it can be had, in `compiled.rs`.
//!
//! With `UST_WRITE_TEXTS=1` in the environment, the files in `texts/` are written anew: look at the difference.
#![cfg(feature = "gpu")]

mod cases;
mod compiled;
mod cpp;

use std::fs;
use std::path::PathBuf;

use ust::Error;
use ust::gpu::prelude;
use ust::gpu::print::{About, Program, Target};
use ust::level_api::inventory;
use ust::provider::{Executable, Offer, Plan, Provider, Registration};
use ust::schedule::{Abilities, Schedule};

/// Writes kernels that are chosen for large tensors alone.
struct Chosen {
    name: &'static str,
    schedule: fn(&Plan<'_>) -> Option<Schedule>,
    target: Target,
}

static BY_STORED: Chosen = Chosen {
    name: cases::BY_STORED,
    schedule: |plan| {
        let machine = Abilities { lanes: true, combines_rows: true };
        Schedule::by_stored(plan, plan.facts, machine).unwrap()
    },
    target: Target::Cuda { lanes: 8, short: true },
};
static IN_VECTORS: Chosen = Chosen {
    name: cases::IN_VECTORS,
    schedule: |plan| in_lanes(plan).in_vectors(4).unwrap(),
    target: Target::Cuda { lanes: 8, short: true },
};
static IN_STRIDES: Chosen = Chosen {
    name: cases::IN_STRIDES,
    schedule: |plan| in_lanes(plan).in_strides(4).unwrap(),
    target: Target::Cuda { lanes: 8, short: true },
};
static IN_BLOCKS: Chosen = Chosen {
    name: cases::IN_BLOCKS,
    schedule: |plan| in_lanes(plan).in_blocks(plan.facts, 4).unwrap()?.in_vectors(4).unwrap(),
    target: Target::Cuda { lanes: 32, short: true },
};
static LARGE_TABLES: Chosen = Chosen {
    name: cases::LARGE_TABLES,
    schedule: |plan| Schedule::by_table(plan, plan.facts).unwrap(),
    target: Target::Tables { shared: false },
};

inventory::submit!(Registration(&BY_STORED));
inventory::submit!(Registration(&IN_VECTORS));
inventory::submit!(Registration(&IN_STRIDES));
inventory::submit!(Registration(&IN_BLOCKS));
inventory::submit!(Registration(&LARGE_TABLES));

/// The schedule whose lanes share inner loops.
fn in_lanes(plan: &Plan<'_>) -> Schedule {
    let machine = Abilities { lanes: true, combines_rows: true };
    let in_variables = Schedule::in_variables(plan, plan.facts, machine).unwrap();
    in_variables.unwrap_or_else(|| Schedule::new(plan, plan.facts, machine).unwrap())
}

impl Provider for Chosen {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        "kernels that are not the usual ones, as text, for tests"
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        if plan.converted.contains(&true) {
            return Offer::Refused("texts are of the formats that are asked for".to_owned());
        }
        Offer::OnRequest("it writes text".to_owned())
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let schedule = (self.schedule)(plan).expect("the plan has such loops");
        let grows: Vec<bool> = plan.function.arrays.iter().map(|array| array.grows).collect();
        let about = About::new(plan);
        let program = Program::new(&schedule, plan.facts, &grows, &about, self.target).unwrap();
        Ok(Box::new(Written(program.text)))
    }
}

#[derive(Debug)]
struct Written(String);

impl Executable for Written {
    fn describe(&self) -> String {
        "a text".to_owned()
    }

    fn disassembly(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/texts")
}

#[test]
fn each_expression_has_its_text() {
    let writes = std::env::var_os("UST_WRITE_TEXTS").is_some();
    let mut wrong = Vec::new();
    for case in cases::CASES {
        let text = case.text();
        let own = prelude::after(&text);
        let file = folder().join(format!("{}.cu", case.name));
        let expected = fs::read_to_string(&file).unwrap_or_default();
        if own == expected {
            continue;
        }
        match writes {
            true => fs::write(&file, own).unwrap(),
            false => wrong.push(format!("{}.cu is now\n{own}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_other_text_is_kept() {
    let files = fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let names = files.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned());
    for name in names {
        assert!(cases::CASES.iter().any(|case| case.name == name), "{name}.cu is of no case");
    }
}
