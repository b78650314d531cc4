//! The time that a plan takes on a device, before anything is compiled or copied: what `auto` compares.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ust_cuda::Info;
use ust_engine::Tensor;
use ust_engine::provider::{Offer, Plan};
use ust_engine::tensor::Kept;
use ust_level_api::Arrays;

use crate::cache;
use crate::gpu::Gpu;
use crate::launch::Launcher;
use crate::there::{Levels, ValuesThere};
use crate::tuning::{
    BANDWIDTH, BUS_BYTES_PER_NS, CLOCK_GHZ, COMPILE_NS, COMPILE_PAYS_RUNS, CONVERT_ENTRY_NS,
    COPIED_RUNS, COPY_NS, CYCLES_PER_ITERATION, LATENCY_NS, LAUNCH_NS, LAUNCHES_IN_PLACE,
    LAUNCHES_OF_ROWS, LOAD_NS, OFFERED_SHARE, SORT_ROW_NS, WARP,
};

/// What a run takes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimate {
    /// Bytes of operands that are copied to the device: of those that recur, their share of a run.
    copied: f64,
    /// In the memory of the host: conversions before, with what is fetched for them, and sorting afterwards.
    host: f64,
    /// The copies to the device.
    to: f64,
    /// Launches of kernels, and waiting for them.
    launches: f64,
    /// The kernels.
    kernels: f64,
    /// The copy of the result to the host.
    back: f64,
    /// Bytes of the device that operands and result take.
    room: f64,
}

impl Estimate {
    fn run(&self) -> f64 {
        self.host + self.to + self.launches + self.kernels + self.back
    }

    /// The estimate for a plan, as if its loops had as many threads as they have use for.
    pub(crate) fn new(plan: &Plan<'_>, gpu: &Gpu) -> Self {
        let info = gpu.device().info();
        let (mut copied, mut copies, mut host) = (0.0, 0.0, 0.0);
        for (tensor, converted) in plan.tensors.iter().zip(&plan.converted) {
            let missing = if *converted { tensor.bytes() } else { missing(tensor, gpu) };
            // Copies are kept, and what was asked for so often is asked for again.
            let share = match !*converted && recurs(tensor, gpu) {
                true => 1.0 / f64::from(COPIED_RUNS),
                false => 1.0,
            };
            if *converted {
                host += tensor.nse() as f64 * CONVERT_ENTRY_NS;
            }
            if missing > 0 {
                host += tensor.bytes_elsewhere() as f64 / BUS_BYTES_PER_NS;
            }
            copied += share * missing as f64;
            copies += if missing > 0 { share } else { 0.0 };
        }
        let operands: f64 = plan.tensors.iter().map(|tensor| tensor.bytes() as f64).sum();
        let iterations = plan.sizes.iterations.iter().copied().fold(1.0, f64::max);
        let (elements, result) = result(plan, iterations);
        let rows = plan.facts.rows.as_ref();
        let unsorted = rows.is_some_and(|rows| !rows.sorted || rows.around_all);
        let launches = if rows.is_some() { LAUNCHES_OF_ROWS } else { LAUNCHES_IN_PLACE };
        // Each iteration of the outermost loop, or each element, has a warp at most.
        let outermost = plan.sizes.iterations.first().copied().unwrap_or(1.0);
        let parallel = if rows.is_some() { outermost } else { outermost.max(elements) };
        Self {
            copied,
            host: host + if unsorted { elements * SORT_ROW_NS } else { 0.0 },
            to: copied / BUS_BYTES_PER_NS + copies * COPY_NS,
            launches: launches * LAUNCH_NS,
            kernels: kernels(info, operands + result, iterations, parallel * f64::from(WARP)),
            back: result / BUS_BYTES_PER_NS + COPY_NS,
            room: operands + result,
        }
    }

    /// The same if one thread of the device runs all loops.
    fn alone(self, plan: &Plan<'_>) -> Self {
        let iterations = plan.sizes.iterations.iter().copied().fold(1.0, f64::max);
        Self { kernels: iterations * LATENCY_NS, ..self }
    }

    /// What the time consists of, for people.
    pub(crate) fn describe(&self) -> String {
        let Self { copied, host, to, launches, kernels, back, .. } = self;
        let ms = |time: &f64| format!("{:.3} ms", time / 1e6);
        let copy = match *copied > 0.0 {
            true => format!("{} to copy {copied:.0} bytes to the device", ms(to)),
            false => "operands are on the device".to_owned(),
        };
        let host =
            if *host > 0.0 { format!("{} on the processor, ", ms(host)) } else { String::new() };
        let work = ms(&(launches + kernels));
        format!("{host}{copy}, {work} for kernels, {} for the way back of the result", ms(back))
    }
}

/// Nanoseconds of kernels that move so many bytes and run so many iterations.
fn kernels(info: &Info, bytes: f64, iterations: f64, threads: f64) -> f64 {
    let bandwidth = info.bandwidth().unwrap_or(BANDWIDTH) / 1e9;
    let clock = if info.clock > 0 { f64::from(info.clock) / 1e6 } else { CLOCK_GHZ };
    let busy = iterations * CYCLES_PER_ITERATION / (f64::from(info.multiprocessors.max(1)) * clock);
    // What a thread waits for does not become less where there are few of them.
    let waiting = iterations / threads.max(1.0) * LATENCY_NS;
    (bytes / bandwidth).max(busy).max(waiting)
}

/// The number of elements that a plan writes, and their bytes.
fn result(plan: &Plan<'_>, iterations: f64) -> (f64, f64) {
    let extents = plan.result.indices.iter().map(|&v| plan.sizes.extents[v] as f64);
    let all: f64 = extents.product();
    let each = plan.result.dtype.bytes() as f64;
    match plan.facts.rows {
        Some(_) => {
            let rows = all.min(iterations);
            let coordinates = 4.0 * plan.result.format.level_count() as f64;
            (rows, rows * (each + coordinates))
        }
        None if plan.result.format.is_full() => (all, all * each),
        None => {
            let stored = plan.tensors.iter().map(|tensor| tensor.nse()).max().unwrap_or(0) as f64;
            (stored, stored * each)
        }
    }
}

/// Bytes of a tensor that are not on the device.
fn missing(tensor: &Tensor, gpu: &Gpu) -> usize {
    let (levels, values) = there(tensor, gpu);
    let of_levels = || tensor.levels().iter().map(Arrays::bytes).sum::<usize>();
    let of_values = if values { 0 } else { tensor.values().bytes() };
    of_values + if levels { 0 } else { of_levels() }
}

/// Whether the level arrays and the values of a tensor are on the device.
fn there(tensor: &Tensor, gpu: &Gpu) -> (bool, bool) {
    let none = || tensor.levels().iter().all(|arrays| arrays.0.is_empty());
    let levels = cache::has::<Levels>(tensor.kept_of_levels(), gpu.device()) || none();
    (levels, cache::has::<ValuesThere>(tensor.kept_of_values(), gpu.device()))
}

/// How often somebody asked for data that were not on the device.
struct Asked(AtomicU32);

/// Whether all that is missing was asked for as often as makes a copy pay.
fn recurs(tensor: &Tensor, gpu: &Gpu) -> bool {
    let (levels, values) = there(tensor, gpu);
    let often = |kept: &Kept| {
        kept.get::<Asked>().is_some_and(|asked| asked.0.load(Ordering::Relaxed) >= COPIED_RUNS)
    };
    (levels || often(tensor.kept_of_levels())) && (values || often(tensor.kept_of_values()))
}

fn note_asked(kept: &Kept) {
    match kept.get::<Asked>() {
        Some(asked) => {
            asked.0.fetch_add(1, Ordering::Relaxed);
        }
        None => {
            kept.keep(Arc::new(Asked(AtomicU32::new(1))), 0);
        }
    }
}

/// A number below 8 that is 0 if this process opened no device, and else tells what of a tensor is there, and whether
/// the rest [recurs].
pub(crate) fn state_of(tensor: &Tensor) -> u64 {
    let Some(gpu) = Gpu::opened_before() else { return 0 };
    let (levels, values) = there(tensor, &gpu);
    if levels && values {
        return 7;
    }
    let missing = [(levels, tensor.kept_of_levels()), (values, tensor.kept_of_values())];
    missing.into_iter().filter(|(there, _)| !there).for_each(|(_, kept)| note_asked(kept));
    1 + 2 * u64::from(levels) + 4 * u64::from(values) + u64::from(recurs(tensor, &gpu))
}

const NONE_OPENED: &str = "this process has opened no GPU";

/// The offer for a plan whose caller names no back end. Nothing is looked for, opened, copied or compiled.
pub(crate) fn unasked(plan: &Plan<'_>, launcher: impl Fn() -> Result<Launcher, String>) -> Offer {
    let Some(gpu) = Gpu::opened_before() else { return Offer::OnRequest(NONE_OPENED.to_owned()) };
    if plan.strict {
        let why = "functions such as `exp` have other last bits on the device";
        return Offer::OnRequest(why.to_owned());
    }
    let estimate = Estimate::new(plan, &gpu);
    let room = OFFERED_SHARE * gpu.device().info().memory as f64;
    if estimate.room > room {
        let why = format!("{:.0} bytes are much for the device", estimate.room);
        return Offer::OnRequest(why);
    }
    // To look closer is worth its time only where the device may be quicker.
    if gains(plan, &estimate) <= 0.0 {
        return Offer::Time { run: estimate.run(), compile: COMPILE_NS };
    }
    match launcher() {
        Ok(launcher) => close(plan, &estimate, &launcher, &gpu),
        Err(why) => Offer::Refused(why),
    }
}

/// Nanoseconds that a run on the device saves.
fn gains(plan: &Plan<'_>, estimate: &Estimate) -> f64 {
    let elsewhere: usize = plan.tensors.iter().map(|tensor| tensor.bytes_elsewhere()).sum();
    plan.estimate + elsewhere as f64 / BUS_BYTES_PER_NS - estimate.run()
}

/// The offer of kernels that may be quicker than the processor.
fn close(plan: &Plan<'_>, estimate: &Estimate, launcher: &Launcher, gpu: &Gpu) -> Offer {
    let estimate = if launcher.is_alone() { estimate.alone(plan) } else { *estimate };
    let saved = gains(plan, &estimate);
    let compiled = match launcher.is_compiled(plan.sizes, gpu.device()) {
        Ok(compiled) => compiled,
        Err(error) => return Offer::Refused(error.to_string()),
    };
    let runs = COMPILE_NS / saved.max(1.0);
    if !compiled && saved > 0.0 && runs > COMPILE_PAYS_RUNS {
        return Offer::OnRequest(format!(
            "a run would take about {:.3} ms ({}), but the kernels are not compiled yet: that takes about {:.0} \
             ms, and would pay after {runs:.0} runs",
            estimate.run() / 1e6,
            estimate.describe(),
            COMPILE_NS / 1e6
        ));
    }
    let compile = if compiled { LOAD_NS } else { COMPILE_NS };
    Offer::Time { run: estimate.run(), compile }
}

/// What the time of the offer consists of.
pub(crate) fn reasons(plan: &Plan<'_>) -> Option<String> {
    Some(Estimate::new(plan, &Gpu::opened_before()?).describe())
}
