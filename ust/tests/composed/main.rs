//! Sums of tensors in different formats.

mod advice;
mod expressions;
mod shared;
mod split;
mod texts;
