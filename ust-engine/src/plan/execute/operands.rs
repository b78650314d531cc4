//! The tensors that the loops of a stage run on: the caller's, results of stages, and what is made of them
//! first.

use smallvec::SmallVec;
use ust_format::Format;
use ust_kernels::pool::within;
use ust_level_api::Scalar;

use crate::error::Error;
use crate::expr::control::Run;
use crate::expr::term::Assignment;
use crate::plan::choose::{Conversion, Planned};
use crate::plan::run::Compiled;
use crate::plan::stage::{Source, Stage, StageAccess};
use crate::storage::Tensor;

/// The value of an operand at unstored coordinates. The old value of an update counts as the operand after
/// the last.
pub(super) fn meant(assignment: &Assignment, at: usize, tensor: &Tensor) -> Scalar {
    let old = assignment.update.is_some() && !tensor.format().is_full();
    match (assignment.operands.get(at), assignment.result.zero) {
        (Some(input), _) => input.fill,
        (None, Some(zero)) if old => zero,
        (None, _) => tensor.fill(),
    }
}

/// The tensor of each access of a stage: from `made` if it is there. Views are copied, and tensors in formats that
/// count are converted.
pub(super) fn tensors_of<'a>(
    assignment: &Assignment,
    stage: &Stage,
    operands: &[&'a Tensor],
    results: &'a [Tensor],
    made: &mut [Option<Tensor>],
) -> Result<Held<'a>, Error> {
    let whole = |tensor: &'a Tensor, one: &StageAccess| {
        if is_walked(tensor, one) {
            return Ok(Operand::Borrowed(tensor));
        }
        if one.as_tree {
            return Ok(Operand::Made(Box::new(tensor.as_tree()?)));
        }
        let by_places = one.by_places.then(|| tensor.by_places());
        if let Some(stored) = by_places.as_ref().filter(|stored| is_walked(stored, one)) {
            return Ok(Operand::Shared(Box::new(stored.clone())));
        }
        let tensor = by_places.as_ref().unwrap_or(tensor);
        let format = tensor.format().without_slices();
        // A slice of a 2:4 tensor need not fit 2:4, since its groups begin elsewhere.
        let copied = tensor.copied_by(|| match format.has_room() && !format.depends_on_entries() {
            // The plan is for the kinds of the indices of the whole tensor.
            true => tensor.convert(&format).map(|made| made.in_kinds_of(tensor)),
            false => tensor.convert(&Format::tree(tensor.rank())?),
        });
        copied.map(|made| Operand::Made(Box::new(made)))
    };
    let each = stage.accesses.iter().enumerate().map(|(at, one)| {
        if let Some(made) = made.get_mut(at).and_then(Option::take) {
            return Ok(Operand::Made(Box::new(made)));
        }
        let given = match one.source {
            Source::Operand(at) => whole(operands[at], one)?,
            Source::Stage(at) => Operand::Borrowed(&results[at]),
            Source::Order { operand, dim } => match operands[operand].view().order(dim) {
                Some(order) => Operand::Borrowed(order.matrix()?),
                None => unreachable!("formats are compared before"),
            },
        };
        if !one.full {
            return Ok(given);
        }
        // Unstored elements become stored ones, with the value that they have in this expression.
        let tensor = match one.source {
            Source::Operand(at) => given.tensor().meaning(meant(assignment, at, given.tensor()))?,
            Source::Stage(_) | Source::Order { .. } => given.tensor().clone(),
        };
        let made = tensor.convert(&Format::full(tensor.rank())?)?;
        Ok(Operand::Made(Box::new(made)))
    });
    each.collect()
}

/// Whether the loops of a stage run on a tensor of the caller as it is: it is no view, and what its format counts has
/// index variables.
fn is_walked(tensor: &Tensor, one: &StageAccess) -> bool {
    tensor.view().is_whole() && one.dims.len() == tensor.format().axes()
}

/// A tensor of the caller, or a tensor converted from it.
pub(super) enum Operand<'a> {
    Borrowed(&'a Tensor),
    /// The caller's, by places.
    Shared(Box<Tensor>),
    Made(Box<Tensor>),
}

impl Operand<'_> {
    pub(super) fn tensor(&self) -> &Tensor {
        match self {
            Self::Borrowed(tensor) => tensor,
            Self::Shared(tensor) | Self::Made(tensor) => tensor,
        }
    }

    pub(super) fn made(self) -> Option<Tensor> {
        match self {
            Self::Borrowed(_) | Self::Shared(_) => None,
            Self::Made(tensor) => Some(*tensor),
        }
    }
}

pub(super) type Held<'a> = SmallVec<[Operand<'a>; 4]>;

pub(super) fn refs<'t>(tensors: &'t [Operand<'_>]) -> SmallVec<[&'t Tensor; 4]> {
    tensors.iter().map(Operand::tensor).collect()
}

/// The tensors that the loops run on, after the plan's conversions, and the options for the loops: with the
/// memory that is left.
fn converted<'a>(planned: &Planned, tensors: Held<'a>, how: Run) -> Result<(Held<'a>, Run), Error> {
    let mut left = how.limit;
    let each = tensors.into_iter().zip(&planned.conversions);
    let all = each.map(|(given, conversion)| {
        let tensor = given.tensor();
        let (made, bytes) = match conversion {
            None => {
                // Copies of views and of operands in full take memory, too.
                if let Operand::Made(tensor) = &given {
                    left = left.saturating_sub(tensor.bytes() as u64);
                }
                return Ok(given);
            }
            Some(Conversion::Widths(format)) => tensor.in_32_bits(format, left)?,
            Some(Conversion::Tree(format)) => {
                let made =
                    within(how.threads, tensor.nse(), || tensor.convert_within(format, how.limit))?;
                let bytes = made.bytes() as u64;
                (made, bytes)
            }
        };
        left = left.saturating_sub(bytes);
        Ok(Operand::Made(Box::new(made)))
    });
    let all = all.collect::<Result<Held<'a>, Error>>()?;
    Ok((all, Run { limit: left, ..how }))
}

/// Whether the tensors of all accesses of a stage are operands that need no conversion. If so, appends them
/// to `to`.
#[inline]
pub(super) fn are_ready<'a>(
    stage: &Stage,
    compiled: &Compiled,
    operands: &[&'a Tensor],
    to: &mut SmallVec<[&'a Tensor; 4]>,
) -> bool {
    (compiled.takes_given() || compiled.planned.conversions.iter().all(Option::is_none))
        && stage.accesses.iter().all(|one| match one.source {
            Source::Operand(at) => {
                to.push(operands[at]);
                is_walked(operands[at], one) && !one.full
            }
            Source::Stage(_) | Source::Order { .. } => false,
        })
}

/// The tensors that the loops of a stage run on, from those of its accesses, and the options for the loops.
pub(super) fn ready_for<'a>(
    compiled: &Compiled,
    given: Held<'a>,
    how: Run,
) -> Result<(Held<'a>, Run), Error> {
    if !compiled.takes_given() {
        return converted(&compiled.planned, given, how);
    }
    let made = given.iter().filter_map(|one| match one {
        Operand::Borrowed(_) | Operand::Shared(_) => None,
        Operand::Made(tensor) => Some(&**tensor),
    });
    let how = how.beside(made);
    Ok((given, how))
}
