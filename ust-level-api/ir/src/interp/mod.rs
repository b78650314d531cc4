//! The checked interpreter: the reference that back ends are compared with.
//!
//! [`Program::compile`] validates a function and translates its tree once into flat code over
//! numbered registers; [`Program::run`] executes that code. For any contents of memory, a run ends
//! in `Ok` or in a [`RunError`]: the kinds of arrays are compared with their declarations before
//! the first instruction, and every access is checked against the array's length. Stores before an
//! error are not undone.
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
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | [`memory`] | memory and values that a caller binds to arrays and parameters |
//! | [`grow`] | memory of growing arrays |
//! | `number` | arithmetic of all dtypes on registers |
//! | `func` | functions and casts on registers |
//! | `index` | written index arrays that are narrow or grow |
//! | `code` | the instructions |
//! | `bind` | from the caller's memory to the slices that instructions use |
//! | `compile` | from the tree to instructions |
//! | `error` | limits and errors of a run |
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

/// A compiled function. It is immutable, and may run on several threads at once.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    arrays: Vec<ArrayDecl>,
    params: Vec<VarDecl>,
    code: Vec<Op>,
    /// Initial contents of the registers of `int` and `bool`: constants, and 0 for all others.
    ints: Vec<i64>,
    /// Initial contents of the registers of `val`.
    vals: Vec<Raw>,
    /// Registers that hold an array's length.
    lengths: Vec<(code::Reg, code::Array)>,
    /// The text of each division, with its place in the code, for error messages.
    divisions: Vec<(usize, String)>,
}

impl Program {
    /// The name of an array.
    pub(crate) fn array_name(&self, array: crate::ArrayId) -> &str {
        &self.arrays[array.0 as usize].name
    }

    /// Number of instructions.
    #[must_use]
    pub fn instructions(&self) -> usize {
        self.code.len()
    }
}
