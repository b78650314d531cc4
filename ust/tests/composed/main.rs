//! Sums of tensors in different formats.

mod expressions;
mod shared;
mod split;
mod texts;
