//! Rows that loops append, and the tensor that is made of them.

use std::sync::atomic::Ordering;

use rayon::prelude::*;
use smallvec::SmallVec;
use ust_level_api::ir::interp::{GrowValues, Growable, Memory, RunError};

use super::shares::Shares;
use super::{Bindings, Compiled, Parts, stop};
use crate::error::Error;
use crate::format::Bound;
use crate::ops::control::Run;
use crate::ops::operator::Operator;
use crate::plan::collect::{GrowColumn, Limited, Part, Starts, Tables, Workspace, rows_of};
use crate::plan::frame::Sizes;
use crate::plan::output::SOME_ROWS;
use crate::plan::sink::{self, SinkKind};
use crate::plan::unsorted::sort_and_combine;
use crate::pool::within;
use crate::tensor::Tensor;
use crate::with_values;

/// A part that another thread was to run has about one of so many of a thread's rows.
const STOLEN: usize = super::PARTS_OF_ROWS;

/// What rows are collected from, and how many there may be.
struct Collecting<'a> {
    compiled: &'a Compiled,
    tensors: &'a [&'a Tensor],
    sizes: &'a Sizes,
    how: Run<'a>,
    /// Values of a row.
    block: usize,
    /// Most rows.
    most: usize,
}

/// What a thread collects in: rows of parts that follow each other.
struct Collector<'a> {
    of: &'a Collecting<'a>,
    columns: Vec<GrowColumn>,
    values: Limited<GrowValues>,
    starts: Option<Starts>,
    /// Rows, and how many were open.
    counts: [i64; 2],
    row: Option<Workspace>,
    tables: Tables,
}

impl<'a> Collecting<'a> {
    /// No rows yet, and nothing but room for so many: what is reserved and not written takes no
    /// memory. All columns have it, or none: loops look at one of them to see whether there is room.
    fn columns(&self, room: usize) -> (Vec<GrowColumn>, Limited<GrowValues>) {
        let Self { compiled: Compiled { planned, .. }, block, most, .. } = *self;
        let kinds = &planned.sink.columns[usize::from(planned.loops.by_first)..];
        let fresh = || {
            let columns = kinds.iter().map(|&kind| GrowColumn::new(kind, most));
            let values = GrowValues::new(planned.rest.dtype());
            (columns.collect::<Vec<_>>(), Limited::new(values, most.saturating_mul(block)))
        };
        let (mut columns, mut values) = fresh();
        let all = columns.iter_mut().all(|column| column.memory().reserve(room))
            && values.reserve(room.saturating_mul(block));
        if all { (columns, values) } else { fresh() }
    }

    fn collector(&'a self, room: usize) -> Result<Collector<'a>, Error> {
        let Self { compiled, tensors, sizes, how, block, .. } = *self;
        let (planned, bound) = (&compiled.planned, &sizes.bound);
        let (columns, values) = self.columns(room);
        let shape = (bound.format().tail(), block as u64);
        Ok(Collector {
            of: self,
            columns,
            values,
            starts: None,
            counts: [0; 2],
            row: Workspace::new(&planned.sink, bound, shape, planned.rest, how.limit)?,
            tables: compiled.tables(tensors, how, 1)?,
        })
    }
}

impl Collector<'_> {
    /// Runs a part of the outermost loop, behind the one that was run last.
    fn run(&mut self, part: (i64, i64)) -> Result<(), Error> {
        let Collecting { compiled, tensors, sizes, how, .. } = *self.of;
        let params = compiled.params(tensors, sizes, part, 0);
        let rounds = sizes.bound.levels()[0].size;
        let by_first = compiled.planned.loops.by_first;
        let starts = by_first.then(|| self.starts.get_or_insert_default().of(part, rounds));
        let mut memory = Bindings::new();
        compiled.inputs(tensors, &mut memory);
        memory.push(Memory::Grow(&mut self.values));
        memory.extend(self.columns.iter_mut().map(|c| Memory::Grow(c.memory())));
        memory.push(Memory::indices_mut(&mut self.counts[..]));
        memory.extend(starts.map(Memory::indices_mut));
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
            Error::Run(RunError::OutOfMemory { .. }) => Error::TooLarge(format!(
                "a result in `{}` of shape {:?} takes more memory than there is, or than the limit \
                 of {} bytes: choose a format that stores less, or raise the memory limit",
                sizes.bound.format(),
                sizes.bound.shape(),
                how.limit
            )),
            error => error,
        })
    }

    /// What was collected. What is next begins anew, with room for so many rows.
    fn take(&mut self, room: usize) -> Part {
        let (columns, values) = self.of.columns(room);
        Part {
            columns: std::mem::replace(&mut self.columns, columns),
            starts: self.starts.take(),
            values: std::mem::replace(&mut self.values, values).into_inner(),
            rows: std::mem::take(&mut self.counts[0]) as usize,
        }
    }
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

    /// Collects rows, and assembles them.
    pub(super) fn rows(
        &self,
        tensors: &[&Tensor],
        sizes: &Sizes,
        groups: Option<&[Parts]>,
        how: Run<'_>,
    ) -> Result<Tensor, Error> {
        let (rest, fill, bound) = (self.planned.rest, self.planned.fill, &sizes.bound);
        let one_piece = [Parts::from_elem(self.whole(), 1)];
        let groups = groups.unwrap_or(&one_piece);
        let tail = bound.format().tail();
        let block: u64 = bound.levels()[tail..].iter().map(|level| level.size).product();
        if sink::columns(bound) != self.planned.sink.columns {
            return Err(Error::Unsupported(format!(
                "the kernel was prepared for coordinates of another width than a result of shape \
                 {:?} has: prepare it with tensors of about that size",
                bound.shape()
            )));
        }
        let rounds = bound.levels()[0].size;
        if self.planned.loops.by_first && rounds.saturating_mul(8) > how.limit {
            return Err(Error::TooLarge(format!(
                "a result of shape {:?}, built for each coordinate of its first level, takes more \
                 than {} bytes: raise the memory limit",
                bound.shape(),
                how.limit
            )));
        }
        // Somewhat more: rows are written before it is known whether they are kept.
        let last = self.collected.load(Ordering::Relaxed);
        let kinds = &self.planned.sink.columns[usize::from(self.planned.loops.by_first)..];
        let width = kinds.iter().map(|kind| u64::from(kind.bits()) / 8).sum::<u64>();
        let width = width.saturating_add(block.saturating_mul(rest.dtype().bytes() as u64));
        let most = usize::try_from(how.limit / width.max(1)).unwrap_or(usize::MAX);
        let most = most.saturating_add(SOME_ROWS as usize);
        let some = (SOME_ROWS as u64).checked_div(block).unwrap_or(0) as usize;
        let all = self.room(tensors, bound, block).max(last + last / 16 + some).min(most);
        let room = all / groups.len();
        let block = block as usize;
        let collecting = Collecting { compiled: self, tensors, sizes, how, block, most };
        let shares = Shares::new(groups.iter().map(SmallVec::len));
        let parts: Vec<(i64, i64)> = groups.iter().flatten().copied().collect();
        // Each thread runs its own parts, and then what others have not come to.
        let thread = |own: usize| -> Result<Vec<(usize, Part)>, Error> {
            // Behind what the first has, there is to be room for all.
            let mut collector = collecting.collector(if own == 0 { all } else { room })?;
            let mut found = Vec::new();
            let mut next = shares.next(own);
            while let Some(first) = next {
                let mut follows = first;
                while next == Some(follows) {
                    collector.run(parts[follows])?;
                    next = shares.next(own);
                    follows += 1;
                }
                found.push((first, collector.take(if next.is_some() { room / STOLEN } else { 0 })));
            }
            Ok(found)
        };
        let mut found: Vec<(usize, Part)> = match groups.len() {
            1 => thread(0)?,
            threads => {
                let found = (0..threads).into_par_iter().map(thread);
                found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect()
            }
        };
        found.sort_by_key(|&(first, _)| first);
        let total = found.iter().map(|(_, part)| part.rows).sum();
        self.collected.store(total, Ordering::Relaxed);
        // A row around every loop is there in each part.
        let meet = parts.len() > 1 && self.is_around_all();
        let parts = found.into_iter().map(|(_, part)| part).collect();
        let rows = rows_of(parts, block, rounds);
        let unsorted = meet || self.planned.sink.kind == SinkKind::Unsorted;
        // Rows in order are moved as they are.
        let work = if unsorted { rows.values.len() } else { rows.values.len() / 8 };
        within(how.threads, work, || {
            let op = self.reduce.clone().unwrap_or(Operator::Add);
            let rows = if unsorted { sort_and_combine(rows, bound, &op)? } else { rows };
            Tensor::from_rows(bound, rows, fill, how.limit)
        })
    }
}
