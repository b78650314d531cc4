//! The rows of each part of a plan. They are counted once for operands of the same structure, if they follow from that
//! alone, and kept with the structure of the first operand: those of the plan that used it last.

use std::sync::Arc;

use ust_cuda::{Device, Memory};
use ust_engine::Error;
use ust_engine::provider::plan::{Array, Facts};
use ust_engine::schedule::Schedule;
use ust_level_api::ir::{Expr, Function, Stmt};

use super::Arguments;
use super::choose::structure;
use super::run::Running;
use super::tables::Pick;
use crate::cache::{self, There};
use crate::prims::Bins;
use crate::there::device;

/// Rows, counted.
pub(super) struct Counted {
    /// What they were counted for.
    key: Vec<u64>,
    /// The first row of each part, and the number of all.
    pub(super) first: Memory,
    pub(super) rows: usize,
    /// The parts by the sizes of their tables, if they have some.
    pub(super) bins: Option<Bins>,
}

impl Counted {
    pub(super) fn memories(&self) -> impl Iterator<Item = &Memory> {
        let order = self.bins.as_ref().map(|bins| bins.order.memory());
        std::iter::once(&self.first).chain(order)
    }
}

impl There for Counted {
    fn device(&self) -> Option<&Device> {
        Some(self.first.device())
    }

    fn bytes(&self) -> u64 {
        self.memories().map(|memory| memory.len() as u64).sum()
    }

    fn is_shared(&self) -> bool {
        false
    }
}

/// Whether the numbers of rows follow from the structures of operands, and not from values.
fn from_structures(facts: &Facts, schedule: &Schedule) -> bool {
    let bounding = schedule.bounding.as_ref().map(|one| &one.function);
    schedule.counting.iter().chain(bounding).all(|function| !reads_values(facts, function))
}

fn reads_values(facts: &Facts, function: &Function) -> bool {
    let mut found = false;
    let mut note = |expr: &Expr| {
        expr.visit(&mut |part| {
            let Expr::Load(array, _) = part else { return };
            found |= matches!(
                facts.arrays[array.0 as usize],
                Array::Values(_) | Array::WorkValues | Array::RowValues | Array::Result
            );
        });
    };
    Stmt::visit_all(&function.body, &mut |stmt| stmt.exprs().into_iter().for_each(&mut note));
    found
}

impl Running<'_> {
    /// The rows of each part.
    pub(super) fn counted(
        &self,
        arguments: &Arguments<'_>,
        workers: u64,
    ) -> Result<Arc<Counted>, Error> {
        let Self { launcher, call, stream, .. } = *self;
        let (lo, hi) = arguments.range;
        let mut key = structure(launcher.number, call, arguments);
        let by_stored = u64::from(self.schedule.by_stored);
        key.extend([lo as u64, hi as u64, arguments.grain, arguments.parts, by_stored]);
        let is_known = from_structures(&launcher.facts, self.schedule);
        let Some(kept) = call.operands().first().filter(|_| is_known) else {
            return Ok(Arc::new(self.count(key, arguments, workers)?));
        };
        let kept = kept.kept_of_levels();
        let known = cache::get::<Counted>(kept, stream.device());
        if let Some(known) = known.filter(|known| known.key == key) {
            return Ok(known);
        }
        let made = Arc::new(self.count(key, arguments, workers)?);
        cache::keep(kept, &made, stream.device());
        Ok(made)
    }

    fn count(
        &self,
        key: Vec<u64>,
        arguments: &Arguments<'_>,
        workers: u64,
    ) -> Result<Counted, Error> {
        let parts = arguments.parts as usize;
        let counts = self.numbers(parts)?;
        let arguments = Arguments { counts: counts.address(), ..arguments.clone() };
        let kernel: Pick = |program| program.count.as_ref();
        let bins = if self.schedule.bounding.is_some() {
            let additions = self.additions(&arguments)?;
            self.in_tables(kernel, &self.bins(parts, &additions, None)?, &arguments)?;
            Some(self.bins(parts, &counts, Some(&additions))?)
        } else {
            let kernel = kernel(&self.kernels.program).expect("rows are counted");
            self.launch(kernel, &arguments, workers)?;
            None
        };
        self.check()?;
        self.room((parts as u64 + 1) * 8)?;
        let first = self.first_rows(&counts, parts).map_err(device)?;
        let mut rows = [0_i64];
        let bytes = bytemuck::cast_slice_mut(&mut rows);
        self.stream.read(&first, parts * 8, bytes).map_err(device)?;
        let too_large = |_| Error::TooLarge("the rows of the result".to_owned());
        Ok(Counted { key, first, rows: usize::try_from(rows[0]).map_err(too_large)?, bins })
    }
}
