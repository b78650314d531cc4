//! What runs the loops of plans: an open list.
//!
//! The planner turns a stage of an expression into loops, as IR. A [`Provider`] is asked whether
//! it can run them, and in what time; the quickest is taken, or the one that [`Backend`] names. It
//! compiles the loops to an [`Executable`], which is kept and runs on the arrays of any tensors of
//! the same formats.
//!
//! `jit`, `checked-jit`, `interp`, `convert`, `blocks`, `diagonals`, `full` and, on x86-64, `groups` are
//! here. A crate adds its own by submitting it, as level types are added, and whoever links the crate has it:
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
//! A native kernel is such a provider: it looks at formats and at the term, refuses what it was not
//! written for, and reads and writes the same arrays as the loops would.

mod blocks;
mod builtin;
mod choose;
mod copies;
mod diagonals;
mod full;
#[cfg(target_arch = "x86_64")]
mod groups;
mod product;

use std::fmt;
use std::str::FromStr;

use ust_level_api::ir::Function;
use ust_level_api::ir::interp::{Memory, Param};
use ust_level_api::{Dtype, Scalar, inventory};

pub(crate) use builtin::INTERPRETER;
pub(crate) use choose::{Chosen, choose};

use crate::error::Error;
use crate::expr::Operator;
use crate::expr::term::Term;
use ust_format::Format;

/// The loops of a stage, and what they are the loops of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan<'a> {
    /// The loops. Parameters are the extents of index variables, by number, and sizes, and at the end
    /// `part_lo` and `part_hi`: where the outermost loop begins and ends, on one thread of several;
    /// both are to be clipped to what the loop runs over. Arrays are bound in the order of the
    /// declarations: those of the levels of each operand, then the values of each operand, then what is
    /// written.
    pub function: &'a Function,
    /// What the outermost loop walks: operands, and their levels.
    pub outermost: &'a [(usize, usize)],
    /// Each use of a tensor.
    pub operands: Vec<Access<'a>>,
    /// What the loops write. Of a tensor that is stored in full, `out`: its values, which begin with
    /// [`Access::fill`]; arrays that follow are room for the loops. Else rows: `out` grows by a block
    /// of values for each, and `out<level>_crd` by a coordinate for each level above the block. The
    /// first element of `rows` is their number: the loops find that of the parts that were run
    /// before, and add their own. The second counts what the loops combine, likewise. Where
    /// `row_starts` is declared, there is no column for level 0: each round of the outermost loop
    /// writes the number of its first row, counted from the first round of the part. Arrays that
    /// follow are room for the loops.
    pub result: Access<'a>,
    /// What is computed, without the reduction; elements are numbered like `operands`.
    pub body: &'a Term,
    /// Whether the result is the only operand, its dimensions in another order perhaps, and sparse:
    /// the loops change nothing but how it is stored.
    pub copies: bool,
    /// What combines, where index variables are reduced, and which.
    pub reduce: Option<(&'a Operator, &'a [usize])>,
    /// Whether sums are to be formed in the order of the loops.
    pub strict: bool,
    /// The estimated time that these loops take as machine code on one thread, in nanoseconds.
    pub estimate: f64,
}

/// A use of a tensor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Access<'a> {
    /// How it is stored.
    pub format: &'a Format,
    /// The dtype of its values.
    pub dtype: Dtype,
    /// The fill value of the tensor; an expression may take another for what is not stored, such as
    /// the zero of a semiring. Of the result, what the loops begin with.
    pub fill: Scalar,
    /// For each dimension, the number of its index variable.
    pub indices: &'a [usize],
}

/// What a provider says of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Offer {
    /// It would run in about so many nanoseconds on one thread.
    Time(f64),
    /// It can run it, and does so only where it is asked for by name; why.
    OnRequest(String),
    /// It cannot run it; why.
    Refused(String),
}

/// Runs plans.
pub trait Provider: Sync {
    /// The name that people ask for it by: letters, digits and `-`.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn summary(&self) -> &'static str;

    /// Whether it can run a plan, and in what time. Called for every plan that is made, and hence
    /// quick: microseconds.
    fn offer(&self, plan: &Plan<'_>) -> Offer;

    /// Makes a plan ready to run.
    ///
    /// # Errors
    /// [`Error::Malformed`] where the loops are no valid code; [`Error::Unsupported`] for what it
    /// cannot run.
    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error>;
}

/// Parameters of several runs, in groups.
pub type Groups<'a> = [Vec<&'a [Param]>];

/// A plan, ready to run. May be run on several threads at once.
pub trait Executable: fmt::Debug + Send + Sync {
    /// Runs the loops.
    ///
    /// # Errors
    /// [`Error::Run`]; what was written before stays written.
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error>;

    /// Runs the loops several times on the same memory: runs of different groups write to different
    /// elements, and read none that another writes, unless it [keeps them
    /// apart](Self::keeps_apart) itself. `check` is asked before each run.
    ///
    /// # Errors
    /// [`Error::Run`], and what `check` says.
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

    /// Whether [`run_apart`](Self::run_apart) may be given groups that combine into the same
    /// elements. Elsewhere, groups on other threads get copies of the result.
    fn keeps_apart(&self) -> bool {
        false
    }

    /// Whether splitting the outermost loop among threads pays for itself.
    fn splits(&self) -> bool {
        true
    }

    /// Whether it sets every element of a result that is stored in full, which does not have to
    /// begin with its fill value then. `loops`: whether the loops do, as they are written.
    fn sets_all(&self, loops: bool) -> bool {
        let _ = loops;
        false
    }

    /// Whether it leaves a plan that [copies](Plan::copies) to the engine, which converts the
    /// operand: nothing is run then.
    fn converts(&self) -> bool {
        false
    }

    /// What it is, for people: a line.
    fn describe(&self) -> String;

    /// Which microkernel each innermost loop became, or why none, where it compiles loops: a line for
    /// each.
    fn loops(&self) -> Vec<String> {
        Vec::new()
    }

    /// The machine code as text, where there is any.
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

/// What is to run the loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// The provider that offers the least time.
    #[default]
    Auto,
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
            Self::Named(name) => name,
        })
    }
}

impl FromStr for Backend {
    type Err = Error;

    /// Reads `auto` or the name of a provider that is linked.
    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let found = names().into_iter().find(|name| *name == text);
        found.map(Self::Named).ok_or_else(|| unknown(text))
    }
}

fn unknown(name: &str) -> Error {
    Error::Unsupported(format!(
        "nothing that runs plans is called `{name}`; known are auto, {}",
        names().join(", ")
    ))
}
