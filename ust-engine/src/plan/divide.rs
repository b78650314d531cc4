//! The division of stages with many sparse operands.
//!
//! Loops that merge tensors have a loop body for each set of tensors that may store a coordinate, at
//! every level: the sum of four tensors with four sparse levels has 369 innermost bodies. If a stage
//! would have too many, a part of its term becomes an earlier stage.

use std::collections::BTreeSet;

use ust_level_api::Scalar;

use super::simplify::simplify;
use super::stage::{Source, Stage, StageAccess, renumber};
use crate::error::Error;
use crate::expr::term::Term;
use crate::tuning::{
    FULL_MAX_VISITS, STAGE_MAX_BODIES, STAGE_MAX_BODIES_OF_MANY, STAGE_MAX_COUNTED,
    UNDIVIDED_MAX_BODIES, VISITS_PER_BODY,
};

/// What the planner knows about the tensor of an access before stages run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Number of levels that are not full.
    pub(crate) sparse: usize,
    pub(crate) fill: Scalar,
}

/// Divides stages whose loops would have too many innermost bodies.
///
/// `extents` has the extent of each index variable.
///
/// # Errors
/// [`Error::Unsupported`] for a stage that cannot be divided and would have far too many bodies.
pub(crate) fn divide(
    stages: Vec<Stage>,
    extents: &[usize],
    of: &dyn Fn(Source) -> Option<Known>,
) -> Result<Vec<Stage>, Error> {
    let mut all = Vec::with_capacity(stages.len());
    let mut places = Vec::with_capacity(stages.len());
    for mut stage in stages {
        stage.move_sources(&|at| places[at]);
        divided(stage, extents, of, &mut all)?;
        places.push(all.len() - 1);
    }
    Ok(all)
}

/// Adds a stage to `all`, after the stages for the parts that are taken out of it.
fn divided(
    mut stage: Stage,
    extents: &[usize],
    of: &dyn Fn(Source) -> Option<Known>,
    all: &mut Vec<Stage>,
) -> Result<(), Error> {
    loop {
        let known: Vec<Known> = stage.accesses.iter().map(|u| known(u, &stage, of)).collect();
        let sparse = known.iter().filter(|one| one.sparse > 0).count();
        let bodies = innermost(&stage, &known);
        if bodies <= if sparse > 3 { STAGE_MAX_BODIES_OF_MANY } else { STAGE_MAX_BODIES } {
            break;
        }
        let part = [is_confined, is_confined_by_some].into_iter();
        let Some(part) = part.filter_map(|may| largest(&stage, &known, may)).next() else {
            make_full(&mut stage, &known, bodies, extents)?;
            break;
        };
        let dims = dims_of(&part, &stage);
        let Term::Call { dtype, .. } = part else { break };
        let apart = Stage {
            accesses: stage.accesses.clone(),
            body: part.clone(),
            reduce: None,
            result: dims.clone(),
            dtype,
            visits_more: false,
            any_fill: false,
        };
        divided(only_used(apart), extents, of, all)?;
        let element = Term::Element(stage.accesses.len());
        stage.accesses.push(StageAccess::new(Source::Stage(all.len() - 1), dims));
        replace(&mut stage.body, &part, &element);
        stage = only_used(stage);
    }
    all.push(stage);
    Ok(())
}

/// The index variables of a term, in the order of an operand that has all of them, if there is one.
fn dims_of(term: &Term, stage: &Stage) -> Vec<usize> {
    let accesses = term.uses();
    let all = stage.variables(term);
    let alike = accesses.iter().map(|&at| &stage.accesses[at].dims);
    let mut alike = alike.filter(|own| {
        own.len() == all.len() && own.iter().copied().collect::<BTreeSet<_>>() == all
    });
    alike.next().cloned().unwrap_or_else(|| all.into_iter().collect())
}

fn known(one: &StageAccess, stage: &Stage, of: &dyn Fn(Source) -> Option<Known>) -> Known {
    // The result of another stage may be sparse at every level.
    let other = Known { sparse: one.dims.len(), fill: stage.dtype.zero() };
    of(one.source).unwrap_or(other)
}

/// Converts operands to full storage if the loops visit every coordinate anyway, or if visiting every
/// coordinate takes less time than compiling the loop bodies. An operand of a term that asks whether an
/// element is stored stays sparse.
fn make_full(
    stage: &mut Stage,
    known: &[Known],
    bodies: f64,
    extents: &[usize],
) -> Result<(), Error> {
    let absent = |at: usize| (known[at].sparse > 0).then(|| known[at].fill);
    let visits_all = match simplify(&stage.body, &absent) {
        Term::Const(value) => stage.reduce.is_some() && !value.same(&stage.rest(&absent)),
        _ => true,
    };
    let coordinates: f64 = stage.indices().iter().map(|&v| extents[v] as f64).product();
    if !visits_all && coordinates > (VISITS_PER_BODY * bodies).min(FULL_MAX_VISITS) {
        if bodies <= UNDIVIDED_MAX_BODIES {
            return Ok(());
        }
        return Err(Error::Unsupported(format!(
            "the expression has {} sparse operands in one sum of products, too many to merge them \
             in one set of loops: compute parts of it before, or store some of them in full",
            known.iter().filter(|one| one.sparse > 0).count()
        )));
    }
    let mut kept = BTreeSet::new();
    stored_in(&stage.body, &mut kept);
    for (at, one) in stage.accesses.iter_mut().enumerate() {
        one.full = known[at].sparse > 0 && !kept.contains(&at);
    }
    stage.visits_more = !visits_all;
    Ok(())
}

/// Collects the accesses for which the term asks whether an element is stored.
fn stored_in(term: &Term, to: &mut BTreeSet<usize>) {
    match term {
        Term::Const(_) | Term::Index(_) | Term::Places(..) | Term::Element(_) => {}
        Term::Present(at) => {
            to.insert(*at);
        }
        Term::Call { args, .. } => args.iter().for_each(|arg| stored_in(arg, to)),
        Term::Stored { arg: body, .. } | Term::Reduce { body, .. } => stored_in(body, to),
    }
}

/// Number of innermost bodies of loops that merge all sparse operands at every level. At each level, the
/// set of operands that store the coordinate stays or becomes smaller; each sequence of sets has a body.
fn innermost(stage: &Stage, known: &[Known]) -> f64 {
    let sparse: Vec<usize> = (0..known.len()).filter(|&at| known[at].sparse > 0).collect();
    match sparse.len() {
        0..=2 => return 1.0,
        3..=STAGE_MAX_COUNTED => {}
        _ => return f64::INFINITY,
    }
    let absent = |set: usize| {
        let sparse = &sparse;
        move |at: usize| {
            let bit = sparse.iter().position(|&s| s == at)?;
            (set >> bit & 1 == 0).then(|| known[at].fill)
        }
    };
    let nothing = simplify(&stage.body, &absent(0));
    let sets = 1 << sparse.len();
    let worth: Vec<bool> =
        (0..sets).map(|set| simplify(&stage.body, &absent(set)) != nothing).collect();
    let mut ways: Vec<f64> = worth.iter().map(|&worth| f64::from(u8::from(worth))).collect();
    let deepest = sparse.iter().map(|&at| known[at].sparse).max().unwrap_or(0);
    for level in (1..=deepest).rev() {
        // An operand with fewer levels is not merged here: an outer level decided whether it stores.
        let merged = sparse.iter().enumerate().filter(|&(_, &at)| known[at].sparse >= level);
        let merged: usize = merged.map(|(bit, _)| 1 << bit).sum();
        let above = ways.clone();
        for set in (0..sets).filter(|&set| worth[set]) {
            let mut part = set & merged;
            // The whole set, then each subset.
            ways[set] = 0.0;
            loop {
                ways[set] += above[(set & !merged) | part];
                if part == 0 {
                    break;
                }
                part = (part - 1) & set & merged;
            }
        }
    }
    ways[sets - 1]
}

/// The part of the term with the most sparse operands, but not all, for which `may` holds.
fn largest(
    stage: &Stage,
    known: &[Known],
    may: fn(&Term, &Stage, &[Known]) -> bool,
) -> Option<Term> {
    let sparse_in = |term: &Term| {
        let accesses: BTreeSet<usize> = term.uses().into_iter().collect();
        accesses.into_iter().filter(|&at| known[at].sparse > 0).count()
    };
    let total = sparse_in(&stage.body);
    let mut best: Option<(usize, &Term)> = None;
    let mut rest = vec![&stage.body];
    while let Some(term) = rest.pop() {
        // No part is taken out of a function of stored elements: it asks which elements its operands store.
        let Term::Call { args, .. } = term else { continue };
        rest.extend(args.iter().rev());
        let count = sparse_in(term);
        if count >= 2
            && count < total
            && best.is_none_or(|(most, _)| count > most)
            && may(term, stage, known)
        {
            best = Some((count, term));
        }
    }
    best.map(|(_, term)| term.clone())
}

/// Whether a term differs from its unstored value only where an operand with all of its index variables
/// stores an element. Its result stores no more than those operands.
fn is_confined(term: &Term, stage: &Stage, known: &[Known]) -> bool {
    let indices = |at: usize| stage.accesses[at].dims.iter().copied().collect::<BTreeSet<usize>>();
    let all = stage.variables(term);
    let absent = |at: usize| (known[at].sparse > 0 && indices(at) == all).then(|| known[at].fill);
    matches!(simplify(term, &absent), Term::Const(_))
}

/// Whether, for each index variable of a term, the term differs from its unstored value only where an
/// operand with that index variable stores an element: as `A(i) * B(j)`.
fn is_confined_by_some(term: &Term, stage: &Stage, known: &[Known]) -> bool {
    let has = |at: usize, v: usize| stage.accesses[at].dims.contains(&v);
    stage.variables(term).into_iter().all(|v| {
        let absent = |at: usize| (known[at].sparse > 0 && has(at, v)).then(|| known[at].fill);
        matches!(simplify(term, &absent), Term::Const(_))
    })
}

pub(super) fn replace(term: &mut Term, part: &Term, with: &Term) {
    if term == part {
        *term = with.clone();
        return;
    }
    if let Term::Call { args, .. } = term {
        args.iter_mut().for_each(|arg| replace(arg, part, with));
    }
}

/// Removes unused accesses from a stage, and joins equal ones.
pub(crate) fn only_used(mut stage: Stage) -> Stage {
    let wanted: BTreeSet<usize> = stage.body.uses().into_iter().collect();
    let mut accesses: Vec<StageAccess> = Vec::with_capacity(wanted.len());
    let mut places = vec![0; stage.accesses.len()];
    for at in wanted {
        places[at] =
            accesses.iter().position(|one| *one == stage.accesses[at]).unwrap_or(accesses.len());
        if places[at] == accesses.len() {
            accesses.push(stage.accesses[at].clone());
        }
    }
    stage.accesses = accesses;
    renumber(&mut stage.body, &|at| places[at]);
    stage
}
