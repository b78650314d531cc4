//! Contraction paths: which factors of a product are multiplied first.
//!
//! `y(i) = A(i,j) * B(j,k) * x(k)` in one loop nest multiplies row `j` of `B` by `x` once for each
//! entry in column `j` of `A`. With `t(j) = B(j,k) * x(k)` as an intermediate tensor, each matrix is
//! read once. The planner adds one intermediate tensor at a time. It compares the expected number of
//! products, for entries at random coordinates.

use std::collections::BTreeSet;

use super::divide::{only_used, replace};
use super::rest::Stored;
use super::simplify::simplify;
use super::stage::{Source, Stage, StageAccess};
use crate::expr::operator::Operator;
use crate::expr::term::Term;
use crate::tuning::{PATH_GAIN_FULL, PATH_GAIN_SPARSE, PATH_MAX_FACTORS, PATH_STORE_PRODUCTS};

/// Divides a stage into two: the first multiplies some factors, the second reads its result as stage
/// `next` and multiplies the other factors.
///
/// `stored` is `None` for an access to a tensor that is stored in full. The result is `None` if one
/// loop nest is about as fast.
pub(crate) fn part(
    stage: &Stage,
    stored: &[Option<Stored>],
    extents: &[usize],
    next: usize,
) -> Option<[Stage; 2]> {
    let (plus, reduced) = stage.reduce.as_ref()?;
    let half = plus.accumulator(stage.dtype) != stage.dtype;
    if half || stage.visits_more || stage.accesses.iter().any(|one| one.full) {
        return None;
    }
    let product = product(&stage.body, plus)?;
    let Term::Call { op: times, .. } = product else { return None };
    let mut terms = Vec::new();
    flatten(product, times, &mut terms);
    if !(2..=PATH_MAX_FACTORS).contains(&terms.len()) {
        return None;
    }
    let estimate =
        Estimate { stage, stored, extents, zero: Term::Const(plus.identity(stage.dtype)?) };
    let mut factors: Vec<Factor> = terms.iter().map(|term| estimate.factor(term)).collect();
    // The accesses of the term around the product: a mask, a divisor.
    let mut rest = stage.body.clone();
    replace(&mut rest, product, &estimate.zero);
    let around: BTreeSet<usize> = rest.uses().into_iter().collect();
    let count = factors.len();
    factors.extend(around.iter().map(|&at| estimate.around(at)));
    let dims = rest.coordinates();
    factors.push(Factor { nse: estimate.size(&dims), reads: 0.0, dims });
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
        let (store, gain) = match full {
            true => (1.0, PATH_GAIN_FULL),
            false => (PATH_STORE_PRODUCTS, PATH_GAIN_SPARSE),
        };
        let between = Factor { dims, nse, reads: nse };
        outside.push(&between);
        let cost = estimate.cost(&inside) + store * nse + estimate.cost(&outside);
        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, gain, set, between.dims));
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
    let mut accesses = stage.accesses.clone();
    let place = (0..count).find(is_inside)?;
    let element = Term::Element(accesses.len());
    accesses.push(StageAccess::new(Source::Stage(next), dims));
    let outside = (0..count).filter(|at| *at == place || !is_inside(at));
    let outside =
        outside.map(|at| if at == place { element.clone() } else { terms[at].clone() }).collect();
    let mut body = stage.body.clone();
    replace(&mut body, product, &multiplied(outside)?);
    let reduce = (!left.is_empty()).then(|| (plus.clone(), left));
    let second = Stage { accesses, body, reduce, ..stage.clone() };
    Some([only_used(first), only_used(second)])
}

/// The product inside a term that is linear in the product and zero where the product is zero.
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

/// Whether multiplication distributes over the reduction: whether the sum over `k` of `a * b(k)` is `a`
/// times the sum of `b(k)`.
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
    /// Estimated number of coordinates at which it is not zero.
    nse: f64,
    /// Estimated number of elements that are read to compute all of them.
    reads: f64,
}

struct Estimate<'a> {
    stage: &'a Stage,
    stored: &'a [Option<Stored>],
    extents: &'a [usize],
    /// The zero of the product.
    zero: Term,
}

impl Estimate<'_> {
    fn factor(&self, term: &Term) -> Factor {
        let accesses: BTreeSet<usize> = term.uses().into_iter().collect();
        let mut dims = Vec::new();
        let of_accesses = accesses.iter().flat_map(|&at| &self.stage.accesses[at].dims);
        for v in of_accesses.copied().chain(term.coordinates()) {
            if !dims.contains(&v) {
                dims.push(v);
            }
        }
        let size = self.size(&dims);
        let rest = simplify(term, &|at| self.stored[at].as_ref().map(|one| one.fill));
        let nse = match rest == self.zero {
            false => size,
            true => {
                let each = accesses.iter().map(|&at| match &self.stored[at] {
                    None => 0.0,
                    Some(one) => {
                        let own: BTreeSet<usize> =
                            self.stage.accesses[at].dims.iter().copied().collect();
                        let others: Vec<usize> =
                            dims.iter().copied().filter(|v| !own.contains(v)).collect();
                        one.nse as f64 * self.size(&others)
                    }
                });
                each.sum::<f64>().min(size)
            }
        };
        // A coordinate is read from nowhere.
        let reads = if accesses.is_empty() { 0.0 } else { nse };
        Factor { dims, nse, reads }
    }

    /// An access outside the product.
    fn around(&self, at: usize) -> Factor {
        let rest = simplify(&self.stage.body, &|other| {
            self.stored[other].as_ref().filter(|_| other == at).map(|one| one.fill)
        });
        let dims = self.stage.accesses[at].dims.clone();
        let all = self.size(&dims);
        let nse = self.stored[at].as_ref().filter(|_| rest == self.zero);
        let nse = nse.map_or(all, |one| one.nse as f64);
        Factor { dims, nse, reads: nse }
    }

    fn size(&self, dims: &[usize]) -> f64 {
        dims.iter().map(|&v| self.extents[v] as f64).product()
    }

    /// Expected number of nonzero products, for entries at random coordinates.
    fn products(&self, factors: &[&Factor]) -> f64 {
        let all: BTreeSet<usize> = factors.iter().flat_map(|f| &f.dims).copied().collect();
        let all: Vec<usize> = all.into_iter().collect();
        let density = factors.iter().map(|f| f.nse / self.size(&f.dims).max(1.0));
        self.size(&all) * density.product::<f64>()
    }

    /// Estimated cost, in products: the products themselves, and reading each factor.
    fn cost(&self, factors: &[&Factor]) -> f64 {
        self.products(factors) + factors.iter().map(|factor| factor.reads).sum::<f64>()
    }
}
