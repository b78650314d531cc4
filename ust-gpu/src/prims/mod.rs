//! The parallel primitives that sparse results and conversions on a device stand on.
//!
//! [`Primitives`] runs them on a stream. Each is CUDA C++ in a file beside its host functions, compiled once for
//! each type of element that is asked for. Nothing waits for the device but functions that return numbers, and
//! that say so. What is allocated comes from the stream's pool; arguments are never changed unless a function
//! says so, so that an error, memory that runs out included, loses nothing.
//!
//! All results are the same, bit by bit, on every run and on every device that computes alike: work is cut by
//! the number of elements alone, and atomic operations are done on integers only.
//!
//! | file | what it holds |
//! |---|---|
//! | `column.rs` | [`Column`] and [`Indices`]: arrays of indices; [`Misfit`]: what did not fit |
//! | `grid.cuh`, `block.cuh` | threads of the grid that share elements; a block of threads that combines in order |
//! | `scan.rs`, `scan.cuh` | sums of all elements before each |
//! | `sort.rs`, `sort.cuh` | a stable radix sort, of one column or of several |
//! | `copy.rs`, `copy.cuh` | gather, scatter, fill, numbers in order, other kinds of indices |
//! | `select.rs`, `select.cuh` | runs of equal coordinates, and elements chosen by flags |
//! | `combine.rs`, `combine.cuh`, `compare.cuh`, `round.cuh` | values of a run combined into one; compared with one; rounded |
//! | `assemble.rs`, `assemble.cuh` | positions in full levels, pairs of bounds, groups of coordinates |
//! | `bins.rs`, `bins.cuh` | numbers sorted by their size |
//! | `segments.rs`, `segments.cuh` | positions to coordinates and back; longest segments, least coordinates |

mod assemble;
mod bins;
mod column;
mod combine;
#[cfg(test)]
mod compiled;

mod copy;
mod scan;
mod segments;
mod select;

mod sort;

use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

pub use bins::{Bins, Least};
pub use column::{Column, Indices, Misfit};
pub use combine::Combination;
pub use segments::SegmentLengths;
pub use select::Selection;

use ust_cuda::{CudaError, Grid, Kernel, Memory, Source, Stream};

use crate::prelude::{self, Sections};

/// The result of everything here.
type Result<T> = std::result::Result<T, CudaError>;

/// Threads of a block. Texts are written for 256, which is also the number of digits of the sort.
const THREADS: u32 = 256;
/// Elements of a tile for each thread. It is odd, so that threads which read their elements one after another
/// find them in different banks of shared memory.
const ITEMS: u32 = 9;
/// Elements that a block scans at a time.
const TILE: usize = (THREADS * ITEMS) as usize;
/// Most blocks that share work: some for each place of every multiprocessor there is, so that the last ones do not
/// leave many idle; and few enough for one block to combine what each found.
const MOST_BLOCKS: usize = 4096;

/// The texts, each with the sections of the prelude that it needs.
#[derive(Clone, Copy)]
struct Text {
    sections: Sections,
    body: &'static str,
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
enum Word<'a> {
    Memory(&'a Memory),
    Number(u64),
}

impl<'a> From<&'a Memory> for Word<'a> {
    fn from(memory: &'a Memory) -> Self {
        Self::Memory(memory)
    }
}

impl From<usize> for Word<'_> {
    fn from(number: usize) -> Self {
        Self::Number(number as u64)
    }
}

impl From<u64> for Word<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<i64> for Word<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number.cast_unsigned())
    }
}

/// No memory.
const NONE: Word<'_> = Word::Number(0);

/// The primitives on a stream, with the kernels that were compiled so far.
pub struct Primitives {
    stream: Stream,
    most_blocks: usize,
    kernels: Mutex<HashMap<(String, &'static str), Kernel>>,
}

impl Primitives {
    /// Primitives on a stream. Nothing is compiled before it is used.
    #[must_use]
    pub fn new(stream: &Stream) -> Self {
        Self { stream: stream.clone(), most_blocks: MOST_BLOCKS, kernels: Mutex::default() }
    }

    /// Lets at most so many blocks share work, instead of 4096. Sums of floating-point numbers may have other bits
    /// then.
    #[must_use]
    pub fn with_most_blocks(self, most_blocks: NonZeroUsize) -> Self {
        Self { most_blocks: most_blocks.get().min(MOST_BLOCKS), ..self }
    }

    /// The stream that they run on.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// A kernel of a text below `head`, lines that name the types of its elements.
    fn kernel(&self, text: Text, head: String, name: &'static str) -> Result<Kernel> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (head, name);
        if let Some(kernel) = kernels.get(&key) {
            return Ok(kernel.clone());
        }
        let source = Source::new(whole(text, &key.0));
        let kernel = self.stream.device().module(&source)?.kernel(name)?;
        kernels.insert(key, kernel.clone());
        Ok(kernel)
    }

    /// Runs a kernel with so many blocks.
    fn run(
        &self,
        (text, head, name): (Text, String, &'static str),
        blocks: u32,
        arguments: &[Word<'_>],
    ) -> Result<()> {
        let kernel = self.kernel(text, head, name)?;
        let memories = || {
            arguments.iter().filter_map(|argument| match argument {
                Word::Memory(memory) => Some(*memory),
                Word::Number(_) => None,
            })
        };
        if memories().any(|memory| memory.device() != self.stream.device()) {
            return Err(refusal("memory of another device than the stream's"));
        }
        let others = || memories().filter_map(Memory::stream).filter(|other| self.is_other(other));
        for other in others() {
            self.stream.wait_for(other)?;
        }
        memories().for_each(|memory| memory.used_in(&self.stream));
        let word = |argument: &Word<'_>| match *argument {
            Word::Memory(memory) => memory.address(),
            Word::Number(number) => number,
        };
        let words: Vec<u64> = arguments.iter().map(word).collect();
        crate::run_kernel(&kernel, Grid::new(blocks, THREADS), &words, &self.stream)?;
        others().try_for_each(|other| other.wait_for(&self.stream))
    }

    /// How many blocks share `length` elements, by steps of the whole grid: some for each thread.
    fn spread(&self, length: usize) -> u32 {
        length.div_ceil(THREADS as usize * 4).clamp(1, self.most_blocks) as u32
    }

    /// How elements are cut into pieces of whole tiles, one for each block: the length of a piece, and how many
    /// there are, at least one.
    fn pieces(&self, length: usize, tile: usize) -> (usize, u32) {
        let piece = length.div_ceil(tile).div_ceil(self.most_blocks).max(1) * tile;
        (piece, length.div_ceil(piece).max(1) as u32)
    }

    fn is_other(&self, stream: &Stream) -> bool {
        stream.handle() != self.stream.handle()
    }
}

impl fmt::Debug for Primitives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Primitives({:?})", self.stream)
    }
}

/// A text with all that it needs.
fn whole(text: Text, head: &str) -> String {
    let mut all = prelude::text(text.sections);
    let _ = writeln!(all, "[[maybe_unused]] constexpr int THREADS = {THREADS}, ITEMS = {ITEMS};");
    all + head + text.body
}

/// Lines that name types. Kernels of a text that are not asked for see bytes.
fn types<const N: usize>(named: [(&str, &str); N]) -> String {
    let mut lines = String::new();
    for name in ["From", "To", "Place", "Element", "Coordinate"] {
        let found = named.iter().find(|(named, _)| *named == name);
        let _ = writeln!(lines, "typedef {} {name};", found.map_or("u8", |(_, ty)| ty));
    }
    lines
}

/// The type of elements of so many bytes that are moved only.
fn moved(bytes: usize) -> Result<&'static str> {
    Ok(match bytes {
        1 => "u8",
        2 => "u16",
        4 => "u32",
        8 => "u64",
        16 => "struct alignas(16) { u64 low, high; }",
        _ => return Err(refusal(format!("an element of {bytes} bytes"))),
    })
}

fn refusal(message: impl Into<String>) -> CudaError {
    CudaError::Argument(message.into())
}

/// So many elements of so many bytes, in bytes.
fn bytes(length: usize, width: usize) -> Result<usize> {
    let whole = length.checked_mul(width).filter(|&bytes| i64::try_from(bytes).is_ok());
    whole.ok_or(CudaError::OutOfMemory { bytes: usize::MAX })
}

/// Whether a memory has so many elements of so many bytes.
fn has(memory: &Memory, length: usize, width: usize) -> Result<()> {
    match bytes(length, width)? <= memory.len() {
        true => Ok(()),
        false => Err(refusal(format!(
            "{length} elements of {width} bytes in a memory of {} bytes",
            memory.len()
        ))),
    }
}
