//! Tuning constants: thresholds, sizes of parts, and costs. They decide how fast the engine is. At most,
//! they change the order of sums, the inferred format of a result, and which large expressions are
//! refused.
//!
//! Read off on a two-core x86-64 virtual machine with AVX-512 and caches of 32 KiB, 1 MiB and 32 MiB. Costs
//! are in nanoseconds. Each section names the rows of the benchmark matrix that show a change:
//! `cargo run --release -p ust-benches -- matrix --op OPERATION --input INPUT`.

// Walks and conversions: `walk`, `convert`.

// Loops over the storage of a tensor.
// Rows: `csr-csc` and `csr-dia` on `small` and `graph`.

/// Entries, over all calls with the same function, from which the function is compiled: below, an
/// interpreter is done before a compiler has begun.
#[cfg(feature = "jit")]
pub(crate) const COMPILE_MIN_ENTRIES: usize = 1 << 12;
/// Stored elements that a loop visits between two looks whether it shall go on: some milliseconds of work.
pub(crate) const ENTRIES_PER_LOOK: usize = 1 << 20;
/// Pieces of the outermost loop for each thread, where coordinates are written to columns.
pub(crate) const UNPACK_PIECES_PER_THREAD: usize = 8;
/// A piece of an outermost loop may have more or fewer stored elements than its share, by the share
/// divided by this.
pub(crate) const CUT_SLACK_DIVISOR: i64 = 64;
/// A row with more stored elements than this share of the work of a thread is shared by several threads.
pub(crate) const LONG_ROW_SHARE: f64 = 0.25;
/// And with more than so many.
pub(crate) const LONG_ROW_MIN_ENTRIES: i64 = 1 << 12;
/// Values for which a thread computes the mask of entries at a time.
pub(crate) const MASKED_VALUES: usize = 1 << 16;

// Counting sort by a key.
// Rows: `csr-csc` on `small`, `st5`, `graph`, `rand16`.

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

// Entries counted by the values of expressions.

/// Groups for each entry, at most, for which counts are kept in an array.
pub(crate) const TALLY_GROUPS_PER_ENTRY: u64 = 4;
/// And if there are no more than so many.
pub(crate) const TALLY_FEW_GROUPS: u64 = 1 << 16;
/// Elements of several dimensions that are looked at one by one, at most, to count those with the same values of
/// expressions.
pub(crate) const COUNTED_ELEMENTS: usize = 1 << 24;
/// Pairs of runs of values, at most, that are looked at for each sum of two values.
pub(crate) const COUNTED_VALUES: usize = 1 << 8;

// Values written to positions that are known in advance.
// Rows: `csr-dia` on `st5`, `band9`.

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
// Rows: `coo-csr` on `st5`, `rand16`; `dense-csr` on `small`.

/// Entries for which an expression is evaluated at a time, so that intermediate results stay in cache.
pub(crate) const EVALUATED_ENTRIES: usize = 1 << 10;
/// Entries compared with their predecessors at a time, so that the results stay in cache.
pub(crate) const COMPARED_ENTRIES: usize = 1 << 12;
/// Groups of duplicates that a thread sums at a time, at least.
pub(crate) const SUMMED_GROUPS: usize = 1 << 12;
/// Blocks of a column that a thread searches for fill values at a time, at least.
pub(crate) const FILL_SEARCH_BLOCKS: usize = 32;

// Entries gathered into blocks.
// Rows: `csr-bsr` on `small`, `st5`, `blk4`.

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
// No row: `ust convert` of `gen:blocks(...)` from BSR(4,4) to BSC(4,4), with `--explain`.

/// Blocks between a copy and its prefetch.
pub(crate) const WHOLE_BLOCK_DISTANCE: usize = 8;
/// Bytes of a block that are prefetched, at most: the hardware prefetcher fetches the rest.
pub(crate) const WHOLE_BLOCK_PREFETCH_BYTES: usize = 1 << 10;
/// Bytes that may be kept of everything that was made of tensors' data, together.
pub(crate) const KEPT_BYTES: u64 = 4 << 30;
/// Bytes of index arrays up to which a tensor keeps a copy of them in 32 bits, once a kernel has made it.
pub(crate) const KEPT_INDEX_BYTES: u64 = 512 << 20;
/// Values that a thread copies at a time, at least.
pub(crate) const WHOLE_BLOCK_VALUES: usize = 1 << 14;

// Expressions and plans: the folders `plan`, `provider`, `expr` and `einsum`.

// Stages.
// Rows: `mttkrp` on `t3`; products of three and more factors in `ust run --explain`.

/// Loop iterations over unstored coordinates that take the time of combining and counting one stored
/// entry. A reduction over unstored coordinates counts them if that is cheaper than visiting them.
pub(crate) const UNSTORED_REDUCTION_VISITS_PER_ENTRY: f64 = 4.0;
/// Sparse operands, at most, of a reduction that counts unstored coordinates: the planner looks at every
/// set of them.
pub(crate) const UNSTORED_REDUCTION_MAX_SPARSE: usize = 8;
/// Innermost loop bodies, at most, of a stage that merges three tensors. Each takes about a millisecond
/// to plan and compile.
pub(crate) const STAGE_MAX_BODIES: f64 = 40.0;
/// The same for more than three tensors: merging them at once takes twice the time of merging two or
/// three at a time.
pub(crate) const STAGE_MAX_BODIES_OF_MANY: f64 = 14.0;
/// Sparse operands, at most, for which loop bodies are counted: the count is over every set of them.
pub(crate) const STAGE_MAX_COUNTED: usize = 10;
/// Coordinates that loops visit in the time of planning and compiling one loop body. It decides whether
/// operands are converted to full storage instead of merged.
pub(crate) const VISITS_PER_BODY: f64 = 2e5;
/// Coordinates, at most, that loops visit because operands were converted to full storage.
pub(crate) const FULL_MAX_VISITS: f64 = 1e8;
/// Innermost loop bodies, at most, of a stage that can neither be divided nor be computed in full
/// storage. With more, the expression is refused.
pub(crate) const UNDIVIDED_MAX_BODIES: f64 = 3000.0;
/// Factors, at most, of a product for which a contraction path is searched: the search is over every
/// set of them.
pub(crate) const PATH_MAX_FACTORS: usize = 10;
/// How many times cheaper a contraction path has to be, where the intermediate tensor is stored in full.
/// Uneven rows make more products than are estimated, never fewer.
pub(crate) const PATH_GAIN_FULL: f64 = 1.4;
/// The same, where the intermediate tensor is sparse.
pub(crate) const PATH_GAIN_SPARSE: f64 = 2.0;
/// Products computed in the time of storing one element of a sparse intermediate tensor.
pub(crate) const PATH_STORE_PRODUCTS: f64 = 8.0;

// Orders of loops.
// Rows: `spgemm`, `spmm32`, `sddmm`, `mttkrp`, `ttv` in all formats: the order is in `--explain`.

/// Coordinates for each stored element, at most, of a first level that is made full: of a tree that an
/// operand is converted to, or of a result whose format is inferred.
pub(crate) const FULL_LEVEL_COORDINATES_PER_ENTRY: f64 = 4.0;
/// Coordinates of a table for each stored element of all operands, at most.
pub(crate) const TABLE_COORDINATES_PER_ENTRY: f64 = 16.0;
/// States that the search for an order visits, at most. Then it takes the best order so far.
pub(crate) const ORDER_SEARCH_STATES: usize = 20_000;
/// Nanoseconds to convert an operand, beside the time for its entries.
pub(crate) const CONVERSION_NS: f64 = 2000.0;
/// Nanoseconds to convert a stored element, if entries are reordered.
pub(crate) const REORDER_ENTRY_NS: f64 = 10.0;
/// Nanoseconds to convert a stored element, if the order of entries stays.
pub(crate) const REGROUP_ENTRY_NS: f64 = 3.0;
/// Nanoseconds to store the indices of a stored element in another width.
pub(crate) const WIDTH_ENTRY_NS: f64 = 0.5;
/// Nanoseconds to find a coordinate in a full level.
pub(crate) const LOCATE_FULL_NS: f64 = 0.5;
/// Nanoseconds to find a coordinate in another level that finds it in constant time.
pub(crate) const LOCATE_CONSTANT_NS: f64 = 2.0;
/// Nanoseconds to begin a search among the children of a position.
pub(crate) const LOCATE_BEGIN_NS: f64 = 4.0;
/// Nanoseconds of each step of a binary search.
pub(crate) const LOCATE_HALVING_NS: f64 = 5.0;
/// Nanoseconds for each child of a linear search.
pub(crate) const LOCATE_SCANNED_NS: f64 = 2.0;
/// Nanoseconds to write a coordinate into a table.
pub(crate) const TABLE_WRITE_NS: f64 = 1.5;
/// Nanoseconds to begin to fill a table.
pub(crate) const TABLE_BEGIN_NS: f64 = 3.0;
/// Nanoseconds, for each coordinate of a table, to clear it once before the loops.
pub(crate) const TABLE_CLEAR_NS: f64 = 0.3;
/// Nanoseconds to look a coordinate up in a table.
pub(crate) const TABLE_LOOK_UP_NS: f64 = 2.5;
/// Iterations that a merge of several levels takes for each coordinate that they store.
pub(crate) const MERGE_STEPS: f64 = 2.5;
/// The same, where the loop visits all other coordinates, too.
pub(crate) const MERGE_WITH_ALL_STEPS: f64 = 2.0;
/// Nanoseconds of an iteration of a loop.
pub(crate) const ITERATION_NS: f64 = 1.0;
/// Nanoseconds to begin a loop.
pub(crate) const LOOP_BEGIN_NS: f64 = 3.0;
/// Nanoseconds of an iteration of a loop over neighbouring values of tensors in full storage.
pub(crate) const STREAM_ITERATION_NS: f64 = 0.25;
/// Nanoseconds to begin such a loop.
pub(crate) const STREAM_BEGIN_NS: f64 = 1.0;
/// Nanoseconds to combine a value with an element of a result in place.
pub(crate) const ADD_IN_PLACE_NS: f64 = 0.5;
/// The same, if the outermost loop is over a summed index, and each of its iterations passes through the
/// result.
pub(crate) const ADD_AGAIN_NS: f64 = 1.0;
/// The same, in loops that add rows, for which microkernels exist.
pub(crate) const ADD_ROW_ELEMENT_NS: f64 = 0.6;
/// Nanoseconds to append a row to a result.
pub(crate) const APPEND_ROW_NS: f64 = 3.0;
/// Nanoseconds to add a value in a workspace.
pub(crate) const WORKSPACE_ADD_NS: f64 = 4.0;
/// The same, in loops without a search, for which microkernels exist.
pub(crate) const WORKSPACE_KERNEL_ADD_NS: f64 = 2.0;
/// Nanoseconds to append a row from a workspace and to clear it there.
pub(crate) const WORKSPACE_ROW_NS: f64 = 15.0;
/// Nanoseconds to append a row that is sorted and combined afterwards.
pub(crate) const UNSORTED_ROW_NS: f64 = 60.0;

// Loops as IR.
// Rows: `spadd` on `small`, `prune90`; `spmm32` on `blk4` as BSR.

/// Elements of a workspace, at most. Wider results are sorted instead.
pub(crate) const WORKSPACE_MAX_ELEMENTS: f64 = (1_u64 << 28) as f64;
/// Tensors, at most, that are merged without branches: there is a loop for each set of them.
pub(crate) const ZIP_MAX_TENSORS: usize = 3;
/// Sets of tensors, at most, that a merge tests one after another. With more, it tests tensor by tensor.
pub(crate) const MERGE_MAX_TEST_CHAIN: usize = 32;
/// Coordinates along a dimension of a block, at most, for which whole blocks get a loop of constant
/// length beside the one for blocks at the border.
pub(crate) const WHOLE_BLOCK_MAX_SIZE: i64 = 8;
/// Elements of a result, at least, that there is room for beyond those needed when its arrays grow.
pub(crate) const RESULT_SPARE_ELEMENTS: i64 = 64;

// Runs.
// Rows: `spgemm` and `spadd` on `small`, `st5`, `graph16`, with 1 and 2 threads.

/// Estimated nanoseconds of loops that collect rows from which several threads pay: each thread needs
/// memory, and its rows are moved.
pub(crate) const ROWS_PARALLEL_NS: f64 = 500_000.0;
/// Parts of each thread's share of loops that collect rows. Stored elements are a poor estimate of the
/// work of a part; a thread that is done takes parts of others.
pub(crate) const ROWS_PARTS_PER_THREAD: usize = 8;
/// Bytes of rows in a piece of a part, about, if several threads collect: a thread's caches hold them.
pub(crate) const ROWS_PIECE_BYTES: usize = 1 << 20;
/// Pieces of a part, at least. Pieces have equally many coordinates, so their bounds need no search, and
/// neighbouring coordinates have similar numbers of rows.
pub(crate) const ROWS_PART_PIECES: usize = 2;
/// Bytes of all rows of a result from which they are written around the caches, which do not hold them
/// until they are read.
pub(crate) const ROWS_STREAM_BYTES: usize = 8 << 20;
/// Parts of each thread's share if the run may be cancelled, which it checks between parts.
pub(crate) const CANCEL_PARTS_PER_THREAD: usize = 32;
/// Nanoseconds to clear an element of a thread's copy of a result, and to combine it.
pub(crate) const COPY_ELEMENT_NS: f64 = 2.25;

// Providers.
// Rows: `spmv` and `spmm32` on `blk4`, `st5`, `nm24` in the formats of each provider.

/// Time of the interpreter, as a multiple of that of machine code.
pub(crate) const INTERPRETER_TIME: f64 = 30.0;
/// Nanoseconds to compile loops to machine code.
#[cfg(feature = "jit")]
pub(crate) const JIT_COMPILE_NS: f64 = 400_000.0;
/// Number of runs that the time of compiling is spread over when providers are compared.
pub(crate) const COMPILED_RUNS: f64 = 10_000.0;
/// Time of loops over indices of widths that microkernels do not take, as a multiple of that of 32 bits.
#[cfg(feature = "jit")]
pub(crate) const OTHER_WIDTHS_TIME: f64 = 2.0;
/// Time of kernels that read indices of 64 bits, as a multiple of that of 32 bits.
pub(crate) const WIDE_INDICES_TIME: f64 = 1.3;
/// Time of loops over indices of 32 bits that a tensor keeps beside its own, as a multiple of that of its own.
pub(crate) const KEPT_INDICES_TIME: f64 = 1.1;
/// Time of a conversion that replaces a copy by loops, as a fraction of the time of the loops.
pub(crate) const CONVERSION_TIME: f64 = 0.4;
/// Time of the kernels for blocks times a vector, as a fraction of the time of the loops.
pub(crate) const BLOCKS_VECTOR_TIME: f64 = 0.4;
/// Time of the kernels for blocks times a dense matrix, as a fraction of the time of the loops.
pub(crate) const BLOCKS_MATRIX_TIME: f64 = 0.2;
/// Time of the kernels for diagonals times a vector, as a fraction of the time of the loops.
pub(crate) const DIAGONALS_VECTOR_TIME: f64 = 0.7;
/// Time of the kernels for diagonals times a dense matrix, as a fraction of the time of the loops.
pub(crate) const DIAGONALS_MATRIX_TIME: f64 = 0.3;
/// Time of the kernels for 2:4 groups, as a fraction of the time of the loops.
#[cfg(target_arch = "x86_64")]
pub(crate) const GROUPS_TIME: f64 = 0.25;
/// Time of the kernels for two matrices in full, as a fraction of the time of the loops.
pub(crate) const FULL_TIME: f64 = 0.2;
/// Nanoseconds to fetch a byte of a tensor that is elsewhere, such as in the memory of a device. Not read off a
/// device yet: half of what the bus promises.
pub(crate) const FETCH_BYTE_NS: f64 = 0.08;
/// Elements of a row of the second matrix, at most, for which a kernel of this workspace multiplies two
/// matrices in full. Registers and near caches do not hold longer rows; ndarray multiplies those.
pub(crate) const FULL_MAX_WIDTH: usize = 256;
/// Bytes of the result that a native kernel computes at a time: the first cache holds them.
pub(crate) const STRIP_BYTES: usize = 16 << 10;
/// Rows of the result, or rows of blocks, that a native kernel computes at a time, at least: kernels
/// combine some of them.
pub(crate) const STRIP_MIN_ROWS: usize = 4;

// The oracle.

/// Coordinates without stored elements, at most, that the oracle evaluates one by one in a reduction.
pub(crate) const ORACLE_PLAIN_COORDINATES: usize = 64;
