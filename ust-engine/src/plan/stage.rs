//! The division of an assignment into stages. A stage has at most one reduction, around a term without
//! reductions.
//!
//! A reduction inside a term becomes an earlier stage, whose result is an intermediate tensor: in
//! `y(i) = A(i,j) * x(j) / sum(k, B(i,k))`, the sum over `k`. A mask becomes a choice around the
//! term. An update (`+=`) reads the old value as one more operand.

use std::collections::BTreeSet;

use ust_level_api::{Dtype, Scalar};

use super::divide::only_used;
use super::simplify::simplify;
use crate::expr::operator::Operator;
use crate::expr::term::{Assignment, Term};

/// Where the tensor of an access comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// An operand of the assignment.
    Operand(usize),
    /// The result of an earlier stage.
    Stage(usize),
    /// The order of a sorted dimension of an operand, as a matrix with an entry at each coordinate and its place.
    Order { operand: usize, dim: usize },
}

/// An access to a tensor in a stage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StageAccess {
    pub(crate) source: Source,
    /// The index variable of each dimension, and of each counter if loops run on the tensor as it is.
    pub(crate) dims: Vec<usize>,
    /// Whether the tensor is converted first, so that it stores every element.
    pub(crate) full: bool,
    /// Whether the index variables of sorted dimensions are places.
    pub(crate) by_places: bool,
    /// Whether loops run on a tree of the tensor's entries, whose positions in the tensor are known.
    pub(crate) as_tree: bool,
}

impl StageAccess {
    pub(crate) fn new(source: Source, dims: Vec<usize>) -> Self {
        Self { source, dims, full: false, by_places: false, as_tree: false }
    }
}

/// At most one reduction, around a term without reductions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stage {
    pub(crate) accesses: Vec<StageAccess>,
    pub(crate) body: Term,
    /// The operator of the reduction, and the index variables that it reduces over.
    pub(crate) reduce: Option<(Operator, Vec<usize>)>,
    /// The index variable of each dimension of the result.
    pub(crate) result: Vec<usize>,
    /// The dtype of the result.
    pub(crate) dtype: Dtype,
    /// Whether the loops visit coordinates that no operand stores, and the result stores them.
    pub(crate) visits_more: bool,
    /// Whether an inferred format of the result may be sparse although its fill value is not zero.
    pub(crate) any_fill: bool,
}

impl Stage {
    /// If the stage copies its only operand, perhaps transposed: for each dimension of the result, the
    /// dimension of the operand.
    pub(crate) fn copied(&self) -> Option<Vec<usize>> {
        let ([one], None) = (&self.accesses[..], &self.reduce) else { return None };
        let plain = self.body == Term::Element(0) && !one.full && !self.visits_more;
        if !plain || one.dims.len() != self.result.len() {
            return None;
        }
        self.result.iter().map(|v| one.dims.iter().position(|dim| dim == v)).collect()
    }
}

/// The stages of an assignment. The last computes the result. An update reads the old value as an
/// additional operand, after all others.
pub(crate) fn stages(assignment: &Assignment) -> Vec<Stage> {
    let mut splitter = Splitter { assignment, stages: Vec::new(), accesses: Vec::new() };
    splitter.accesses = assignment
        .uses
        .iter()
        .map(|u| StageAccess::new(Source::Operand(u.operand), u.indices.clone()))
        .collect();
    let result = &assignment.result;
    let (reduce, body) = splitter.root(&assignment.body);
    let body = cast(body, assignment.dtype(&assignment.body), result.dtype);
    let outside = match &reduce {
        Some((op, _)) => op.identity(result.dtype).unwrap_or(result.dtype.zero()),
        None => result.zero.unwrap_or(result.dtype.zero()),
    };
    let mask = assignment.mask.as_ref().map(|mask| {
        let stored = match mask.structural {
            true => Term::Present(mask.at),
            false => {
                let input = &assignment.operands[assignment.uses[mask.at].operand];
                let is_set = cast(Term::Element(mask.at), input.dtype, Dtype::Bool);
                match input.fill.same(&input.dtype.zero()) {
                    true => is_set,
                    // Unstored elements of the mask count as false, whatever its fill value.
                    false => Term::Call {
                        op: Operator::And,
                        args: vec![Term::Present(mask.at), is_set],
                        dtype: Dtype::Bool,
                    },
                }
            }
        };
        (stored, mask.complement)
    });
    let masked = |body: Term, outside: Term| match &mask {
        None => body,
        Some((stored, complement)) => {
            let (yes, no) = if *complement { (outside, body) } else { (body, outside) };
            Term::Call {
                op: Operator::Where,
                args: vec![stored.clone(), yes, no],
                dtype: result.dtype,
            }
        }
    };
    let stage =
        |accesses: &[StageAccess], body: Term, reduce: Option<(Operator, Vec<usize>)>| Stage {
            accesses: accesses.to_vec(),
            body,
            reduce,
            result: result.indices.clone(),
            dtype: result.dtype,
            visits_more: false,
            any_fill: false,
        };
    let Some(op) = &assignment.update else {
        let body = masked(body, Term::Const(outside));
        let last = stage(&splitter.accesses, body, reduce);
        splitter.stages.push(last);
        return splitter.finish();
    };
    // The old value is read as one more operand.
    let body = match reduce {
        None => body,
        Some((op, indices)) => {
            let body = masked(body, Term::Const(outside));
            splitter.apart(body, op, indices, result.indices.clone(), result.dtype)
        }
    };
    let before = Term::Element(splitter.accesses.len());
    let old = Source::Operand(assignment.operands.len());
    splitter.accesses.push(StageAccess::new(old, result.indices.clone()));
    let args = vec![before.clone(), body];
    let both = Term::Call { op: op.clone(), args, dtype: result.dtype };
    let last = stage(&splitter.accesses, masked(both, before), None);
    splitter.stages.push(last);
    splitter.finish()
}

/// A term converted to another dtype.
pub(crate) fn cast(term: Term, from: Dtype, to: Dtype) -> Term {
    match (from == to, &term) {
        (true, _) => term,
        (false, Term::Const(value)) if value.cast(to).is_ok() => {
            Term::Const(value.cast(to).unwrap_or(to.zero()))
        }
        _ => Term::Call { op: Operator::Cast, args: vec![term], dtype: to },
    }
}

struct Splitter<'a> {
    assignment: &'a Assignment,
    stages: Vec<Stage>,
    accesses: Vec<StageAccess>,
}

impl Splitter<'_> {
    /// The reduction at the root of a term, if there is one, and the term inside it. Reductions further
    /// inside become stages.
    fn root(&mut self, term: &Term) -> (Option<(Operator, Vec<usize>)>, Term) {
        let Term::Reduce { op, indices, body } = term else {
            return (None, self.flat(term));
        };
        let mut indices = indices.clone();
        let mut body = &**body;
        while let Term::Reduce { op: inner, indices: more, body: below } = body {
            if inner != op {
                break;
            }
            indices.extend(more);
            body = below;
        }
        (Some((op.clone(), indices)), self.flat(body))
    }

    /// The term with every reduction replaced by the result of an earlier stage.
    fn flat(&mut self, term: &Term) -> Term {
        match term {
            Term::Const(_)
            | Term::Index(_)
            | Term::Places(..)
            | Term::Element(_)
            | Term::Present(_) => term.clone(),
            Term::Call { op, args, dtype } => Term::Call {
                op: op.clone(),
                args: args.iter().map(|arg| self.flat(arg)).collect(),
                dtype: *dtype,
            },
            Term::Stored { op, arg, dtype } => self.choice(op, arg, *dtype),
            Term::Reduce { .. } => {
                let dtype = self.assignment.dtype(term);
                let (reduce, body) = self.root(term);
                let (op, indices) = reduce.expect("a reduction");
                let mut free = variables(&body, &self.accesses);
                free.retain(|v| !indices.contains(v));
                self.apart(body, op, indices, free.into_iter().collect(), dtype)
            }
        }
    }

    /// A function of stored elements, as a choice: the function where an operand of the argument stores an
    /// element, else the argument. The planner simplifies the argument where an operand stores nothing;
    /// the simplified argument would not say whether another operand stores an element.
    fn choice(&mut self, op: &Operator, arg: &Term, dtype: Dtype) -> Term {
        let of = self.assignment.dtype(arg);
        let reduces = arg.reduces();
        let arg = self.flat(arg);
        if reduces {
            return Term::Call { op: op.clone(), args: vec![arg], dtype };
        }
        let accesses: BTreeSet<usize> = arg.uses().into_iter().collect();
        let or = |a, b| Term::Call { op: Operator::Or, args: vec![a, b], dtype: Dtype::Bool };
        let outside = cast(arg.clone(), of, dtype);
        let Some(stored) = accesses.into_iter().map(Term::Present).reduce(or) else {
            return outside;
        };
        let inside = Term::Call { op: op.clone(), args: vec![arg], dtype };
        Term::Call { op: Operator::Where, args: vec![stored, inside, outside], dtype }
    }

    /// Adds a stage for a reduction, and returns the access to an element of its result.
    fn apart(
        &mut self,
        body: Term,
        op: Operator,
        indices: Vec<usize>,
        free: Vec<usize>,
        dtype: Dtype,
    ) -> Term {
        let stage = self.stages.len();
        self.stages.push(Stage {
            accesses: self.accesses.clone(),
            body,
            reduce: Some((op, indices)),
            result: free.clone(),
            dtype,
            visits_more: false,
            any_fill: false,
        });
        self.accesses.push(StageAccess::new(Source::Stage(stage), free));
        Term::Element(self.accesses.len() - 1)
    }

    fn finish(self) -> Vec<Stage> {
        self.stages.into_iter().map(only_used).collect()
    }
}

fn variables(term: &Term, accesses: &[StageAccess]) -> BTreeSet<usize> {
    let of_accesses = term.uses().into_iter().flat_map(|at| accesses[at].dims.iter().copied());
    of_accesses.chain(term.coordinates()).collect()
}

pub(crate) fn renumber(term: &mut Term, place: &dyn Fn(usize) -> usize) {
    match term {
        Term::Const(_) | Term::Index(_) | Term::Places(..) => {}
        Term::Element(at) | Term::Present(at) => *at = place(*at),
        Term::Call { args, .. } => args.iter_mut().for_each(|arg| renumber(arg, place)),
        Term::Stored { arg: body, .. } | Term::Reduce { body, .. } => renumber(body, place),
    }
}

impl Stage {
    /// Renumbers the stages whose results this one reads.
    pub(crate) fn move_sources(&mut self, place: &dyn Fn(usize) -> usize) {
        for one in &mut self.accesses {
            if let Source::Stage(at) = &mut one.source {
                *at = place(*at);
            }
        }
    }

    /// The index variables of a term: those of the accesses in it, and those that are values.
    pub(crate) fn variables(&self, term: &Term) -> BTreeSet<usize> {
        variables(term, &self.accesses)
    }

    /// The index variables of the stage, those of the result first.
    pub(crate) fn indices(&self) -> Vec<usize> {
        let mut all = self.result.clone();
        let reduced = self.reduce.iter().flat_map(|(_, indices)| indices);
        for &v in reduced.chain(self.accesses.iter().flat_map(|u| &u.dims)) {
            if !all.contains(&v) {
                all.push(v);
            }
        }
        all
    }

    /// The value of the result where no operand stores an element: the identity of the reduction, or the
    /// term at the fill values that `sparse` returns.
    pub(crate) fn rest(&self, sparse: &dyn Fn(usize) -> Option<Scalar>) -> Scalar {
        if let Some((op, _)) = &self.reduce {
            return op.identity(self.dtype).unwrap_or(self.dtype.zero());
        }
        match simplify(&self.body, sparse) {
            Term::Const(value) => value.cast(self.dtype).unwrap_or(self.dtype.zero()),
            _ => self.dtype.zero(),
        }
    }

    /// Whether duplicate entries of an operand may be processed one by one, without their sum.
    pub(crate) fn is_linear_in(&self, at: usize) -> bool {
        let sums = self.reduce.as_ref().is_some_and(|(op, _)| *op == Operator::Add);
        sums && self.body.uses().iter().filter(|&&u| u == at).count() == 1
            && is_linear(&self.body, at)
    }
}

fn is_linear(term: &Term, at: usize) -> bool {
    match term {
        Term::Element(_) => true,
        // A choice between a term and zero.
        Term::Call { op: Operator::Where, args, .. } => {
            let is_zero =
                |arg: &Term| matches!(arg, Term::Const(zero) if zero.same(&zero.dtype().zero()));
            let chosen = match (is_zero(&args[1]), is_zero(&args[2])) {
                (_, true) => &args[1],
                (true, _) => &args[2],
                _ => return false,
            };
            !args[0].uses().contains(&at) && chosen.uses().contains(&at) && is_linear(chosen, at)
        }
        Term::Call { op, args, .. } => {
            let inside = args.iter().position(|arg| arg.uses().contains(&at));
            inside.is_some_and(|arg| op.is_linear_in(arg) && is_linear(&args[arg], at))
        }
        _ => false,
    }
}
