//! Numbers that depend on the machine. None was read off a device yet: they are what the vendor's guides
//! recommend, 29 November 2026.

/// Threads of a block.
pub(crate) const BLOCK_THREADS: u64 = 256;

/// Bytes of working memory of all workers together, at most.
pub(crate) const WORK_BYTES: u64 = 256 << 20;

/// Iterations of the outermost loop for each worker, at least, where workers' rows are combined afterwards.
pub(crate) const PARTS_PER_WORKER: u64 = 4;

/// Threads that run an iteration of the outermost loop together, where loops in it are shared.
pub(crate) const LANES: u32 = 32;
