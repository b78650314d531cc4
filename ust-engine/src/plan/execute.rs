//! An assignment on tensors: planned and compiled once, run stage by stage.

use std::sync::Arc;
use std::time::{Duration, Instant};

use smallvec::SmallVec;
use ust_format::Format;
use ust_kernels::pool::within;
use ust_level_api::Scalar;

use super::along::along;
use super::choose::{Candidate, Given, Planned, choose};
use super::divide::{Known, divide};
use super::frame::{self, Extents, Frame, Last, Sizes};
use super::path::part;
use super::rest::{Stored, counted};
use super::run::Compiled;
use super::stage::{Source, Stage, stages};
use crate::error::Error;
use crate::expr::control::{Run, Timing};
use crate::expr::term::Assignment;
use crate::provider::Backend;
use crate::storage::{StoredElement, Tensor};

/// How an assignment is planned.
#[derive(Clone, Debug)]
pub(crate) struct Options<'a> {
    /// The format of the result; inferred where none is given.
    pub(crate) format: Option<Format>,
    pub(crate) backend: Backend,
    /// Whether sums are formed in the order of the loops.
    pub(crate) strict: bool,
    /// For stages that are run to plan the next.
    pub(crate) run: Run<'a>,
}

/// An assignment, planned and compiled for tensors of some formats.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) assignment: Assignment,
    stages: Vec<Stage>,
    compiled: Vec<Compiled>,
    /// The format and fill value of each operand.
    expected: Vec<(Format, Scalar)>,
    /// Indices that have to have coordinates.
    some: Vec<usize>,
    /// Whether each operand was a view, of which a copy is made.
    views: Vec<bool>,
    last: Last,
}

/// What planning computed: a run on the same tensors need not do it again.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    /// Of stages before the last, the results.
    results: Vec<Tensor>,
    /// For each use of the last stage, the tensor, where it was made for the plan.
    made: Vec<Option<Tensor>>,
    /// How long the loops of the stages before the last took, and the assembly of their results.
    run_in: Duration,
}

impl Prepared {
    /// Plans and compiles. `operands` are those of the assignment, in order, and for an update the
    /// old value after them. Stages before the last are run, so that the last is planned for what
    /// they give.
    ///
    /// # Errors
    /// What planning, conversions and assembly give.
    pub(crate) fn new(
        assignment: Assignment,
        operands: &[&Tensor],
        options: &Options<'_>,
    ) -> Result<(Self, Begun), Error> {
        let extents: Extents = assignment.indices.iter().map(|index| index.extent).collect();
        let stages = divide(stages(&assignment), &extents, &|source| match source {
            Source::Operand(at) => {
                let levels = operands[at].format().descriptions().iter();
                Some(Known {
                    sparse: levels.filter(|level| !level.props.full).count(),
                    fill: meant(&assignment, at, operands[at]),
                })
            }
            Source::Stage(_) => None,
        })?;
        let mut making = Self {
            assignment,
            stages: Vec::new(),
            compiled: Vec::new(),
            expected: operands.iter().map(|t| (t.format().clone(), t.fill())).collect(),
            views: operands.iter().map(|t| !t.view().is_whole()).collect(),
            some: Vec::new(),
            last: Last::default(),
        };
        let mut begun = Begun::default();
        // Where the result of each stage is.
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

    /// Adds a stage, in smaller ones where that is quicker.
    fn add(
        &mut self,
        stage: Stage,
        operands: &[&Tensor],
        begun: &mut Begun,
        options: &Options<'_>,
        last: bool,
    ) -> Result<(), Error> {
        let extents: Extents = self.assignment.indices.iter().map(|i| i.extent).collect();
        let stored = self.stored(&stage, operands, &begun.results);
        let at = begun.results.len();
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

    /// Plans and compiles a stage; runs it, unless it is the last.
    fn push(
        &mut self,
        stage: Stage,
        operands: &[&Tensor],
        begun: &mut Begun,
        options: &Options<'_>,
        last: bool,
    ) -> Result<(), Error> {
        let given = tensors_of(&self.assignment, &stage, operands, &begun.results, &mut [])?;
        let plans = plan(&self.assignment, &stage, &refs(&given), options, last)?;
        let Options { backend, strict, .. } = *options;
        let over_values = match (&given[..], &plans[..]) {
            ([one], [(planned, _), ..]) => along(&stage, one.tensor(), planned, backend, strict)?,
            _ => None,
        };
        let mut made = match over_values {
            Some(made) => made,
            None => Compiled::new(plans, &stage, backend, strict)?,
        };
        made.between = !last;
        if last {
            begun.made = given.into_iter().map(Operand::made).collect();
        } else {
            let extents: Extents = self.assignment.indices.iter().map(|i| i.extent).collect();
            let sizes = Sizes::new(&extents, &stage.result, made.collected_in())?;
            let mut start = Instant::now();
            let how = options.run.beside(&begun.results);
            let result = run_on(&made, given, &sizes, how, || start = Instant::now())?;
            begun.results.push(finished(result, &stage)?);
            begun.run_in += start.elapsed();
        }
        self.compiled.push(made);
        self.stages.push(stage);
        Ok(())
    }

    /// What is known of the tensor of each use of a stage that is not stored in full.
    fn stored(
        &self,
        stage: &Stage,
        operands: &[&Tensor],
        results: &[Tensor],
    ) -> Vec<Option<Stored>> {
        let each = stage.uses.iter().map(|one| {
            let (tensor, fill) = match one.source {
                Source::Operand(at) => (operands[at], meant(&self.assignment, at, operands[at])),
                Source::Stage(at) => (&results[at], results[at].fill()),
            };
            (!tensor.format().is_full()).then(|| Stored { fill, nse: tensor.nse() })
        });
        each.collect()
    }

    /// The sizes to run with.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for tensors that the kernel was not prepared for; [`Error::Shape`]
    /// where extents contradict each other.
    fn frame(&self, operands: &[&Tensor]) -> Result<Arc<Frame>, Error> {
        frame::expect(&self.assignment, operands, &self.expected)?;
        self.last.frame(operands, || {
            let extents = frame::extents(&self.assignment, operands)?;
            frame::expect_some(&self.assignment, &extents, &self.some)?;
            let stages = self.stages.iter().zip(&self.compiled);
            let each = stages.map(|(stage, compiled)| {
                Sizes::new(&extents, &stage.result, compiled.collected_in())
            });
            each.collect()
        })
    }

    /// Whether the kernels were made for these tensors, and for results of their size: coordinates
    /// are as narrow as the shape that was planned for allows.
    pub(crate) fn fits(&self, operands: &[&Tensor]) -> bool {
        self.frame(operands).is_ok_and(|frame| {
            let mut stages = frame.stages.iter().zip(&self.compiled);
            stages.all(|(sizes, compiled)| compiled.fits(&sizes.bound))
        })
    }

    /// Runs all stages, those apart that were run on the same tensors already.
    ///
    /// # Errors
    /// As [`Prepared::frame`], and what conversions and assembly give.
    pub(crate) fn run(
        &self,
        operands: &[&Tensor],
        how: Run<'_>,
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
            let mut ready = SmallVec::new();
            let result = match are_ready(stage, compiled, operands, &mut ready) {
                true => compiled.run(&ready, sizes, how)?,
                false => {
                    let given = tensors_of(&self.assignment, stage, operands, &results, &mut made)?;
                    run_on(compiled, given, sizes, how, || {
                        spent.prepared_in += since(start);
                        start = now();
                    })?
                }
            };
            results.push(finished(result, stage)?);
            spent.run_in += since(start);
        }
        if let Some(timing) = timing {
            *timing = spent;
        }
        Ok(results.pop().expect("an assignment has a stage"))
    }

    /// Runs all stages; the result goes into memory that is given.
    ///
    /// # Errors
    /// As [`Prepared::run`], and [`Error::Shape`] where the length is not that of the result, or
    /// the result is not stored in full, row-major.
    pub(crate) fn run_into<T: StoredElement>(
        &self,
        operands: &[&Tensor],
        how: Run<'_>,
        out: &mut [T],
        begun: Begun,
    ) -> Result<(), Error> {
        let (last, above) = self.compiled.split_last().expect("an assignment has a stage");
        let frame = self.frame(operands)?;
        if T::DTYPE != self.assignment.result.dtype {
            return Err(Error::Dtype { expected: T::DTYPE, found: self.assignment.result.dtype });
        }
        let stage = &self.stages[above.len()];
        let sizes = &frame.stages[above.len()];
        let wanted = sizes.bound.shape();
        let row_major = {
            let order = last.format().levels().iter().enumerate();
            last.format().is_full()
                && last.format().level_count() == wanted.len()
                && order.clone().all(|(at, l)| l.expr == ust_format::IndexExpr::Var(at))
        };
        if !row_major || wanted.iter().product::<usize>() != out.len() {
            return Err(Error::Shape {
                found: vec![out.len()],
                expected: format!(
                    "the result has shape {wanted:?} and is stored in `{}`; a slice takes one \
                     value for each element, in row-major order",
                    last.format()
                ),
            });
        }
        let in_place = last.along.is_none() && last.planned.rest.dtype() == T::DTYPE;
        let mut ready = SmallVec::new();
        if in_place && are_ready(stage, last, operands, &mut ready) {
            return last.run_into(&ready, sizes, how, out);
        }
        let result = self.run(operands, how, None, begun)?;
        out.copy_from_slice(result.values().typed::<T>()?);
        Ok(())
    }

    pub(crate) fn explain(&self) -> String {
        super::explain::explain(&self.assignment, &self.stages, &self.compiled, &self.views)
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

    pub(crate) fn machine_code(&self) -> Option<String> {
        let codes: Option<Vec<String>> =
            self.compiled.iter().map(|stage| stage.chosen.executable.disassembly()).collect();
        codes.map(|codes| codes.join("\n"))
    }

    pub(crate) fn backend(&self) -> &'static str {
        self.compiled.last().map_or("", |stage| stage.chosen.name)
    }
}

/// What an operand has where nothing is stored, or an update's old value, which comes after them.
fn meant(assignment: &Assignment, at: usize, tensor: &Tensor) -> Scalar {
    match (assignment.operands.get(at), assignment.result.zero) {
        (Some(input), _) => input.fill,
        (None, Some(zero)) if !tensor.format().is_full() => zero,
        (None, _) => tensor.fill(),
    }
}

/// Gives the tensor of each use of a stage, where all are given, and none has to be converted.
#[inline]
fn are_ready<'a>(
    stage: &Stage,
    compiled: &Compiled,
    operands: &[&'a Tensor],
    to: &mut SmallVec<[&'a Tensor; 4]>,
) -> bool {
    compiled.copy.is_none()
        && compiled.planned.conversions.iter().all(Option::is_none)
        && stage.uses.iter().all(|one| match one.source {
            Source::Operand(at) => {
                to.push(operands[at]);
                operands[at].view().is_whole() && !one.full
            }
            Source::Stage(_) => false,
        })
}

/// The result of a stage, of what its loops gave.
fn finished(result: Tensor, stage: &Stage) -> Result<Tensor, Error> {
    let result = result.rounded(stage.dtype);
    match stage.visits_more && !result.format().is_full() {
        true => result.eliminate_zeros(),
        false => Ok(result),
    }
}

/// Runs a stage on the tensors of its uses. `begin` is called when they are as the loops take them.
fn run_on(
    compiled: &Compiled,
    given: Held<'_>,
    sizes: &Sizes,
    how: Run<'_>,
    begin: impl FnOnce(),
) -> Result<Tensor, Error> {
    if let (Some(order), [one]) = (&compiled.copy, &given[..]) {
        begin();
        return compiled.copied(one.tensor(), order, how);
    }
    let tensors = converted(&compiled.planned, given, how)?;
    let made = tensors.iter().filter_map(|one| match one {
        Operand::Borrowed(_) => None,
        Operand::Made(tensor) => Some(&**tensor),
    });
    let how = how.beside(made);
    begin();
    compiled.run(&refs(&tensors), sizes, how)
}

/// The tensor of each use of a stage, those in `made` apart as they are there. Views are made whole.
fn tensors_of<'a>(
    assignment: &Assignment,
    stage: &Stage,
    operands: &[&'a Tensor],
    results: &'a [Tensor],
    made: &mut [Option<Tensor>],
) -> Result<Held<'a>, Error> {
    let whole = |tensor: &'a Tensor| {
        if tensor.view().is_whole() {
            return Ok(Operand::Borrowed(tensor));
        }
        let format = tensor.format().without_slices();
        // What fits in groups of the whole need not fit in those of a part.
        match format.has_room() {
            true => tensor.convert(&format),
            false => tensor.convert(&Format::resolve("CSF", Some(tensor.rank()))?),
        }
        .map(|made| Operand::Made(Box::new(made)))
    };
    let each = stage.uses.iter().enumerate().map(|(at, one)| {
        if let Some(made) = made.get_mut(at).and_then(Option::take) {
            return Ok(Operand::Made(Box::new(made)));
        }
        let given = match one.source {
            Source::Operand(at) => whole(operands[at])?,
            Source::Stage(at) => Operand::Borrowed(&results[at]),
        };
        if !one.full {
            return Ok(given);
        }
        // What is not stored becomes a value, and has the one that it means here.
        let tensor = match one.source {
            Source::Operand(at) => given.tensor().meaning(meant(assignment, at, given.tensor()))?,
            Source::Stage(_) => given.tensor().clone(),
        };
        let made = tensor.convert(&Format::full(tensor.rank())?)?;
        Ok(Operand::Made(Box::new(made)))
    });
    each.collect()
}

/// A tensor of the caller, or one made of it.
enum Operand<'a> {
    Borrowed(&'a Tensor),
    Made(Box<Tensor>),
}

impl Operand<'_> {
    fn tensor(&self) -> &Tensor {
        match self {
            Self::Borrowed(tensor) => tensor,
            Self::Made(tensor) => tensor,
        }
    }

    fn made(self) -> Option<Tensor> {
        match self {
            Self::Borrowed(_) => None,
            Self::Made(tensor) => Some(*tensor),
        }
    }
}

type Held<'a> = SmallVec<[Operand<'a>; 4]>;

fn refs<'t>(tensors: &'t [Operand<'_>]) -> SmallVec<[&'t Tensor; 4]> {
    tensors.iter().map(Operand::tensor).collect()
}

fn plan(
    assignment: &Assignment,
    stage: &Stage,
    tensors: &[&Tensor],
    options: &Options<'_>,
    last: bool,
) -> Result<Vec<Candidate>, Error> {
    let names: Vec<String> = assignment.indices.iter().map(|index| index.name.clone()).collect();
    let extents: Vec<usize> = assignment.indices.iter().map(|index| index.extent).collect();
    let input = |source: Source| match source {
        Source::Operand(at) => assignment.operands.get(at),
        Source::Stage(_) => None,
    };
    let fills = stage.uses.iter().zip(tensors).map(|(u, t)| match u.source {
        Source::Operand(at) => meant(assignment, at, t),
        Source::Stage(_) => t.fill(),
    });
    let labels = stage.uses.iter().map(|u| match (input(u.source), u.source) {
        (Some(input), _) => input.name.clone(),
        (None, Source::Stage(at)) => format!("t{at}"),
        (None, Source::Operand(_)) => assignment.result.name.clone(),
    });
    choose(&Given {
        stage,
        tensors,
        names: labels.collect(),
        fills: fills.collect(),
        indices: &names,
        extents: &extents,
        format: options.format.clone().filter(|_| last),
        zero: assignment.result.zero.filter(|_| last).unwrap_or(stage.dtype.zero()),
    })
}

/// The tensors that the loops run on.
fn converted<'a>(planned: &Planned, tensors: Held<'a>, how: Run<'_>) -> Result<Held<'a>, Error> {
    if planned.conversions.iter().all(Option::is_none) {
        return Ok(tensors);
    }
    let each = tensors.into_iter().zip(&planned.conversions);
    each.map(|(given, format)| {
        let Some(format) = format else { return Ok(given) };
        let tensor = given.tensor();
        let made = within(how.threads, tensor.nse(), || tensor.convert_within(format, how.limit))?;
        Ok(Operand::Made(Box::new(made)))
    })
    .collect()
}
