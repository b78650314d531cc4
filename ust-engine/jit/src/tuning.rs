//! Tuning constants of the compiler: which loops become calls of microkernels, and which code is written
//! out. They decide how fast code runs, and how much of it there is.
//!
//! Read off on a two-core x86-64 virtual machine with AVX-512. Rows of the benchmark matrix that show a
//! change: `spmv`, `spmm32`, `spgemm` on `small` and `blk4` in all formats, whose loops are short.

/// Iterations from which a call of a microkernel pays.
pub(super) const MIN_CALL_ITERATIONS: i64 = 8;
/// Columns of a dense operand from which a call pays.
pub(super) const MIN_CALL_COLUMNS: i64 = 2;
/// Iterations from which a call pays whose iterations are loops over a sparse row.
pub(super) const MIN_CALL_ROWS: i64 = 2;
/// Iterations between an access to a row by a block kernel and its prefetch.
pub(super) const BLOCK_ROW_DISTANCE: i64 = 2;
/// Iterations of a loop over the rows or columns of a block, at most.
pub(super) const MAX_BLOCK_EXTENT: i64 = 64;
/// Iterations of a loop that is unrolled, at most.
pub(super) const MAX_UNROLLED_ITERATIONS: usize = 16;
/// Copies of a body in nested unrolled loops, at most.
pub(super) const MAX_UNROLLED_COPIES: usize = 64;
/// Statements in all copies of a body, at most.
pub(super) const MAX_UNROLLED_STATEMENTS: usize = 256;
/// Nodes of a loop condition that is written both before the loop and at its end, at most: then an iteration
/// has one jump.
pub(super) const MAX_REPEATED_CONDITION: usize = 40;
/// Nodes of a side of a choice, at most, where both sides are evaluated instead of a jump.
pub(super) const MAX_SELECT_SIDE: usize = 4;
/// Words of a table that is on the stack, at most.
pub(super) const MAX_STACK_WORDS: usize = 64;
