//! Stages with many sparse operands, divided.
//!
//! Loops that merge tensors are written out for each set of them that may be there, level by level:
//! the sum of four tensors with four sparse levels has 369 innermost places. Where there are too
//! many, parts of the term become tensors of their own, computed before.

use std::collections::BTreeSet;

use ust_level_api::Scalar;

use super::simplify::simplify;
use super::stage::{Source, Stage, StageUse, renumber};
use crate::error::Error;
use crate::expr::term::Term;

/// Innermost places of loops that are written out at most, each of which takes about a millisecond
/// to plan and compile; by whether more than three tensors are merged, which takes twice the time of
/// merging two or three of them at a time.
const PLACES: [f64; 2] = [40.0, 14.0];
/// For more sparse operands than this, places are not counted: there are too many sets of them.
const COUNTED: usize = 10;

/// What is known of the tensor of a use before stages are run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// Number of levels that are not full.
    pub(crate) sparse: usize,
    pub(crate) fill: Scalar,
}

/// Divides stages whose loops would be written out in too many places.
///
/// `extents` are those of all index variables.
///
/// # Errors
/// [`Error::Unsupported`] where loops cannot be divided, and there are far too many.
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

/// Pushes a stage, after the parts of it that it is divided into.
fn divided(
    mut stage: Stage,
    extents: &[usize],
    of: &dyn Fn(Source) -> Option<Known>,
    all: &mut Vec<Stage>,
) -> Result<(), Error> {
    loop {
        let known: Vec<Known> = stage.uses.iter().map(|u| known(u, &stage, of)).collect();
        let sparse = known.iter().filter(|one| one.sparse > 0).count();
        let places = innermost(&stage, &known);
        if places <= PLACES[usize::from(sparse > 3)] {
            break;
        }
        let part = [is_confined, is_confined_by_some].into_iter();
        let Some(part) = part.filter_map(|may| largest(&stage, &known, may)).next() else {
            make_full(&mut stage, &known, places, extents)?;
            break;
        };
        let dims = dims_of(&part, &stage);
        let Term::Call { dtype, .. } = part else { break };
        let apart = Stage {
            uses: stage.uses.clone(),
            body: part.clone(),
            reduce: None,
            result: dims.clone(),
            dtype,
            visits_more: false,
            any_fill: false,
        };
        divided(only_used(apart), extents, of, all)?;
        let element = Term::Element(stage.uses.len());
        stage.uses.push(StageUse::new(Source::Stage(all.len() - 1), dims));
        replace(&mut stage.body, &part, &element);
        stage = only_used(stage);
    }
    all.push(stage);
    Ok(())
}

/// The indices of a term: as an operand with all of them has them, so that it is stored alike.
fn dims_of(term: &Term, stage: &Stage) -> Vec<usize> {
    let dims = |at: usize| stage.uses[at].dims.iter().copied();
    let uses = term.uses();
    let all: BTreeSet<usize> = uses.iter().flat_map(|&at| dims(at)).collect();
    let alike = uses.iter().map(|&at| &stage.uses[at].dims);
    let mut alike = alike.filter(|own| {
        own.len() == all.len() && own.iter().copied().collect::<BTreeSet<_>>() == all
    });
    alike.next().cloned().unwrap_or_else(|| all.into_iter().collect())
}

fn known(one: &StageUse, stage: &Stage, of: &dyn Fn(Source) -> Option<Known>) -> Known {
    // The result of another stage: sparse, for all that is known.
    let other = Known { sparse: one.dims.len(), fill: stage.dtype.zero() };
    of(one.source).unwrap_or(other)
}

/// Has operands stored in full, where the loops visit every coordinate, stored or not, or where that
/// takes less time than writing the loops out. Not those of which it matters what is stored.
fn make_full(
    stage: &mut Stage,
    known: &[Known],
    places: f64,
    extents: &[usize],
) -> Result<(), Error> {
    /// Coordinates that are visited in the time in which one more place is written out.
    const VISITS: f64 = 2e5;
    /// Most coordinates that are visited for it.
    const MOST_VISITS: f64 = 1e8;
    /// Most places that are written out where that is too many.
    const MOST_PLACES: f64 = 3000.0;
    let absent = |at: usize| (known[at].sparse > 0).then(|| known[at].fill);
    let visits_all = match simplify(&stage.body, &absent) {
        Term::Const(value) => stage.reduce.is_some() && !value.same(&stage.rest(&absent)),
        _ => true,
    };
    let coordinates: f64 = stage.indices().iter().map(|&v| extents[v] as f64).product();
    if !visits_all && coordinates > (VISITS * places).min(MOST_VISITS) {
        if places <= MOST_PLACES {
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
    for (at, one) in stage.uses.iter_mut().enumerate() {
        one.full = known[at].sparse > 0 && !kept.contains(&at);
    }
    stage.visits_more = !visits_all;
    Ok(())
}

/// The uses of which it matters what is stored.
fn stored_in(term: &Term, to: &mut BTreeSet<usize>) {
    match term {
        Term::Const(_) | Term::Places(..) | Term::Element(_) => {}
        Term::Present(at) => {
            to.insert(*at);
        }
        Term::Call { args, .. } => args.iter().for_each(|arg| stored_in(arg, to)),
        Term::Stored { arg: body, .. } | Term::Reduce { body, .. } => stored_in(body, to),
    }
}

/// How many innermost places the loops of a stage have that merges all of its sparse operands at
/// every level: the number of ways from the set of all operands to smaller ones, level by level.
fn innermost(stage: &Stage, known: &[Known]) -> f64 {
    let sparse: Vec<usize> = (0..known.len()).filter(|&at| known[at].sparse > 0).collect();
    match sparse.len() {
        0..=2 => return 1.0,
        3..=COUNTED => {}
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
        // Operands with fewer levels are there, or not, from above.
        let merged = sparse.iter().enumerate().filter(|&(_, &at)| known[at].sparse >= level);
        let merged: usize = merged.map(|(bit, _)| 1 << bit).sum();
        let above = ways.clone();
        for set in (0..sets).filter(|&set| worth[set]) {
            let mut part = set & merged;
            // All of it, then each smaller one.
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

/// The part of the term with the most sparse operands, but not all of them, that can be a tensor of
/// its own without more being stored than its operands store.
fn largest(
    stage: &Stage,
    known: &[Known],
    may: fn(&Term, &Stage, &[Known]) -> bool,
) -> Option<Term> {
    let sparse_in = |term: &Term| {
        let uses: BTreeSet<usize> = term.uses().into_iter().collect();
        uses.into_iter().filter(|&at| known[at].sparse > 0).count()
    };
    let total = sparse_in(&stage.body);
    let mut best: Option<(usize, &Term)> = None;
    let mut rest = vec![&stage.body];
    while let Some(term) = rest.pop() {
        // What is stored where matters to the term around it: nothing is taken out of that.
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

/// Whether a term is worth something only where an operand that runs along all of its indices stores
/// something.
fn is_confined(term: &Term, stage: &Stage, known: &[Known]) -> bool {
    let indices = |at: usize| stage.uses[at].dims.iter().copied().collect::<BTreeSet<usize>>();
    let all: BTreeSet<usize> = term.uses().into_iter().flat_map(indices).collect();
    let absent = |at: usize| (known[at].sparse > 0 && indices(at) == all).then(|| known[at].fill);
    matches!(simplify(term, &absent), Term::Const(_))
}

/// Whether a term is worth something only where, for each of its indices, an operand that runs along
/// it stores something.
fn is_confined_by_some(term: &Term, stage: &Stage, known: &[Known]) -> bool {
    let has = |at: usize, v: usize| stage.uses[at].dims.contains(&v);
    let all: BTreeSet<usize> =
        term.uses().into_iter().flat_map(|at| stage.uses[at].dims.iter().copied()).collect();
    all.into_iter().all(|v| {
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

/// Leaves a stage the uses that occur in it, each once.
pub(crate) fn only_used(mut stage: Stage) -> Stage {
    let wanted: BTreeSet<usize> = stage.body.uses().into_iter().collect();
    let mut uses: Vec<StageUse> = Vec::with_capacity(wanted.len());
    let mut places = vec![0; stage.uses.len()];
    for at in wanted {
        places[at] = uses.iter().position(|one| *one == stage.uses[at]).unwrap_or(uses.len());
        if places[at] == uses.len() {
            uses.push(stage.uses[at].clone());
        }
    }
    stage.uses = uses;
    renumber(&mut stage.body, &|at| places[at]);
    stage
}
