//! The primitives on the virtual device do what plain loops do.

mod bins;
mod combine;
mod common;
mod copy;
mod scan;
mod segments;
mod select;
mod sort;
mod streams;
