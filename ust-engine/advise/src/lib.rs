//! Which format suits a tensor: what it looks like, what formats would take, and what they take.
//!
//! [`advise`] looks at a tensor once ([`stats()`]), estimates bytes and time of every format in a
//! [`catalogue()`], measures the promising ones in an operation, and ranks them.
//!
//! ```
//! use std::time::Duration;
//! use ust::{Tensor, advise};
//!
//! let entries = ust::generate::generate("banded(2000, diagonals=3)")?;
//! let a = Tensor::from_coo(&entries, "COO")?;
//! let options = advise::Options { budget: Duration::from_millis(50), ..Default::default() };
//! let advice = advise::advise(&a, &options)?;
//! assert_eq!(advice.operation, "y(i) = A(i,j) * x(j)");
//! println!("store it as {}: {}", advice.best().text, advice.summary());
//! let better = a.convert(&advice.best().format)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what |
//! |---|---|
//! | `stats` | what a tensor looks like |
//! | `structure` | what a tensor is: rows, symmetry, bandwidth, diagonal |
//! | `distinct` | how many different coordinates there are: one pass for all estimates |
//! | `catalogue` | the formats that compete: named ones, and what level types offer |
//! | `predict` | bytes and time, estimated |
//! | `operation` | the operation, and operands for it |
//! | `measure`, `leaders` | the contest, and its last part |
//! | `turns` | times measured in turns, and what they say |
//! | `timed` | a kernel, and how it is timed |
//! | `bench` | formats beside each other in several operations |
//! | `load` | how busy others keep the machine |
//! | `splits` | sums of parts in different formats |
//! | `advice` | what was found out, ranked |
//! | `words` | what the numbers mean |

mod advice;
mod bench;
mod catalogue;
mod distinct;
mod leaders;
mod load;
mod measure;
mod numbers;
mod operation;
mod predict;
mod splits;
mod stats;
mod structure;
mod timed;
mod turns;
mod words;

use std::fmt;
use std::time::{Duration, Instant};

pub use advice::{Advice, DISTURBED, Measured, Row};
pub use bench::{Bench, BenchRow, Timing, bench, default_operations};
pub use catalogue::{Candidate, LeftOut, Origin, catalogue};
pub use operation::default_operation;
pub use predict::Prediction;
pub use splits::{Split, compositions};
pub use stats::stats;
pub use structure::{Matrix, Numbers, Structure, Symmetry, structure};
pub use ust_level_api::stats::{Blocks, Diagonals, Spread, TensorStats as Stats};

use self::load::Load;
use self::measure::{Contender, Contest};
use self::operation::Operation;
use self::predict::{Census, ValueBytes};
use ust_engine::coo::Coo;
use ust_engine::error::Error;
use ust_engine::ops::{Cancelled, OpError};
use ust_engine::tensor::Tensor;
use ust_engine::tensor::memory::default_limit;

/// Splits are measured until this share of the budget is spent.
const SPLITS_UNTIL: f64 = 0.95;

/// Told what is being measured, and which part of the budget is spent.
pub type Progress<'a> = &'a dyn Fn(&str, f64);

/// What is asked for.
#[derive(Clone)]
pub struct Options<'a> {
    /// The operation, in index notation; [`default_operation`] without it. The tensor is its
    /// operand `A`, or the first one of its rank that is not given.
    pub operation: Option<String>,
    /// Other operands by name. Those that are missing are dense, with 32 coordinates for each index
    /// that nothing else has.
    pub operands: Vec<(String, Tensor)>,
    /// Threads for the operation, at most. Without it there are as many as find a core that others leave free.
    pub threads: Option<usize>,
    /// How long all of it may take, about: what is begun is finished, and the tensor as it is stored now and in formats
    /// that most libraries have is measured in any case.
    pub budget: Duration,
    /// Bytes that the tensor may take in a format, and all formats that are held at a time.
    pub memory_limit: u64,
    /// Called before each measurement.
    pub progress: Option<Progress<'a>>,
}

impl Default for Options<'_> {
    /// The default operation, 20 seconds, and [`default_limit`] bytes.
    fn default() -> Self {
        Self {
            operation: None,
            operands: Vec::new(),
            threads: None,
            budget: Duration::from_secs(20),
            memory_limit: default_limit(),
            progress: None,
        }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("operation", &self.operation)
            .field("budget", &self.budget)
            .field("memory_limit", &self.memory_limit)
            .finish_non_exhaustive()
    }
}

/// Why there is no advice.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AdviseError {
    /// The operation cannot be read, or not be done with the tensor.
    #[error(transparent)]
    Operation(#[from] OpError),
    /// The tensor cannot be looked at or converted.
    #[error(transparent)]
    Tensor(#[from] Error),
    /// A tensor without dimensions.
    #[error("a scalar is stored in one way only: there is nothing to advise")]
    Scalar,
    /// The operation has no operand that the tensor can be.
    #[error(
        "`{operation}` has no operand for a tensor of rank {rank}: call it `A`, with {rank} indices"
    )]
    NoPlace {
        /// The operation.
        operation: String,
        /// The rank of the tensor.
        rank: usize,
    },
    /// The operation changes what is there.
    #[error("`{operation}` updates its result, which cannot be repeated: write `=`")]
    Update {
        /// The operation.
        operation: String,
    },
    /// A tensor was given that the operation does not have.
    #[error("`{operation}` has no operand `{name}`: it has {}", known.join(", "))]
    Stranger {
        /// The operation.
        operation: String,
        /// The name given.
        name: String,
        /// The names it has.
        known: Vec<String>,
    },
}

ust_level_api::debug_shows_message!(AdviseError);

impl From<Cancelled> for AdviseError {
    fn from(cancelled: Cancelled) -> Self {
        Self::Tensor(cancelled.into())
    }
}

/// Finds the format in which a tensor is fastest in an operation.
///
/// Duplicates are summed first. Where the operation names a semiring, the tensor is converted as
/// [an operand of it](ust_engine::ops::Semiring::operand), and so it should be by whoever follows the
/// advice. Formats are measured in turns, round after round, and of the times of each those near the least count: others
/// on the machine only add to them. Of the formats that are as fast as the fastest, within 5 percent or what
/// measurements can tell, the one recommended is what there is now, else one that most libraries have, else the one with
/// the fewest bytes. [`Advice::ties`] has the others.
///
/// # Errors
/// [`AdviseError`]: an operation that cannot be read or done, or a tensor that memory does not hold
/// twice.
pub fn advise(tensor: &Tensor, options: &Options<'_>) -> Result<Advice, AdviseError> {
    let rank = tensor.rank();
    if rank == 0 {
        return Err(AdviseError::Scalar);
    }
    let (began, before) = (Instant::now(), Load::now());
    let progress: Progress<'_> = options.progress.unwrap_or(&|_, _| {});
    let text = options.operation.clone().unwrap_or_else(|| default_operation(rank));
    let limit = options.memory_limit;
    let threads = options.threads.or_else(|| load::free_threads(options.budget));
    let operation = Operation::new(&text, tensor, &options.operands, threads, limit)?;
    progress("what the tensor looks like", 0.0);
    let (stats, coo) = operation.within(|| stats::look(tensor))?;
    let source = operation.source(tensor, &stats)?;
    let is_sum = operation.semiring.is_none() && source.fill().same(&source.dtype().zero());
    let proposed = if is_sum { splits::proposed(&stats, &coo) } else { Vec::new() };
    let values = ValueBytes { each: stats.value_bytes, iso: source.is_iso() };
    let (contenders, left_out) =
        operation.within(|| field(&source, &stats, &coo, &operation.load(), limit))?;
    drop(coo);
    let mut contest =
        Contest::new((&source, &operation), (contenders, left_out), options, began, progress);
    contest.run()?;
    let best = contest.best_tensor().unwrap_or(&source).clone();
    let Contest { contenders, mut left_out, .. } = contest;
    let mut splits = Vec::new();
    for text in proposed {
        // The most promising one is measured in any case.
        if !splits.is_empty() && began.elapsed() > options.budget.mul_f64(SPLITS_UNTIL) {
            left_out.push(LeftOut { text, reason: "there was no time to measure it".to_owned() });
            continue;
        }
        progress(&text, 1.0);
        match splits::measured(&text, &source, &best, &operation, options.budget) {
            Ok(split) => splits.extend(split),
            Err(error) => {
                left_out.push(LeftOut { text, reason: measure::first_line(&error.to_string()) });
            }
        }
    }
    splits.sort_by(|a: &Split, b| a.relative.total_cmp(&b.relative));
    let rows = advice::ranked(contenders, &left_out, &stats, values);
    let Operation { text, name, .. } = operation;
    let others = before.zip(Load::now()).and_then(|(then, now)| now.of_others_since(then));
    Ok(Advice { stats, operation: text, operand: name, rows, splits, left_out, others, threads })
}

/// The formats that compete, with estimates: first the one that the tensor has; and those left out.
fn field(
    source: &Tensor,
    stats: &Stats,
    coo: &Coo,
    load: &predict::Load,
    limit: u64,
) -> Result<(Vec<Contender>, Vec<LeftOut>), Error> {
    let (mut candidates, mut left_out) = catalogue(stats);
    let is_usual = |candidate: &Candidate| candidate.usual && candidate.format == *source.format();
    let usual = candidates.iter().any(is_usual);
    candidates.retain(|candidate| candidate.format != *source.format());
    let format = source.format().clone();
    let text = match (format.pos_width(), format.crd_width()) {
        (0, 0) => format.name(),
        _ => None,
    };
    let text = text.unwrap_or_else(|| format.to_string());
    candidates.insert(0, Candidate { text, format, origin: Origin::Now, usual });
    let values = ValueBytes { each: stats.value_bytes, iso: source.is_iso() };
    let census = Census::new(coo, candidates.iter().map(|candidate| &candidate.format));
    let mut contenders = Vec::new();
    for candidate in candidates {
        let bound = census.bind(&candidate.format, source.shape()).map_err(Error::from)?;
        let sizes = census.sizes(&bound, values);
        let prediction = sizes.predict(load);
        let is_now = candidate.origin == Origin::Now;
        if prediction.bytes > limit as f64 && !is_now {
            let reason = words::too_large(prediction.bytes, limit);
            left_out.push(LeftOut { text: candidate.text, reason });
            continue;
        }
        let narrow = catalogue::narrowed(&candidate, &bound, &sizes);
        let base = contenders.len();
        contenders.push(Contender::new(candidate, prediction, None));
        for candidate in narrow {
            let bound = census.bind(&candidate.format, source.shape()).map_err(Error::from)?;
            let prediction = census.sizes(&bound, values).predict(load);
            // What saves next to nothing is another name for the same.
            if prediction.bytes < 0.99 * contenders[base].prediction.bytes
                && contenders.iter().all(|known| known.candidate.format != candidate.format)
            {
                contenders.push(Contender::new(candidate, prediction, Some(base)));
            }
        }
    }
    Ok((contenders, left_out))
}
