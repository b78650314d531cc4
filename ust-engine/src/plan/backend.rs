//! What runs the loops.

use ust_level_api::ir::Function;
use ust_level_api::ir::interp::{Memory, Param, Program};

use super::frame::Params;
use crate::error::Error;
#[cfg(feature = "jit")]
use crate::jit;

/// What runs the loops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// Machine code where the target is supported, else the interpreter.
    #[default]
    Auto,
    /// Machine code, or an error where the target is not supported.
    Jit,
    /// Machine code that checks every access. For tests.
    CheckedJit,
    /// The checked interpreter: the reference, and slow.
    Interpreter,
}

/// Loops, ready to run.
#[derive(Debug)]
pub(crate) enum Executable {
    #[cfg(feature = "jit")]
    Native(Box<jit::Kernel>),
    Interpreter(Box<Program>),
}

impl Executable {
    /// Compiles a function. With `strict`, sums are formed in the order of the loops.
    ///
    /// # Errors
    /// [`Error::Malformed`] where it is no valid code, [`Error::Unsupported`] where machine code is
    /// asked for on a target that has none.
    pub(crate) fn compile(
        function: &Function,
        backend: Backend,
        strict: bool,
    ) -> Result<Self, Error> {
        match backend {
            Backend::Interpreter => return Self::interpreter(function),
            Backend::Auto if !is_supported() => return Self::interpreter(function),
            Backend::Auto | Backend::Jit | Backend::CheckedJit => {}
        }
        Self::native(function, backend == Backend::CheckedJit, strict)
    }

    #[cfg(feature = "jit")]
    fn native(function: &Function, checked: bool, strict: bool) -> Result<Self, Error> {
        let options = jit::Options { checked, strict };
        match jit::Kernel::compile(function, &options) {
            Ok(kernel) => Ok(Self::Native(Box::new(kernel))),
            Err(jit::JitError::Invalid(error)) => Err(error.into()),
            Err(error) => Err(Error::Unsupported(error.to_string())),
        }
    }

    #[cfg(not(feature = "jit"))]
    fn native(_function: &Function, _checked: bool, _strict: bool) -> Result<Self, Error> {
        let text = "this build has no compiler: turn the feature `jit` on, or ask for the \
                    interpreter";
        Err(Error::Unsupported(text.to_owned()))
    }

    fn interpreter(function: &Function) -> Result<Self, Error> {
        Ok(Self::Interpreter(Box::new(Program::compile(function)?)))
    }

    /// Whether this is machine code.
    pub(crate) fn is_native(&self) -> bool {
        !matches!(self, Self::Interpreter(_))
    }

    /// Runs the loops on memory.
    ///
    /// # Errors
    /// [`Error::Run`].
    pub(crate) fn run(&self, params: &[Param], memory: &mut [Memory<'_>]) -> Result<(), Error> {
        match self {
            #[cfg(feature = "jit")]
            Self::Native(kernel) => Ok(kernel.run(params, memory)?),
            Self::Interpreter(program) => Ok(program.run(params, memory)?),
        }
    }

    /// Runs the loops several times, which write to different places of the same memory: each
    /// group on a thread of its own where that can be.
    ///
    /// # Errors
    /// [`Error::Run`], and what `check` says between two runs.
    pub(crate) fn run_apart(
        &self,
        groups: &[Vec<Params>],
        memory: &mut [Memory<'_>],
        check: &(dyn Fn() -> Result<(), Error> + Sync),
    ) -> Result<(), Error> {
        match self {
            #[cfg(feature = "jit")]
            Self::Native(kernel) => kernel.run_apart(groups, memory, check),
            Self::Interpreter(_) => groups.iter().flatten().try_for_each(|params| {
                check()?;
                self.run(params, memory)
            }),
        }
    }

    /// What runs the loops, for people.
    pub(crate) fn describe(&self) -> String {
        match self {
            #[cfg(feature = "jit")]
            Self::Native(kernel) => format!(
                "jit, {} bytes of machine code, compiled in {:.3} ms",
                kernel.code().len(),
                kernel.compile_time().as_secs_f64() * 1e3
            ),
            Self::Interpreter(program) => {
                format!("interpreter, {} instructions", program.instructions())
            }
        }
    }

    /// The machine code as text, where there is any.
    pub(crate) fn disassembly(&self) -> Option<String> {
        match self {
            #[cfg(feature = "jit")]
            Self::Native(kernel) => Some(kernel.disassembly()),
            Self::Interpreter(_) => None,
        }
    }
}

/// Whether machine code can be made and run here.
fn is_supported() -> bool {
    #[cfg(feature = "jit")]
    return jit::is_supported();
    #[cfg(not(feature = "jit"))]
    return false;
}
