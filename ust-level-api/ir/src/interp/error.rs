//! Limits of a run, and the errors that end it early.

use crate::{Elem, IndexKind, Ty};

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest number of iterations of all loops together. Code within an iteration is finite,
    /// so this limits the time of a run.
    pub max_steps: u64,
}

impl Default for Limits {
    /// No limits.
    fn default() -> Self {
        Self { max_steps: u64::MAX }
    }
}

/// The fault of an instruction, before names of arrays are added.
pub(super) enum Fault {
    Bounds,
    Zero,
    Steps,
    /// There is not enough memory.
    Memory,
    /// This index does not fit.
    Fit(i64),
}

/// Why a run ended early.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A wrong number of parameters.
    #[error("`{function}` takes {expected} parameters, {given} were given")]
    ParamCount {
        /// The function.
        function: String,
        /// The number needed.
        expected: usize,
        /// The number given.
        given: usize,
    },
    /// A parameter of another type.
    #[error("the parameter `{name}` is declared {expected}, given was {given}")]
    ParamType {
        /// The parameter.
        name: String,
        /// Its declared type.
        expected: Ty,
        /// The type of the value that was given.
        given: Ty,
    },
    /// The number of memories differs from the number of arrays.
    #[error("`{function}` works on {expected} arrays, {given} were given")]
    MemoryCount {
        /// The function.
        function: String,
        /// The number needed.
        expected: usize,
        /// The number given.
        given: usize,
    },
    /// The memory of an array has another element type than its declaration.
    #[error("`{array}` is declared to hold {}, given was memory of {}", kind(.expected), kind(.given))]
    MemoryKind {
        /// The array.
        array: String,
        /// The declared element type.
        expected: Elem,
        /// The element type of the memory.
        given: Elem,
    },
    /// Read-only memory for an array that is written.
    #[error("`{array}` is written, but the memory given for it is read-only")]
    ReadOnly {
        /// The array.
        array: String,
    },
    /// Memory of fixed length for an array that grows.
    #[error("`{array}` grows, but the memory given for it does not")]
    FixedLength {
        /// The array.
        array: String,
    },
    /// An array cannot be made as long as it must be.
    #[error("there is no memory for {len} elements of `{array}`")]
    OutOfMemory {
        /// The array.
        array: String,
        /// The number of elements requested.
        len: i64,
    },
    /// An index that does not fit the array that it is stored into.
    #[error("{value} does not fit `{array}[{index}]`, which holds {kind}")]
    DoesNotFit {
        /// The array.
        array: String,
        /// The index of the element.
        index: i64,
        /// The index that was to be stored.
        value: i64,
        /// The kind of the array.
        kind: IndexKind,
    },
    /// An access outside an array.
    #[error("`{array}[{index}]` is out of bounds: `{array}` has {len} elements")]
    OutOfBounds {
        /// The array.
        array: String,
        /// The index of the access.
        index: i64,
        /// Number of elements.
        len: usize,
    },
    /// Two parts of a schedule, or two lanes, accessed an element at the same time.
    #[error("a race: {first} and {second} both access `{array}[{index}]`")]
    Race {
        /// The array.
        array: String,
        /// The index of the element.
        index: i64,
        /// Who accessed it before.
        first: String,
        /// Who accessed it now.
        second: String,
    },
    /// Integers were divided by zero.
    #[error("division by zero in `{expr}`")]
    DivisionByZero {
        /// The quotient or remainder.
        expr: String,
    },
    /// The limit on iterations was reached.
    #[error("`{function}` was stopped after {max_steps} rounds of loops")]
    StepLimit {
        /// The function.
        function: String,
        /// The limit.
        max_steps: u64,
    },
}

crate::debug_shows_message!(RunError);

fn kind(elem: &Elem) -> String {
    match elem {
        Elem::Index(kind) => format!("indices ({kind})"),
        Elem::Value(dtype) => format!("values ({dtype})"),
    }
}
