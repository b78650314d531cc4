//! Formats beside each other in several operations.

use std::time::Instant;

use ust_engine::ops::OpError;
use ust_engine::tensor::{Tensor, Values};
use ust_format::Format;

use super::load::{self, Load};
use super::measure::{Contest, Heat, first_line};
use super::operation::{Operation, default_operation};
use super::timed::Timed;
use super::{AdviseError, LeftOut, Options, Stats, catalogue, field, stats, turns};

/// Formats that nobody asks for, beside those that most libraries have.
const MORE: usize = 4;
/// Rounds, at least and at most.
const ROUNDS: (usize, usize) = (5, 300);

/// Told the format that is being measured.
type Told<'a> = &'a dyn Fn(&str);

/// Formats beside each other.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The operations.
    pub operations: Vec<String>,
    /// The formats. The first is what others are compared with.
    pub rows: Vec<BenchRow>,
    /// Formats that could not be measured, and why.
    pub left_out: Vec<LeftOut>,
    /// The cores that others kept busy meanwhile, on the average, where the system tells it.
    pub others: Option<f64>,
    /// As [`Advice::threads`](super::Advice::threads).
    pub threads: Option<usize>,
}

/// A format in all operations.
#[derive(Clone, Debug)]
pub struct BenchRow {
    /// Its name, or text.
    pub text: String,
    /// Bytes of values and level arrays.
    pub bytes: usize,
    /// Seconds to convert the tensor from the format it has now.
    pub convert_seconds: f64,
    /// For each operation, what it took.
    pub timings: Vec<Timing>,
}

/// What an operation took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The median of the seconds.
    pub seconds: f64,
    /// How far the middle half of them reaches, as a share of the least.
    pub spread: f64,
    /// How often it was measured.
    pub rounds: usize,
    /// The median as a multiple of the first format's.
    pub ratio: f64,
}

/// What is done by default with a tensor of this rank: of a matrix, products with a vector, with 32 vectors, and of the
/// transpose with a vector.
#[must_use]
pub fn default_operations(rank: usize) -> Vec<String> {
    let mut all = vec![default_operation(rank)];
    if rank == 2 {
        all.extend(["C(i,k) = A(i,j) * B(j,k)", "y(j) = A(i,j) * x(i)"].map(str::to_owned));
    }
    all
}

/// Measures formats in operations, all formats in turns. Without formats: those that most libraries have, and a few more
/// that are expected to be quick. The operation of the options does not count.
///
/// ```
/// use std::time::Duration;
/// use ust::{Tensor, advise};
///
/// let a = Tensor::from_coo(&ust::generate::generate("poisson2d(20)")?, "CSR")?;
/// let options = advise::Options { budget: Duration::from_millis(50), ..Default::default() };
/// let formats = ["CSR", "DIA"].map(str::to_owned);
/// let bench = advise::bench(&a, &formats, &advise::default_operations(2), &options)?;
/// assert_eq!((bench.rows.len(), bench.rows[0].timings[0].ratio), (2, 1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`advise`](super::advise()).
pub fn bench(
    tensor: &Tensor,
    formats: &[String],
    operations: &[String],
    options: &Options<'_>,
) -> Result<Bench, AdviseError> {
    if tensor.rank() == 0 {
        return Err(AdviseError::Scalar);
    }
    let (before, limit) = (Load::now(), options.memory_limit);
    let threads = options.threads.or_else(|| load::free_threads(options.budget));
    let (looks, coo) = stats::look(tensor)?;
    let resolved = |text: &String| {
        let format = Format::resolve(text, Some(tensor.rank()));
        Ok((text.clone(), format.map_err(ust_engine::Error::from)?))
    };
    let mut table = Table {
        rows: Vec::new(),
        left_out: Vec::new(),
        formats: formats.iter().map(resolved).collect::<Result<_, AdviseError>>()?,
    };
    for (at, text) in operations.iter().enumerate() {
        let began = Instant::now();
        let operation = Operation::new(text, tensor, &options.operands, threads, limit)?;
        let source = operation.source(tensor, &looks)?;
        if table.formats.is_empty() {
            let entrants = field(&source, &looks, &coo, &operation.load(), limit)?;
            let contest = Contest::new((&source, &operation), entrants, options, began, &|_, _| {});
            table.formats = selected(&contest, &looks);
        }
        let count = operations.len() as f64;
        let budget = options.budget.as_secs_f64() / count;
        let told = |text: &str| {
            let share = began.elapsed().as_secs_f64() / budget.max(1e-9);
            if let Some(progress) = options.progress {
                progress(text, ((at as f64 + share.min(1.0)) / count).min(1.0));
            }
        };
        table.measure(&operation, &source, (began, budget), &told)?;
    }
    let others = before.zip(Load::now()).and_then(|(then, now)| now.of_others_since(then));
    let Table { rows, left_out, .. } = table;
    Ok(Bench { operations: operations.to_vec(), rows, left_out, others, threads })
}

/// What most libraries have and what there is now, in the order of the catalogue; then what is expected to be quick.
fn selected(contest: &Contest<'_>, looks: &Stats) -> Vec<(String, Format)> {
    let (known, _) = catalogue(looks);
    let format = |at: usize| &contest.contenders[at].candidate.format;
    let place = |&at: &usize| {
        let found = known.iter().position(|candidate| candidate.format == *format(at));
        found.unwrap_or(usize::MAX)
    };
    let mut first: Vec<usize> = contest.usual().into_iter().chain([0]).collect();
    first.sort_by_key(place);
    let mut more = contest.order(Heat::Families);
    more.retain(|at| !first.contains(at));
    let of = |at: usize| (contest.contenders[at].candidate.text.clone(), format(at).clone());
    first.into_iter().chain(more.into_iter().take(MORE)).map(of).collect()
}

/// What is measured so far.
struct Table {
    formats: Vec<(String, Format)>,
    rows: Vec<BenchRow>,
    left_out: Vec<LeftOut>,
}

/// A format, ready to be measured.
struct Ready {
    tensor: Tensor,
    timed: Timed,
    convert_seconds: f64,
    times: Vec<f64>,
}

impl Ready {
    fn new(
        operation: &Operation,
        source: &Tensor,
        format: &Format,
        room: &mut Option<Values>,
    ) -> Result<Self, OpError> {
        let start = Instant::now();
        let tensor = operation.convert(source, format)?;
        let convert_seconds = start.elapsed().as_secs_f64();
        let (timed, _) = Timed::new(operation, &tensor, room)?;
        Ok(Self { tensor, timed, convert_seconds, times: Vec::new() })
    }
}

impl Table {
    /// Measures the formats in an operation, in turns. Those that cannot be measured are left out.
    fn measure(
        &mut self,
        operation: &Operation,
        source: &Tensor,
        (began, budget): (Instant, f64),
        told: Told<'_>,
    ) -> Result<(), OpError> {
        let mut room = None;
        let mut ready = Vec::new();
        let is_first = self.rows.is_empty();
        for (text, format) in std::mem::take(&mut self.formats) {
            told(&text);
            match Ready::new(operation, source, &format, &mut room) {
                Ok(one) => {
                    ready.push(one);
                    self.formats.push((text, format));
                }
                Err(error) => {
                    self.rows.retain(|row| row.text != text);
                    self.left_out.push(LeftOut { text, reason: first_line(&error.to_string()) });
                }
            }
        }
        for round in 0..ROUNDS.1 {
            if round >= ROUNDS.0 && began.elapsed().as_secs_f64() > budget {
                break;
            }
            for (one, (text, _)) in ready.iter_mut().zip(&self.formats) {
                told(text);
                one.times.push(one.timed.seconds(operation, &one.tensor, &mut room)?);
            }
        }
        let reference = ready.first().map_or(f64::INFINITY, |one| turns::median(&one.times));
        for (at, one) in ready.into_iter().enumerate() {
            if is_first {
                let (text, bytes) = (self.formats[at].0.clone(), one.tensor.bytes());
                let (convert_seconds, timings) = (one.convert_seconds, Vec::new());
                self.rows.push(BenchRow { text, bytes, convert_seconds, timings });
            }
            let seconds = turns::median(&one.times);
            let (spread, rounds) = (turns::spread(&one.times), one.times.len());
            let ratio = seconds / reference;
            self.rows[at].timings.push(Timing { seconds, spread, rounds, ratio });
        }
        Ok(())
    }
}
