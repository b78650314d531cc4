//! What a run may use up, and why it ends early.

use crate::{Elem, IndexKind, Ty};

/// What a run may use up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// As many rounds of loops, all loops taken together. Code between rounds is finite, so this
    /// bounds the time of a run.
    pub max_steps: u64,
}

impl Default for Limits {
    /// None.
    fn default() -> Self {
        Self { max_steps: u64::MAX }
    }
}

/// What went wrong at an instruction, before anything is named.
pub(super) enum Fault {
    Bounds,
    Zero,
    Steps,
    /// There is none.
    Memory,
    /// This index does not fit.
    Fit(i64),
}

/// Why a run ended early.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Another number of parameters than the function has.
    #[error("`{function}` takes {expected} parameters, {given} were given")]
    ParamCount {
        /// The function.
        function: String,
        /// As many are needed.
        expected: usize,
        /// As many were given.
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
    /// Another number of memories than the function has arrays.
    #[error("`{function}` works on {expected} arrays, {given} were given")]
    MemoryCount {
        /// The function.
        function: String,
        /// As many are needed.
        expected: usize,
        /// As many were given.
        given: usize,
    },
    /// A memory that holds something else than its array is declared to hold.
    #[error("`{array}` is declared to hold {}, given was memory of {}", kind(.expected), kind(.given))]
    MemoryKind {
        /// The array.
        array: String,
        /// What it is declared to hold.
        expected: Elem,
        /// What the memory holds.
        given: Elem,
    },
    /// Memory that cannot be written, for an array that is.
    #[error("`{array}` is written, but the memory given for it is read-only")]
    ReadOnly {
        /// The array.
        array: String,
    },
    /// Memory that cannot be made longer, for an array that grows.
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
        /// As many elements were asked for.
        len: i64,
    },
    /// An index that does not fit the array that it is stored into.
    #[error("{value} does not fit `{array}[{index}]`, which holds {kind}")]
    DoesNotFit {
        /// The array.
        array: String,
        /// Where it should have been stored.
        index: i64,
        /// The index.
        value: i64,
        /// How the array stores indices.
        kind: IndexKind,
    },
    /// An access outside an array.
    #[error("`{array}[{index}]` is out of bounds: `{array}` has {len} elements")]
    OutOfBounds {
        /// The array.
        array: String,
        /// Where the access went.
        index: i64,
        /// Number of elements.
        len: usize,
    },
    /// Integers were divided by zero.
    #[error("division by zero in `{expr}`")]
    DivisionByZero {
        /// The quotient or remainder.
        expr: String,
    },
    /// The limit on rounds of loops was reached.
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
