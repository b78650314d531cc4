//! A level type that no crate of the project knows: its places are in no order, and some have no child.

mod probed;

/// Its name.
pub(crate) const STRANGERS: [&str; 1] = ["probed"];
