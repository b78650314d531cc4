//! Storage: a format, a shape, arrays for each level, values and a fill value.

pub mod values;

pub use values::{StoredElement, Values};
