//! Products of several tensors, some of them before the others.
//!
//! `y(i) = A(i,j) * B(j,k) * x(k)` in one set of loops multiplies each row of `B` once for each
//! element of `A` in its column; `B(j,k) * x(k)` first, as a vector, takes one pass over each matrix.
//! This is the choice of a contraction path, made one tensor in between at a time, by the number of
//! products to be expected where what is stored lies anywhere with the same probability.

use std::collections::BTreeSet;

use super::divide::{only_used, replace};
use super::rest::Stored;
use super::simplify::simplify;
use super::stage::{Source, Stage, StageUse};
use crate::expr::operator::Operator;
use crate::expr::term::Term;

/// More factors than this are multiplied in one set of loops: there are too many sets of them.
const MOST: usize = 10;
/// So many times as many products pay for another set of loops, where what is in between is stored in
/// full, and where it is sparse. Uneven rows make more products than are expected here, never less.
const GAIN: [f64; 2] = [1.4, 2.0];
/// Products in the time that it takes to store an element of a sparse tensor in between.
const STORE: f64 = 8.0;

/// A part of a product that is computed before, and the stage with it; the second reads the first as
/// stage `next`.
///
/// `stored` has an entry for each use whose tensor is not stored in full. `None` where one set of
/// loops does as well.
pub(crate) fn part(
    stage: &Stage,
    stored: &[Option<Stored>],
    extents: &[usize],
    next: usize,
) -> Option<[Stage; 2]> {
    let (plus, reduced) = stage.reduce.as_ref()?;
    let half = plus.accumulator(stage.dtype) != stage.dtype;
    if half || stage.visits_more || stage.uses.iter().any(|one| one.full) {
        return None;
    }
    let product = product(&stage.body, plus)?;
    let Term::Call { op: times, .. } = product else { return None };
    let mut terms = Vec::new();
    flatten(product, times, &mut terms);
    if !(2..=MOST).contains(&terms.len()) {
        return None;
    }
    let estimate =
        Estimate { stage, stored, extents, zero: Term::Const(plus.identity(stage.dtype)?) };
    let mut factors: Vec<Factor> = terms.iter().map(|term| estimate.factor(term)).collect();
    // What stands around the product: a mask, a divisor.
    let around: BTreeSet<usize> = {
        let mut rest = stage.body.clone();
        replace(&mut rest, product, &estimate.zero);
        rest.uses().into_iter().collect()
    };
    let count = factors.len();
    factors.extend(around.iter().map(|&at| estimate.around(at)));
    let all: Vec<&Factor> = factors.iter().collect();
    let at_once = estimate.cost(&all);
    let mut best: Option<(f64, f64, usize, Vec<usize>)> = None;
    for set in 1..(1_usize << count) - 1 {
        let (inside, outside): (Vec<_>, Vec<_>) =
            factors.iter().enumerate().partition(|(at, _)| set >> at & 1 == 1);
        let inside: Vec<&Factor> = inside.into_iter().map(|(_, factor)| factor).collect();
        let mut outside: Vec<&Factor> = outside.into_iter().map(|(_, factor)| factor).collect();
        let kept = |v: &usize| {
            stage.result.contains(v) || outside.iter().any(|factor| factor.dims.contains(v))
        };
        let mut dims: Vec<usize> = Vec::new();
        for &v in inside.iter().flat_map(|factor| &factor.dims) {
            if !dims.contains(&v) {
                dims.push(v);
            }
        }
        let before = dims.len();
        dims.retain(kept);
        if dims.len() == before {
            continue;
        }
        let size = estimate.size(&dims);
        let nse = estimate.products(&inside).min(size);
        let full = dims.len() < 2 || nse == size;
        let store = if full { 1.0 } else { STORE };
        let between = Factor { dims, nse };
        outside.push(&between);
        let cost = estimate.cost(&inside) + store * nse + estimate.cost(&outside);
        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, GAIN[usize::from(!full)], set, between.dims));
        }
    }
    let (_, _, set, dims) = best.filter(|(cost, gain, ..)| cost * gain < at_once)?;
    let multiplied = |terms: Vec<Term>| {
        let dtype = stage.dtype;
        let both = |a, b| Term::Call { op: times.clone(), args: vec![a, b], dtype };
        terms.into_iter().reduce(both)
    };
    let is_inside = |at: &usize| set >> at & 1 == 1;
    let inside: Vec<Term> = (0..count).filter(is_inside).map(|at| terms[at].clone()).collect();
    let here =
        |v: &usize| factors.iter().enumerate().any(|(at, f)| is_inside(&at) && f.dims.contains(v));
    let (over, left): (Vec<usize>, Vec<usize>) =
        reduced.iter().partition(|v| here(v) && !dims.contains(v));
    let first = Stage {
        body: multiplied(inside)?,
        reduce: Some((plus.clone(), over)),
        result: dims.clone(),
        ..stage.clone()
    };
    let mut uses = stage.uses.clone();
    let place = (0..count).find(is_inside)?;
    let element = Term::Element(uses.len());
    uses.push(StageUse::new(Source::Stage(next), dims));
    let outside = (0..count).filter(|at| *at == place || !is_inside(at));
    let outside =
        outside.map(|at| if at == place { element.clone() } else { terms[at].clone() }).collect();
    let mut body = stage.body.clone();
    replace(&mut body, product, &multiplied(outside)?);
    let reduce = (!left.is_empty()).then(|| (plus.clone(), left));
    let second = Stage { uses, body, reduce, ..stage.clone() };
    Some([only_used(first), only_used(second)])
}

/// The product in a term that is zero where the product is, and linear in it.
fn product<'a>(term: &'a Term, plus: &Operator) -> Option<&'a Term> {
    let Term::Call { op, args, dtype } = term else { return None };
    match op {
        Operator::Where => {
            let zero = plus.identity(*dtype)?;
            let is_zero = |arg: &Term| matches!(arg, Term::Const(value) if value.same(&zero));
            match (is_zero(&args[1]), is_zero(&args[2])) {
                (_, true) => product(&args[1], plus),
                (true, _) => product(&args[2], plus),
                _ => None,
            }
        }
        Operator::Neg | Operator::Div if *plus == Operator::Add => product(&args[0], plus),
        _ => distributes(op, plus).then_some(term),
    }
}

/// Whether sums may be formed before products with what they do not run over, in any order.
fn distributes(times: &Operator, plus: &Operator) -> bool {
    match (times, plus) {
        (Operator::Mul, Operator::Add) | (Operator::And, Operator::Or) => true,
        (Operator::Times { op, plus: of }, _) => {
            **of == *plus
                && match (&**op, plus) {
                    (Operator::Add, Operator::Min | Operator::Max)
                    | (Operator::Min, Operator::Max)
                    | (Operator::Max, Operator::Min) => true,
                    (op, plus) => distributes(op, plus),
                }
        }
        _ => false,
    }
}

fn flatten<'a>(term: &'a Term, times: &Operator, to: &mut Vec<&'a Term>) {
    match term {
        Term::Call { op, args, .. } if op == times => {
            args.iter().for_each(|arg| flatten(arg, times, to));
        }
        _ => to.push(term),
    }
}

struct Factor {
    /// Index variables.
    dims: Vec<usize>,
    /// Where it is not zero, about.
    nse: f64,
}

struct Estimate<'a> {
    stage: &'a Stage,
    stored: &'a [Option<Stored>],
    extents: &'a [usize],
    /// What annihilates.
    zero: Term,
}

impl Estimate<'_> {
    fn factor(&self, term: &Term) -> Factor {
        let uses: BTreeSet<usize> = term.uses().into_iter().collect();
        let mut dims = Vec::new();
        for &v in uses.iter().flat_map(|&at| &self.stage.uses[at].dims) {
            if !dims.contains(&v) {
                dims.push(v);
            }
        }
        let size = self.size(&dims);
        let rest = simplify(term, &|at| self.stored[at].as_ref().map(|one| one.fill));
        let nse = match rest == self.zero {
            false => size,
            true => {
                let each = uses.iter().map(|&at| match &self.stored[at] {
                    None => 0.0,
                    Some(one) => {
                        let own: BTreeSet<usize> =
                            self.stage.uses[at].dims.iter().copied().collect();
                        let others: Vec<usize> =
                            dims.iter().copied().filter(|v| !own.contains(v)).collect();
                        one.nse as f64 * self.size(&others)
                    }
                });
                each.sum::<f64>().min(size)
            }
        };
        Factor { dims, nse }
    }

    /// A use outside of the product.
    fn around(&self, at: usize) -> Factor {
        let rest = simplify(&self.stage.body, &|other| {
            self.stored[other].as_ref().filter(|_| other == at).map(|one| one.fill)
        });
        let dims = self.stage.uses[at].dims.clone();
        let all = self.size(&dims);
        let nse = self.stored[at].as_ref().filter(|_| rest == self.zero);
        Factor { dims, nse: nse.map_or(all, |one| one.nse as f64) }
    }

    fn size(&self, dims: &[usize]) -> f64 {
        dims.iter().map(|&v| self.extents[v] as f64).product()
    }

    /// How many products are not zero, where each factor is anywhere with the same probability.
    fn products(&self, factors: &[&Factor]) -> f64 {
        let all: BTreeSet<usize> = factors.iter().flat_map(|f| &f.dims).copied().collect();
        let all: Vec<usize> = all.into_iter().collect();
        let density = factors.iter().map(|f| f.nse / self.size(&f.dims).max(1.0));
        self.size(&all) * density.product::<f64>()
    }

    /// In products, about: each factor is read as well.
    fn cost(&self, factors: &[&Factor]) -> f64 {
        self.products(factors) + factors.iter().map(|factor| factor.nse).sum::<f64>()
    }
}
