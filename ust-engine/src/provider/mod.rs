//! Providers: back ends that run the loops of plans. Any crate can add one.
//!
//! The planner turns a stage of an expression into loops, as IR. Each [`Provider`] offers a time for
//! them, or refuses. The engine takes the quickest offer, or the provider that [`Backend`] names. The
//! provider compiles the loops to an [`Executable`]. The engine keeps the executable, and runs it on the
//! arrays of any tensors of the same formats.
//!
//! This crate has `jit`, `checked-jit`, `interp`, `convert`, `blocks`, `diagonals`, `full` and, on x86-64,
//! `groups`. Another crate submits its provider as a level type is submitted; every program that links the
//! crate has the provider:
//!
//! ```
//! use ust_engine::Error;
//! use ust_engine::provider::{Executable, Offer, Plan, Provider, Registration};
//! use ust_level_api::inventory;
//!
//! struct Nothing;
//!
//! impl Provider for Nothing {
//!     fn name(&self) -> &'static str {
//!         "nothing"
//!     }
//!     fn summary(&self) -> &'static str {
//!         "an example, which runs no plan"
//!     }
//!     fn offer(&self, plan: &Plan<'_>) -> Offer {
//!         Offer::Refused(format!("it cannot run `{}`", plan.function.name))
//!     }
//!     fn compile(&self, _plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
//!         Err(Error::Unsupported("it refuses every plan".to_owned()))
//!     }
//! }
//!
//! inventory::submit!(Registration(&Nothing));
//!
//! assert!(ust_engine::provider::names().contains(&"nothing"));
//! assert!("nothing".parse::<ust_engine::Backend>().is_ok());
//! ```
//!
//! A native kernel is such a provider. It examines the formats and the term, refuses all plans but those
//! that it was written for, and reads and writes the same arrays as the loops.

mod blocks;
mod builtin;
mod call;
mod choose;
pub mod conversion;
mod copies;
mod diagonals;
mod full;
#[cfg(target_arch = "x86_64")]
mod groups;
pub mod plan;
pub mod product;
pub(crate) mod unsorted;

use std::fmt;
use std::str::FromStr;

use ust_level_api::inventory;
use ust_level_api::ir::Function;
use ust_level_api::ir::interp::{Memory, Param};

pub(crate) use builtin::INTERPRETER;
pub(crate) use choose::{Chosen, choose};

use crate::error::Error;
use crate::storage::Tensor;
pub use crate::walk::shape::{Children, Shape};
pub use call::Call;
pub use plan::{Access, Plan};

/// A provider's answer to a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Offer {
    /// The provider runs the plan, in this time.
    Time {
        /// The estimated time of a run, in nanoseconds, on one thread of the CPU if it runs there.
        run: f64,
        /// The estimated time of compiling, in nanoseconds. Executables are kept, and run many times.
        compile: f64,
    },
    /// The provider runs the plan only if the caller names the provider, for this reason.
    OnRequest(String),
    /// The provider cannot run the plan, for this reason.
    Refused(String),
}

/// Runs plans.
pub trait Provider: Sync {
    /// The name by which callers ask for the provider: letters, digits and `-`.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn summary(&self) -> &'static str;

    /// The offer for a plan. Called for every plan, so it should take microseconds at most.
    fn offer(&self, plan: &Plan<'_>) -> Offer;

    /// The offer for a plan if the caller names no provider. If it is another one, then [`offer`](Self::offer) is
    /// called only if the caller names this provider, and may take its time.
    fn offer_unasked(&self, plan: &Plan<'_>) -> Offer {
        self.offer(plan)
    }

    /// What the time of the offer consists of, for people.
    fn reasons(&self, plan: &Plan<'_>) -> Option<String> {
        let _ = plan;
        None
    }

    /// Whether plans run in a memory of its own, such as that of a device. The time of its offers is then that of
    /// the whole machine, with the copies of operands to that memory and of the result back. To the time of other
    /// providers the engine adds that of fetching what is elsewhere.
    fn runs_elsewhere(&self) -> bool {
        false
    }

    /// For providers that [run elsewhere](Self::runs_elsewhere): a number that differs, below 8, between tensors for
    /// which offers differ though their outlines are equal. A kernel that was planned for one number is not reused
    /// for another. Called for every operand of every expression, so it should take nanoseconds.
    fn state_of(&self, tensor: &Tensor) -> u64 {
        let _ = tensor;
        0
    }

    /// Compiles a plan.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the loops are not valid code; [`Error::Unsupported`] for plans that the
    /// provider cannot run.
    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error>;
}

/// How the engine may cut the outermost loop of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cuts {
    /// Into parts for several threads, if the loop takes long enough.
    Threads,
    /// Into parts for one thread, if the run may be cancelled between two parts.
    OneThread,
    /// Not at all: the executable cuts the loop itself.
    Never,
}

/// Parameters of several runs, in groups.
pub type Groups<'a> = [Vec<&'a [Param]>];

/// A compiled plan. It may run on several threads at once.
pub trait Executable: fmt::Debug + Send + Sync {
    /// Runs the plan on tensors, and returns the result: in the plan's format, or in the one that was asked for.
    /// `None` (the default) lets the engine bind the arrays of the tensors and of a result, and call
    /// [`run`](Self::run).
    fn call(&self, call: &Call<'_>) -> Option<Result<Tensor, Error>> {
        let _ = call;
        None
    }

    /// Whether [`call`](Self::call) takes the operands as they are given, before the conversions of the plan.
    fn takes_given(&self) -> bool {
        false
    }

    /// Whether it runs anything. If it only writes code, another provider computes the results of stages that
    /// later stages are planned for.
    fn runs(&self) -> bool {
        true
    }

    /// Runs the loops.
    ///
    /// # Errors
    /// [`Error::Run`]. Elements written before the error stay written. By default [`Error::Unsupported`], for
    /// executables that run [on tensors](Self::call).
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
        let _ = (params, memory);
        Err(Error::Unsupported(format!("it runs on tensors alone: {}", self.describe())))
    }

    /// Runs the loops several times on the same memory. Runs of different groups must write to different
    /// elements, and must not read elements that another group writes, except if the executable
    /// [keeps groups apart](Self::keeps_apart) itself. `check` is called before each run.
    ///
    /// # Errors
    /// [`Error::Run`], and the error of `check`.
    fn run_apart(
        &self,
        groups: &Groups<'_>,
        memory: &mut [Memory<'_>],
        check: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        groups.iter().flatten().try_for_each(|params| {
            check()?;
            self.run(params, memory)
        })
    }

    /// Whether groups passed to [`run_apart`](Self::run_apart) may add to the same elements. If not, the
    /// engine gives each other thread a copy of the result.
    fn keeps_apart(&self) -> bool {
        false
    }

    /// How the engine may cut the outermost loop into parts.
    fn cuts(&self) -> Cuts {
        Cuts::Threads
    }

    /// Whether a run sets every element of a result that is stored in full, so that the result need not
    /// begin with its fill value. `loops`: whether the plan's loops do.
    fn sets_all(&self, loops: bool) -> bool {
        let _ = loops;
        false
    }

    /// Whether a run of a plan that [adds onto](Plan::onto) its result does, whatever the result holds before.
    fn adds_onto(&self) -> bool {
        false
    }

    /// Another function, compiled as this one was: for the same machine, with the same options. `None` (the default)
    /// if it cannot be; then the engine does without.
    fn compile_also(&self, function: &Function) -> Option<Result<Box<dyn Executable>, Error>> {
        let _ = function;
        None
    }

    /// One line about the executable, for people.
    fn describe(&self) -> String;

    /// For each innermost loop that was compiled, a line with its microkernel, or the reason why it has none.
    fn loops(&self) -> Vec<String> {
        Vec::new()
    }

    /// The machine code as text, if there is any.
    fn disassembly(&self) -> Option<String> {
        None
    }
}

/// A provider, as registered by its crate.
pub struct Registration(pub &'static dyn Provider);

inventory::collect!(Registration);

/// All providers that are linked, by name.
#[must_use]
pub fn all() -> Vec<&'static dyn Provider> {
    let mut all: Vec<_> = inventory::iter::<Registration>().map(|one| one.0).collect();
    all.sort_by_key(|one| one.name());
    all
}

/// Their names.
#[must_use]
pub fn names() -> Vec<&'static str> {
    all().iter().map(|one| one.name()).collect()
}

/// The [states](Provider::state_of) of a tensor, of all providers together.
pub(crate) fn states(tensor: &Tensor) -> u64 {
    let elsewhere = inventory::iter::<Registration>().filter(|one| one.0.runs_elsewhere());
    elsewhere.fold(0, |all, one| (all << 3) | one.0.state_of(tensor))
}

/// The provider that shall run the loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The provider that offers the least time.
    #[default]
    Auto,
    /// The provider that offers the least time, of those that run on the processor.
    Cpu,
    /// The provider with this name.
    Named(&'static str),
}

impl Backend {
    /// Machine code, or an error where the target is not supported.
    pub const JIT: Self = Self::Named("jit");
    /// Machine code that checks every access. For tests.
    pub const CHECKED_JIT: Self = Self::Named("checked-jit");
    /// The checked interpreter: the reference, and slow.
    pub const INTERPRETER: Self = Self::Named(INTERPRETER);
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Named(name) => name,
        })
    }
}

impl FromStr for Backend {
    type Err = Error;

    /// Reads `auto`, `cpu` or the name of a provider that is linked.
    fn from_str(text: &str) -> Result<Self, Error> {
        if let Some(one) = [Self::Auto, Self::Cpu].into_iter().find(|one| one.to_string() == text) {
            return Ok(one);
        }
        let found = names().into_iter().find(|name| *name == text);
        found.map(Self::Named).ok_or_else(|| unknown(text))
    }
}

fn unknown(name: &str) -> Error {
    Error::Unsupported(format!(
        "nothing that runs plans is called `{name}`; known are auto, cpu, {}",
        names().join(", ")
    ))
}
