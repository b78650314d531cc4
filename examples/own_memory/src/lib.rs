//! Back end `own-memory`: an example of a back end that keeps tensors in memory of its own, as one for a
//! device does.
//!
//! Operands are copied there when they are first used, and found there again as long as the tensor lives.
//! Results at known positions stay there: they are copied back when somebody looks at them. Here, the memory
//! "there" is that of this process, and the loops run in the interpreter. What a plan says decides
//! everything: which array is bound to what, and how long it is.
#![forbid(unsafe_code)]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ust::level_api::ir::Elem;
use ust::level_api::ir::interp::{GrowValues, Memory, Param, Program};
use ust::level_api::{Arrays, Dtype, IndexColumn, IndexKind, inventory};
use ust::provider::plan::{Array, Facts, storing};
use ust::provider::{Call, Cuts, Executable, Offer, Plan, Provider, Registration};
use ust::tensor::Values;
use ust::{Error, Scalar, Tensor};

/// Number of times that level arrays of a tensor were copied there.
pub static LEVELS_SENT: AtomicUsize = AtomicUsize::new(0);
/// Number of times that values of a tensor were copied there.
pub static VALUES_SENT: AtomicUsize = AtomicUsize::new(0);
/// Number of results whose values were copied back.
pub static FETCHED: AtomicUsize = AtomicUsize::new(0);

struct OwnMemory;

inventory::submit!(Registration(&OwnMemory));

impl Provider for OwnMemory {
    fn name(&self) -> &'static str {
        "own-memory"
    }

    fn summary(&self) -> &'static str {
        "an example: tensors are kept in memory of its own"
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match is_suitable(plan.facts) {
            true => Offer::OnRequest("it is an example".to_owned()),
            false => Offer::Refused(UNSORTED.to_owned()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        if !is_suitable(plan.facts) {
            return Err(Error::Unsupported(UNSORTED.to_owned()));
        }
        let block =
            plan.facts.rows.as_ref().map(|rows| storing(vec![rows.block.clone()], plan.function));
        Ok(Box::new(Loops {
            program: Program::compile(plan.function)?,
            block: block.map(|block| Program::compile(&block)).transpose()?,
            elems: plan.function.arrays.iter().map(|array| array.elem).collect(),
            facts: plan.facts.clone(),
            fill: plan.result.fill,
        }))
    }
}

const UNSORTED: &str = "it does not sort rows";

fn is_suitable(facts: &Facts) -> bool {
    facts.rows.as_ref().is_none_or(|rows| rows.sorted)
}

/// Level arrays there.
struct LevelsThere(Vec<Arrays>);

/// Values there.
struct ValuesThere(Values);

/// The level arrays of a tensor, copied unless they are there.
fn levels_there(tensor: &Tensor) -> Arc<LevelsThere> {
    let kept = tensor.kept_of_levels();
    kept.get().unwrap_or_else(|| {
        LEVELS_SENT.fetch_add(1, Ordering::Relaxed);
        let there = Arc::new(LevelsThere(tensor.levels().to_vec()));
        let bytes = tensor.levels().iter().map(Arrays::bytes).sum::<usize>();
        kept.keep(Arc::clone(&there), bytes as u64);
        there
    })
}

/// The values of a tensor, copied unless they are there.
fn values_there(tensor: &Tensor) -> Arc<ValuesThere> {
    let kept = tensor.kept_of_values();
    kept.get().unwrap_or_else(|| {
        VALUES_SENT.fetch_add(1, Ordering::Relaxed);
        let there = Arc::new(ValuesThere(tensor.values().clone()));
        kept.keep(Arc::clone(&there), tensor.values().bytes() as u64);
        there
    })
}

/// Loops, compiled.
struct Loops {
    program: Program,
    /// Stores the number of values of a row.
    block: Option<Program>,
    /// The type of the elements of each array.
    elems: Vec<Elem>,
    facts: Facts,
    fill: Scalar,
}

/// Memory that loops write.
enum Written {
    Values(Values),
    GrowingValues(GrowValues),
    U32(Vec<u32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
}

impl Written {
    /// Memory for an array of the loops: of this length, or growing if there is none.
    fn new(elem: Elem, length: Option<usize>, fill: Scalar) -> Self {
        match (elem, length) {
            (Elem::Value(_), Some(length)) => Self::Values(Values::filled(fill, length)),
            (Elem::Value(dtype), None) => Self::GrowingValues(GrowValues::new(dtype)),
            (Elem::Index(IndexKind::U32), length) => Self::U32(vec![0; length.unwrap_or(0)]),
            (Elem::Index(IndexKind::I32), length) => Self::I32(vec![0; length.unwrap_or(0)]),
            (Elem::Index(_), length) => Self::I64(vec![0; length.unwrap_or(0)]),
        }
    }

    /// An array of fixed length may be given as memory that grows.
    fn memory(&mut self) -> Memory<'_> {
        match self {
            Self::Values(values) => values.memory_mut(),
            Self::GrowingValues(values) => Memory::Grow(values),
            Self::U32(indices) => Memory::Grow(indices),
            Self::I32(indices) => Memory::Grow(indices),
            Self::I64(indices) => Memory::Grow(indices),
        }
    }

    /// The first `len` indices.
    fn indices(self, len: usize) -> Vec<i64> {
        let mut indices: Vec<i64> = match self {
            Self::U32(indices) => indices.into_iter().map(i64::from).collect(),
            Self::I32(indices) => indices.into_iter().map(i64::from).collect(),
            Self::I64(indices) => indices,
            Self::Values(_) | Self::GrowingValues(_) => Vec::new(),
        };
        indices.truncate(len);
        indices
    }
}

impl Loops {
    fn run_there(&self, call: &Call<'_>) -> Result<Tensor, Error> {
        if call.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let there = |tensor: &&Tensor| (levels_there(tensor), values_there(tensor));
        let there: Vec<_> = call.operands().iter().map(there).collect();
        let mut operands: Vec<Memory<'_>> = Vec::new();
        for array in &self.facts.arrays {
            operands.push(match *array {
                Array::Level { operand, level, array } => {
                    Memory::Index(&there[operand].0.0[level].0[array])
                }
                Array::Values(operand) => there[operand].1.0.memory(),
                _ => break,
            });
        }
        let params = call.parameters((i64::MIN, i64::MAX), 0);
        let block = self.block(&params, &mut operands)?;
        let count = operands.len();
        let arrays = self.facts.arrays.iter().zip(&self.elems).skip(count);
        let made =
            arrays.map(|(array, elem)| Written::new(*elem, call.length(*array, block), self.fill));
        let mut written: Vec<Written> = made.collect();
        let mut memory = operands;
        memory.extend(written.iter_mut().map(Written::memory));
        self.program.run(&params, &mut memory)?;
        drop(memory);
        match &self.facts.rows {
            None => stays_there(call, written.swap_remove(0)),
            Some(_) => self.rows(call, written.into_iter(), count, block),
        }
    }

    /// Number of values of a row.
    fn block(&self, params: &[Param], operands: &mut [Memory<'_>]) -> Result<usize, Error> {
        let Some(block) = &self.block else { return Ok(1) };
        let mut found = [0_i64];
        let mut memory: Vec<Memory<'_>> = operands.iter_mut().map(Memory::reborrow).collect();
        memory.push(Memory::indices_mut(&mut found[..]));
        block.run(params, &mut memory)?;
        drop(memory);
        usize::try_from(found[0]).map_err(|_| Error::TooLarge("a row of the result".to_owned()))
    }

    /// A result of rows. They are copied back at once.
    fn rows(
        &self,
        call: &Call<'_>,
        written: impl Iterator<Item = Written>,
        operands: usize,
        block: usize,
    ) -> Result<Tensor, Error> {
        let mut found: Vec<(Array, Option<Written>)> =
            self.facts.arrays[operands..].iter().copied().zip(written.map(Some)).collect();
        let mut take = |wanted: Array| {
            let (_, written) = found.iter_mut().find(|(array, _)| *array == wanted)?;
            written.take()
        };
        let counts = take(Array::RowCounts).expect("rows are counted").indices(2);
        let rows = counts[0] as usize;
        let columns = (0..call.result().format().tail()).map(|level| {
            let column = match take(Array::RowCoordinates(level)) {
                Some(column) => column.indices(rows),
                None => coordinates(take(Array::RowStarts), rows),
            };
            IndexColumn::from(column)
        });
        let columns = columns.collect();
        let values = match take(Array::RowValues) {
            Some(Written::GrowingValues(values)) => Values::grown(values, rows * block),
            _ => None,
        };
        let values =
            values.ok_or_else(|| Error::TooLarge("the values of the result".to_owned()))?;
        call.in_rows(columns, values)
    }
}

/// The coordinate of each row, given the first row of each coordinate.
fn coordinates(starts: Option<Written>, rows: usize) -> Vec<i64> {
    let starts = starts.map_or(Vec::new(), |starts| starts.indices(usize::MAX));
    let ends = starts.iter().skip(1).copied().chain([rows as i64]);
    let each = starts.iter().zip(ends).zip(0_i64..);
    each.flat_map(|((start, end), at)| std::iter::repeat_n(at, (end - start) as usize)).collect()
}

/// A result whose values stay there until somebody looks at them.
fn stays_there(call: &Call<'_>, written: Written) -> Result<Tensor, Error> {
    let Written::Values(values) = written else {
        return Err(Error::Unsupported("the result is no array of numbers".to_owned()));
    };
    let there = Arc::new(ValuesThere(values));
    let copy = Arc::clone(&there);
    let (dtype, length): (Dtype, usize) = (there.0.dtype(), there.0.len());
    let result = call.in_place(Values::deferred(dtype, length, move || {
        FETCHED.fetch_add(1, Ordering::Relaxed);
        Ok(copy.0.clone())
    }))?;
    let bytes = there.0.bytes() as u64;
    result.kept_of_values().keep(there, bytes);
    Ok(result)
}

impl fmt::Debug for Loops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Executable for Loops {
    fn call(&self, call: &Call<'_>) -> Option<Result<Tensor, Error>> {
        Some(self.run_there(call))
    }

    fn cuts(&self) -> Cuts {
        Cuts::Never
    }

    fn describe(&self) -> String {
        format!("{} instructions, on memory of its own", self.program.instructions())
    }
}
