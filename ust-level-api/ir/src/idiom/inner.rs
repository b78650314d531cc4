//! Nests without their outermost loop.

use super::super::{Expr, Var};
use super::{Clear, Factor, Index, Loop, Nest, Place, Range, Sum};

impl Index {
    /// The index for one value of a loop variable, which is a name like others then.
    #[must_use]
    pub fn at(&self, var: Var) -> Self {
        let (fixed, steps): (Vec<_>, Vec<_>) =
            self.steps.iter().cloned().partition(|step| step.by.var() == var);
        let mut base = self.base.clone();
        base.extend(fixed.into_iter().map(|step| Expr::from(step.by) * step.stride));
        Self { base, steps }
    }
}

impl Nest {
    /// The loops inside the outermost one, for one value of its variable. What is set or declared in the outermost
    /// loop, around the others, is left out: a sum is a variable like others then. `None` if there is one loop, or if
    /// the body of a loop depends on a condition.
    #[must_use]
    pub fn inner(&self) -> Option<Self> {
        let (outermost, loops) = self.loops.split_first()?;
        if loops.is_empty() || !self.conditions.is_empty() {
            return None;
        }
        let at = |index: &Index| index.at(outermost.var);
        let range = |range: &Range| match range {
            Range::Between(lo, hi) => Range::Between(lo.clone(), hi.clone()),
            Range::Segment { pos, at: index, begin } => match at(index) {
                index if index.steps.is_empty() => {
                    let bound = |index: Expr| Expr::Load(*pos, Box::new(index)) + at(begin).expr();
                    Range::Between(bound(index.expr()), bound(index.expr() + 1))
                }
                index => Range::Segment { pos: *pos, at: index, begin: at(begin) },
            },
        };
        let loops = loops.iter().map(|one| Loop { range: range(&one.range), ..one.clone() });
        let factor = |factor: &Factor| Factor {
            value: factor.value.clone(),
            element: factor.element.as_ref().map(|(array, index)| (*array, at(index))),
            gathered: factor.gathered.as_ref().map(|(array, crd, index)| (*array, *crd, at(index))),
            depth: factor.depth.saturating_sub(1),
        };
        let sum = self.sum.as_ref().filter(|sum| sum.inside > 1);
        let clear = self.clear.as_ref().filter(|clear| clear.inside > 1);
        Some(Self {
            loops: loops.collect(),
            conditions: Vec::new(),
            target: match &self.target {
                Place::Var(var) => Place::Var(*var),
                Place::Element(array, index) => Place::Element(*array, at(index)),
            },
            op: self.op,
            times: self.times,
            factors: self.factors.iter().map(factor).collect(),
            sum: sum.map(|sum| Sum {
                inside: sum.inside - 1,
                index: at(&sum.index),
                ..sum.clone()
            }),
            clear: clear.map(|clear| Clear {
                inside: clear.inside - 1,
                from: at(&clear.from),
                ..clear.clone()
            }),
            list: self.list.clone(),
            hit: self.hit,
        })
    }
}
