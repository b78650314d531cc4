//! Code that runs as fast as it can: compiled where there is a compiler and enough to do.

use ust_level_api::ir::Function;
use ust_level_api::ir::interp::{Limits, Memory, Param, Program, RunError};

use crate::error::Error;

/// Less work than this is done before a compiler has begun.
#[cfg(feature = "jit")]
const LITTLE: usize = 1 << 12;

/// A function, ready to run.
#[derive(Debug)]
pub enum Code {
    /// By the interpreter.
    Interpreted(Box<Program>, Limits),
    /// As machine code.
    #[cfg(feature = "jit")]
    Compiled(Box<crate::jit::Kernel>),
}

impl Code {
    /// Prepares a function for about so much work. Every access is checked.
    ///
    /// # Errors
    /// For a function that is not valid.
    pub fn new(function: &Function, work: usize) -> Result<Self, Error> {
        Self::prepared(function, work, true)
    }

    /// As [`Code::new`], for arrays that were checked before: accesses are not.
    ///
    /// # Errors
    /// As [`Code::new`].
    pub(crate) fn trusting(function: &Function, work: usize) -> Result<Self, Error> {
        Self::prepared(function, work, false)
    }

    fn prepared(function: &Function, work: usize, checked: bool) -> Result<Self, Error> {
        #[cfg(feature = "jit")]
        if work >= LITTLE && crate::jit::is_supported() {
            use crate::jit::{Kernel, Options};
            let options = Options { checked, strict: true };
            if let Ok(kernel) = Kernel::compile(function, &options) {
                return Ok(Self::Compiled(Box::new(kernel)));
            }
        }
        let _ = (work, checked);
        Ok(Self::Interpreted(Box::new(Program::compile(function)?), Limits::default()))
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), RunError> {
        match self {
            Self::Interpreted(program, limits) => program.run_with(params, memory, *limits),
            #[cfg(feature = "jit")]
            Self::Compiled(kernel) => kernel.run(params, memory),
        }
    }

    /// Runs it several times, each group of parameters on a thread of its own where that can be:
    /// runs of different groups write to different elements, and read none that another writes.
    ///
    /// # Errors
    /// As [`Code::run`].
    pub(crate) fn run_apart(
        &self,
        groups: &[Vec<Vec<Param>>],
        memory: &mut [Memory<'_>],
    ) -> Result<(), Error> {
        match self {
            Self::Interpreted(..) => {
                groups.iter().flatten().try_for_each(|params| Ok(self.run(params, memory)?))
            }
            #[cfg(feature = "jit")]
            Self::Compiled(kernel) => kernel.run_apart(groups, memory, &|| Ok(())),
        }
    }
}
