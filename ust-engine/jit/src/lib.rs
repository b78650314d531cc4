//! The back end that compiles the loop IR to machine code, with Cranelift.
//!
//! [`Kernel::compile`] validates a function and compiles it, in a fraction of a millisecond.
//! [`Kernel::run`] has the arguments and the result of
//! [`Program::run`](ust_ir::interp::Program::run), so that a caller may use either.
//!
//! ```
//! use ust_jit::{self as jit, Kernel, Options};
//! use ust_ir::interp::Memory;
//! use ust_ir::{BinOp, Builder, Elem, Ty};
//! use ust_ir::Dtype;
//!
//! if !jit::is_supported() {
//!     return Ok(());
//! }
//! let mut b = Builder::new("sum");
//! let n = b.param("n", Ty::Int);
//! let x = b.array("x", Elem::Value(Dtype::F64), false);
//! let s = b.array("s", Elem::Value(Dtype::F64), true);
//! b.for_("i", 0.into(), n, |b, i| {
//!     let value = b.load(x, i);
//!     b.reduce(BinOp::Add, s, 0.into(), value);
//! });
//! let kernel = Kernel::compile(&b.finish(), &Options::default())?;
//!
//! let mut sum = [0.0];
//! kernel.run(&[3.into()], &mut [Memory::values(&[1.0, 2.0, 4.0]), Memory::values_mut(&mut sum)])?;
//! assert_eq!(sum, [7.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is checked
//!
//! The kinds and number of parameters and arrays, and whether arrays are writable, before the first
//! instruction. With [`Options::checked`], every access is checked too, and errors are those of the
//! interpreter. Without it there are no bounds checks: the caller answers for the arrays, see
//! [`Kernel::run`]. Integer division by zero and a lack of memory are errors in both modes.
//!
//! # Modules
//!
//! | module | what |
//! |---|---|
//! | this one | options and errors |
//! | `kernel` | a compiled function and its call |
//! | `bind` | the table of arguments that machine code reads |
//! | `host` | the compiler for this machine, made once |
//! | `emit` | from IR to Cranelift's IR |
//! | `pattern` | the operations that microkernels exist for |
//! | `nest` | nests of loops that are such an operation |
//! | `placed` | counting sorts that are |
//! | `tile` | a product of two small blocks; SDDMM on a small block |
//! | `shims` | functions that machine code calls: growth and sorting of arrays |
//! | `math` | functions that machine code calls: numbers |
//! | `tuning` | thresholds of the compiler |
// The call of machine code and the memory that it is given.
#![allow(unsafe_code)]

mod bind;
mod emit;
mod host;
mod kernel;
mod loops;
mod math;
mod nest;
mod pattern;
mod placed;
mod runs;
mod shims;
mod slices;
#[cfg(test)]
mod tests;
mod tile;
mod tuning;

pub use host::is_supported;
pub use kernel::Kernel;
pub use loops::{CodeOf, LoopCode, Reason};

/// How a function is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Every access and every stored index is checked; errors are the interpreter's. For tests and
    /// for IR of unknown origin.
    pub checked: bool,
    /// Sums are formed in the order of the IR, and no product is fused with a sum. Otherwise, a dot
    /// product is summed in several parts, which are added at the end.
    pub strict: bool,
}

impl Default for Options {
    /// Checked and strict: safe for any IR and any arrays.
    fn default() -> Self {
        Self { checked: true, strict: true }
    }
}

/// Whether microkernels run loops of a function, see [`Kernel::suits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suits {
    /// There is no loop that they run, whatever the widths of indices.
    Nowhere,
    /// They run all loops that they would run if indices had 32 bits.
    AsItIs,
    /// They would run more loops if indices had 32 bits.
    In32Bits,
}

/// Why a function was not compiled.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JitError {
    /// The function is not valid IR.
    #[error(transparent)]
    Invalid(#[from] ust_ir::validate::ValidateError),
    /// There is no compiler for this machine: the interpreter runs everywhere.
    #[error("there is no compiler for this machine: {reason}")]
    Unsupported {
        /// The missing support.
        reason: String,
    },
    /// The compiler gave up.
    #[error("`{function}` could not be compiled: {reason}")]
    Compile {
        /// The function.
        function: String,
        /// The message of the compiler.
        reason: String,
    },
}

ust_ir::debug_shows_message!(JitError);
