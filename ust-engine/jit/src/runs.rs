//! Runs: a loop over neighbours inside a loop over runs, each with values of its own or with one for all; words whose
//! ones are entries.

use ust_ir::idiom::{By, Code, Coded, Loop, Range};
use ust_ir::{ArrayId, Expr};

use super::nest::{Inner, both};
use super::pattern::{Ones, Pattern, Runs, SharedRuns, Stream};

impl Inner<'_> {
    /// Rows of runs: a row has several in a loop, or one.
    pub(super) fn rows_of_runs(self) -> Option<Pattern> {
        let run = self.count() - 1;
        let pos = if run == 1 { None } else { Some(self.segment(1)?.along(0)?) };
        let (runs, None) = (self.runs(run)?, self.factor()) else { return None };
        let (out, places) = self.of_row()?;
        Some(Pattern::Runs { pos, runs, out, places })
    }

    pub(super) fn run_dots(self) -> Option<Pattern> {
        let (runs, factor) = (self.runs(1)?, self.factor());
        Some(Pattern::RunDots { target: self.fixed_target()?, runs, factor })
    }

    /// Words whose ones the inner loop decodes.
    pub(super) fn one_dots(self) -> Option<Pattern> {
        let (word, inner) = (&self.nest.loops[self.from], &self.nest.loops[self.from + 1]);
        let Coded { first, code: Code::Ones(mask), .. } = self.coded(1)? else { return None };
        let Range::Between(begin, _) = &inner.range else { return None };
        let [one, other] = &self.elements()?[..] else { return None };
        let (a, x) = both(one, other, |a, x| Some((a, x.decoded(1)?)))?;
        let Expr::Load(bits, at) = mask else { return None };
        // The positions of a word begin at `ofs[..]`.
        let from = a.index().replaced(&|of| (of == inner.var).then(|| begin.clone()));
        a.along(1)?;
        let from = self.nest.index(&from)?;
        let (ofs, a) = self.element(a.array, &from).gathered(0)?;
        // Coordinates begin at those of the word.
        let first = self.nest.index(first)?;
        let of_word = self.element(x.array, &first);
        let in_order = matches!(of_word.steps[..], [(0, By::Var(_), Expr::Int(32))]);
        let x = Stream { at: [x.at, of_word.at.clone()].concat(), ..x };
        let is_own = **at == Expr::Var(word.var);
        let (target, factor) = (self.fixed_target()?, self.factor());
        let ones = Ones { bits: *bits, ofs, a, x };
        (in_order && is_own).then_some(Pattern::OneDots { target, ones, factor })
    }

    /// Runs that loop `run` is over, and the loop around it over one of each.
    fn runs(self, run: usize) -> Option<Runs> {
        let stop = run - 1;
        let [var, around] = [run, stop].map(|at| self.nest.loops[self.from + at].var);
        let Range::Between(lo, hi) = &self.nest.loops[self.from + run].range else { return None };
        let [a, x] = &self.elements()?[..] else { return None };
        let (a, x) = x.along(run).map(|x| (a, x)).or_else(|| Some((x, a.along(run)?)))?;
        let index = |expr: Expr| self.nest.index(&expr);
        // The positions of the entries begin at `ofs[..]`.
        let first = index(a.index().replaced(&|of| (of == var).then(|| lo.clone())))?;
        let (ofs, a) = self.element(a.array, &first).gathered(stop)?;
        // They end where those of the next run begin.
        let end = index(Expr::from(By::Read(ofs, around)) + hi.clone() - lo.clone())?;
        let is_end = matches!(&end.steps[..], [step]
            if step.by == By::Next(ofs, around) && step.stride == Expr::Int(1));
        if !is_end || !end.base.is_empty() {
            return None;
        }
        // Coordinates begin or end at `bounds[..]`.
        let bound = |of: &Expr| self.element(x.array, &index(of.clone())?).gathered(stop);
        let (is_end, (bounds, bound)) =
            bound(lo).map(|of| (false, of)).or_else(|| Some((true, bound(hi)?)))?;
        let x = Stream { at: [x.at, bound.at].concat(), ..x };
        Some(Runs { bounds, is_end, ofs, a, x })
    }

    /// Rows of runs, each times one value.
    pub(super) fn shared_rows(self) -> Option<Pattern> {
        let (pos, runs, None) = (self.segment(1)?.along(0)?, self.shared(1)?, self.factor()) else {
            return None;
        };
        let (out, places) = self.of_row()?;
        Some(Pattern::SharedRows { pos, runs, out, places })
    }

    pub(super) fn shared_dots(self) -> Option<Pattern> {
        let (runs, factor) = (self.shared(0)?, self.factor());
        Some(Pattern::SharedDots { target: self.fixed_target()?, runs, factor })
    }

    /// Runs that the loop inside loop `stop` is over, each times one value.
    fn shared(self, stop: usize) -> Option<SharedRuns> {
        let [around, inner] = [stop, stop + 1].map(|at| &self.nest.loops[self.from + at]);
        let Range::Between(lo, hi) = &inner.range else { return None };
        let [one, other] = &self.elements()?[..] else { return None };
        let (a, x) = both(one, other, |a, x| Some((a.along(stop)?, x.along(stop + 1)?)))?;
        // `array[p]` in the outer loop.
        let bound = |of: &Expr| match of {
            Expr::Load(array, at) if **at == Expr::Var(around.var) => Some(*array),
            _ => None,
        };
        let end = bound(hi)?;
        let (begin, first) = match bound(lo) {
            Some(begin) => (Some(begin), Expr::Int(0)),
            None => (None, self.after_another(around, lo, end)?),
        };
        Some(SharedRuns { begin, first, end, a, x })
    }

    /// If each iteration but the first begins where the one before ended: where the first begins.
    fn after_another(self, around: &Loop, lo: &Expr, end: ArrayId) -> Option<Expr> {
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
