//! Which kernels run on given tensors.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use ust_cuda::{Grid, Stream};
use ust_engine::Error;
use ust_engine::format::IndexExpr;
use ust_engine::provider::Call;
use ust_engine::provider::plan::{Loop, Over, Parameter, Sizes, evaluated};
use ust_engine::schedule::{Carries, Schedule};
use ust_level_api::Interval;
use ust_level_api::ir::ArrayId;
use ust_level_api::ir::interp::Param;
use ust_level_api::ir::schedule::Vector;

use super::{
    Arguments, BY_STORED, BY_TABLE, Given, IN_BLOCKS, IN_STRIDES, IN_VECTORS, Kernels, Launcher,
    launch, length, words,
};
use crate::cache;
use crate::gpu::Gpu;
use crate::print::Argument;
use crate::print::types::alignment;
use crate::provider::Schedules;
use crate::there::{self, device};
use crate::tuning::{
    BLOCK_THREADS, ITEMS_PER_THREAD, MERGED_PER_THREAD, MOST_SUMS, STRUCTURES, SUMMED_PER_THREAD,
    WIDTHS, is_enough, is_skewed, team, width,
};

/// Schedules with several elements for each thread, at most.
const SEVERAL: usize = 4;

/// Number of choices.
pub(super) const CHOICES: usize = (2 + SEVERAL) * WIDTHS + 3;

/// Which kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// 2^k threads for each part.
    Threads(usize),
    /// Several elements for each thread, by the schedule of this number, and 2^k threads for each part.
    Several(usize, usize),
    /// A thread for each element.
    Elements,
    /// Parts of equally many stored elements, with 2^k threads for each.
    Stored(usize),
    /// Tables in shared memory.
    Tables,
    /// Tables in other memory.
    LargeTables,
}

impl Choice {
    pub(super) fn number(self) -> usize {
        match self {
            Self::Threads(width) => width,
            Self::Elements => WIDTHS,
            Self::Stored(width) => WIDTHS + 1 + width,
            Self::Tables => 2 * WIDTHS + 1,
            Self::LargeTables => 2 * WIDTHS + 2,
            Self::Several(which, width) => (2 + which) * WIDTHS + 3 + width,
        }
    }

    /// The binary logarithm of the number of threads that run a part together.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Threads(width) | Self::Several(_, width) | Self::Stored(width) => width,
            Self::Elements | Self::Tables | Self::LargeTables => 0,
        }
    }
}

impl Launcher {
    /// The range that parts cut, and the kernels, for these tensors.
    pub(super) fn choose(
        &self,
        call: &Call<'_>,
        arguments: &mut Arguments<'_>,
        gpu: &Gpu,
    ) -> Result<(Choice, Option<(i64, i64)>), Error> {
        let planned = match &self.schedules.alone.range {
            Ok(range) => Some(self.range(range, Choice::Threads(0), call, arguments, gpu)?),
            Err(_) => None,
        };
        arguments.iterations = planned.map_or(u64::MAX, length);
        let parts = planned.map_or(1, length);
        if let Some(Schedule { range: Ok(range), .. }) = &self.schedules.elements {
            let elements = self.range(range, Choice::Elements, call, arguments, gpu)?;
            if length(elements) > parts || planned.is_none() {
                return Ok((Choice::Elements, Some(elements)));
            }
        }
        if self.schedules.tables.is_some() && planned.is_some() {
            BY_TABLE.fetch_add(1, Ordering::Relaxed);
            return Ok((Choice::Tables, planned));
        }
        let stored = |operand: usize| call.operands()[operand].nse() as f64;
        let width = |of: Option<&Schedule>| self.width(of, call.extents(), &stored, parts);
        if let (Some(planned), Some(Schedule { range: Ok(items), .. })) =
            (planned, &self.schedules.stored)
        {
            let items = self.range(items, Choice::Stored(0), call, arguments, gpu)?;
            let mean = length(items).saturating_sub(parts) as f64 / parts.max(1) as f64;
            let find = || {
                let kernels = self.kernels(Choice::Stored(0), arguments, gpu.device())?;
                let arguments = Arguments { range: planned, ..arguments.clone() };
                Ok((0, longest_row(&kernels, arguments, gpu.stream())?))
            };
            let is_long = match self.schedules.is_always_stored() {
                true => true,
                false => is_skewed(mean, self.once(CHOICES, call, arguments, find)?.1),
            };
            if is_long {
                BY_STORED.fetch_add(1, Ordering::Relaxed);
                let width = match self.schedules.shared.is_some() {
                    true => width(self.schedules.shared.as_ref()),
                    false => self.most_lanes(),
                };
                return Ok((Choice::Stored(width), Some(items)));
            }
        }
        let choice = self.shared(call.extents(), Some(&arguments.arrays), parts, width);
        let is_apart = |vector: &Vector| vector.apart;
        let count = match choice {
            Choice::Several(..) if self.schedule(choice).vectors().any(is_apart) => &IN_STRIDES,
            Choice::Several(..) => &IN_VECTORS,
            _ => return Ok((choice, planned)),
        };
        count.fetch_add(1, Ordering::Relaxed);
        let is_block = self.schedule(choice).grain > 1;
        IN_BLOCKS.fetch_add(usize::from(is_block), Ordering::Relaxed);
        Ok((choice, planned))
    }

    /// The kernels for one or several threads for each of `parts` parts, given the extents of index variables, and
    /// arrays if they are there.
    fn shared(
        &self,
        extents: &[usize],
        arrays: Option<&[Given]>,
        parts: u64,
        width: impl Fn(Option<&Schedule>) -> usize,
    ) -> Choice {
        let Schedules { several, shared, .. } = &self.schedules;
        let fits = |schedule: &Schedule| {
            let is_enough = || is_enough(parts / u64::from(schedule.grain), width(Some(schedule)));
            schedule.vectors().all(|vector| self.fits(vector, extents, arrays))
                && (schedule.grain == 1 || is_enough())
        };
        match several.iter().position(fits) {
            Some(which) => Choice::Several(which, width(several.get(which))),
            None => Choice::Threads(width(shared.as_ref())),
        }
    }

    /// Whether a loop over several elements is right, and worth it, for index variables of these extents. Arrays have
    /// to begin where their elements can be accessed side by side. The result, which has no memory yet, will.
    fn fits(&self, vector: &Vector, extents: &[usize], arrays: Option<&[Given]>) -> bool {
        let Parameter::Extent(v) = self.facts.parameters[vector.extent.0 as usize] else {
            return false;
        };
        if vector.apart {
            return extents[v] >= vector.count as usize;
        }
        let is_aligned = |array: &ArrayId| {
            let elem = self.function.arrays[array.0 as usize].elem;
            let address = arrays.map_or(0, |arrays| arrays[array.0 as usize].address);
            address.is_multiple_of(alignment(vector, elem))
        };
        extents[v].is_multiple_of(vector.count as usize) && vector.arrays.iter().all(is_aligned)
    }

    /// The binary logarithm of the number of threads that run a part of stored elements together, if nothing else
    /// in the plan is for several threads.
    fn most_lanes(&self) -> usize {
        let has_lanes = self.schedules.stored_shared.as_ref().is_some_and(Schedule::has_lanes);
        if has_lanes { WIDTHS - 1 } else { 0 }
    }

    /// The number of sums that a part leaves for others.
    pub(super) fn block(&self, carries: &Carries, arguments: &Arguments<'_>) -> Result<u64, Error> {
        let block = std::slice::from_ref(&carries.block);
        let found = evaluated(block, &self.function, arguments.params)?;
        Ok(found.map_or(1, |found| found[0].max(0) as u64))
    }

    /// The choice for tensors of these sizes, as far as they tell it.
    pub(super) fn expected(&self, sizes: &Sizes) -> Choice {
        let parts = sizes.iterations.first().map_or(1, |count| count.max(1.0) as u64);
        let elements = self.about.elements(&sizes.extents);
        if self.schedules.elements.is_some()
            && (elements > parts || self.schedules.alone.range.is_err())
        {
            return Choice::Elements;
        }
        if self.schedules.is_always_stored() {
            return Choice::Stored(0);
        }
        if self.schedules.tables.is_some() && self.schedules.alone.range.is_ok() {
            return Choice::Tables;
        }
        let width = |of: Option<&Schedule>| {
            self.width(of, &sizes.extents, &|at| sizes.operands[at].nse, parts)
        };
        self.shared(&sizes.extents, None, parts, width)
    }

    /// What `find` finds about these tensors. It is looked for once for each structure, by `what`.
    fn once(
        &self,
        what: usize,
        call: &Call<'_>,
        arguments: &Arguments<'_>,
        find: impl FnOnce() -> Result<(i64, i64), Error>,
    ) -> Result<(i64, i64), Error> {
        let key = structure(what as u64, call, arguments);
        let known = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&key) {
            return Ok(*found);
        }
        let found = find()?;
        let mut known = known();
        if known.len() >= STRUCTURES {
            known.clear();
        }
        known.insert(key, found);
        Ok(found)
    }

    /// The binary logarithm of the number of threads that run a part of a schedule together, for `parts` parts, index
    /// variables of these extents, and operands with so many stored elements.
    fn width(
        &self,
        schedule: Option<&Schedule>,
        extents: &[usize],
        stored: &dyn Fn(usize) -> f64,
        parts: u64,
    ) -> usize {
        let Some(schedule) = schedule else { return 0 };
        let loops = &schedule.scheduled.marks.loops;
        let iterations = self.facts.loops.iter().filter_map(|one| {
            let marks = one.vars.iter().find_map(|var| loops.get(var))?;
            let each = marks.vector.as_ref().map_or(1, |vector| vector.count);
            Some(self.iterations(one, extents, stored, parts) / f64::from(each))
        });
        width(iterations.fold(f64::INFINITY, f64::min), parts)
    }

    /// The number of threads that share an inner loop of a row with a table.
    pub(super) fn team(&self, call: &Call<'_>, parts: u64) -> u64 {
        let Some(tables) = &self.schedules.tables else { return 1 };
        let loops = &tables.scheduled.marks.loops;
        let is_shared = |one: &&Loop| one.vars.iter().any(|var| loops.contains_key(var));
        let innermost = self.facts.loops.iter().filter(is_shared).max_by_key(|one| one.depth);
        let stored = |operand: usize| call.operands()[operand].nse() as f64;
        let extents = call.extents();
        team(innermost.map_or(1.0, |one| self.iterations(one, extents, &stored, parts)))
    }

    /// The iterations of a loop each time that it runs, on average.
    fn iterations(
        &self,
        of: &Loop,
        extents: &[usize],
        stored: &dyn Fn(usize) -> f64,
        parts: u64,
    ) -> f64 {
        if let (Over::Coordinates, [], IndexExpr::Var(v)) = (of.over, &of.walks[..], &of.expr) {
            return extents[*v] as f64;
        }
        let planned =
            |depth: usize| self.sizes.iterations.get(depth).copied().unwrap_or(1.0).max(1.0);
        match of.walks[..] {
            // The entries of one operand, which parts share.
            [(operand, _)] if of.depth == 1 => {
                let then = self.sizes.operands[operand].nse.max(1.0);
                let grown = stored(operand) / then;
                planned(of.depth) * grown / parts.max(1) as f64
            }
            _ if of.depth == 0 => planned(0),
            _ => planned(of.depth) / planned(of.depth - 1),
        }
    }

    /// Makes parts longer where the outermost loop itself is shared by the threads of a part.
    pub(super) fn coarsen(
        &self,
        arguments: &mut Arguments<'_>,
        choice: Choice,
    ) -> Result<(), Error> {
        let (loops, width) = (&self.schedule(choice).scheduled.marks.loops, choice.width());
        let is_shared = |one: &&Loop| one.vars.iter().any(|var| loops.contains_key(var));
        let outermost = self.facts.loops.iter().filter(is_shared).any(|one| one.depth == 0);
        if let Choice::Stored(width) = choice {
            // What parts leave takes no more room than stored elements do.
            let left = match &self.schedule(choice).carries {
                Some(carries) => self.block(carries, arguments)?,
                None => 1,
            };
            let items = match self.schedule(choice).facts {
                Some(_) => MERGED_PER_THREAD,
                None => ITEMS_PER_THREAD,
            };
            arguments.grain = (items << width).max(left);
            arguments.parts = arguments.length().div_ceil(arguments.grain);
        } else if width > 0 && outermost {
            let length = arguments.length();
            arguments.grain = length.div_ceil(MOST_SUMS).max(SUMMED_PER_THREAD << width);
            arguments.parts = length.div_ceil(arguments.grain);
        } else {
            arguments.grain = u64::from(self.schedule(choice).grain);
            arguments.parts = arguments.length().div_ceil(arguments.grain);
        }
        Ok(())
    }

    /// The range that parts cut.
    fn range(
        &self,
        range: &Interval,
        choice: Choice,
        call: &Call<'_>,
        arguments: &Arguments<'_>,
        gpu: &Gpu,
    ) -> Result<(i64, i64), Error> {
        let bounds = [range.lo.clone(), range.hi.clone()];
        if let Some(found) = evaluated(&bounds, &self.function, arguments.params)? {
            return Ok((found[0], found[1]));
        }
        let find = || {
            stored_range(&*self.kernels(choice, arguments, gpu.device())?, arguments, gpu.stream())
        };
        self.once(choice.number(), call, arguments, find)
    }
}

/// What tells structures of operands apart, and parameters.
pub(super) fn structure(what: u64, call: &Call<'_>, arguments: &Arguments<'_>) -> Vec<u64> {
    let ids = call.operands().iter().map(|tensor| tensor.kept_of_levels().id());
    let params = arguments.params.iter().map(|param| match param {
        Param::Int(value) => *value as u64,
        _ => 0,
    });
    std::iter::once(what).chain(ids).chain(params).collect()
}

/// The range that parts cut, where it is read from arrays.
pub(super) fn stored_range(
    Kernels { program, module, .. }: &Kernels,
    arguments: &Arguments<'_>,
    stream: &Stream,
) -> Result<(i64, i64), Error> {
    let unknown = || Error::Unsupported("the range of a loop is not known".to_owned());
    let kernel = program.range.as_ref().ok_or_else(unknown)?;
    let to = there::alloc(16, stream).map_err(device)?;
    let mut words = words(kernel, arguments);
    // The last argument is the array of the two bounds.
    let place = kernel.arguments.iter().rposition(|one| matches!(one, Argument::Array(_)));
    words[place.expect("the range is stored")] = to.address();
    launch(module, kernel, Grid::new(1, 1), &words, stream)?;
    let mut found = [0_i64; 2];
    there::read(&mut found, &to, stream).map_err(device)?;
    Ok((found[0], found[1]))
}

/// The number of entries of the longest row, of those in the range of the outermost loop.
pub(super) fn longest_row(
    Kernels { program, module, .. }: &Kernels,
    mut arguments: Arguments<'_>,
    stream: &Stream,
) -> Result<i64, Error> {
    let kernel = program.longest.as_ref().expect("the longest row is found by a kernel");
    let to = cache::with_room(|| stream.upload(&0_i64.to_ne_bytes())).map_err(device)?;
    (arguments.grain, arguments.parts) = (1, arguments.length());
    let place = kernel.arguments.iter().filter_map(|one| match one {
        Argument::Array(id) => Some(id.0 as usize),
        _ => None,
    });
    // The last array is the one that is written.
    let place = place.max().expect("it is stored");
    let count = arguments.arrays.len().max(place + 1);
    arguments.arrays.resize(count, Given::default());
    arguments.arrays[place] = Given { address: to.address(), length: 1 };
    let blocks = arguments.parts.div_ceil(BLOCK_THREADS).clamp(1, 1 << 16) as u32;
    let grid = Grid::new(blocks, BLOCK_THREADS as u32);
    launch(module, kernel, grid, &words(kernel, &arguments), stream)?;
    let mut found = [0_i64];
    there::read(&mut found, &to, stream).map_err(device)?;
    Ok(found[0])
}
