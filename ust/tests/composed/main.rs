//! Sums of tensors in different formats.

mod texts;
