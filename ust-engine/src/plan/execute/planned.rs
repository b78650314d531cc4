//! The plans of a stage, for the tensors that its loops run on.

use super::Options;
use super::operands::{Held, Operand, meant, refs};
use crate::convert::aligned::pads;
use crate::error::Error;
use crate::expr::term::Assignment;
use crate::plan::choose::{Candidate, Given, choose};
use crate::plan::explain::order_label;
use crate::plan::stage::{Source, Stage, StageAccess};
use crate::storage::{Outline, Tensor};

/// The plans of a stage: see [`choose`].
///
/// # Errors
/// The errors of planning.
pub(super) fn plan(
    assignment: &Assignment,
    stage: &Stage,
    given: &Held<'_>,
    options: &Options,
    last: bool,
) -> Result<Vec<Candidate>, Error> {
    let tensors: &[&Tensor] = &refs(given);
    let names: Vec<String> = assignment.indices.iter().map(|index| index.name.clone()).collect();
    let extents: Vec<usize> = assignment.indices.iter().map(|index| index.extent).collect();
    let input = |source: Source| match source {
        Source::Operand(at) => assignment.operands.get(at),
        Source::Stage(_) | Source::Order { .. } => None,
    };
    let fills = stage.accesses.iter().zip(tensors).map(|(u, t)| match u.source {
        Source::Operand(at) => meant(assignment, at, t),
        Source::Stage(_) | Source::Order { .. } => t.fill(),
    });
    let labels = stage.accesses.iter().map(|u| match (input(u.source), u.source) {
        (Some(input), _) => input.name.clone(),
        (None, Source::Stage(at)) => format!("t{at}"),
        (None, Source::Order { operand, dim }) => order_label(assignment, operand, dim),
        (None, Source::Operand(_)) => assignment.result.name.clone(),
    });
    // Loops read one value of an operand of the caller's that has one for all. A converted one may have none. With
    // padding, native kernels are the quickest: they take a value for each element.
    let outlined = |(one, access): (&Operand<'_>, &StageAccess)| {
        let outline = one.tensor().outline();
        let outline = match access.source {
            Source::Order { .. } => outline.without_padding(),
            Source::Operand(at)
                if Some(at) == options.pattern(assignment) && !pads(one.tensor().format()) =>
            {
                outline.without_padding()
            }
            _ => outline,
        };
        let given = !matches!(one, Operand::Made(_));
        let own = given && matches!(access.source, Source::Operand(_));
        let iso = outline.is_iso() && own && !outline.has_padding();
        outline.with_iso(iso)
    };
    let outlines: Vec<Outline> = given.iter().zip(&stage.accesses).map(outlined).collect();
    let mut plans = choose(&Given {
        stage,
        tensors: &outlines,
        lasting: given.iter().map(|one| !matches!(one, Operand::Made(_))).collect(),
        limit: options.run.limit,
        names: labels.collect(),
        fills: fills.collect(),
        strict: options.strict,
        onto: options.onto && last,
        leads: options.leader(assignment, stage).filter(|_| last),
        indices: &names,
        extents: &extents,
        format: options.format.clone().filter(|_| last),
        zero: assignment.result.zero.filter(|_| last).unwrap_or(stage.dtype.zero()),
    })?;
    plans.iter_mut().for_each(|(planned, _)| planned.find_ways(stage, tensors));
    Ok(plans)
}
