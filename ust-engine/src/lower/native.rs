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
    /// As machine code. Every access is checked.
    #[cfg(feature = "jit")]
    Compiled(Box<crate::jit::Kernel>),
}

impl Code {
    /// Prepares a function for about so much work.
    ///
    /// # Errors
    /// For a function that is not valid.
    pub fn new(function: &Function, work: usize) -> Result<Self, Error> {
        #[cfg(feature = "jit")]
        if work >= LITTLE && crate::jit::is_supported() {
            use crate::jit::{Kernel, Options};
            let options = Options { checked: true, strict: true };
            if let Ok(kernel) = Kernel::compile(function, &options) {
                return Ok(Self::Compiled(Box::new(kernel)));
            }
        }
        let _ = work;
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
}
