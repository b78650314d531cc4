//! Columns moved and sorted: what conversions do with most memory.
//!
//! | module | what |
//! |---|---|
//! | [`lanes`] | columns moved together, whatever the width of their elements |
//! | [`partition`] | the bucket of each entry, by the high bits of its key |
//! | [`sort`] | stable sorting of lanes by a key column: partition, then finish in cache |
//! | [`few`] | the coordinates of one row, sorted |
//! | [`rows`] | stable sorting of entries by two columns, the first of them counted |
//! | [`place`] | values written to places anywhere |
//! | [`kept`] | values that are no padding, and their places |
//!
//! *Invariant: what is safe to call here is safe whatever the arguments; the rest states what its
//! caller owes.*
#[cfg(feature = "micro")]
pub mod few;
pub mod kept;
pub mod lanes;
pub mod partition;
pub mod place;
pub mod rows;
pub mod sort;
