//! The back end that compiles the loop IR to machine code, with Cranelift.
//!
//! [`Kernel::compile`] validates a function and compiles it, in a fraction of a millisecond;
//! [`Kernel::run`] takes what [`Program::run`](ust_ir::interp::Program::run) takes and
//! does what it does, so that a caller may use either.
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
//! Kinds, counts and writability of what is given, before the first instruction. With
//! [`Options::checked`], every access too: the run then ends with the error that the interpreter
//! would end with. Without it there are no bounds checks, and whoever runs a kernel answers for
//! the arrays: see [`Kernel::run`]. Integer division by zero and a lack of memory are
//! errors in both modes.
//!
//! # Where what lives
//!
//! | module | what |
//! |---|---|
//! | this one | options and errors |
//! | `kernel` | a compiled function: what it keeps and how it is called |
//! | `bind` | from what the caller gives to the table that machine code reads |
//! | `host` | the compiler for this machine, made once |
//! | `emit` | from IR to Cranelift's IR |
//! | `recognise` | loops that microkernels exist for |
//! | `products` | the one among them that multiplies a sparse matrix by a dense one |
//! | `spread` | those among them that add to what coordinates say |
//! | `scattered` | those among them that count entries, and those that move them to where a table says |
//! | `summed` | those among them that store a sum once it is whole |
//! | `tile` | loops that multiply small blocks |
//! | `combined` | the one among them that multiplies a sparse matrix by a sparse one |
//! | `shims` | growth and sorting, which machine code calls back |
//! | `math` | functions of numbers that it has no instruction for |
// The call of machine code and the memory that it is given.
#![allow(unsafe_code)]

mod bind;
mod combined;
mod emit;
mod host;
mod kernel;
mod math;
mod products;
mod recognise;
mod scattered;
mod shims;
mod spread;
mod summed;
#[cfg(test)]
mod tests;
mod tile;
mod union;

pub use host::is_supported;
pub use kernel::Kernel;

/// How a function is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Every access and every stored index is checked; errors are the interpreter's. For tests and
    /// for IR of unknown origin.
    pub checked: bool,
    /// Sums are formed in the order that the IR says, and no product is fused with a sum.
    /// Otherwise dot products are formed in several parts, which are added at the end.
    pub strict: bool,
}

impl Default for Options {
    /// Checked and strict: what nobody can use wrongly.
    fn default() -> Self {
        Self { checked: true, strict: true }
    }
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
        /// What is missing.
        reason: String,
    },
    /// The compiler gave up.
    #[error("`{function}` could not be compiled: {reason}")]
    Compile {
        /// The function.
        function: String,
        /// What the compiler says.
        reason: String,
    },
}

ust_ir::debug_shows_message!(JitError);
