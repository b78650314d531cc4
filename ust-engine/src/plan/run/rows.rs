//! Collection of the rows that loops append, and assembly of the result.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::{iter, mem};

use ust_format::Bound;
use ust_kernels::pool::{locked, within};
use ust_level_api::ir::cancel;
use ust_level_api::ir::interp::{GrowValues, Growable, Memory, RunError};
use ust_level_api::ir::parallel;

use super::places::{Found, Places};
use super::starts::{Starts, StartsOf};
use super::{Bindings, Compiled, Shares};
use crate::error::Error;
use crate::expr::control::Run;
use crate::expr::operator::Operator;
use crate::plan::collect::{GrowColumn, Limited, Part, Room, Tables, Workspace, rows_of};
use crate::plan::frame::Sizes;
use crate::plan::sink::{self, SinkKind};
use crate::plan::split::Splitter;
use crate::provider::unsorted::sort_and_combine;
use crate::storage::Tensor;
use crate::storage::memory::Budget;
use crate::tuning::{RESULT_SPARE_ELEMENTS, ROWS_PART_PIECES, ROWS_PIECE_BYTES};

/// Bytes that sorting needs for each row, beside the sorted copy of the row: a key and the old position.
const SORT_BYTES_PER_ROW: usize = 16;

/// The input of a run that collects rows.
struct Collecting<'a> {
    compiled: &'a Compiled,
    tensors: &'a [&'a Tensor],
    sizes: &'a Sizes,
    how: Run,
    /// Number of values of a row.
    block: usize,
    /// Bytes of a row.
    width: usize,
    /// The memory that all threads may use together.
    budget: Arc<Budget>,
}

/// A part of the outermost loop, and the slice of first rows for its iterations.
struct Job<'a> {
    part: (i64, i64),
    starts: Option<StartsOf<'a>>,
}

/// The state of a thread that collects rows.
struct Collector<'a> {
    of: &'a Collecting<'a>,
    /// The rows collected so far, from consecutive parts.
    found: Part,
    /// For each iteration of the last part, the number of its first row.
    starts: Vec<i64>,
    /// Number of times that the workspace was opened.
    opened: i64,
    row: Option<Workspace>,
    tables: Tables,
}

impl<'a> Collecting<'a> {
    /// An empty part with room for `room` rows: reserved memory that is not written costs nothing. Either
    /// all arrays have that room or none, since the loops check the length of one array only.
    fn part(&self, room: usize) -> Part {
        let Self { compiled: Compiled { planned, .. }, block, width, ref budget, .. } = *self;
        let kinds = &planned.sink.columns[usize::from(planned.loops.by_first)..];
        let fresh = || {
            let room = Room::new(budget, width);
            let columns = kinds.iter().map(|&kind| GrowColumn::new(kind, &room)).collect();
            let values = GrowValues::new(planned.rest.dtype());
            let values = Limited::new(values, block, &room);
            Part { columns, values, rows: 0 }
        };
        let mut part = fresh();
        let all = part.columns.iter_mut().all(|column| column.memory().reserve(room))
            && part.values.reserve(room.saturating_mul(block));
        if all { part } else { fresh() }
    }

    fn collector(&'a self, room: usize) -> Result<Collector<'a>, Error> {
        let Self { compiled, tensors, sizes, block, ref budget, .. } = *self;
        let (planned, bound) = (&compiled.planned, &sizes.bound);
        let shape = (bound.format().tail(), block as u64);
        Ok(Collector {
            of: self,
            found: self.part(room),
            starts: Vec::new(),
            opened: 0,
            row: Workspace::new(&planned.sink, bound, shape, planned.rest, budget)?,
            tables: compiled.tables(tensors, budget, 1)?,
        })
    }

    /// Collects all parts on this thread.
    fn on_one_thread(&self, jobs: Vec<Job<'_>>, room: usize) -> Result<Vec<Part>, Error> {
        let mut collector = self.collector(room)?;
        for mut job in jobs {
            collector.run(&job)?;
            if let Some(starts) = &mut job.starts {
                starts.set(&collector.starts, 0);
            }
        }
        Ok(vec![collector.found])
    }

    /// Collects all parts on several threads. Each thread takes the next part that no thread has begun. The
    /// result has room for about `room` rows.
    fn on_threads(
        &self,
        jobs: Vec<Job<'_>>,
        threads: usize,
        room: usize,
    ) -> Result<Vec<Part>, Error> {
        // Parts differ in their numbers of rows.
        let room_of_part = room / jobs.len() * 2;
        // An eighth of the memory is for the parts that threads are collecting.
        let most = self.how.limit / self.width as u64;
        let mut all = self.part(room.min(usize::try_from(most - most / 8).unwrap_or(usize::MAX)));
        let (parts, bytes) = (jobs.len(), room.saturating_mul(self.width));
        let places = Places::new(&mut all, self.block, parts, bytes);
        let jobs = Mutex::new(jobs.into_iter().enumerate());
        let thread = |_| {
            let mut collector = self.collector(room_of_part)?;
            let (mut waiting, mut spare) = (VecDeque::new(), Vec::new());
            loop {
                let next = locked(&jobs).next();
                let Some((at, job)) = next else { return Ok(waiting) };
                collector.run(&job)?;
                let (part, rows) =
                    spare.pop().unwrap_or_else(|| (self.part(room_of_part), Vec::new()));
                let part = mem::replace(&mut collector.found, part);
                let rows = mem::replace(&mut collector.starts, rows);
                places.count(at, part.rows);
                waiting.push_back(Found { at, part, rows, starts: job.starts });
                while let Some(mut found) = waiting.pop_front_if(|found| found.put(&places)) {
                    found.part.rows = 0;
                    spare.push((found.part, found.rows));
                }
            }
        };
        let found = parallel::map(threads, thread);
        let found = found.into_iter().collect::<Result<Vec<_>, Error>>()?;
        let mut found: Vec<Found<'_>> = found.into_iter().flatten().collect();
        found.sort_by_key(|found| found.at);
        found.retain_mut(|found| !found.put(&places));
        // Parts that did not fit follow after all others.
        let end = found.first().map_or(parts, |found| found.at);
        let rows = places.before(end).expect("all are counted");
        drop(places);
        all.rows = rows;
        Ok(iter::once(all).chain(found.into_iter().map(|found| found.part)).collect())
    }
}

impl Collector<'_> {
    /// Runs a part of the outermost loop. Its rows follow after those of the previous part.
    fn run(&mut self, Job { part, starts }: &Job<'_>) -> Result<(), Error> {
        let Collecting { compiled, tensors, sizes, how, .. } = *self.of;
        let params = compiled.params(tensors, sizes, *part, 0);
        let mut counts = [self.found.rows as i64, self.opened];
        let mut memory = Bindings::new();
        compiled.inputs(tensors, &mut memory);
        memory.push(Memory::Grow(&mut self.found.values));
        memory.extend(self.found.columns.iter_mut().map(|c| Memory::Grow(c.memory())));
        memory.push(Memory::indices_mut(&mut counts[..]));
        if let Some(starts) = starts {
            self.starts.resize(starts.len(), 0);
            memory.push(Memory::indices_mut(&mut self.starts[..]));
        }
        if let Some(row) = &mut self.row {
            memory.push(row.values.memory_mut());
            memory.push(row.mark.memory());
            memory.push(Memory::indices_mut(&mut row.list[..]));
        }
        memory.extend(self.tables.memory());
        cancel::check()?;
        compiled.chosen.executable.run(&params, &mut memory).map_err(|error| match error {
            Error::Run(RunError::OutOfMemory { .. }) => too_large(&sizes.bound, how.limit),
            error => error,
        })?;
        drop(memory);
        (self.found.rows, self.opened) = (counts[0] as usize, counts[1]);
        Ok(())
    }
}

/// The error for rows that exceed the memory.
fn too_large(bound: &Bound, limit: u64) -> Error {
    Error::TooLarge(format!(
        "a result in `{}` of shape {:?} takes more memory than there is, or than the limit of {limit} \
         bytes: choose a format that stores less, or raise the memory limit",
        bound.format(),
        bound.shape(),
    ))
}

impl Compiled {
    /// An estimate of the number of rows: at most the number of coordinates, and often at most the number of
    /// entries of the operands.
    fn room(&self, tensors: &[&Tensor], bound: &Bound, block: u64) -> usize {
        let sparse = tensors.iter().filter(|tensor| tensor.format().tail() > 0);
        let entries: usize = sparse.map(|tensor| tensor.nse()).sum();
        let levels = &bound.levels()[..bound.format().tail()];
        let places = levels.iter().fold(1_u64, |all, level| all.saturating_mul(level.size));
        entries.min(usize::try_from(places).unwrap_or(usize::MAX)).div_ceil(block.max(1) as usize)
    }

    /// Jobs for parts of the outermost loop. Each part is cut into `pieces` if it can be.
    fn jobs<'a>(
        &self,
        parts: Vec<(i64, i64)>,
        starts: &'a mut Option<Starts>,
        iterations: u64,
        pieces: usize,
    ) -> Vec<Job<'a>> {
        let anywhere = self.splitter.as_ref().is_some_and(Splitter::is_by_coordinate);
        let cut = |(lo, hi): (i64, i64)| -> Vec<(i64, i64)> {
            let length = usize::try_from(hi.saturating_sub(lo)).unwrap_or(0);
            let pieces = pieces.min(length);
            if !anywhere || pieces <= 1 {
                return vec![(lo, hi)];
            }
            let bounds = (lo..hi).step_by(length.div_ceil(pieces)).skip(1);
            let begins = iter::once(lo).chain(bounds.clone());
            begins.zip(bounds.chain([hi])).collect()
        };
        let parts: Vec<(i64, i64)> = parts.into_iter().flat_map(cut).collect();
        let Some(starts) = starts else {
            return parts.into_iter().map(|part| Job { part, starts: None }).collect();
        };
        let iterations = i64::try_from(iterations).unwrap_or(i64::MAX);
        let within = |&(lo, hi): &(i64, i64)| hi.clamp(0, iterations) - lo.clamp(0, iterations);
        let starts =
            starts.split(parts.iter().map(within).map(|iterations| iterations.max(0) as usize));
        let jobs = parts.iter().zip(starts);
        jobs.map(|(&part, starts)| Job { part, starts: Some(starts) }).collect()
    }

    /// Collects rows, and assembles the result.
    pub(super) fn rows(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        Shares { threads, each }: Shares,
        how: Run,
    ) -> Result<Tensor, Error> {
        let (rest, fill, bound) = (self.planned.rest, self.planned.fill, &sizes.bound);
        let tail = bound.format().tail();
        let block: u64 = bound.levels()[tail..].iter().map(|level| level.size).product();
        if sink::columns(bound) != self.planned.sink.columns {
            return Err(Error::Unsupported(format!(
                "the kernel was prepared for coordinates of another width than a result of shape \
                 {:?} has: prepare it with tensors of about that size",
                bound.shape()
            )));
        }
        let (iterations, by_first) = (bound.levels()[0].size, self.planned.loops.by_first);
        if by_first && iterations.saturating_mul(8) > how.limit {
            return Err(Error::TooLarge(format!(
                "a result of shape {:?}, built for each coordinate of its first level, takes more \
                 than {} bytes: raise the memory limit",
                bound.shape(),
                how.limit
            )));
        }
        // A sixteenth more than the last run collected: loops also write rows that they do not keep.
        let last = self.collected.load(Ordering::Relaxed);
        let kinds = &self.planned.sink.columns[usize::from(by_first)..];
        let width = kinds.iter().map(|kind| u64::from(kind.bits()) / 8).sum::<u64>();
        let width = width.saturating_add(block.saturating_mul(rest.dtype().bytes() as u64));
        let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
        let most = usize::try_from(how.limit / width as u64).unwrap_or(usize::MAX);
        let some = (RESULT_SPARE_ELEMENTS as u64).checked_div(block).unwrap_or(0) as usize;
        let all = self.room(tensors, bound, block).max(last + last / 16 + some).min(most);
        let block = block as usize;
        let slack = RESULT_SPARE_ELEMENTS as u64 * width as u64;
        let budget = Arc::new(Budget::new(how.limit.saturating_add(slack)));
        let collecting = Collecting { compiled: self, tensors, sizes, how, block, width, budget };
        let bytes = all.saturating_mul(width);
        let parts = match &self.splitter {
            Some(splitter) if threads * each > 1 => {
                // A few coordinates may have most of the rows. Hence parts have equally many stored
                // elements, enough for a few pieces each. There are no more parts than rows, since one row
                // may be larger than a piece.
                let wanted = match threads > 1 && splitter.is_by_coordinate() {
                    true => (bytes / (ROWS_PART_PIECES * ROWS_PIECE_BYTES)).min(all),
                    false => 0,
                };
                splitter.parts(tensors, &sizes.extents, wanted.max(threads * each))?
            }
            _ => vec![self.whole()],
        };
        // A workspace around all loops gives rows in each part, so rows of several parts may be equal.
        let meet = parts.len() > 1 && self.is_around_all();
        // One thread needs no pieces.
        let pieces = match threads {
            1 => 1,
            _ => bytes / parts.len() / ROWS_PIECE_BYTES,
        };
        let mut starts = by_first.then(|| Starts::new(iterations as usize, most));
        if by_first && !collecting.budget.take_all(iterations.saturating_mul(8)) {
            return Err(too_large(bound, how.limit));
        }
        let jobs = self.jobs(parts, &mut starts, iterations, pieces);
        let set = jobs.iter().flat_map(|job| &job.starts).map(StartsOf::len).sum();
        let found = match threads {
            1 => collecting.on_one_thread(jobs, all)?,
            _ => collecting.on_threads(jobs, threads, all)?,
        };
        let total = found.iter().map(|part| part.rows).sum();
        self.collected.store(total, Ordering::Relaxed);
        // Rows of later parts are copied behind those of the first. Sorting copies all rows.
        let bytes = |rows: usize, width: usize| (rows as u64).saturating_mul(width as u64);
        let copied = bytes(total - found.first().map_or(0, |part| part.rows), width);
        let unsorted = meet || self.planned.sink.kind == SinkKind::Unsorted;
        let sorted = if unsorted { bytes(total, width + SORT_BYTES_PER_ROW) } else { 0 };
        let collected = bytes(total, width);
        let most = collected.saturating_add(copied.max(sorted));
        if most > how.limit {
            return Err(too_large(bound, how.limit));
        }
        let first = starts.map(|starts| starts.column(total, set));
        let rows = rows_of(found, block, first).ok_or_else(|| too_large(bound, how.limit))?;
        // Sorted rows are only moved, which takes about an eighth of the time.
        let work = if unsorted { rows.values.len() } else { rows.values.len() / 8 };
        within(how.threads, work, || {
            let op = self.reduce.clone().unwrap_or(Operator::Add);
            let rows = if unsorted { sort_and_combine(rows, bound, &op)? } else { rows };
            Tensor::from_rows(bound, rows, fill, how.limit)
        })
    }
}
