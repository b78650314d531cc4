//! Reductions over what is not stored, without visiting it.
//!
//! `max(j, A(i,j))` combines the zeros that `A` does not store as well. Where all of these have one
//! value, it is enough to combine what is stored, and to count it: the value of all others takes
//! part where there are fewer places stored than there are.

mod alike;

use std::collections::BTreeSet;

use alike::Alike;
use ust_level_api::{Dtype, Scalar};

use super::divide::only_used;
use super::simplify::simplify;
use super::stage::{Source, Stage, StageUse, cast};
use crate::expr::operator::Operator;
use crate::expr::term::Term;

/// So many times as many places are visited in the time that a stored one takes to be combined and
/// counted, apart.
const VISITS: f64 = 4.0;
/// More sparse operands than this are not looked at: there are too many sets of them.
const MOST: usize = 8;

/// What is known of the tensor of a use.
pub(crate) struct Stored {
    /// What is not stored has this value.
    pub(crate) fill: Scalar,
    /// How many elements are stored.
    pub(crate) nse: usize,
}

/// A reduction, as what is stored combined, counted, and both together; the last reads the results
/// of the others as stages `next` and `next + 1`.
///
/// `stored` has an entry for each use whose tensor is not stored in full. `None` where that is not
/// possible, or visiting every place takes no longer. All extents that are reduced over are at
/// least 1, and have to be when the stages are run.
pub(crate) fn counted(
    stage: &Stage,
    stored: &[Option<Stored>],
    extents: &[usize],
    next: usize,
) -> Option<[Stage; 3]> {
    let (op, indices) = stage.reduce.as_ref()?;
    if stage.uses.iter().any(|one| one.full) || indices.iter().any(|&v| extents[v] == 0) {
        return None;
    }
    let wide = op.accumulator(stage.dtype);
    let identity = op.identity(wide)?;
    let guard = Guard::of(stage);
    let body = guard.body(stage);
    let used: BTreeSet<usize> = body.uses().into_iter().collect();
    let sparse: Vec<usize> = used.into_iter().filter(|&at| stored[at].is_some()).collect();
    if sparse.is_empty() || sparse.len() > MOST {
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
    let alike = Alike { op, value, wide, indices };
    if !alike.is_known() {
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

    let mut uses = stage.uses.clone();
    let element = uses.len();
    uses.extend([next, next + 1].map(|at| StageUse::new(Source::Stage(at), stage.result.clone())));
    let (element, count_of) = (Term::Element(element), element + 1);
    let all = alike.with(element, &Term::Element(count_of));
    let all = choice(Term::Present(count_of), all, alike.alone(), wide);
    let rest = op.identity(stage.dtype)?;
    let body = guard.around(cast(all, wide, stage.dtype), rest);
    let last = Stage { uses, body, reduce: None, ..stage.clone() };
    Some([combined, count, only_used(last)])
}

/// The constant as the stage has it.
fn value_of(value: Scalar, stage: &Stage) -> Scalar {
    value.cast(stage.dtype).unwrap_or(value)
}

/// Whether visiting what is stored takes less time than visiting everything.
fn is_worth(stage: &Stage, sparse: &[usize], stored: &[Option<Stored>], extents: &[usize]) -> bool {
    let all = stage.indices();
    let places = |indices: &mut dyn Iterator<Item = &usize>| -> f64 {
        indices.map(|&v| extents[v] as f64).product()
    };
    let each = sparse.iter().map(|&at| {
        let dims = &stage.uses[at].dims;
        let nse = stored[at].as_ref().map_or(0, |one| one.nse);
        nse as f64 * places(&mut all.iter().filter(|v| !dims.contains(v)))
    });
    places(&mut all.iter()) > VISITS * each.sum::<f64>()
}

/// A condition on coordinates of the result, outside of which nothing is combined.
struct Guard<'a>(Option<(&'a Term, bool)>);

impl<'a> Guard<'a> {
    /// That of a mask.
    fn of(stage: &'a Stage) -> Self {
        let Term::Call { op: Operator::Where, args, .. } = &stage.body else { return Self(None) };
        let Some(identity) = stage.reduce.as_ref().and_then(|(op, _)| op.identity(stage.dtype))
        else {
            return Self(None);
        };
        let is_rest = |term: &Term| matches!(term, Term::Const(value) if value.same(&identity));
        let mut dims = args[0].uses().into_iter().flat_map(|at| &stage.uses[at].dims);
        if !dims.all(|v| stage.result.contains(v)) {
            return Self(None);
        }
        match (is_rest(&args[1]), is_rest(&args[2])) {
            (false, true) => Self(Some((&args[0], true))),
            (true, false) => Self(Some((&args[0], false))),
            _ => Self(None),
        }
    }

    /// What is combined where the condition holds.
    fn body(&self, stage: &'a Stage) -> &'a Term {
        match (&stage.body, self.0) {
            (Term::Call { args, .. }, Some((_, inside))) => &args[if inside { 1 } else { 2 }],
            (body, _) => body,
        }
    }

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

/// Whether more than the one value is computed somewhere, by what is stored there: in one of the
/// smallest of these sets of operands, all.
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
