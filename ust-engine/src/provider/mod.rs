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
pub use crate::walk::shape::{Children, Shape};
use ust_format::{Format, IndexExpr};

/// The loops of a stage, and the expression and tensors that they are for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan<'a> {
    /// The loops. Their parameters are the extents of index variables, by number, then sizes, and at the
    /// end `part_lo` and `part_hi`, the bounds of the outermost loop on one of several threads. The bounds
    /// may lie outside the range of the loop, and have to be clipped to it. Arrays are bound in the order
    /// of their declarations: the arrays of the levels of each operand, the values of each operand, then
    /// the arrays that the loops write.
    pub function: &'a Function,
    /// The levels that the outermost loop walks, each as (operand, level).
    pub outermost: &'a [(usize, usize)],
    /// Each access to a tensor.
    pub operands: Vec<Access<'a>>,
    /// The tensor that the loops write.
    ///
    /// If it is stored in full, `out` has its values. Each begins with [`Access::fill`].
    ///
    /// Otherwise the loops append rows. For each row, `out` grows by a block of values, and
    /// `out<level>_crd` by a coordinate, for each level above the block. The first element of `rows` is the
    /// number of rows: the loops continue with the number from earlier parts. The second element counts,
    /// likewise, how often a workspace was opened. If `row_starts` is declared, there is no column for level
    /// 0: each iteration of the outermost loop stores the number of its first row at the number of the
    /// iteration, counted from the beginning of the part.
    ///
    /// Arrays that are declared after these are working memory of the loops.
    pub result: Access<'a>,
    /// The term inside the reduction. Its elements are numbered like `operands`.
    pub body: &'a Term,
    /// Whether the loops only copy a sparse operand into another format, perhaps transposed.
    pub copies: bool,
    /// The operator of the reduction, and the index variables that it reduces over.
    pub reduce: Option<(&'a Operator, &'a [usize])>,
    /// Whether sums have to be formed in the order of the loops.
    pub strict: bool,
    /// The estimated time of these loops as machine code on one thread, in nanoseconds.
    pub estimate: f64,
    /// Whether loops read indices of widths that most kernels do not take. Another plan of the stage converts
    /// these indices to 32 bits first.
    pub other_widths: bool,
}

/// An access to a tensor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Access<'a> {
    /// How it is stored.
    pub format: &'a Format,
    /// The dtype of its values.
    pub dtype: Dtype,
    /// The fill value of the tensor. An expression may give unstored elements another value, such as the
    /// zero of a semiring. For the result, the value of each element before the loops run.
    pub fill: Scalar,
    /// For each dimension, the number of its index variable.
    pub indices: &'a [usize],
}

impl<'a> Access<'a> {
    /// What each level stores, and in which shape: for CSR, dimension 0 in full and dimension 1 in segments.
    /// Cost: that of emitting the walks of all levels.
    #[must_use]
    pub fn shapes(&self) -> Vec<(&'a IndexExpr, Shape)> {
        let levels = self.format.levels().iter().enumerate();
        levels.map(|(at, level)| (&level.expr, Shape::of(self.format, at))).collect()
    }
}

/// A provider's answer to a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Offer {
    /// The estimated time of a run on one thread, in nanoseconds.
    Time(f64),
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

    /// Compiles a plan.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the loops are not valid code; [`Error::Unsupported`] for plans that the
    /// provider cannot run.
    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error>;
}

/// Parameters of several runs, in groups.
pub type Groups<'a> = [Vec<&'a [Param]>];

/// A compiled plan. It may run on several threads at once.
pub trait Executable: fmt::Debug + Send + Sync {
    /// Runs the loops.
    ///
    /// # Errors
    /// [`Error::Run`]. Elements written before the error stay written.
    fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error>;

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

    /// Whether splitting the outermost loop among threads pays for itself.
    fn splits(&self) -> bool {
        true
    }

    /// Whether a run sets every element of a result that is stored in full, so that the result need not
    /// begin with its fill value. `loops`: whether the plan's loops do.
    fn sets_all(&self, loops: bool) -> bool {
        let _ = loops;
        false
    }

    /// Whether the engine shall convert the operand of a plan that [copies](Plan::copies), instead of
    /// running this executable.
    fn converts(&self) -> bool {
        false
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

/// The provider that shall run the loops.
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
