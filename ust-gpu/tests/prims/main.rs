//! The primitives on the virtual device do what plain loops do.

mod common;
mod copy;
mod scan;
mod sort;
