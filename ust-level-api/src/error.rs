//! The errors of a level, each with what a person needs to mend it.

use crate::index::WidthError;
use crate::{Crd, Pos};

/// An error of a level type: a bad argument, a place where the level cannot stand, arrays that
/// break its rules, or entries that it cannot hold.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelError {
    /// The level type does not take this argument.
    #[error("`{level}` does not take `{argument}`: {help}")]
    BadArgument {
        /// The level type's name.
        level: String,
        /// The argument as written.
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
}

ust_ir::debug_shows_message!(LevelError);
