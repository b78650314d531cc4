//! The loops of a conversion, which write columns.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ust_cuda::{Device, Grid, Memory, Source};
use ust_engine::provider::conversion::{Conversion, Loops};
use ust_engine::provider::plan::{Array, Facts, evaluated};
use ust_engine::schedule::{Abilities, Schedule};
use ust_engine::{Error, Format, Tensor};
use ust_level_api::ir::Function;
use ust_level_api::ir::interp::Param;
use ust_level_api::{IndexKind, Interval};

use super::choose::longest_row;
use super::{Arguments, BY_STORED, Given, Kernels, launch, length, stored_range, words};
use crate::gpu::Gpu;
use crate::print::{About, Program, Target};
use crate::there::{self, Levels, ValuesThere, device, width};
use crate::tuning::{BLOCK_THREADS, ITEMS_PER_THREAD, WRITERS, is_skewed, spread};

/// What the loops wrote.
pub(crate) struct Written {
    /// For each column, its elements.
    pub(crate) columns: Vec<(IndexKind, Memory)>,
    /// A byte for each stored value.
    pub(crate) mask: Option<Memory>,
}

/// Runs the loops of a conversion.
pub(crate) fn write_columns(
    conversion: &Conversion<'_>,
    loops: &Loops,
    (levels, values): (&Levels, &ValuesThere),
    gpu: &Gpu,
) -> Result<Written, Error> {
    let (tensor, stream) = (conversion.tensor(), gpu.stream());
    let (facts, function) = (conversion.facts(loops), loops.function());
    let params = loops.parameters(tensor, (i64::MIN, i64::MAX));
    let mut arrays = Vec::new();
    let mut written = Vec::new();
    for (array, declared) in facts.arrays.iter().zip(&function.arrays) {
        let (address, length) = match *array {
            Array::Level { level, array, .. } => {
                (levels.0[level][array].address(), tensor.levels()[level].0[array].len())
            }
            Array::Values(_) => (values.0.address(), tensor.nse()),
            _ => {
                let bytes = tensor.nse().checked_mul(width(declared.elem));
                let bytes = bytes.ok_or_else(|| Error::TooLarge("a column".to_owned()))?;
                let memory = there::alloc(bytes, stream).map_err(device)?;
                if *array == Array::Mask {
                    stream.zero(&memory).map_err(device)?;
                }
                written.push(memory);
                (written[written.len() - 1].address(), tensor.nse())
            }
        };
        arrays.push(Given { address, length });
    }
    run(conversion, (&facts, loops), (&params, arrays), gpu)?;
    let mask = loops.is_masked().then(|| written.pop()).flatten();
    let kinds = conversion.columns()?.into_iter().map(|column| column.kind);
    Ok(Written { columns: kinds.zip(written).collect(), mask })
}

/// The kernels: lanes share the innermost loop, which has the stored values of a part.
fn program(
    conversion: &Conversion<'_>,
    (facts, loops): (&Facts, &Loops),
    schedule: &Schedule,
) -> Result<Program, Error> {
    let grows = vec![false; loops.function().arrays.len()];
    let about = About::of_conversion(conversion);
    Program::new(schedule, facts, &grows, &about, Target::Spread).map_err(Error::Unsupported)
}

const LANES: Abilities = Abilities { lanes: true, combines_rows: false };

fn schedule((facts, loops): (&Facts, &Loops)) -> Result<Schedule, Error> {
    let schedule = Schedule::of(loops.function(), facts, false, LANES);
    schedule.map_err(|error| Error::Unsupported(error.to_string()))
}

/// The schedule of the loops in parts of equally many stored elements.
fn by_stored((facts, loops): (&Facts, &Loops)) -> Result<Option<Schedule>, Error> {
    let schedule = Schedule::of_by_stored(loops.function(), facts, LANES);
    schedule.map_err(|error| Error::Unsupported(error.to_string()))
}

/// The CUDA C++ of the kernel that writes the coordinates of all entries of a tensor into columns, the first step of
/// a conversion on a device. `None` if the tensor is converted on the host.
///
/// # Errors
/// [`Error::Format`] if shape and format do not match.
pub fn conversion_text(tensor: &Tensor, format: &Format) -> Result<Option<String>, Error> {
    let bound = format.bind(tensor.shape())?;
    let conversion = Conversion::new(tensor, &bound);
    let Some(loops) = conversion.loops()? else { return Ok(None) };
    let facts = conversion.facts(&loops);
    let schedule = schedule((&facts, &loops))?;
    Ok(Some(program(&conversion, (&facts, &loops), &schedule)?.text))
}

/// The kernels of loops. Those that were used last are kept: conversions between the same formats have the same loops.
struct Writer {
    function: Function,
    /// What is known of the loops follows from them and from the format.
    format: Format,
    device: Device,
    by_rows: (Schedule, Kernels),
    /// Made for the first tensor with a long row.
    by_stored: OnceLock<Option<(Schedule, Kernels)>>,
}

impl Writer {
    fn of(
        conversion: &Conversion<'_>,
        (facts, loops): (&Facts, &Loops),
        device: &Device,
    ) -> Result<Arc<Self>, Error> {
        static LAST: Mutex<Vec<Arc<Writer>>> = Mutex::new(Vec::new());
        let (function, format) = (loops.function(), conversion.tensor().format());
        let is_same = |one: &Arc<Self>| {
            one.device == *device && one.format == *format && one.function == *function
        };
        let lock = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let found = {
            let mut last = lock();
            last.iter().position(is_same).map(|at| last.remove(at))
        };
        let writer = match found {
            Some(writer) => writer,
            None => {
                let schedule = schedule((facts, loops))?;
                let kernels = kernels(conversion, (facts, loops), &schedule, device)?;
                Arc::new(Self {
                    function: function.clone(),
                    format: format.clone(),
                    device: device.clone(),
                    by_rows: (schedule, kernels),
                    by_stored: OnceLock::new(),
                })
            }
        };
        let mut last = lock();
        last.insert(0, Arc::clone(&writer));
        last.truncate(WRITERS);
        Ok(writer)
    }

    fn by_stored(
        &self,
        conversion: &Conversion<'_>,
        (facts, loops): (&Facts, &Loops),
    ) -> Result<Option<&(Schedule, Kernels)>, Error> {
        if self.by_stored.get().is_none() {
            let made = match by_stored((facts, loops))? {
                Some(schedule) => {
                    let kernels = kernels(conversion, (facts, loops), &schedule, &self.device)?;
                    Some((schedule, kernels))
                }
                None => None,
            };
            // Another thread may have made them in the meantime.
            let _ = self.by_stored.set(made);
        }
        Ok(self.by_stored.get().and_then(Option::as_ref))
    }
}

fn kernels(
    conversion: &Conversion<'_>,
    (facts, loops): (&Facts, &Loops),
    schedule: &Schedule,
    device: &Device,
) -> Result<Kernels, Error> {
    let program = program(conversion, (facts, loops), schedule)?;
    let source = Source::new(program.code());
    Kernels::new(program, &source, device)
}

/// Launches the kernel.
fn run(
    conversion: &Conversion<'_>,
    (facts, loops): (&Facts, &Loops),
    (params, arrays): (&[Param], Vec<Given>),
    gpu: &Gpu,
) -> Result<(), Error> {
    let (function, stream) = (loops.function(), gpu.stream());
    let range = |schedule: &Schedule, kernels: &Kernels, arguments: &Arguments<'_>| {
        let Ok(Interval { lo, hi }) = &schedule.range else { return Ok(None) };
        Ok::<_, Error>(Some(match evaluated(&[lo.clone(), hi.clone()], function, params)? {
            Some(found) => (found[0], found[1]),
            None => stored_range(kernels, arguments, stream)?,
        }))
    };
    let error = stream.upload(&0_i32.to_ne_bytes()).map_err(device)?;
    let mut arguments = Arguments::new(params, arrays, &error);
    let writer = Writer::of(conversion, (facts, loops), gpu.device())?;
    let (by_rows, mut made) = (&writer.by_rows.0, &writer.by_rows.1);
    if let Some(range) = range(by_rows, made, &arguments)? {
        (arguments.range, arguments.parts) = (range, length(range));
    }
    if arguments.parts == 0 {
        return Ok(());
    }
    let nse = conversion.tensor().nse();
    let mean = nse as f64 / arguments.parts as f64;
    let mut width = if by_rows.has_lanes() { spread(mean, arguments.parts) } else { 1 };
    // No row is longer than all of them together.
    if is_skewed(mean, nse as i64)
        && let Some((stored, kernels)) = writer.by_stored(conversion, (facts, loops))?
        && let Some(items) = range(stored, kernels, &arguments)?
        && is_skewed(mean, longest_row(kernels, arguments.clone(), stream)?)
    {
        BY_STORED.fetch_add(1, Ordering::Relaxed);
        width = width.min(32);
        (arguments.range, arguments.grain) = (items, ITEMS_PER_THREAD * width);
        arguments.parts = length(items).div_ceil(arguments.grain);
        made = kernels;
    }
    arguments.tables.width = width;
    let blocks = arguments.parts.saturating_mul(width).div_ceil(BLOCK_THREADS);
    let grid = Grid::new(blocks.min(i32::MAX as u64) as u32, BLOCK_THREADS as u32);
    let kernel = &made.program.main;
    launch(&made.module, kernel, grid, &words(kernel, &arguments), stream)
}
