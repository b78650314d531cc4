//! A run of kernels: memory for results and workers, launches, and the way back.

use std::sync::Arc;

use ust_cuda::{CudaError, Grid, Memory, Stream};
use ust_engine::provider::Call;
use ust_engine::provider::plan::{Array, evaluated};
use ust_engine::schedule::{Carries, Left, Schedule};
use ust_engine::{Error, Tensor};
use ust_level_api::ir::interp::RunError;
use ust_level_api::ir::{ArrayId, Elem, Expr};
use ust_level_api::{IndexColumn, IndexKind};

use super::tables::{FULL, FullTable};
use super::{Arguments, Given, Kernels, Launcher, launch};
use crate::cache;
use crate::convert::combined;
use crate::gpu::Gpu;
use crate::place::{self, Held};
use crate::prims::{Column, Primitives};
use crate::print::Kernel;
use crate::room::Room;
use crate::there::{self, device, width};
use crate::tuning::{ADDED_TOGETHER, BLOCK_THREADS, PARTS_PER_WORKER, WORK_BYTES};

/// Memory that loops write, by the array that it is.
type Written = Vec<(ArrayId, Memory)>;

/// A run of the kernels.
pub(super) struct Running<'a> {
    pub(super) launcher: &'a Launcher,
    pub(super) schedule: &'a Schedule,
    pub(super) kernels: &'a Kernels,
    pub(super) call: &'a Call<'a>,
    pub(super) gpu: &'a Gpu,
    /// What the run may take.
    pub(super) room: Room,
    pub(super) stream: &'a Stream,
    pub(super) primitives: &'a Primitives,
    /// What failed in a kernel: see [`Running::check`].
    pub(super) error: &'a Memory,
}

impl Running<'_> {
    pub(super) fn in_place(&self, mut arguments: Arguments<'_>) -> Result<Tensor, Error> {
        let Self { launcher, call, stream, .. } = *self;
        let length = call.value_count().ok_or_else(|| Error::TooLarge("the result".to_owned()))?;
        let bytes = length
            .checked_mul(call.dtype().bytes())
            .ok_or_else(|| Error::TooLarge("the result".to_owned()))?;
        self.room(bytes as u64)?;
        let result = match self.schedule.sets_all {
            true => there::alloc(bytes, stream),
            false => there::filled(call.begin(), length, stream),
        };
        let result = result.map_err(device)?;
        let at = launcher
            .place(Array::Result)
            .ok_or_else(|| Error::TooLarge("the result".to_owned()))?;
        arguments.arrays[at] = Given { address: result.address(), length };
        let (workers, _work) = self.work(&mut arguments, 1)?;
        let main = &self.kernels.program.main;
        match &self.schedule.carries {
            Some(carries) => {
                let _left = self.left(carries.left, carries, &mut arguments)?;
                self.launch(main, &arguments, workers)?;
                self.add(carries, arguments)?;
            }
            None => self.launch(main, &arguments, workers)?,
        }
        self.check()?;
        there::stays(call, result, self.gpu)
    }

    /// Adds what parts left for others. Parts of that leave sums in turn, until there is one part.
    fn add(&self, carries: &Carries, mut arguments: Arguments<'_>) -> Result<(), Error> {
        // What one launch leaves, the next one reads.
        let mut held = Vec::new();
        let kernel = self.kernels.program.add.as_ref().expect("what parts leave is added");
        while arguments.parts > 1 {
            let range = (0, arguments.parts as i64);
            let parts = arguments.parts.div_ceil(ADDED_TOGETHER);
            arguments = Arguments { range, grain: ADDED_TOGETHER, parts, ..arguments };
            held.push(self.left(carries.next, carries, &mut arguments)?);
            self.launch(kernel, &arguments, parts)?;
            let (from, to) = (carries.next, carries.left);
            for (from, to) in [(from.rows, to.rows), (from.sums, to.sums)] {
                arguments.arrays[to.0 as usize] = arguments.arrays[from.0 as usize];
            }
        }
        Ok(())
    }

    /// Room for what each part leaves for others.
    fn left(
        &self,
        left: Left,
        carries: &Carries,
        arguments: &mut Arguments<'_>,
    ) -> Result<[Memory; 2], Error> {
        let too_large = || Error::TooLarge("the number of parts".to_owned());
        let parts = usize::try_from(arguments.parts).map_err(|_| too_large())?;
        let block = self.launcher.block(carries, arguments)? as usize;
        // An array that each part has `each` elements of, and the length that kernels are told.
        let room = |id: ArrayId, each: usize, length: usize, arguments: &mut Arguments<'_>| {
            let elem = carries.adding.function.arrays[id.0 as usize].elem;
            let bytes = parts.checked_mul(each).and_then(|all| all.checked_mul(width(elem)));
            let bytes = bytes.ok_or_else(too_large)?;
            self.room(bytes as u64)?;
            let memory = there::alloc(bytes, self.stream).map_err(device)?;
            let at = id.0 as usize;
            let count = arguments.arrays.len().max(at + 1);
            arguments.arrays.resize(count, Given::default());
            arguments.arrays[at] = Given { address: memory.address(), length };
            Ok::<_, Error>(memory)
        };
        // One sum is an element for each part, as a row is.
        let is_one = carries.block == Expr::Int(1);
        let rows = room(left.rows, 1, parts, arguments)?;
        let sums = room(left.sums, block, if is_one { parts } else { block }, arguments)?;
        Ok([rows, sums])
    }

    pub(super) fn in_rows(
        &self,
        mut arguments: Arguments<'_>,
        block: &Expr,
    ) -> Result<Tensor, Error> {
        let Self { launcher, call, stream, .. } = *self;
        let too_large = || Error::TooLarge("the rows of the result".to_owned());
        let block = evaluated(std::slice::from_ref(block), &launcher.function, arguments.params)?;
        let block = block.and_then(|found| usize::try_from(found[0]).ok()).ok_or_else(too_large)?;
        let (workers, work) = match self.schedule.bounding.is_some() {
            true => (arguments.parts, Vec::new()),
            false => self.work(&mut arguments, block)?,
        };
        let starts = launcher.place(Array::RowStarts);
        let starts = match starts {
            Some(at) => {
                let length = call.length(Array::RowStarts, block).ok_or_else(too_large)?;
                let memory = self.numbers(length)?;
                arguments.arrays[at] = Given { address: memory.address(), length };
                Some((memory, length))
            }
            None => None,
        };
        let counted = self.counted(&arguments, workers)?;
        let rows = counted.rows;
        arguments.offsets = counted.first.address();
        // Room for them.
        let mut written: Written = Vec::new();
        for (at, array) in launcher.facts.arrays.iter().enumerate() {
            let length = match array {
                Array::RowValues => rows.checked_mul(block).ok_or_else(too_large)?,
                Array::RowCoordinates(_) => rows,
                _ => continue,
            };
            let bytes = length
                .checked_mul(width(launcher.function.arrays[at].elem))
                .ok_or_else(too_large)?;
            self.room(bytes as u64)?;
            let memory = match array {
                Array::RowValues => there::filled(call.begin(), length, stream),
                _ => there::alloc(bytes, stream),
            };
            let memory = memory.map_err(device)?;
            arguments.arrays[at] = Given { address: memory.address(), length };
            written.push((ArrayId(at as u32), memory));
        }
        there::between(stream, counted.memories(), || match &counted.bins {
            Some(bins) => self.in_tables(|program| Some(&program.main), bins, &arguments),
            None => {
                self.cleared(&work)?;
                self.launch(&self.kernels.program.main, &arguments, workers)
            }
        })?;
        self.check()?;
        self.rows(rows, block, written, starts, arguments.iterations)
    }

    /// For each part, the number of rows before it; at the end, the number of all.
    pub(super) fn first_rows(&self, counts: &Memory, parts: usize) -> Result<Memory, CudaError> {
        let column = || Column::new(counts, IndexKind::I64, parts);
        let misfit = self.primitives.misfit()?;
        let scan = || self.primitives.scan(column()?, IndexKind::I64, &misfit);
        Ok(cache::with_room(scan)?.into_memory())
    }

    /// The result, made of its rows. `iterations` of the outermost loop have noted their first rows. Coordinates and
    /// values stay on the device where the format of the result stores them as they are.
    fn rows(
        &self,
        rows: usize,
        block: usize,
        written: Written,
        starts: Option<(Memory, usize)>,
        iterations: u64,
    ) -> Result<Tensor, Error> {
        let Self { launcher, call, stream, .. } = *self;
        let mut written: Vec<_> =
            written.into_iter().map(|(at, memory)| (at, Some(memory))).collect();
        let mut take = |wanted: Array| {
            let at = ArrayId(launcher.place(wanted)? as u32);
            let (_, memory) = written.iter_mut().find(|(array, _)| *array == at)?;
            Some((launcher.function.arrays[at.0 as usize].elem, memory.take()?))
        };
        let (mut columns, mut starts) = (Vec::new(), starts);
        for level in 0..call.result().format().tail() {
            columns.push(match (take(Array::RowCoordinates(level)), starts.take()) {
                (Some((Elem::Index(kind), memory)), _) => {
                    place::column(&Held { memory: Arc::new(memory), kind, len: rows }, self.gpu)
                }
                (None, Some(starts)) => self.first_level(starts, rows, iterations)?,
                _ => return Err(Error::Unsupported("rows have no coordinates".to_owned())),
            });
        }
        let (_, memory) = take(Array::RowValues).expect("rows have values");
        let memory = Arc::new(memory);
        let mut values = place::values(call.dtype(), &memory, rows * block, self.gpu);
        let mut result = None;
        if self.schedule.combines_rows {
            let operator = &launcher.operator;
            // The host forms sums in their order.
            let made = match launcher.strict {
                true => None,
                false => combined(call, &columns, &memory, operator, block, self.gpu)?,
            };
            match made {
                Some(made) => (columns, values) = made,
                None if block > 1 => {
                    let why = "there is no operation that combines rows of several values";
                    return Err(Error::Unsupported(why.to_owned()));
                }
                None => {
                    let columns = std::mem::take(&mut columns);
                    result = Some(call.in_unsorted_rows(columns, values.clone(), operator)?);
                }
            }
        }
        let result = match result {
            Some(result) => result,
            None => call.in_rows(columns, values)?,
        };
        there::levels(&result, stream)?;
        there::values(&result, stream)?;
        Ok(result)
    }

    /// The column of the first level, given the first row of each of its coordinates. Only the coordinates of the
    /// range have one.
    fn first_level(
        &self,
        (memory, length): (Memory, usize),
        rows: usize,
        iterations: u64,
    ) -> Result<IndexColumn, Error> {
        // Coordinates behind the range have no rows, and behind the last one rows end.
        let set = usize::try_from(iterations).unwrap_or(usize::MAX).min(length);
        let end = (rows as i64).to_ne_bytes();
        let made = || -> Result<IndexColumn, CudaError> {
            let bounds = there::alloc((length + 1) * 8, self.stream)?;
            self.stream.copy(&memory, 0, &bounds, 0, set * 8)?;
            let rest = self.stream.upload(&end.repeat(length + 1 - set))?;
            self.stream.copy(&rest, 0, &bounds, set * 8, rest.len())?;
            let bounds = Column::new(&bounds, IndexKind::I64, length + 1)?;
            let misfit = self.primitives.misfit()?;
            let kind = place::numbers(rows as u64 + 1);
            let bounds = cache::with_room(|| self.primitives.convert(bounds, kind, &misfit))?;
            place::expanded(bounds.into(), rows, self.gpu)
        };
        made().map_err(device)
    }

    /// Working memory for each worker, and how many workers there are.
    fn work(&self, arguments: &mut Arguments<'_>, block: usize) -> Result<(u64, Written), Error> {
        let Self { launcher, call, stream, .. } = *self;
        let too_large = || Error::TooLarge("working memory".to_owned());
        let mut each = 0_u64;
        let mut arrays = Vec::new();
        for (at, array) in launcher.facts.arrays.iter().enumerate() {
            if array.is_work() {
                let length = call.length(*array, block).ok_or_else(too_large)?;
                let elem = launcher.function.arrays[at].elem;
                each = each.saturating_add((length as u64).saturating_mul(width(elem) as u64));
                arrays.push((at, elem, length));
            }
        }
        let mut workers = arguments.parts.max(1);
        // The result needs room as well.
        if let Some(most) = WORK_BYTES.min(self.room.left() / 2).checked_div(each) {
            workers = workers.min(most.max(1));
            self.room(each.saturating_mul(workers))?;
            if self.schedule.combines_rows && self.schedule.range.is_ok() {
                // Each part has rows of its own that are combined: no more parts than workers.
                let length = arguments.length().max(1);
                let parts = workers.min(length.div_ceil(PARTS_PER_WORKER));
                arguments.grain = length.div_ceil(parts);
                arguments.parts = arguments.length().div_ceil(arguments.grain);
                workers = workers.min(arguments.parts.max(1));
            }
        }
        let mut work: Written = Vec::new();
        for (at, elem, length) in arrays {
            let all = length.checked_mul(workers as usize).ok_or_else(too_large)?;
            let memory = match launcher.facts.arrays[at] {
                Array::WorkValues => there::filled(launcher.begin, all, stream),
                _ => there::alloc(all * width(elem), stream).and_then(|memory| {
                    stream.zero(&memory)?;
                    Ok(memory)
                }),
            };
            let memory = memory.map_err(device)?;
            arguments.arrays[at] = Given { address: memory.address(), length };
            work.push((ArrayId(at as u32), memory));
        }
        Ok((workers, work))
    }

    /// Sets the marks of workers back, for another kernel.
    fn cleared(&self, work: &Written) -> Result<(), Error> {
        for (at, memory) in work {
            if self.launcher.facts.arrays[at.0 as usize] != Array::WorkValues {
                self.stream.zero(memory).map_err(device)?;
            }
        }
        Ok(())
    }

    /// Room for so many numbers of rows.
    pub(super) fn numbers(&self, length: usize) -> Result<Memory, Error> {
        let bytes = length
            .checked_mul(8)
            .ok_or_else(|| Error::TooLarge("the rows of the result".to_owned()))?;
        self.room(bytes as u64)?;
        there::alloc(bytes, self.stream).map_err(device)
    }

    /// Whether there is room for so many bytes.
    pub(super) fn room(&self, bytes: u64) -> Result<(), Error> {
        self.room.take(bytes)
    }

    /// Launches a kernel, with at most so many workers.
    pub(super) fn launch(
        &self,
        kernel: &Kernel,
        arguments: &Arguments<'_>,
        workers: u64,
    ) -> Result<(), Error> {
        if arguments.parts == 0 {
            return Ok(());
        }
        let lanes = u64::from(kernel.lanes);
        let block = BLOCK_THREADS.min((workers * lanes).next_multiple_of(32));
        // No more workers than there is working memory for.
        let whole = workers * lanes / block;
        let (blocks, block) = match whole {
            0 => (1, workers * lanes),
            _ if self.launcher.has_work() => (whole, block),
            _ => ((workers * lanes).div_ceil(block), block),
        };
        let grid = Grid::new(blocks.min(i32::MAX as u64) as u32, block as u32);
        launch(&self.kernels.module, kernel, grid, &super::words(kernel, arguments), self.stream)
    }

    /// Whether integers were divided by zero, or a table has no room.
    pub(super) fn check(&self) -> Result<(), Error> {
        let divisions = &self.kernels.program.divisions;
        if divisions.is_empty() && self.schedule.bounding.is_none() {
            return Ok(());
        }
        let mut site = [0_i32];
        there::read(&mut site, self.error, self.stream).map_err(device)?;
        if site[0] == FULL {
            return Err(Error::Device(Box::new(FullTable)));
        }
        match usize::try_from(site[0]).ok().and_then(|site| divisions.get(site.checked_sub(1)?)) {
            Some(expr) => Err(RunError::DivisionByZero { expr: expr.clone() }.into()),
            None => Ok(()),
        }
    }
}
