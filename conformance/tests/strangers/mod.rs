//! Level types that no crate of the project knows, each of another kind.

mod hashed;
mod padded;

/// Their names.
pub(crate) const STRANGERS: [&str; 2] = ["hashed", "padded"];
