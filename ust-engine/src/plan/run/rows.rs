//! Rows that loops append, and the tensor that is made of them.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::{iter, mem};

use rayon::prelude::*;
use ust_format::Bound;
use ust_kernels::pool::{locked, within};
use ust_level_api::ir::interp::{GrowValues, Growable, Memory, RunError};

use super::places::{Found, Places};
use super::starts::{Starts, StartsOf};
use super::{Bindings, Compiled, Shares, stop};
use crate::error::Error;
use crate::expr::control::Run;
use crate::expr::operator::Operator;
use crate::plan::collect::{GrowColumn, Limited, Part, Room, Tables, Workspace, rows_of};
use crate::plan::frame::Sizes;
use crate::plan::output::SOME_ROWS;
use crate::plan::sink::{self, SinkKind};
use crate::plan::split::Splitter;
use crate::plan::unsorted::sort_and_combine;
use crate::storage::Tensor;
use crate::storage::memory::Budget;
use crate::with_values;

/// Bytes that a part collects, about, where several threads do: they stay in a thread's caches.
const PIECE: usize = 1 << 20;

/// Bytes that sorting takes for each row, beside the row in its new place: a key, and where it stood.
const SORTED: usize = 16;

/// Pieces of about as many coordinates each that a part is cut into, at least: to find where it begins among
/// what is stored takes time, and what is near is alike.
const PIECES_OF_PART: usize = 2;

/// What rows are collected from, and how many there may be.
struct Collecting<'a> {
    compiled: &'a Compiled,
    tensors: &'a [&'a Tensor],
    sizes: &'a Sizes,
    how: Run<'a>,
    /// Values of a row.
    block: usize,
    /// Bytes of a row.
    width: usize,
    /// What all threads have together.
    budget: Arc<Budget>,
}

/// A part of the outermost loop, and where it is to be told where each of its rounds begins.
struct Job<'a> {
    part: (i64, i64),
    starts: Option<StartsOf<'a>>,
}

/// What a thread collects in.
struct Collector<'a> {
    of: &'a Collecting<'a>,
    /// What was collected, in parts that follow each other.
    found: Part,
    /// For each round of the part that was run last, its first row.
    starts: Vec<i64>,
    /// How many rows were open.
    opened: i64,
    row: Option<Workspace>,
    tables: Tables,
}

impl<'a> Collecting<'a> {
    /// No rows yet, and nothing but room for so many: what is reserved and not written takes no
    /// memory. All columns have it, or none: loops look at one of them to see whether there is room.
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
    fn in_turn(&self, jobs: Vec<Job<'_>>, room: usize) -> Result<Vec<Part>, Error> {
        let mut collector = self.collector(room)?;
        for mut job in jobs {
            collector.run(&job)?;
            if let Some(starts) = &mut job.starts {
                starts.set(&collector.starts, 0);
            }
        }
        Ok(vec![collector.found])
    }

    /// Collects parts on so many threads, each the next that nobody has begun. In all, there is room for
    /// so many rows.
    fn at_once(&self, jobs: Vec<Job<'_>>, threads: usize, room: usize) -> Result<Vec<Part>, Error> {
        // Rows of parts differ.
        let room_of_part = room / jobs.len() * 2;
        // Threads need some for the parts that they are at.
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
        let found = (0..threads).into_par_iter().map(thread).collect::<Result<Vec<_>, Error>>()?;
        let mut found: Vec<Found<'_>> = found.into_iter().flatten().collect();
        found.sort_by_key(|found| found.at);
        found.retain_mut(|found| !found.put(&places));
        // Those that there was no room for are behind all others.
        let end = found.first().map_or(parts, |found| found.at);
        let rows = places.before(end).expect("all are counted");
        drop(places);
        all.rows = rows;
        Ok(iter::once(all).chain(found.into_iter().map(|found| found.part)).collect())
    }
}

impl Collector<'_> {
    /// Runs a part of the outermost loop, behind the one that was run last.
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
            with_values!(&mut row.values, b => {
                memory.push(Memory::values_mut(b.make_mut()));
            });
            memory.push(row.mark.memory());
            memory.push(Memory::indices_mut(&mut row.list[..]));
        }
        memory.extend(self.tables.memory());
        stop(how)?;
        compiled.chosen.executable.run(&params, &mut memory).map_err(|error| match error {
            Error::Run(RunError::OutOfMemory { .. }) => too_large(&sizes.bound, how.limit),
            error => error,
        })?;
        drop(memory);
        (self.found.rows, self.opened) = (counts[0] as usize, counts[1]);
        Ok(())
    }
}

/// Rows have no room.
fn too_large(bound: &Bound, limit: u64) -> Error {
    Error::TooLarge(format!(
        "a result in `{}` of shape {:?} takes more memory than there is, or than the limit of {limit} \
         bytes: choose a format that stores less, or raise the memory limit",
        bound.format(),
        bound.shape(),
    ))
}

impl Compiled {
    /// About how many rows there may be: no more than places, and often no more than entries.
    fn room(&self, tensors: &[&Tensor], bound: &Bound, block: u64) -> usize {
        let sparse = tensors.iter().filter(|tensor| tensor.format().tail() > 0);
        let entries: usize = sparse.map(|tensor| tensor.nse()).sum();
        let levels = &bound.levels()[..bound.format().tail()];
        let places = levels.iter().fold(1_u64, |all, level| all.saturating_mul(level.size));
        entries.min(usize::try_from(places).unwrap_or(usize::MAX)).div_ceil(block.max(1) as usize)
    }

    /// Parts of the outermost loop, each cut into so many where it may be.
    fn jobs<'a>(
        &self,
        parts: Vec<(i64, i64)>,
        starts: &'a mut Option<Starts>,
        rounds: u64,
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
        let rounds = i64::try_from(rounds).unwrap_or(i64::MAX);
        let within = |&(lo, hi): &(i64, i64)| hi.clamp(0, rounds) - lo.clamp(0, rounds);
        let starts = starts.split(parts.iter().map(within).map(|rounds| rounds.max(0) as usize));
        let jobs = parts.iter().zip(starts);
        jobs.map(|(&part, starts)| Job { part, starts: Some(starts) }).collect()
    }

    /// Collects rows, and assembles them.
    pub(super) fn rows(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        Shares { threads, each }: Shares,
        how: Run<'_>,
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
        let (rounds, by_first) = (bound.levels()[0].size, self.planned.loops.by_first);
        if by_first && rounds.saturating_mul(8) > how.limit {
            return Err(Error::TooLarge(format!(
                "a result of shape {:?}, built for each coordinate of its first level, takes more \
                 than {} bytes: raise the memory limit",
                bound.shape(),
                how.limit
            )));
        }
        // Somewhat more: rows are written before it is known whether they are kept.
        let last = self.collected.load(Ordering::Relaxed);
        let kinds = &self.planned.sink.columns[usize::from(by_first)..];
        let width = kinds.iter().map(|kind| u64::from(kind.bits()) / 8).sum::<u64>();
        let width = width.saturating_add(block.saturating_mul(rest.dtype().bytes() as u64));
        let width = usize::try_from(width.max(1)).unwrap_or(usize::MAX);
        let most = usize::try_from(how.limit / width as u64).unwrap_or(usize::MAX);
        let some = (SOME_ROWS as u64).checked_div(block).unwrap_or(0) as usize;
        let all = self.room(tensors, bound, block).max(last + last / 16 + some).min(most);
        let block = block as usize;
        let slack = SOME_ROWS as u64 * width as u64;
        let budget = Arc::new(Budget::new(how.limit.saturating_add(slack)));
        let collecting = Collecting { compiled: self, tensors, sizes, how, block, width, budget };
        let bytes = all.saturating_mul(width);
        let parts = match &self.splitter {
            Some(splitter) if threads * each > 1 => {
                // Most rows may be where few coordinates are: then a part is what is stored of a few
                // pieces. No more parts than rows, of which one alone may be larger than memory.
                let wanted = match threads > 1 && splitter.is_by_coordinate() {
                    true => (bytes / (PIECES_OF_PART * PIECE)).min(all),
                    false => 0,
                };
                splitter.parts(tensors, &sizes.extents, wanted.max(threads * each))?
            }
            _ => vec![self.whole()],
        };
        // A row around every loop is there in each part.
        let meet = parts.len() > 1 && self.is_around_all();
        // One thread collects in one piece.
        let pieces = match threads {
            1 => 1,
            _ => bytes / parts.len() / PIECE,
        };
        let mut starts = by_first.then(|| Starts::new(rounds as usize, most));
        if by_first && !collecting.budget.take_all(rounds.saturating_mul(8)) {
            return Err(too_large(bound, how.limit));
        }
        let jobs = self.jobs(parts, &mut starts, rounds, pieces);
        let set = jobs.iter().flat_map(|job| &job.starts).map(StartsOf::len).sum();
        let found = match threads {
            1 => collecting.in_turn(jobs, all)?,
            _ => collecting.at_once(jobs, threads, all)?,
        };
        let total = found.iter().map(|part| part.rows).sum();
        self.collected.store(total, Ordering::Relaxed);
        // Rows behind the first part are copied there, and all are where they are sorted.
        let bytes = |rows: usize, width: usize| (rows as u64).saturating_mul(width as u64);
        let copied = bytes(total - found.first().map_or(0, |part| part.rows), width);
        let unsorted = meet || self.planned.sink.kind == SinkKind::Unsorted;
        let sorted = if unsorted { bytes(total, width + SORTED) } else { 0 };
        let collected = bytes(total, width);
        let most = collected.saturating_add(copied.max(sorted));
        if most > how.limit {
            return Err(too_large(bound, how.limit));
        }
        let first = starts.map(|starts| starts.column(total, set));
        let rows = rows_of(found, block, first).ok_or_else(|| too_large(bound, how.limit))?;
        // Rows in order are moved as they are.
        let work = if unsorted { rows.values.len() } else { rows.values.len() / 8 };
        within(how.threads, work, || {
            let op = self.reduce.clone().unwrap_or(Operator::Add);
            let rows = if unsorted { sort_and_combine(rows, bound, &op)? } else { rows };
            Tensor::from_rows(bound, rows, fill, how.limit)
        })
    }
}
