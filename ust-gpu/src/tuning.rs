//! Numbers that depend on the machine. None was read off a device yet: they are what the vendor's guides
//! recommend, 29 November 2026.

use std::num::NonZeroU64;

/// Threads of a block.
pub(crate) const BLOCK_THREADS: u64 = 256;

/// Bytes of working memory of all workers together, at most.
pub(crate) const WORK_BYTES: u64 = 256 << 20;

/// Bytes of shared memory of a block that runs several parts, at most. Two such blocks or more fit a multiprocessor.
pub(crate) const SHARED_BYTES: u64 = 48 << 10;

/// The hash table of a part, and the threads that run the part together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableShape {
    /// Number of places.
    pub(crate) slots: u64,
    /// Number of threads.
    pub(crate) lanes: u64,
}

/// A table for so many coordinates. At least half of the places stay free, so that searches are short. A table of up to
/// 256 coordinates is for lanes of a warp, which add some coordinates each; a larger one is for a block.
pub(crate) fn table(coordinates: u64) -> TableShape {
    let coordinates = coordinates.next_power_of_two().max(8);
    let lanes = if coordinates <= 256 { (coordinates / 8).min(32) } else { BLOCK_THREADS };
    TableShape { slots: 2 * coordinates, lanes }
}

/// A part with many additions for each coordinate has a table as if it had one coordinate for so many additions, up to
/// `MOST_BY_ADDITIONS` coordinates, so that it has threads enough.
pub(crate) const ADDITIONS_PER_COORDINATE: NonZeroU64 = NonZeroU64::new(32).unwrap();

/// See [`ADDITIONS_PER_COORDINATE`]: tables of so many coordinates are for a block.
pub(crate) const MOST_BY_ADDITIONS: u64 = 512;

/// Threads that count the additions of a part together.
pub(crate) const BOUND_LANES: u32 = 8;

/// The number of threads that share an inner loop with so many iterations: a power of 2, up to the lanes of a warp.
pub(crate) fn team(iterations: f64) -> u64 {
    1 << (1..WIDTHS).take_while(|width| f64::from(1_u32 << width) <= iterations).count()
}

/// Iterations of the outermost loop for each worker, at least, where workers' rows are combined afterwards.
pub(crate) const PARTS_PER_WORKER: u64 = 4;

/// Threads of a warp.
pub(crate) const WARP: u32 = 32;

/// Numbers of threads that may run a part together: powers of 2, up to the lanes of a warp.
pub(crate) const WIDTHS: usize = 6;

/// Elements side by side that a thread of several works on, where extents and addresses are multiples. An addition of
/// a product in the innermost loop of CSR times a dense matrix takes 2.9 instructions then, instead of 8.8, for `f32` on
/// `sm_90`, and 3.3 instead of 8.7 for `f64`.
pub(crate) const SIDE_BY_SIDE: u32 = 4;

/// Elements that a thread of several works on where they cannot be side by side. The same addition takes 5.1
/// instructions and 1.5 loads then, instead of 6.75 and 3, for `f32` on `sm_90`.
pub(crate) const APART: u32 = 4;

/// Iterations of the outermost loop that run as one, where they read the same. An addition of a product of full matrices
/// takes 2 instructions and 0.3 loads then, where elements are side by side, instead of 8.25 and 2 with one element for
/// each thread, for `f32` on `sm_90`.
pub(crate) const AS_ONE: u32 = 4;

/// Whether so many parts, of 2^k threads each, keep a device busy with threads of which each has the work of several.
pub(crate) fn is_enough(parts: u64, width: usize) -> bool {
    parts << width >= BUSY_THREADS / 16
}

/// Parts of a sum over the outermost loop, at most: each ends in an atomic operation.
pub(crate) const MOST_SUMS: u64 = 4096;

/// Iterations of such a sum for each thread, at least.
pub(crate) const SUMMED_PER_THREAD: u64 = 8;

/// Threads that keep a device busy.
const BUSY_THREADS: u64 = 1 << 17;

/// The binary logarithm of the number of threads that run a part together: `iterations` that they share, of each
/// of `parts` parts. As many threads as there are iterations, and twice as many where parts are few.
pub(crate) fn width(iterations: f64, parts: u64) -> usize {
    let fits = |width: usize| {
        let threads = f64::from(1_u32 << width);
        let few = parts.saturating_mul(1 << width) <= BUSY_THREADS;
        threads <= iterations || few && threads < 2.0 * iterations
    };
    (1..WIDTHS).take_while(|width| fits(*width)).last().unwrap_or(0)
}

/// The number of threads that run a part together where they write nothing for each other: a power of 2. `mean`:
/// the iterations that they share, of each of `parts` parts. More than a warp where parts are few.
pub(crate) fn spread(mean: f64, parts: u64) -> u64 {
    let most = (4 * BUSY_THREADS / parts.max(1)).max(1 << (WIDTHS - 1));
    let threads = most.min(mean.max(1.0) as u64);
    1 << threads.ilog2()
}

/// Conversions whose kernels are kept as they are launched, at most: a conversion between the formats of one of them
/// prints and looks up nothing.
pub(crate) const WRITERS: usize = 64;

/// The share of a device's memory that copies of tensors may take which are kept for the next time.
pub(crate) const KEPT_SHARE: f64 = 0.5;

/// Rows and stored elements of each thread, where parts are intervals of these.
pub(crate) const ITEMS_PER_THREAD: u64 = 8;

/// Stored elements of each thread, where parts of rows of several operands are searched: more, because a search takes
/// as long as some dozens of elements. A guess.
pub(crate) const MERGED_PER_THREAD: u64 = 64;

/// Parts whose sums a warp adds together, where parts leave sums for others.
pub(crate) const ADDED_TOGETHER: u64 = WARP as u64;

/// Structures of which ranges and longest rows are remembered, for each plan.
pub(crate) const STRUCTURES: usize = 256;

/// Whether the longest row would keep its threads busy much longer than others theirs.
pub(crate) fn is_skewed(mean: f64, longest: i64) -> bool {
    longest as f64 > (16.0 * mean).max(256.0)
}

// What a run is expected to take, for `auto`. Guesses of 30 November 2026, on the side of the processor.

/// Bytes that the bus between host and device moves in a nanosecond.
pub(crate) const BUS_BYTES_PER_NS: f64 = 12.5;

/// Nanoseconds of a copy to or from the device, beside its bytes.
pub(crate) const COPY_NS: f64 = 10_000.0;

/// Nanoseconds of a launch.
pub(crate) const LAUNCH_NS: f64 = 5_000.0;

/// Launches, and waits for them, of a result at known positions.
pub(crate) const LAUNCHES_IN_PLACE: f64 = 3.0;

/// The same of a result whose rows are counted first.
pub(crate) const LAUNCHES_OF_ROWS: f64 = 12.0;

/// Bytes a second that move within a device that does not tell its memory's clock.
pub(crate) const BANDWIDTH: f64 = 500e9;

/// Clock of a device that does not tell it.
pub(crate) const CLOCK_GHZ: f64 = 1.0;

/// Cycles of a multiprocessor for an iteration of the innermost loop, with as many threads as it can have.
pub(crate) const CYCLES_PER_ITERATION: f64 = 0.5;

/// Nanoseconds of an iteration of the innermost loop in a thread, if nothing else hides what it waits for.
pub(crate) const LATENCY_NS: f64 = 100.0;

/// Nanoseconds to convert a stored element in the memory of the host.
pub(crate) const CONVERT_ENTRY_NS: f64 = 10.0;

/// Nanoseconds to sort a row of a result in the memory of the host.
pub(crate) const SORT_ROW_NS: f64 = 60.0;

/// Nanoseconds to compile the kernels of a plan.
pub(crate) const COMPILE_NS: f64 = 200e6;

/// Nanoseconds to load kernels that were compiled before.
pub(crate) const LOAD_NS: f64 = 1e6;

/// Runs after which compiling has to have paid, for kernels that nobody asked for.
pub(crate) const COMPILE_PAYS_RUNS: f64 = 100.0;

/// Expressions that asked for data which are not on the device, before their copy is charged as that of as many runs:
/// by then, the processor has lost as much time as the copy takes, if the device gains by a copy at all.
pub(crate) const COPIED_RUNS: u32 = 16;

/// The share of a device's memory that operands and result may take, for kernels that nobody asked for.
pub(crate) const OFFERED_SHARE: f64 = 0.25;

/// Bytes of working memory of a product of cuBLASLt, at most: what NVIDIA recommends for devices of compute capability
/// 9.0.
pub(crate) const BLAS_WORKSPACE: usize = 32 << 20;
