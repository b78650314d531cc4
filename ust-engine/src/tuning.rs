//! Tuning constants: thresholds, costs and sizes of samples. They decide how fast an operation is,
//! never what it gives.

// Walks and conversions: `walk`, `convert`.

// Loops over the storage of a tensor.

/// Entries, over all calls with the same function, from which the function is compiled: below, an
/// interpreter is done before a compiler has begun.
#[cfg(feature = "jit")]
pub(crate) const COMPILE_MIN_ENTRIES: usize = 1 << 12;
/// Pieces of the outermost loop for each thread, where coordinates are written to columns.
pub(crate) const UNPACK_PIECES_PER_THREAD: usize = 8;
/// A piece of an outermost loop may have more or fewer stored elements than its share, by the share
/// divided by this.
pub(crate) const CUT_SLACK_DIVISOR: i64 = 64;
/// Values for which a thread computes the mask of entries at a time.
pub(crate) const MASKED_VALUES: usize = 1 << 16;

// Counting sort by a key.

/// Nanoseconds to count an entry, or to move it, about, while it is in cache.
pub(crate) const SCATTER_ENTRY_NS: f64 = 2.0;
/// Entries, about, in each of the two samples that tell whether neighbouring entries have different
/// keys.
pub(crate) const KEY_SAMPLED_ENTRIES: i64 = 1 << 15;
/// Counters in these samples, at most: keys that are equal modulo this number share a counter.
pub(crate) const KEY_SAMPLE_COUNTERS: u64 = 1 << 18;
/// Bytes of values from which entries with many keys are first moved to buckets of several keys.
pub(crate) const BUCKETS_MIN_BYTES: usize = 1 << 23;
/// Entries from which a counting sort pays that is compiled for the formats: fewer are sorted as
/// columns.
pub(crate) const COUNTING_SORT_MIN_ENTRIES: usize = 1 << 13;
/// Parents, at most, that a walk enters for each coordinate of the dimension it sorts by: the
/// entries of each parent lie apart in memory.
pub(crate) const SWEEP_MAX_PARENTS: usize = 1 << 10;

// Values written to positions that are known in advance.

/// Values from which the loop over them is cut into pieces of rows.
pub(crate) const CELLS_MIN_VALUES: usize = 1 << 15;
/// Positions of a piece, which are filled and then written to: they stay in the second cache.
pub(crate) const CELLS_PIECE_POSITIONS: u64 = 1 << 15;
/// Positions of a block in a piece from which a loop that fills them pays.
pub(crate) const CELLS_MIN_BLOCK_POSITIONS: u64 = 1 << 4;
/// Groups of pieces for each thread.
pub(crate) const CELLS_GROUPS_PER_THREAD: usize = 4;
/// Marks of needed blocks for each stored value, at most, over all threads.
pub(crate) const MARKS_PER_VALUE: usize = 4;

// Columns of coordinates.

/// Entries for which an expression is evaluated at a time, so that intermediate results stay in cache.
pub(crate) const EVALUATED_ENTRIES: usize = 1 << 10;
/// Entries compared with their predecessors at a time, so that the results stay in cache.
pub(crate) const COMPARED_ENTRIES: usize = 1 << 12;
/// Groups of duplicates that a thread sums at a time, at least.
pub(crate) const SUMMED_GROUPS: usize = 1 << 12;
/// Blocks of a column that a thread searches for fill values at a time, at least.
pub(crate) const FILL_SEARCH_BLOCKS: usize = 32;

// Entries gathered into blocks.

/// Keys of a table of blocks, at most.
pub(crate) const BLOCK_TABLE_KEYS: u64 = 1 << 22;
/// Entries that a thread gathers into blocks at a time.
pub(crate) const GROUPED_ENTRIES: usize = 1 << 15;
/// Entries from which a loop that makes blocks is cut into pieces, where code is compiled for it.
pub(crate) const PIECES_MIN_ENTRIES: usize = 1 << 15;
/// Entries of such a piece, about: their columns stay in the second cache.
pub(crate) const PIECE_ENTRIES: usize = 1 << 14;
/// Values, the first of a tensor, that are searched for the fill value before blocks are made piece
/// by piece.
pub(crate) const FILL_SAMPLED_VALUES: usize = 1 << 12;
/// Values in the sample that tells whether most of a tensor is padding; up to twice as many.
pub(crate) const PADDING_SAMPLED_VALUES: usize = 256;

// Blocks moved whole.

/// Blocks between a copy and its prefetch.
pub(crate) const WHOLE_BLOCK_DISTANCE: usize = 8;
/// Bytes of a block that are prefetched, at most: the hardware prefetcher fetches the rest.
pub(crate) const WHOLE_BLOCK_PREFETCH_BYTES: usize = 1 << 10;
/// Values that a thread copies at a time, at least.
pub(crate) const WHOLE_BLOCK_VALUES: usize = 1 << 14;
