//! Kernels that keep workspaces as hash tables: parts in bins, by the sizes of their tables.
//!
//! Bins run one after another in one stream.

use std::fmt;

use ust_cuda::{Grid, Memory};
use ust_engine::Error;
use ust_engine::provider::plan::Array;
use ust_level_api::IndexKind;

use super::choose::Choice;
use super::run::Running;
use super::{Arguments, launch, words};
use crate::cache;
use crate::prims::{Bins, Column, Least};
use crate::print::{Kernel, Program};
use crate::there::{self, device};
use crate::tuning::{
    ADDITIONS_PER_COORDINATE, BLOCK_THREADS, MOST_BY_ADDITIONS, SHARED_BYTES, TableShape,
    WORK_BYTES, table,
};

/// What kernels with tables are called with.
#[derive(Clone, Copy, Default)]
pub(super) struct Tables {
    pub(super) chosen: u64,
    pub(super) width: u64,
    pub(super) team: u64,
    pub(super) slots: u64,
    pub(super) room: u64,
    pub(super) memory: u64,
}

/// The number that kernels note where a table has no room: `UST_FULL` of the prelude.
pub(super) const FULL: i32 = -1;

/// A hash table of a kernel has no room for all coordinates, because fewer were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FullTable;

impl fmt::Display for FullTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hash table has no room for all coordinates of a row: fewer were counted")
    }
}

impl std::error::Error for FullTable {}

/// A kernel of a program.
pub(super) type Pick = fn(&Program) -> Option<&Kernel>;

impl Running<'_> {
    /// For each part, the number of additions to its workspaces.
    pub(super) fn additions(&self, arguments: &Arguments<'_>) -> Result<Memory, Error> {
        let counts = self.numbers(arguments.parts as usize)?;
        let kernel = self.kernels.program.bound.as_ref().expect("additions are counted");
        let arguments = Arguments { counts: counts.address(), ..arguments.clone() };
        self.launch(kernel, &arguments, arguments.parts)?;
        self.check()?;
        Ok(counts)
    }

    /// Parts by the sizes of their tables. Each has one for as many coordinates as `sizes` says of it. `additions` says
    /// how many are made, if these are more.
    pub(super) fn bins(
        &self,
        parts: usize,
        sizes: &Memory,
        additions: Option<&Memory>,
    ) -> Result<Bins, Error> {
        let find = || {
            let column = |of| Column::new(of, IndexKind::I64, parts);
            let (divisor, most) = (ADDITIONS_PER_COORDINATE, MOST_BY_ADDITIONS);
            let others = additions.map(column).transpose()?;
            let least = others.map(|others| Least { others, divisor, most });
            self.primitives.bins(column(sizes)?, least)
        };
        cache::with_room(find).map_err(device)
    }

    /// Runs a kernel on all parts.
    pub(super) fn in_tables(
        &self,
        pick: Pick,
        bins: &Bins,
        arguments: &Arguments<'_>,
    ) -> Result<(), Error> {
        let too_large = || Error::TooLarge("working memory".to_owned());
        let most = self.call.length(Array::WorkMarks, 1).ok_or_else(too_large)? as u64;
        // Places and coordinates of tables have 32 bits, and the last coordinate is none.
        if most >= u64::from(u32::MAX) {
            return Err(too_large());
        }
        let most = most.max(MOST_BY_ADDITIONS);
        let shape = |bin: usize| table((1_u64 << bin.saturating_sub(1)).min(most));
        let team = self.launcher.team(self.call, arguments.parts);
        let count = bins.starts.len() - 1;
        let mut first = 0;
        while first < count {
            // Bins with the same tables run together.
            let same = shape(first);
            let end = (first..count).find(|bin| shape(*bin) != same).unwrap_or(count);
            let chosen = bins.starts[first]..bins.starts[end];
            first = end;
            if chosen.is_empty() {
                continue;
            }
            let address = bins.order.memory().address() + chosen.start as u64 * 8;
            let (slots, width) = (same.slots, same.lanes);
            let tables = Tables {
                chosen: address,
                width,
                team: team.min(width),
                slots,
                ..Tables::default()
            };
            let parts = chosen.len() as u64;
            self.in_tables_of(pick, same, &Arguments { parts, tables, ..arguments.clone() })?;
        }
        Ok(())
    }

    /// Runs parts whose tables have the same size: in shared memory if they fit there.
    fn in_tables_of(
        &self,
        pick: Pick,
        TableShape { slots, lanes }: TableShape,
        arguments: &Arguments<'_>,
    ) -> Result<(), Error> {
        let kernel = pick(&self.kernels.program).expect("rows are counted");
        let too_large = || Error::TooLarge("working memory".to_owned());
        if slots > u64::from(u32::MAX) {
            return Err(too_large());
        }
        let room = kernel.room(slots).ok_or_else(too_large)?;
        let least = 32 / lanes.min(32);
        let is_shared = room * least <= u64::from(self.stream.device().info().shared);
        let (mut each, mut most) = (least, arguments.parts);
        if is_shared {
            let fit = (SHARED_BYTES / room).min(BLOCK_THREADS / lanes).max(least);
            each = 1 << fit.ilog2();
        } else {
            most = most.min((WORK_BYTES.min(self.room.left()) / room).max(1));
        }
        let blocks = most.div_ceil(each).min(i32::MAX as u64);
        let mut arguments = arguments.clone();
        arguments.tables.room = room;
        let mut grid = Grid::new(blocks as u32, (each * lanes) as u32);
        if is_shared {
            grid.shared = (room * each) as u32;
            let words = words(kernel, &arguments);
            return launch(&self.kernels.module, kernel, grid, &words, self.stream);
        }
        let bytes = room.checked_mul(blocks * each).ok_or_else(too_large)?;
        self.room.has(bytes)?;
        let bytes = usize::try_from(bytes).map_err(|_| too_large())?;
        let memory = there::alloc(bytes, self.stream).map_err(device)?;
        arguments.tables.memory = memory.address();
        let kernels =
            self.launcher.kernels(Choice::LargeTables, &arguments, self.stream.device())?;
        let kernel = pick(&kernels.program).expect("rows are counted");
        launch(&kernels.module, kernel, grid, &words(kernel, &arguments), self.stream)
    }
}
