//! The checked interpreter: the reference that back ends are compared with.
//!
//! [`Program::compile`] validates a function and turns its tree into flat code over numbered
//! registers, once; [`Program::run`] executes that code. Whatever the memory holds, a run ends in
//! `Ok` or in a [`RunError`]: kinds of arrays are compared with their declarations before the first
//! instruction, and every access is checked against the array's length. What was stored before an
//! error stays stored.
//!
//! ```
//! use ust_ir::interp::{Memory, Program, RunError};
//! use ust_ir::{BinOp, Builder, Elem, Ty};
//! use ust_ir::Dtype;
//!
//! let mut b = Builder::new("sum");
//! let n = b.param("n", Ty::Int);
//! let x = b.array("x", Elem::Value(Dtype::F64), false);
//! let s = b.array("s", Elem::Value(Dtype::F64), true);
//! b.for_("i", 0.into(), n, |b, i| {
//!     let value = b.load(x, i);
//!     b.reduce(BinOp::Add, s, 0.into(), value);
//! });
//! let program = Program::compile(&b.finish())?;
//!
//! let mut sum = [0.0];
//! program.run(&[3.into()], &mut [Memory::values(&[1.0, 2.0, 4.0]), Memory::values_mut(&mut sum)])?;
//! assert_eq!(sum, [7.0]);
//!
//! let short = program.run(&[9.into()], &mut [Memory::values(&[1.0]), Memory::values_mut(&mut sum)]);
//! assert!(matches!(short, Err(RunError::OutOfBounds { index: 1, len: 1, .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where what lives
//!
//! | module | what |
//! |---|---|
//! | [`memory`] | what is bound to a function's arrays and parameters |
//! | [`grow`] | memory that a function makes longer |
//! | `number` | arithmetic on the dtypes, as registers hold them |
//! | `func` | functions and casts, as registers hold numbers |
//! | `index` | indices that are written, narrow or in arrays that grow |
//! | `code` | the instructions |
//! | `bind` | from what the caller gives to what instructions see |
//! | `compile` | from the tree to instructions |
//! | `error` | limits, and why a run ends early |
//! | `run` | the loop that executes them |

mod bind;
mod code;
mod compile;
mod error;
mod func;
pub mod grow;
mod index;
pub mod memory;
mod number;
mod run;
#[cfg(test)]
mod tests;

pub use error::{Limits, RunError};
pub use grow::{GrowValues, Growable};
pub use memory::{IndicesMut, Memory, Param, ValueElement, ValuesMut, ValuesRef};

use super::{ArrayDecl, VarDecl};
use code::Op;
use number::Raw;

/// A function, ready to run: immutable, and free to run on several threads at once.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    arrays: Vec<ArrayDecl>,
    params: Vec<VarDecl>,
    code: Vec<Op>,
    /// Registers of `int` and `bool` at the start: constants, and 0 for everything else.
    ints: Vec<i64>,
    /// Registers of `val` at the start.
    vals: Vec<Raw>,
    /// Registers that hold an array's length.
    lengths: Vec<(code::Reg, code::Array)>,
    /// Divisions by their place in the code, for error messages.
    divisions: Vec<(usize, String)>,
}

impl Program {
    /// Number of instructions.
    #[must_use]
    pub fn instructions(&self) -> usize {
        self.code.len()
    }
}
