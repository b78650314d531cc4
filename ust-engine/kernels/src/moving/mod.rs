//! Columns moved and sorted: the passes of conversions over large memory.
//!
//! | module | what |
//! |---|---|
//! | [`lanes`] | columns moved together, whatever the width of their elements |
//! | [`partition`] | the bucket of each entry, by the high bits of its key |
//! | [`sort`] | stable sorting of lanes by a key column: partition, then finish in cache |
//! | [`few`] | the coordinates of one row, sorted |
//! | [`rows`] | stable sorting of entries by two columns, the first of them counted |
//! | [`place`] | values written to arbitrary places |
//! | [`kept`] | values that are no padding, and their places |
//!
//! *Invariant: a safe function is safe for any arguments; an unsafe one states the duties of its
//! caller.*
#[cfg(feature = "micro")]
pub mod few;
pub mod kept;
pub mod lanes;
pub mod partition;
pub mod place;
pub mod rows;
pub mod sort;
