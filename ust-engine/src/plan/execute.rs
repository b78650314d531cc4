//! An assignment on tensors: planned and compiled once, then run stage by stage.

pub(crate) mod aligned;
mod counted;
mod into;
mod numbered;
mod onto;
mod operands;
mod planned;
mod sorted;

use std::sync::Arc;
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use ust_format::Format;

use self::aligned::Aligned;
use self::numbered::Number;
use self::operands::{Held, Operand, are_ready, meant, ready_for, refs, tensors_of};
use self::planned::plan;
use super::along::along;
use super::divide::{Known, divide};
use super::frame::{self, Expected, Extents, Frame, Last, Sizes};
use super::path::part;
use super::rest::{Stored, counted};
use super::run::{Compiled, Inputs};
use super::stage::{Source, Stage, StageAccess, stages};
use crate::error::Error;
use crate::expr::control::{Run, Timing};
use crate::expr::term::Assignment;
use crate::provider::Backend;
use crate::storage::Tensor;
use crate::storage::order::Order;

/// How an assignment is planned.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The format of the result; inferred if it is `None`.
    pub(crate) format: Option<Format>,
    pub(crate) backend: Backend,
    /// Whether sums are formed in the order of the loops.
    pub(crate) strict: bool,
    /// Whether the loops of a result in full add to what it holds.
    pub(crate) onto: bool,
    /// Whether the last operand, behind those of the assignment, is a tensor in whose positions the result is computed.
    pub(crate) aligned: bool,
    /// The operand of the assignment that this tensor is, if loops walk that one in its place.
    pub(crate) same: Option<usize>,
    /// Options for stages that run during planning.
    pub(crate) run: Run,
}

/// An assignment, planned and compiled for tensors of some formats.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) assignment: Assignment,
    stages: Vec<Stage>,
    compiled: Vec<Compiled>,
    /// What is known of each operand.
    expected: Vec<Expected>,
    /// Indices whose extents must not be 0.
    some: Vec<usize>,
    /// For each operand, whether it was a view, which is copied.
    views: Vec<bool>,
    /// The index variables that stand for counters of operands.
    numbers: Vec<Number>,
    /// The format of the result, if it counts.
    counts: Option<Format>,
    /// For a result in the positions of a tensor, how these are known.
    aligned: Option<Aligned>,
    last: Last,
}

/// Intermediate results of planning, for a first run on the same tensors.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    /// The results of the stages before the last.
    results: Vec<Tensor>,
    /// For each access of the last stage, the tensor, if planning made one.
    made: Vec<Option<Tensor>>,
    /// The time of the loops of the stages before the last, and of the assembly of their results.
    run_in: Duration,
}

impl Prepared {
    /// Plans and compiles an assignment. `operands` are those of the assignment, in order, followed by the
    /// old value for an update, or by the tensor in whose positions the result is computed. Every stage but the last runs, so that later stages are planned for its
    /// actual result.
    ///
    /// # Errors
    /// The errors of planning, conversions and assembly.
    pub(crate) fn new(
        assignment: Assignment,
        operands: &[&Tensor],
        options: &Options,
    ) -> Result<(Self, Begun), Error> {
        match options.aligned {
            true => Self::new_aligned(assignment, operands, options),
            false => Self::of(assignment, operands, options),
        }
    }

    /// As [`Prepared::new`], for operands that loops run on as they are.
    fn of(
        assignment: Assignment,
        operands: &[&Tensor],
        options: &Options,
    ) -> Result<(Self, Begun), Error> {
        let counts = options.format.as_ref().filter(|format| format.depends_on_entries());
        // Rows are collected in the order of dimensions, and then counted.
        let tree = match counts {
            Some(format) => Some(Format::tree(format.rank())?),
            None => options.format.clone(),
        };
        let options = &Options { format: tree, ..options.clone() };
        let extents: Extents = assignment.indices.iter().map(|index| index.extent).collect();
        let mut stages = stages(&assignment);
        if options.aligned {
            aligned::mask(&assignment, options, &mut stages);
        }
        let stages = divide(stages, &extents, &|source| match source {
            Source::Operand(at) => {
                let levels = operands[at].format().descriptions().iter();
                Some(Known {
                    sparse: levels.filter(|level| !level.props.full).count(),
                    fill: meant(&assignment, at, operands[at]),
                })
            }
            Source::Stage(_) | Source::Order { .. } => None,
        })?;
        let mut making = Self {
            assignment,
            stages: Vec::new(),
            compiled: Vec::new(),
            expected: operands.iter().map(|&tensor| tensor.into()).collect(),
            views: operands.iter().map(|t| !t.view().is_whole()).collect(),
            numbers: Vec::new(),
            counts: counts.cloned(),
            aligned: None,
            some: Vec::new(),
            last: Last::default(),
        };
        let mut begun = Begun::default();
        // For each stage, the number of the stage that has its result, after divisions.
        let mut places = Vec::new();
        let count = stages.len();
        for mut stage in stages {
            stage.move_sources(&|at| places[at]);
            let last = places.len() + 1 == count;
            making.add(stage, operands, &mut begun, options, last)?;
            places.push(making.stages.len() - 1);
        }
        Ok((making, begun))
    }

    /// Adds a stage, divided into several if that is quicker.
    fn add(
        &mut self,
        stage: Stage,
        operands: &[&Tensor],
        begun: &mut Begun,
        options: &Options,
        last: bool,
    ) -> Result<(), Error> {
        let at = begun.results.len();
        let stage = if last { self.with_trees(stage, operands) } else { stage };
        let (stage, moves) = self.sorted(stage, operands, at);
        if let Some(mut moves) = moves {
            self.add(stage, operands, begun, options, false)?;
            let made = begun.results.len() - 1;
            moves.move_sources(&|of| if of == at { made } else { of });
            return self.add(moves, operands, begun, options, last);
        }
        let extents: Extents = self.assignment.indices.iter().map(|i| i.extent).collect();
        let stored = self.stored(&stage, operands, &begun.results)?;
        if let Some([first, second]) = part(&stage, &stored, &extents, at) {
            self.add(first, operands, begun, options, false)?;
            let mut second = second;
            let made = begun.results.len() - 1;
            second.move_sources(&|of| if of == at { made } else { of });
            return self.add(second, operands, begun, options, last);
        }
        if let Some([combined, counted, both]) = counted(&stage, &stored, &extents, at) {
            self.some.extend(stage.reduce.iter().flat_map(|(_, indices)| indices));
            self.push(combined, operands, begun, options, false)?;
            self.push(counted, operands, begun, options, false)?;
            return self.push(both, operands, begun, options, last);
        }
        self.push(stage, operands, begun, options, last)
    }

    /// Plans and compiles a stage, and runs it unless it is the last.
    fn push(
        &mut self,
        stage: Stage,
        operands: &[&Tensor],
        begun: &mut Begun,
        options: &Options,
        last: bool,
    ) -> Result<(), Error> {
        let stage = self.numbered(stage, operands);
        let given = tensors_of(&self.assignment, &stage, operands, &begun.results, &mut [])?;
        let Some(mut made) = self.compile(&stage, &given, options, last, options.backend)? else {
            drop(given);
            return self.push_aligned(stage, operands, begun, options);
        };
        made.between = !last;
        if last {
            begun.made = given.into_iter().map(Operand::made).collect();
        } else {
            let extents: Extents = self.assignment.indices.iter().map(|i| i.extent).collect();
            let sizes = Sizes::new(&extents, &stage.result, made.collected_in())?;
            let mut start = Instant::now();
            let how = options.run.beside(&begun.results);
            let other = match made.chosen.executable.runs() {
                true => None,
                false => self.compile(&stage, &given, options, last, Backend::Auto)?,
            };
            let runs = other.as_ref().unwrap_or(&made);
            let mut given = Some(given);
            let result = tried(runs, &stage, &sizes, |runs, sizes| {
                let given = match given.take() {
                    Some(given) => given,
                    None => {
                        tensors_of(&self.assignment, &stage, operands, &begun.results, &mut [])?
                    }
                };
                finished(run_on(runs, given, sizes, how, || start = Instant::now())?, &stage)
            })?;
            drop(given);
            begun.results.push(result);
            begun.run_in += start.elapsed();
        }
        self.compiled.push(made);
        self.stages.push(stage);
        Ok(())
    }

    /// Plans and compiles a stage for these tensors. `None` for a last one whose loops cannot write at the positions
    /// that the result has to have.
    fn compile(
        &self,
        stage: &Stage,
        given: &Held<'_>,
        options: &Options,
        last: bool,
        backend: Backend,
    ) -> Result<Option<Compiled>, Error> {
        let aligned = options.aligned && last;
        if aligned && options.leader(&self.assignment, stage).is_none() {
            return Ok(None);
        }
        let plans = plan(&self.assignment, stage, given, options, last)?;
        if plans.is_empty() {
            return Ok(None);
        }
        let over_values = match (&given[..], &plans[..]) {
            ([one], [(planned, _), ..]) if !aligned => {
                along(stage, one.tensor(), planned, backend, options.strict)?
            }
            _ => None,
        };
        match over_values {
            Some(made) => Ok(Some(made)),
            None => Compiled::new(plans, stage, &refs(given), backend, options.strict).map(Some),
        }
    }

    /// For each access of a stage to a tensor that is not stored in full, its fill value and size.
    fn stored(
        &self,
        stage: &Stage,
        operands: &[&Tensor],
        results: &[Tensor],
    ) -> Result<Vec<Option<Stored>>, Error> {
        let each = stage.accesses.iter().map(|one| {
            let (tensor, fill) = match one.source {
                Source::Order { operand, dim } => {
                    let order = operands[operand].view().order(dim).map(Order::matrix);
                    let Some(order) = order.transpose()? else { return Ok(None) };
                    (order, order.fill())
                }
                Source::Operand(at) => (operands[at], meant(&self.assignment, at, operands[at])),
                Source::Stage(at) => (&results[at], results[at].fill()),
            };
            Ok((!tensor.format().is_full()).then(|| Stored { fill, nse: tensor.nse() }))
        });
        each.collect()
    }

    /// The sizes for a run on these operands.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for tensors that the kernel was not prepared for; [`Error::Shape`]
    /// for extents that contradict each other.
    fn frame(&self, operands: &[&Tensor]) -> Result<Arc<Frame>, Error> {
        frame::expect(&self.assignment, operands, &self.expected)?;
        self.last.frame(operands, || {
            let mut extents = frame::extents(&self.assignment, operands, self.aligned.is_some())?;
            self.numbers.iter().for_each(|number| extents[number.index] = number.count(operands));
            frame::expect_some(&self.assignment, &extents, &self.some)?;
            let stages = self.stages.iter().zip(&self.compiled);
            let each = stages.map(|(stage, compiled)| {
                Sizes::new(&extents, &stage.result, compiled.collected_in())
            });
            each.collect()
        })
    }

    /// Whether the kernels can run on these tensors: they have the planned formats, and the coordinates of
    /// their results have the planned widths.
    pub(crate) fn fits(&self, operands: &[&Tensor]) -> bool {
        self.on_pattern(operands, |operands, _| Ok(self.fit(operands))).unwrap_or(false)
    }

    fn fit(&self, operands: &[&Tensor]) -> bool {
        self.frame(operands).is_ok_and(|frame| {
            let mut stages = frame.stages.iter().zip(&self.compiled);
            stages.all(|(sizes, compiled)| compiled.fits(&sizes.bound))
        })
    }

    /// Runs all stages, except those that planning ran on the same tensors.
    ///
    /// # Errors
    /// As [`Prepared::frame`], and the errors of conversions and assembly.
    pub(crate) fn run(
        &self,
        operands: &[&Tensor],
        how: Run,
        timing: Option<&mut Timing>,
        begun: Begun,
    ) -> Result<Tensor, Error> {
        match self.aligned {
            None => self.run_stages(operands, how, timing, begun),
            Some(_) => self.run_aligned(operands, how, timing, begun),
        }
    }

    fn run_stages(
        &self,
        operands: &[&Tensor],
        how: Run,
        timing: Option<&mut Timing>,
        begun: Begun,
    ) -> Result<Tensor, Error> {
        let frame = self.frame(operands)?;
        let Begun { mut results, mut made, run_in } = begun;
        let mut spent = Timing { run_in, ..Default::default() };
        let done = results.len();
        let now = || timing.is_some().then(Instant::now);
        let since = |start: Option<Instant>| start.map_or(Duration::ZERO, |start| start.elapsed());
        let stages = self.stages.iter().zip(&self.compiled).zip(&frame.stages);
        for ((stage, compiled), sizes) in stages.skip(done) {
            let how = how.beside(&results);
            let mut start = now();
            let result = tried(compiled, stage, sizes, |compiled, sizes| {
                let mut ready = SmallVec::new();
                if are_ready(stage, compiled, operands, &mut ready) {
                    return finished(compiled.run(Inputs::new(&ready), sizes, how)?, stage);
                }
                let given = tensors_of(&self.assignment, stage, operands, &results, &mut made)?;
                let result = run_on(compiled, given, sizes, how, || {
                    spent.prepared_in += since(start);
                    start = now();
                })?;
                finished(result, stage)
            })?;
            results.push(result);
            spent.run_in += since(start);
        }
        if let Some(timing) = timing {
            *timing = spent;
        }
        let result = results.pop().expect("an assignment has a stage");
        self.counted(result, operands, how)
    }

    pub(crate) fn explain(&self) -> String {
        let spread = match self.aligned {
            Some(Aligned::ByTree { .. }) => aligned::EXPLAINED,
            Some(Aligned::Itself { .. }) | None => "",
        };
        let copied = |one: &StageAccess| match one.source {
            Source::Operand(at) => {
                let format = self.expected.get(at).map(|expected| &expected.format);
                (self.views[at] && !one.by_places)
                    || format.is_some_and(|format| one.dims.len() != format.axes())
            }
            Source::Stage(_) | Source::Order { .. } => false,
        };
        let stages =
            super::explain::explain(&self.assignment, &self.stages, &self.compiled, &copied);
        format!("{stages}{spread}{}", self.explain_counted())
    }

    pub(crate) fn stages(&self) -> Vec<String> {
        let told = |stage: &Compiled| {
            let loops = stage.chosen.executable.loops().join("; ");
            match loops.is_empty() {
                true => stage.chosen.name.to_owned(),
                false => format!("{}: {loops}", stage.chosen.name),
            }
        };
        self.compiled.iter().map(told).collect()
    }

    pub(crate) fn codes(&self) -> Option<Vec<String>> {
        self.compiled.iter().map(|stage| stage.chosen.executable.disassembly()).collect()
    }

    pub(crate) fn backend(&self) -> &'static str {
        self.compiled.last().map_or("", |stage| stage.chosen.name)
    }
}

/// Runs a stage. If it runs in other memory, for which nobody asked, and that fails, it runs in this one.
fn tried(
    compiled: &Compiled,
    stage: &Stage,
    sizes: &Sizes,
    mut work: impl FnMut(&Compiled, &Sizes) -> Result<Tensor, Error>,
) -> Result<Tensor, Error> {
    let result = work(compiled, sizes);
    let (Err(Error::Device(_)), Some(instead)) = (&result, &compiled.instead) else {
        return result;
    };
    let own = Sizes::new(&sizes.extents, &stage.result, instead.collected_in())?;
    if instead.fits(&own.bound) { work(instead, &own) } else { result }
}

/// The result of a stage, from the result of its loops: rounded, and without the padding that a stage with
/// more visits than entries stores.
fn finished(result: Tensor, stage: &Stage) -> Result<Tensor, Error> {
    let result = result.rounded(stage.dtype)?;
    match stage.visits_more && !result.format().is_full() {
        true => result.eliminate_zeros(),
        false => Ok(result),
    }
}

/// Runs a stage on the tensors of its accesses. `begin` is called after conversions, before the loops.
fn run_on(
    compiled: &Compiled,
    given: Held<'_>,
    sizes: &Sizes,
    how: Run,
    begin: impl FnOnce(),
) -> Result<Tensor, Error> {
    let shared = compiled.shared().map(|at| given[at].tensor().clone());
    let (tensors, how) = ready_for(compiled, given, how)?;
    begin();
    compiled.run(Inputs { tensors: &refs(&tensors), shared: shared.as_ref() }, sizes, how)
}
