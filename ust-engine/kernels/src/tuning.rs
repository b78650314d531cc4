//! Tuning constants: thresholds, prefetch distances and costs. They decide how fast a kernel is, and at
//! most in which order it adds.
//!
//! Read off on a two-core x86-64 virtual machine with AVX-512 and caches of 32 KiB, 1 MiB and 32 MiB. Costs
//! are in nanoseconds. Each section names the rows of the benchmark matrix that show a change:
//! `cargo run --release -p ust-benches -- matrix --op OPERATION --input INPUT`.

use std::ops::Range;
use std::time::Duration;

// Threads.
// Rows: `spmv` on `small`, with 1 and 2 threads; `csr-bsr` on `graph` for parts of different sizes.

/// Elements of work below which it stays on the calling thread: half of it is done before a thread of the
/// pool has woken up.
pub(crate) const PARALLEL_ELEMENTS: usize = 1 << 15;
/// Estimated nanoseconds of work from which a second thread pays that has to be woken.
pub(crate) const PARALLEL_NS_ASLEEP: f64 = 100_000.0;
/// Estimated nanoseconds of work from which a second thread pays that is awake.
pub(crate) const PARALLEL_NS_AWAKE: f64 = 40_000.0;
/// Parts for each thread, at least, where some parts may be much larger than others.
pub(crate) const PARTS_PER_THREAD: usize = 32;
/// How long a thread of the crew stays awake after its last job.
pub(crate) const CREW_AWAKE: Duration = Duration::from_micros(200);
/// How often the caller polls whether the crew is done before it sleeps: about 20 microseconds, unless
/// another program takes the core that it yields.
pub(crate) const CALLER_POLLS: usize = 500;
/// Pause instructions between two polls for a job.
pub(crate) const PAUSES_PER_POLL: usize = 2;
/// Polls between two offers to let another program have the core.
pub(crate) const POLLS_PER_YIELD: usize = 100;

// Caches and prefetches.
// Rows: `spmv` and `spmm32` on `st5` (in order) and `rand16` (far apart).

/// Bytes of the first cache.
pub(crate) const L1_BYTES: usize = 32 << 10;
/// Bytes of an operand up to which a cache near enough holds it: its rows are not prefetched.
pub(crate) const NEAR_BYTES: usize = 1 << 19;
/// Bytes from an address to the one that is prefetched, in memory that is read in order. The hardware
/// prefetcher is too late where other accesses keep the machine busy.
pub(crate) const PREFETCH_DISTANCE: usize = 4096;

// Samples of rows.
// Rows: `spmv` on all inputs, since each is of another kind; `spadd` on `st5` and `prune90`.

/// Rows in a sample.
pub(crate) const SAMPLED_ROWS: isize = 64;
/// Entries of each row in a sample.
pub(crate) const SAMPLED_ENTRIES: isize = 16;
/// Entries of a matrix below which a sample costs more than it gains.
pub(crate) const SAMPLE_MIN_ENTRIES: isize = 1 << 18;
/// Rows below which no sample tells how rows are merged: it takes as long as to merge some of them.
pub(crate) const UNION_SAMPLE_MIN_ROWS: isize = 16 * SAMPLED_ROWS;
/// Neighbouring rows in each part of that sample, which lie together in memory.
pub(crate) const UNION_SAMPLED_RUN: isize = 8;
/// Periods, in rows, after which the steps of a merge are expected to repeat.
pub(crate) const UNION_PERIODS: [isize; 6] = [1, 2, 3, 4, 6, 8];

// Sparse rows times a vector.
// Rows: `spmv` on `small`, `prune90`, `graph` (uneven), `rand16` (far), `blk4` as CSR (blocks).

/// Bytes from an entry to the one that is prefetched.
pub(crate) const GATHER_DISTANCE: usize = 8192;
/// Average entries of a row from which a gather instruction pays.
pub(crate) const GATHER_MIN_ROW: isize = 8;
/// Bytes of the vector between the least and the largest column of the sampled rows for which a gather
/// instruction pays: more than the second cache holds, less than the last one does.
pub(crate) const GATHER_SPAN_BYTES: Range<isize> = 1 << 20..12 << 20;
/// Bytes between two elements of a vector up to which they count as neighbours.
pub(crate) const NEIGHBOUR_BYTES: isize = 128;
/// Bytes of entries that the second cache holds: they are not prefetched.
pub(crate) const GATHER_NEAR_BYTES: isize = 512 << 10;
/// Rows whose lengths a branch predictor knows after some calls.
pub(crate) const GATHER_PREDICTED_ROWS: isize = 1 << 13;
/// Entries between an access to the vector and its prefetch, where rows are those of blocks: about one row
/// of blocks.
pub(crate) const BLOCK_ROW_DISTANCE: usize = 256;

// Words of ones times a vector.
// Rows: `spmv` on `prune70` in `bits`.

/// Bytes from a value to the one that is prefetched: there is little work for each.
pub(crate) const ONES_DISTANCE: usize = 16384;

// Rows of entries behind gaps times a vector.
// Rows: `spmv` on `prune85` in `delta(4)` and `delta(8)`.

/// Bytes from a value to the one that is prefetched.
pub(crate) const GAPS_DISTANCE: usize = 8192;

// Rows of runs times a vector.
// Rows: `spmv` on `band24` and `runs8`, in their own formats.

/// Bytes from an entry to the one that is prefetched: there is little work for each.
pub(crate) const RUN_DISTANCE: usize = 8192;
/// Runs between an access to the vector and its prefetch, where a row has several.
pub(crate) const RUNS_AHEAD: isize = 8;

// Rows side by side.
// Rows: `spmv` on `st5`, ELL and SELL.

/// Rows whose sums stay in the nearest cache while all their slots are added.
pub(crate) const SLOT_ROWS: usize = 1024;
/// Rows between one that is added and one that is prefetched, in each slot.
pub(crate) const SLOTS_AHEAD: usize = 128;
/// Entries between those that are added and those that are prefetched, where all slots of a slice follow one another.
pub(crate) const SLICES_AHEAD: usize = 1024;

// Rows added where their coordinates say.
// Rows: `spmvt` on `small`, `st5`, `graph`.

/// Average entries of a row from which a mispredicted end of it matters little.
pub(crate) const SPREAD_SHORT_ROW: isize = 8;
/// Rows whose ends the best branch predictor knows after some calls.
pub(crate) const SPREAD_PREDICTED_ROWS: isize = 25_000;
/// Entries whose factors are written to a buffer at a time.
pub(crate) const SPREAD_BUFFER: usize = 1024;

// Sparse matrix times sparse matrix, sparse matrix plus sparse matrix.
// Rows: `spgemm` and `spadd` on `small`, `st5`, `graph16`.

/// Rows between an access to a row of the second operand and its prefetch; for its `pos`, twice as many.
pub(crate) const COMBINED_DISTANCE: isize = 8;
/// Entries of both rows together below which they are merged from the front alone.
pub(crate) const UNION_SHORT_ROWS: isize = 16;

// Sparse rows times a dense matrix.
// Rows: `spmm32` and `spmm128` on `st5`, `graph`, `rand16`.

/// Entries between an access to a row of the dense matrix and its prefetch, at least.
pub(crate) const TILE_DISTANCE: usize = 4;
/// Cache lines of the dense matrix that are prefetched ahead, where sparse rows are short.
pub(crate) const TILE_LINES: usize = 64;
/// Bytes of a result from which it is written around the caches: they do not hold it, and a line that is
/// written whole need not be read first.
pub(crate) const STREAM_BYTES: usize = 32 << 20;

// Products of dense rows at the entries of a sparse matrix.
// Rows: `sddmm` on `small`, `st5`, `graph`, `rand16`.

/// Bytes of rows of the second operand that are prefetched ahead.
pub(crate) const SDDMM_DISTANCE: usize = 4096;
/// Rows, at least and at most, that these bytes are rounded to.
pub(crate) const SDDMM_MIN_ROWS: usize = 4;
pub(crate) const SDDMM_MAX_ROWS: usize = 32;
/// Bytes of the second operand above which no cache holds it.
pub(crate) const SDDMM_FAR_BYTES: usize = 1 << 24;
/// Bytes of a row above which it is prefetched before it is multiplied: out-of-order execution does not
/// reach its end in time.
pub(crate) const DOTS_SHORT_ROW: usize = 512;
/// Bytes of a row up to which the rows of the next block are prefetched, not those of this one.
pub(crate) const DOTS_LONG_ROW: usize = 1024;
/// Bytes of the second operand above which no near cache holds it.
pub(crate) const DOTS_FAR_BYTES: usize = 1 << 21;

// Entries moved to the next free place of their columns.
// Rows: `csr-csc` on `st5` (diagonals), `graph`, `rand16`.

/// Entries between a write to a place and its prefetch; twice as many for the number of that place.
pub(crate) const SCATTER_DISTANCE: usize = 32;
/// Rows, at most, between a write along a diagonal and its prefetch, so that the line arrives in time.
pub(crate) const SCATTER_DIAGONAL_ROWS: isize = 20;
/// Entries, about, in these rows: more would drive the line out of the first cache again.
pub(crate) const SCATTER_DIAGONAL_ENTRIES: isize = 108;
/// Rows, and columns, between two entries up to which the second finds the open line of the first in the
/// first cache.
pub(crate) const SCATTER_NEIGHBOURS: isize = 8;
/// Entries of each row in the sample that tells what to prefetch.
pub(crate) const SCATTER_SAMPLED_ENTRIES: isize = 32;
/// Bytes of values up to which the caches hold the destination.
pub(crate) const SCATTER_NEAR_BYTES: usize = 1 << 20;
/// Columns whose open lines the first cache holds.
pub(crate) const OPEN_COLUMNS: isize = 256;
/// Entries of a row within these columns from which a visit to the row pays.
pub(crate) const VISIT_ENTRIES: isize = 16;
/// Rows between a visit to a row and its prefetch.
pub(crate) const VISIT_DISTANCE: usize = 4;

// Whole formats.
// Rows: `spmv`, `spmvt`, `spmm32` on `blk4` and `blk16` as BSR, `st5` as DIA-I, `nm24` as 2:4.

/// Blocks, at least, between an access to the vector and its prefetch: the sums of a large block take long,
/// and nothing is read meanwhile.
pub(crate) const BLOCK_MIN_DISTANCE: usize = 4;
/// Blocks between an access to rows of a dense matrix and their prefetch.
pub(crate) const BLOCK_PANEL_DISTANCE: usize = 2;
/// Blocks of a transpose between a write to the result and its prefetch.
pub(crate) const BLOCK_SPREAD_DISTANCE: usize = 16;
/// Bytes of the result of a transpose up to which a cache near enough holds it.
pub(crate) const BLOCK_SPREAD_NEAR_BYTES: usize = 1 << 20;
/// Bytes of the vector that stay in the first cache while the values of 2:4 groups pass by.
pub(crate) const GROUPS_NEAR_BYTES: usize = 24 << 10;
/// Rows of 2:4 groups that are multiplied together, so that a longer vector is read once for all of them.
pub(crate) const GROUPS_ROWS: usize = 4;
/// Bytes of a dense matrix that stay in a near cache while rows pass by.
pub(crate) const PANEL_BYTES: usize = 1 << 18;

// Columns moved and sorted.
// Rows: `coo-csr` on `rand16`, `graph`, `st5`; `dense-csr` on `small` for kept values.

/// Entries whose places are found before they are moved, so that the places stay in the cache.
pub(crate) const PARTITION_BLOCK: usize = 1024;
/// Buckets of a partition, at most: one open line of each bucket and lane stays in the cache.
pub(crate) const MAX_BUCKETS: u64 = 1 << 11;
/// Buckets, at most, where a tensor is written entry by entry: the first cache holds an open line of each.
pub(crate) const FEW_BUCKETS: u64 = 1 << 7;
/// Entries that a bucket should have.
pub(crate) const BUCKET_ENTRIES: usize = 1 << 13;
/// Entries up to which one bucket does.
pub(crate) const ONE_BUCKET_ENTRIES: usize = 1 << 14;
/// Entries of two columns and values up to which the second cache holds them while they are sorted: they
/// are not split into buckets.
pub(crate) const ROWS_IN_CACHE: usize = 1 << 14;
/// Average entries of a row above which all rows of a bucket are sorted together, digit by digit.
pub(crate) const ROWS_BY_DIGITS: usize = 14;
/// Bits of a key that a counting pass sorts by.
pub(crate) const SORT_DIGIT_BITS: u32 = 11;
/// Entries of a bucket below which a comparison sort beats counting.
pub(crate) const SORT_MIN_COUNTED: usize = 96;
/// Coordinates of a row below which a comparison sort is quickest.
pub(crate) const ROW_MIN_BITMAP: usize = 32;
/// Coordinates of a row from which a sort by digits beats comparisons.
pub(crate) const ROW_MIN_DIGITS: usize = 64;
/// Bits of a digit of these.
pub(crate) const ROW_DIGIT_BITS: u32 = 8;
/// Digits up to which a sort by digits pays.
pub(crate) const ROW_MAX_DIGITS: u32 = 4;
/// Values for which room is made before they are compared with the fill value: whole words.
pub(crate) const KEPT_BLOCK: usize = 64 * 64;
/// Words of 64 values in the sample that tells how many differ from the fill value; up to twice as many.
pub(crate) const KEPT_SAMPLED_WORDS: usize = 128;
