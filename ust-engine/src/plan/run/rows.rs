//! Rows that loops append, and the tensor that is made of them.

use std::sync::atomic::Ordering;

use rayon::prelude::*;
use smallvec::SmallVec;
use ust_level_api::ir::interp::{GrowValues, Growable, Memory, RunError};

use super::{Bindings, Compiled, Parts, stop};
use crate::error::Error;
use crate::format::Bound;
use crate::ops::control::Run;
use crate::ops::operator::Operator;
use crate::plan::collect::{GrowColumn, Limited, Part, Starts, Workspace, rows_of};
use crate::plan::frame::Sizes;
use crate::plan::output::SOME_ROWS;
use crate::plan::sink::{self, SinkKind};
use crate::plan::unsorted::sort_and_combine;
use crate::pool::within;
use crate::tensor::Tensor;
use crate::with_values;

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
        let room =
            self.room(tensors, bound, block) / groups.iter().map(SmallVec::len).sum::<usize>();
        // Somewhat more: rows are written before it is known whether they are kept.
        let last = self.collected.load(Ordering::Relaxed);
        let kinds = &self.planned.sink.columns[usize::from(self.planned.loops.by_first)..];
        let width = kinds.iter().map(|kind| u64::from(kind.bits()) / 8).sum::<u64>();
        let width = width.saturating_add(block.saturating_mul(rest.dtype().bytes() as u64));
        let most = usize::try_from(how.limit / width.max(1)).unwrap_or(usize::MAX);
        let most = most.saturating_add(SOME_ROWS as usize);
        let some = (SOME_ROWS as u64).checked_div(block).unwrap_or(0) as usize;
        let room = room.max(last + last / 16 + some).min(most);
        let one = |&part: &(i64, i64)| -> Result<Part, Error> {
            let params = self.params(tensors, sizes, part, 0);
            let mut tables = self.tables(tensors, how, 1)?;
            let by_first = self.planned.loops.by_first;
            let mut starts = by_first.then(|| Starts::new(part, rounds));
            let block = block as usize;
            let fresh = || {
                let columns = kinds.iter().map(|&kind| GrowColumn::new(kind, most));
                let values = GrowValues::new(rest.dtype());
                let values = Limited::new(values, most.saturating_mul(block));
                (columns.collect::<Vec<_>>(), values)
            };
            let (mut columns, mut values) = fresh();
            // What is reserved and not written takes no memory. All of it, or nothing: loops look at one
            // of the columns to see whether there is room.
            let all = columns.iter_mut().all(|column| column.memory().reserve(room))
                && values.reserve(room.saturating_mul(block));
            if !all {
                (columns, values) = fresh();
            }
            let mut rows = [0_i64];
            let mut row =
                Workspace::new(&self.planned.sink, bound, (tail, block as u64), rest, how.limit)?;
            let mut memory = Bindings::new();
            self.inputs(tensors, &mut memory);
            memory.push(Memory::Grow(&mut values));
            memory.extend(columns.iter_mut().map(|c| Memory::Grow(c.memory())));
            memory.push(Memory::indices_mut(&mut rows[..]));
            memory.extend(starts.as_mut().map(|starts| Memory::indices_mut(&mut starts.rows[..])));
            if let Some(row) = &mut row {
                with_values!(&mut row.values, b => {
                    memory.push(Memory::values_mut(b.make_mut()));
                });
                memory.push(row.mark.memory());
                memory.push(Memory::indices_mut(&mut row.list[..]));
            }
            memory.extend(tables.memory());
            stop(how)?;
            self.chosen.executable.run(&params, &mut memory).map_err(|error| match error {
                Error::Run(RunError::OutOfMemory { .. }) => Error::TooLarge(format!(
                    "a result in `{}` of shape {:?} takes more memory than there is, or than the limit \
                     of {} bytes: choose a format that stores less, or raise the memory limit",
                    bound.format(),
                    bound.shape(),
                    how.limit
                )),
                error => error,
            })?;
            drop(memory);
            let values = values.into_inner();
            Ok(Part { columns, starts, values, rows: rows[0] as usize })
        };
        let parts: Vec<Vec<Part>> = match groups {
            [parts] => vec![parts.iter().map(one).collect::<Result<_, _>>()?],
            _ => groups
                .par_iter()
                .map(|parts| parts.iter().map(one).collect::<Result<_, Error>>())
                .collect::<Result<_, _>>()?,
        };
        let parts: Vec<Part> = parts.into_iter().flatten().collect();
        let most = parts.iter().map(|part| part.rows).max();
        self.collected.store(most.unwrap_or(0), Ordering::Relaxed);
        // A row around every loop is there in each part.
        let meet = parts.len() > 1 && self.is_around_all();
        let rows = rows_of(parts, block as usize, rounds);
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
