//! The errors of a level, each with what a person needs to mend it.

use std::fmt;
use std::sync::Arc;

use crate::buffer::FetchError;
use crate::index::{StoreError, WidthError};
use crate::{Crd, Pos};

/// An error of a level type: a bad argument, a place where the level cannot stand, arrays that
/// break its rules, or entries that it cannot hold.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelError {
    /// The level type does not take this argument.
    #[error("{}: {help}", bad_argument(level, argument))]
    BadArgument {
        /// The level type's name.
        level: String,
        /// The argument as written; empty if arguments are missing.
        argument: String,
        /// The arguments that it takes.
        help: String,
    },
    /// The level type cannot stand where the format puts it.
    #[error("`{level}` cannot stand here: {reason}; {help}")]
    Misplaced {
        /// The level's canonical text.
        level: String,
        /// Why the level cannot stand there.
        reason: String,
        /// What to do instead.
        help: String,
    },
    /// An array breaks one of the level's rules.
    #[error("{array}[{index}] = {found}: {rule}")]
    Invalid {
        /// Name of the array, such as `pos` or `crd`.
        array: String,
        /// Index into the array.
        index: u64,
        /// The element at that index.
        found: i64,
        /// The rule that it breaks.
        rule: String,
    },
    /// An array has a wrong length.
    #[error("{array} has length {found}, expected {expected}")]
    Length {
        /// Name of the array.
        array: String,
        /// Its length, in elements.
        found: u64,
        /// The length it must have, and why.
        expected: String,
    },
    /// An entry that this level cannot hold (a third value in a 2:4 group, a second child of a
    /// singleton).
    #[error("{reason} (under parent position {parent}, at coordinate {crd})")]
    CannotHold {
        /// Parent position of the entry.
        parent: Pos,
        /// Coordinate of the entry at this level.
        crd: Crd,
        /// The rule, and what to do.
        reason: String,
    },
    /// A value that does not fit the width of its array.
    #[error(transparent)]
    Width(#[from] WidthError),
    /// A size beyond what can be stored or addressed.
    #[error("{what} is too large: {detail}")]
    Overflow {
        /// The quantity that was computed.
        what: String,
        /// The numbers that it was computed from.
        detail: String,
    },
    /// The level type does not do what every level type has to: nothing that a user can mend.
    #[error("the level type `{level}` is defective: {fault}")]
    Defective {
        /// The level type's name.
        level: String,
        /// What it did, and what it has to do.
        fault: String,
    },
    /// Columns that are elsewhere, such as in the memory of a device, could not be fetched.
    #[error(transparent)]
    Unfetched(#[from] Unfetched),
}

ust_ir::debug_shows_message!(LevelError);

fn bad_argument(level: &str, argument: &str) -> String {
    match argument {
        "" => format!("`{level}` lacks its arguments"),
        argument => format!("`{level}` does not take `{argument}`"),
    }
}

/// Why columns could not be fetched.
#[derive(Clone)]
pub struct Unfetched(Arc<dyn std::error::Error + Send + Sync>);

ust_ir::debug_shows_message!(Unfetched);

impl fmt::Display for Unfetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unfetched {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

impl PartialEq for Unfetched {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Unfetched {}

impl From<FetchError> for LevelError {
    fn from(error: FetchError) -> Self {
        Self::Unfetched(Unfetched(error.into()))
    }
}

impl From<StoreError> for LevelError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Width(error) => error.into(),
            StoreError::Unfetched(error) => error.into(),
        }
    }
}
