//! Runs with one value each: a loop over neighbours inside a loop over runs.

use ust_ir::idiom::Range;
use ust_ir::{ArrayId, Expr};

use super::nest::{Inner, both};
use super::pattern::Pattern;

impl Inner<'_> {
    /// Runs that the inner loop is over, each times one value.
    pub(super) fn shared_dots(self) -> Option<Pattern> {
        let [around, inner] = [0, 1].map(|at| &self.nest.loops[self.from + at]);
        let Range::Between(lo, hi) = &inner.range else { return None };
        let [one, other] = &self.elements()?[..] else { return None };
        let (a, x) = both(one, other, |a, x| Some((a.along(0)?, x.along(1)?)))?;
        // `array[p]` in the outer loop.
        let bound = |of: &Expr| match of {
            Expr::Load(array, at) if **at == Expr::Var(around.var) => Some(*array),
            _ => None,
        };
        let end = bound(hi)?;
        let (begin, first) = match bound(lo) {
            Some(begin) => (Some(begin), Expr::Int(0)),
            None => (None, self.after_another(lo, end)?),
        };
        let (target, factor) = (self.fixed_target()?, self.factor());
        Some(Pattern::SharedDots { target, begin, first, end, a, x, factor })
    }

    /// If each iteration but the first begins where the one before ended: where the first begins.
    fn after_another(self, lo: &Expr, end: ArrayId) -> Option<Expr> {
        let around = &self.nest.loops[self.from];
        let from = match &around.range {
            Range::Between(lo, _) => lo.clone(),
            Range::Segment { pos, at, begin }
                if begin.base.is_empty() && begin.steps.is_empty() =>
            {
                Expr::Load(*pos, Box::new(at.expr()))
            }
            Range::Segment { .. } => return None,
        };
        let here = Expr::Var(around.var);
        let before = (here.clone() - 1).max(from.clone());
        let before = Expr::Load(end, Box::new(before));
        let Expr::Select(is_behind, then, first) = lo else { return None };
        let follows = **is_behind == from.lt(here) && **then == before && self.is_constant(first);
        follows.then(|| (**first).clone())
    }
}
