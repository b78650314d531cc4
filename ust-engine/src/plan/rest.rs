//! Reductions over unstored coordinates, without a loop over them.
//!
//! `max(j, A(i,j))` includes the zeros that `A` does not store. If the term has the same value at
//! every unstored coordinate, the loops combine and count the stored entries only. If a row stores
//! fewer entries than it has columns, its result is combined with that value.

mod unvisited;

use std::collections::BTreeSet;

use unvisited::Unvisited;
use ust_level_api::{Dtype, Scalar};

use super::divide::only_used;
use super::simplify::simplify;
use super::stage::{Source, Stage, StageAccess, cast};
use crate::expr::operator::Operator;
use crate::expr::term::Term;
use crate::tuning::{UNSTORED_REDUCTION_MAX_SPARSE, UNSTORED_REDUCTION_VISITS_PER_ENTRY};

/// What the planner knows about the tensor of a sparse access.
pub(crate) struct Stored {
    pub(crate) fill: Scalar,
    /// Number of stored elements.
    pub(crate) nse: usize,
}

/// Divides a reduction into three stages. The first combines the stored entries. The second counts
/// them. The third reads these results, as stages `next` and `next + 1`, and combines them with the value
/// of the unstored coordinates.
///
/// `stored` is `None` for an access to a tensor that is stored in full. The result is `None` if the
/// reduction cannot be divided, or if visiting every coordinate takes no longer. The extents that
/// are reduced over must be at least 1, also when the stages run.
pub(crate) fn counted(
    stage: &Stage,
    stored: &[Option<Stored>],
    extents: &[usize],
    next: usize,
) -> Option<[Stage; 3]> {
    let (op, indices) = stage.reduce.as_ref()?;
    if stage.accesses.iter().any(|one| one.full) || indices.iter().any(|&v| extents[v] == 0) {
        return None;
    }
    let wide = op.accumulator(stage.dtype);
    let identity = op.identity(wide)?;
    let guard = Guard::of(stage);
    let body = guard.body(stage);
    let used: BTreeSet<usize> = body.uses().into_iter().collect();
    let sparse: Vec<usize> = used.into_iter().filter(|&at| stored[at].is_some()).collect();
    if sparse.is_empty() || sparse.len() > UNSTORED_REDUCTION_MAX_SPARSE {
        return None;
    }
    let without = |set: usize| {
        simplify(body, &|at| {
            let bit = sparse.iter().position(|&s| s == at)?;
            stored[at].as_ref().filter(|_| set >> bit & 1 == 0).map(|one| one.fill)
        })
    };
    let Term::Const(value) = without(0) else { return None };
    if value.same(&op.identity(stage.dtype)?) || !is_worth(stage, &sparse, stored, extents) {
        return None;
    }
    let value = value.cast(wide).ok()?;
    let unvisited = Unvisited { op, value, wide, indices };
    if !unvisited.is_known() {
        return None;
    }
    let worth: Vec<bool> = (0..1 << sparse.len())
        .map(|set| without(set) != Term::Const(value_of(value, stage)))
        .collect();
    let visited = visited(&worth, &sparse);
    let part = |value: Term, rest: Scalar, op: &Operator| {
        let dtype = rest.dtype();
        let inside = choice(visited.clone(), value, Term::Const(rest), dtype);
        let body = guard.around(inside, rest);
        let reduce = Some((op.clone(), indices.clone()));
        only_used(Stage { body, reduce, dtype, any_fill: true, ..stage.clone() })
    };
    let combined = part(cast(body.clone(), stage.dtype, wide), identity, op);
    let count = part(Term::Const(Scalar::I64(1)), Scalar::I64(0), &Operator::Add);

    let mut accesses = stage.accesses.clone();
    let element = accesses.len();
    accesses.extend(
        [next, next + 1].map(|at| StageAccess::new(Source::Stage(at), stage.result.clone())),
    );
    let (element, count_of) = (Term::Element(element), element + 1);
    let all = unvisited.with_visited(element, &Term::Element(count_of));
    let all = choice(Term::Present(count_of), all, unvisited.all_unvisited(), wide);
    let rest = op.identity(stage.dtype)?;
    let body = guard.around(cast(all, wide, stage.dtype), rest);
    let last = Stage { accesses, body, reduce: None, ..stage.clone() };
    Some([combined, count, only_used(last)])
}

/// The constant in the dtype of the stage.
fn value_of(value: Scalar, stage: &Stage) -> Scalar {
    value.cast(stage.dtype).unwrap_or(value)
}

/// Whether visiting the stored entries takes less time than visiting every coordinate.
fn is_worth(stage: &Stage, sparse: &[usize], stored: &[Option<Stored>], extents: &[usize]) -> bool {
    let all = stage.indices();
    let places = |indices: &mut dyn Iterator<Item = &usize>| -> f64 {
        indices.map(|&v| extents[v] as f64).product()
    };
    let each = sparse.iter().map(|&at| {
        let dims = &stage.accesses[at].dims;
        let nse = stored[at].as_ref().map_or(0, |one| one.nse);
        nse as f64 * places(&mut all.iter().filter(|v| !dims.contains(v)))
    });
    places(&mut all.iter()) > UNSTORED_REDUCTION_VISITS_PER_ENTRY * each.sum::<f64>()
}

/// The mask of a reduction: a condition on coordinates of the result, and whether entries are combined
/// where it is true or where it is false.
struct Guard<'a>(Option<(&'a Term, bool)>);

impl<'a> Guard<'a> {
    /// The mask of a stage, if it has one.
    fn of(stage: &'a Stage) -> Self {
        let Term::Call { op: Operator::Where, args, .. } = &stage.body else { return Self(None) };
        let Some(identity) = stage.reduce.as_ref().and_then(|(op, _)| op.identity(stage.dtype))
        else {
            return Self(None);
        };
        let is_rest = |term: &Term| matches!(term, Term::Const(value) if value.same(&identity));
        if !stage.variables(&args[0]).iter().all(|v| stage.result.contains(v)) {
            return Self(None);
        }
        match (is_rest(&args[1]), is_rest(&args[2])) {
            (false, true) => Self(Some((&args[0], true))),
            (true, false) => Self(Some((&args[0], false))),
            _ => Self(None),
        }
    }

    /// The term inside the mask.
    fn body(&self, stage: &'a Stage) -> &'a Term {
        match (&stage.body, self.0) {
            (Term::Call { args, .. }, Some((_, inside))) => &args[if inside { 1 } else { 2 }],
            (body, _) => body,
        }
    }

    /// The term within the mask, and `rest` outside.
    fn around(&self, term: Term, rest: Scalar) -> Term {
        let Some((condition, inside)) = self.0 else { return term };
        let rest = Term::Const(rest);
        let (yes, no) = if inside { (term, rest) } else { (rest, term) };
        let dtype = match (&yes, &no) {
            (Term::Const(value), _) | (_, Term::Const(value)) => value.dtype(),
            _ => unreachable!("one of them is a constant"),
        };
        choice(condition.clone(), yes, no, dtype)
    }
}

fn choice(condition: Term, yes: Term, no: Term, dtype: Dtype) -> Term {
    Term::Call { op: Operator::Where, args: vec![condition, yes, no], dtype }
}

/// A condition: whether the loops visit a coordinate. They do where every operand of one of the
/// minimal sets is stored; `worth` says for which sets of stored operands the term differs from its
/// unstored value. For `A + B * C`: `A` is stored, or `B` and `C` are.
fn visited(worth: &[bool], sparse: &[usize]) -> Term {
    let fold = |op: Operator, terms: Vec<Term>| {
        let both = |a, b| Term::Call { op: op.clone(), args: vec![a, b], dtype: Dtype::Bool };
        terms.into_iter().reduce(both).unwrap_or(Term::Const(Scalar::Bool(true)))
    };
    let is_smallest =
        |set: usize| worth[set] && (0..set).all(|part| part & !set != 0 || !worth[part]);
    let sets = (0..worth.len()).filter(|&set| is_smallest(set)).map(|set| {
        let all = sparse.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1);
        fold(Operator::And, all.map(|(_, &at)| Term::Present(at)).collect())
    });
    fold(Operator::Or, sets.collect())
}
