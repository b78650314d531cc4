//! Nests of loops that are an operation of a microkernel.

use ust_ir::idiom::{By, Code, Coded, Factor, Index, Loop, Nest, Place, Range};
use ust_ir::{ArrayId, BinOp, Expr, Var};

use super::pattern::{Pattern, Stream, Target};

/// The loops of a nest from one on.
#[derive(Clone, Copy)]
pub(super) struct Inner<'a> {
    pub(super) nest: &'a Nest,
    /// The number of the outermost of them.
    pub(super) from: usize,
}

/// Two elements in the order that suits.
pub(super) fn both<'e, 'n, T>(
    one: &'e Element<'n>,
    other: &'e Element<'n>,
    suits: impl Fn(&'e Element<'n>, &'e Element<'n>) -> Option<T>,
) -> Option<T> {
    suits(one, other).or_else(|| suits(other, one))
}

/// An element that changes in the loops.
pub(super) struct Element<'a> {
    pub(super) array: ArrayId,
    /// What each of the loops adds to the index.
    pub(super) steps: Vec<(usize, By, &'a Expr)>,
    /// The other terms of the index.
    pub(super) at: Vec<Expr>,
}

impl Element<'_> {
    pub(super) fn stream(&self) -> Stream {
        Stream { array: self.array, at: self.at.clone() }
    }

    /// The index.
    pub(super) fn index(&self) -> Expr {
        let steps = self.steps.iter().map(|(_, by, stride)| Expr::from(*by) * (*stride).clone());
        steps.chain(self.at.iter().cloned()).reduce(|a, b| a + b).unwrap_or(Expr::Int(0))
    }

    /// `array[p + ..]` in loop `p`.
    pub(super) fn along(&self, p: usize) -> Option<Stream> {
        match self.steps[..] {
            [(at, By::Var(_), Expr::Int(1))] if at == p => Some(self.stream()),
            _ => None,
        }
    }

    /// `array[crd + ..]` at the coordinate that loop `p` decodes.
    pub(super) fn decoded(&self, p: usize) -> Option<Stream> {
        match self.steps[..] {
            [(at, By::Decoded(..), Expr::Int(1))] if at == p => Some(self.stream()),
            _ => None,
        }
    }

    /// `array[crd[p] + ..]` in loop `p`, and `crd`.
    pub(super) fn gathered(&self, p: usize) -> Option<(ArrayId, Stream)> {
        match self.steps[..] {
            [(at, By::Read(crd, _), Expr::Int(1))] if at == p => Some((crd, self.stream())),
            _ => None,
        }
    }

    /// `array[p]` in loop `p`.
    fn only(&self, p: usize) -> Option<ArrayId> {
        self.along(p).filter(|of| of.at.is_empty()).map(|of| of.array)
    }

    /// `array[crd[p]]` in loop `p`: `crd`, and `array`.
    fn only_gathered(&self, p: usize) -> Option<(ArrayId, ArrayId)> {
        self.gathered(p).filter(|(_, of)| of.at.is_empty()).map(|(crd, of)| (crd, of.array))
    }

    /// `array[j + ..]` or `array[crd[p] * stride + j + ..]`: an element of a row, which is that of `crd[p]`, or the
    /// same in all iterations of `p`.
    fn in_row(&self, p: usize, j: usize) -> Option<(Stream, Option<(ArrayId, Expr)>)> {
        let (columns, rows): (Vec<_>, Vec<_>) = self.steps.iter().partition(|step| step.0 == j);
        let row = match (&columns[..], &rows[..]) {
            ([(_, By::Var(_), Expr::Int(1))], []) => None,
            ([(_, By::Var(_), Expr::Int(1))], [(at, By::Read(crd, _), stride)]) if *at == p => {
                Some((*crd, (*stride).clone()))
            }
            _ => return None,
        };
        Some((self.stream(), row))
    }

    /// The strides of loops, each of which adds its variable at most.
    pub(super) fn strides(&self, count: usize) -> Option<Vec<Expr>> {
        let mut strides = vec![Expr::Int(0); count];
        for (at, by, stride) in &self.steps {
            strides[*at] = (*stride).clone();
            if !matches!(by, By::Var(_)) {
                return None;
            }
        }
        Some(strides)
    }
}

impl<'a> Inner<'a> {
    pub(super) fn count(self) -> usize {
        self.nest.loops.len() - self.from
    }

    fn vars(self) -> impl Iterator<Item = Var> {
        self.nest.loops[self.from..].iter().map(|one| one.var)
    }

    /// The bounds of a loop that are constant in these loops.
    pub(super) fn between(self, at: usize) -> Option<(Expr, Expr)> {
        match &self.nest.loops[self.from + at].range {
            Range::Between(lo, hi) if self.is_constant(lo) && self.is_constant(hi) => {
                Some((lo.clone(), hi.clone()))
            }
            _ => None,
        }
    }

    /// `pos`, of a loop from `pos[..]` up to the next element, and the index of the first bound.
    pub(super) fn segment(self, at: usize) -> Option<Element<'a>> {
        self.segment_from(at).filter(|(_, begin)| begin.is_empty()).map(|(pos, _)| pos)
    }

    /// The same, and the terms of what is added to both bounds.
    fn segment_from(self, at: usize) -> Option<(Element<'a>, Vec<Expr>)> {
        match &self.nest.loops[self.from + at].range {
            Range::Segment { pos, at, begin } => {
                let begin = self.element(*pos, begin);
                Some((self.element(*pos, at), begin.steps.is_empty().then_some(begin.at)?))
            }
            Range::Between(..) => None,
        }
    }

    pub(super) fn is_constant(self, expr: &Expr) -> bool {
        let moving = self.nest.loops[self.from..].iter().flat_map(Loop::moving);
        let moving: Vec<Expr> = moving.map(Expr::from).collect();
        let mut constant = true;
        expr.visit(&mut |part| constant &= !moving.contains(part));
        constant
    }

    pub(super) fn element(self, array: ArrayId, index: &'a Index) -> Element<'a> {
        let (mut steps, mut at) = (Vec::new(), index.base.clone());
        for step in &index.steps {
            match self.vars().position(|var| var == step.by.var()) {
                Some(of) => steps.push((of, step.by, &step.stride)),
                None => at.push(Expr::from(step.by) * step.stride.clone()),
            }
        }
        Element { array, steps, at }
    }

    /// The factors that change in the loops. `None` if one is no element.
    pub(super) fn elements(self) -> Option<Vec<Element<'a>>> {
        let inner = self.nest.factors.iter().filter(|factor| factor.depth > self.from);
        let each = inner.map(|factor: &Factor| {
            let (array, index) = factor.element.as_ref()?;
            Some(self.element(*array, index))
        });
        each.collect()
    }

    /// The product of the other factors.
    pub(super) fn factor(self) -> Option<Expr> {
        let outer = self.nest.factors.iter().filter(|factor| factor.depth <= self.from);
        let values = outer.map(|factor| factor.value.clone());
        values.reduce(|a, b| Expr::binary(self.nest.times, a, b))
    }

    /// The element that products are combined with.
    pub(super) fn target(self) -> Option<Element<'a>> {
        match &self.nest.target {
            Place::Element(array, index) => Some(self.element(*array, index)),
            Place::Var(_) => None,
        }
    }

    /// The element that a sum of zeros and products inside `at` loops is stored to.
    pub(super) fn stored(self, at: usize) -> Option<Element<'a>> {
        let sum = self.nest.sum.as_ref()?;
        let is_zero = sum.start.same(&sum.start.dtype().zero());
        (sum.inside == self.from + at && sum.op.is_none() && is_zero)
            .then(|| self.element(sum.array, &sum.index))
    }

    /// Whether the loops add products.
    pub(super) fn adds(self) -> bool {
        self.nest.op == Some(BinOp::Add) && self.nest.times == BinOp::Mul
    }

    /// The operation of the loops, if there are microkernels for it.
    pub(super) fn pattern(self) -> Option<Pattern> {
        let nest = self.nest;
        let within = |inside: usize| inside > self.from;
        if nest.conditions.iter().any(|(around, _)| within(*around)) {
            return None;
        }
        let sums = nest.sum.as_ref().is_some_and(|sum| within(sum.inside));
        let clears = nest.clear.as_ref().is_some_and(|clear| within(clear.inside));
        // An inner loop tells by a variable whether a row has an entry; a kernel would not set it.
        if self.count() > 1 && nest.hit.is_some() {
            return None;
        }
        match (self.count(), self.adds(), sums, clears, nest.list.is_some()) {
            (1, true, false, false, false) => self.one_loop(),
            (1, false, false, false, false) if nest.op.is_none() => self.fill(),
            (2, true, true, false, false) => {
                self.rows().or_else(|| self.sampled()).or_else(|| self.rows_of_runs())
            }
            (2, true, false, false, false) => self
                .row()
                .or_else(|| self.spread())
                .or_else(|| self.run_dots())
                .or_else(|| self.one_dots())
                .or_else(|| self.shared_dots())
                .or_else(|| self.slots()),
            (2, true, false, false, true) => self.combined(),
            (3, true, true, false, false) => self.rows_of_runs().or_else(|| self.shared_rows()),
            (3, true, false, false, false) => self.products().or_else(|| self.slices()),
            (3, true, false, true, false) => self.products(),
            _ => None,
        }
    }

    fn fill(self) -> Option<Pattern> {
        let (y, value) = (self.target()?.along(0)?, self.factor()?);
        self.elements()?.is_empty().then_some(Pattern::Fill { y, value })
    }

    fn one_loop(self) -> Option<Pattern> {
        let (elements, factor) = (self.elements()?, self.factor());
        let Some(target) = self.fixed_target() else {
            return self.spread_out(&self.target()?, &elements, factor);
        };
        let (a, b) = match &elements[..] {
            [x] => return Some(Pattern::Total { target, x: x.along(0)?, factor }),
            [a, b] => (a, b),
            _ => return None,
        };
        if let Some(Coded { first, code: Code::Gaps { numbers, .. }, .. }) = self.coded(0)
            && let Some((a, x)) = both(a, b, |a, x| Some((a.along(0)?, x.decoded(0)?)))
        {
            let is_fixed = self.is_constant(first);
            let x = Stream { at: [x.at, vec![first.clone()]].concat(), ..x };
            return is_fixed.then_some(Pattern::GapDots {
                target,
                a,
                numbers: *numbers,
                x,
                factor,
            });
        }
        match (a.along(0), b.along(0)) {
            (Some(a), Some(b)) => Some(Pattern::Dot { target, a, b, factor }),
            (Some(a), None) => {
                let (crd, x) = b.gathered(0)?;
                Some(Pattern::GatherDot { target, a, crd, x, factor })
            }
            (None, Some(b)) => {
                let (crd, x) = a.gathered(0)?;
                Some(Pattern::GatherDot { target, a: b, crd, x, factor })
            }
            (None, None) => None,
        }
    }

    /// A loop that adds to a different element in each iteration.
    fn spread_out(
        self,
        place: &Element<'_>,
        elements: &[Element<'_>],
        factor: Option<Expr>,
    ) -> Option<Pattern> {
        if let Some((rows, out)) = place.only_gathered(0) {
            let ([one, other], None) = (elements, factor) else { return None };
            let (a, x) = one.only(0).map_or((other, one), |_| (one, other));
            let (a, (crd, x)) = (a.only(0)?, x.only_gathered(0)?);
            return Some(Pattern::Entries { rows, crd, a, x, out });
        }
        let y = place.along(0)?;
        match (elements, factor) {
            ([a, x], factor) => {
                let (a, x) = (a.along(0)?, x.along(0)?);
                Some(Pattern::MultiplyAdd { y, a, x, factor })
            }
            ([x], Some(factor)) => Some(Pattern::Axpy { y, x: x.along(0)?, factor }),
            _ => None,
        }
    }

    fn rows(self) -> Option<Pattern> {
        let elements = self.elements()?;
        let (pos, begin) = self.segment_from(1)?;
        let pos = pos.along(0)?;
        let from = |array: ArrayId, at: &[Expr]| Stream { array, at: at.to_vec() };
        let (a, x, iso) = match (&elements[..], self.factor()) {
            ([a, x], None) => {
                let (a, x) = a.only(1).map_or((x, a), |_| (a, x));
                (from(a.only(1)?, &begin), x, false)
            }
            ([x], Some(_)) => (from(self.first_element()?, &[]), x, true),
            _ => return None,
        };
        let (crd, x) = x.gathered(1)?;
        let crd = from(crd, &begin);
        let (out, places) = self.of_row()?;
        Some(Pattern::Rows { pos, crd, a, iso, x, out, places })
    }

    /// The array whose first element is the one factor that does not change in the loops.
    fn first_element(self) -> Option<ArrayId> {
        let mut outer = self.nest.factors.iter().filter(|factor| factor.depth <= self.from);
        let (array, index) = outer.next()?.element.as_ref()?;
        let is_first = index.steps.is_empty() && index.base.is_empty();
        (is_first && outer.next().is_none()).then_some(*array)
    }

    /// Where the sum of each row goes, and the places of rows.
    pub(super) fn of_row(self) -> Option<(Stream, Option<ArrayId>)> {
        let place = self.stored(1)?;
        match place.along(0) {
            Some(out) => Some((out, None)),
            None => place.gathered(0).map(|(places, out)| (out, Some(places))),
        }
    }

    /// The destination of products, if it is the same in all iterations.
    pub(super) fn fixed_target(self) -> Option<Target> {
        match &self.nest.target {
            Place::Var(var) => Some(Target::Var(*var)),
            Place::Element(array, index) => {
                let is_one = self.element(*array, index).steps.is_empty();
                is_one.then(|| Target::Element(*array, index.expr()))
            }
        }
    }

    /// What a loop decodes.
    pub(super) fn coded(self, at: usize) -> Option<&'a Coded> {
        self.nest.loops[self.from + at].coded.as_ref()
    }

    fn sampled(self) -> Option<Pattern> {
        let (lo, hi) = self.between(1)?;
        let out = self.stored(1)?.along(0)?;
        let elements = self.elements()?;
        let along = elements.iter().position(|element| element.along(0).is_some());
        let m = along.and_then(|at| elements[at].along(0));
        let others = elements.iter().enumerate().filter(|(at, _)| Some(*at) != along);
        let others: Vec<_> = others.map(|(_, element)| element).collect();
        let ([a, b], None) = (&others[..], self.factor()) else { return None };
        let (a, b) = match (a.in_row(0, 1)?, b.in_row(0, 1)?) {
            // Rows of `b` are prefetched: `b` is the operand whose row changes.
            ((a, rows), (b, None)) => ((b, None), (a, rows?)),
            (a, (b, Some(rows))) => (a, (b, rows)),
        };
        let ((a, rows), (b, (crd, stride))) = (a, b);
        Some(Pattern::Sampled { out, m, a, rows, b, crd, stride, lo, hi })
    }

    fn row(self) -> Option<Pattern> {
        let (lo, hi) = self.between(1)?;
        let None = self.factor() else { return None };
        let (c, rows) = self.target()?.in_row(0, 1)?;
        let (mut a, mut m, mut b) = (None, None, None);
        for element in self.elements()? {
            let is_double = if let Some(stream) = element.along(0) {
                a.replace(stream).is_some()
            } else if let Some(stream) = element.along(1).filter(|_| rows.is_none()) {
                m.replace(stream).is_some()
            } else {
                b.replace(element.in_row(0, 1)?).is_some()
            };
            if is_double {
                return None;
            }
        }
        let (a, (b, crd)) = (a?, b?);
        match (rows, crd) {
            (Some((rows, pitch)), crd) => {
                Some(Pattern::Added { c, rows, pitch, a, b, crd, lo, hi })
            }
            (None, Some((crd, stride))) => Some(Pattern::Row { c, a, crd, b, stride, lo, hi, m }),
            (None, None) => None,
        }
    }

    fn spread(self) -> Option<Pattern> {
        let pos = self.segment(1)?.only(0)?;
        let (crd, out) = self.target()?.only_gathered(1)?;
        let ([one, other], None) = (&self.elements()?[..], self.factor()) else { return None };
        let (a, x) = one.only(1).map_or((other, one), |_| (one, other));
        let a = a.only(1)?;
        let (places, x) = match x.only(0) {
            Some(x) => (None, x),
            None => x.only_gathered(0).map(|(places, x)| (Some(places), x))?,
        };
        Some(Pattern::Spread { pos, crd, a, x, out, places })
    }

    fn combined(self) -> Option<Pattern> {
        let list = self.nest.list.as_ref()?;
        let (crd, pos) = self.segment(1)?.only_gathered(0)?;
        let (columns, sums) = self.target()?.only_gathered(1)?;
        let ([one, other], None) = (&self.elements()?[..], self.factor()) else { return None };
        let (a, b) = one.only(0).map_or((other, one), |_| (one, other));
        let (a, b) = (a.only(0)?, b.only(1)?);
        let (mark, stamp) = (list.mark, list.stamp.clone());
        let (list, touched) = (list.list, list.length);
        Some(Pattern::Combined { pos, crd, a, columns, b, sums, mark, list, stamp, touched })
    }

    fn products(self) -> Option<Pattern> {
        let pos = self.segment(1)?.only(0)?;
        let Pattern::Row { a, crd, b, stride, lo, hi, m: None, .. } =
            Inner { from: self.from + 1, ..self }.row()?
        else {
            return None;
        };
        let target = self.target()?;
        let (columns, rows): (Vec<_>, Vec<_>) = target.steps.iter().partition(|step| step.0 == 2);
        let ([(_, By::Var(_), Expr::Int(1))], [(0, By::Var(_), pitch)]) = (&columns[..], &rows[..])
        else {
            return None;
        };
        let (c, pitch) = (target.stream(), (*pitch).clone());
        let is_fixed = |expr: &Expr| self.is_constant(expr);
        let fixed = [&stride, &lo, &hi].into_iter().chain(&b.at).all(is_fixed);
        let clear = match self.nest.clear.as_ref().filter(|clear| clear.inside > self.from) {
            None => false,
            Some(clear) => {
                // All of the row, and nothing else.
                let from = self.element(clear.array, &clear.from);
                let is_row = clear.inside == self.from + 1
                    && clear.array == c.array
                    && from.at == c.at
                    && matches!(from.steps[..], [(0, By::Var(_), by)] if *by == pitch)
                    && (Expr::Int(0), &clear.count) == (lo.clone(), &hi)
                    && clear.value.same(&clear.value.dtype().zero());
                if !is_row {
                    return None;
                }
                true
            }
        };
        let fits = fixed && a.at.is_empty();
        let a = a.array;
        fits.then_some(Pattern::Products { pos, crd, a, b, c, stride, pitch, lo, hi, clear })
    }
}
