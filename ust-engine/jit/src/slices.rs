//! Rows side by side: one entry of each, and then the next one of each, in a *slot* (ELL). Slices of such rows have
//! slots of their own (SELL).

use ust_ir::idiom::{By, Factor, Index, Place, Range};
use ust_ir::{ArrayId, BinOp, Expr};

use super::nest::Inner;
use super::pattern::{Pattern, Stream};

/// An element, and an element at a coordinate: `a` and `p` of `a[p]`, and `x`, `crd` and `p` of `x[crd[p]]`.
type Gathered<'a> = ((ArrayId, &'a Index), (ArrayId, ArrayId, &'a Index));

impl<'a> Inner<'a> {
    /// The two factors, if one is an element at a coordinate.
    fn gathered(self) -> Option<Gathered<'a>> {
        let [one, other] = &self.nest.factors[..] else { return None };
        let of = |a: &'a Factor, x: &'a Factor| {
            let ((a, at), (x, crd, place)) = (a.element.as_ref()?, x.gathered.as_ref()?);
            Some(((*a, at), (*x, *crd, place)))
        };
        of(other, one).or_else(|| of(one, other))
    }

    /// One entry of each row, and then the next one of each.
    pub(super) fn slots(self) -> Option<Pattern> {
        let ((lo, hi), None) = (self.between(1)?, self.factor()) else { return None };
        let y = self.target()?.along(1)?;
        let ((a, at), (x, crd, place)) = self.gathered()?;
        let (a, crd) = (self.element(a, at), self.element(crd, place));
        let stride = match &a.strides(2)?[..] {
            [stride, Expr::Int(1)] => stride.clone(),
            _ => return None,
        };
        let alike = crd.strides(2)? == [stride.clone(), Expr::Int(1)];
        alike.then(|| Pattern::Slots { y, a: a.stream(), crd: crd.stream(), x, stride, lo, hi })
    }

    /// Loops over slices, their slots and their rows.
    pub(super) fn slices(self) -> Option<Pattern> {
        let [slice, slot, row] = [0, 1, 2].map(|at| &self.nest.loops[self.from + at]);
        let (Range::Between(first, end), None) = (&slot.range, self.factor()) else { return None };
        let (size, rest) = least(&row.range)?;
        // The last slice has the rows that are left.
        let rest = self.nest.index(rest)?;
        let [of_slice, of_row] = [(By::Var(slice.var), size), (By::Var(row.var), 1)];
        let Place::Element(y, to) = &self.nest.target else { return None };
        if !steps_are(&rest, &[(of_slice.0, -size)]) || !steps_are(to, &[of_slice, of_row]) {
            return None;
        }
        let ((a, at), (x, crd, place)) = self.gathered()?;
        let bound = |index: &Index, bound: &Expr| {
            let at = index.expr().replaced(&|of| (of == slot.var).then(|| bound.clone()));
            self.nest.index(&at)
        };
        let pos = bound(at, first)?.steps.iter().find_map(|step| match step.by {
            By::Read(pos, _) => Some(pos),
            _ => None,
        })?;
        // Slots of a slice follow one another, and those of the next slice follow them.
        let entries = |array: ArrayId, index: &Index| {
            let [begin, next] = [bound(index, first)?, bound(index, end)?];
            let slots = index.steps.iter().find(|step| step.by == By::Var(slot.var))?;
            let follow = slots.stride == Expr::Int(size)
                && steps_are(&begin, &[(By::Read(pos, slice.var), size), of_row])
                && steps_are(&next, &[(By::Next(pos, slice.var), size), of_row])
                && begin.base == next.base;
            follow.then_some(Stream { array, at: begin.base })
        };
        let (a, crd) = (entries(a, at)?, entries(crd, place)?);
        let y = Stream { array: *y, at: to.base.clone() };
        Some(Pattern::Slices { pos, crd, a, x, y, size, rows: rest.base })
    }
}

/// Of a loop from 0 up to `min(size, rest)`: `size` and `rest`.
fn least(range: &Range) -> Option<(i64, &Expr)> {
    let Range::Between(Expr::Int(0), Expr::Binary(BinOp::Min, a, b)) = range else { return None };
    match (&**a, &**b) {
        (Expr::Int(size), rest) | (rest, Expr::Int(size)) if *size > 0 => Some((*size, rest)),
        _ => None,
    }
}

/// Whether an index has these steps and no others.
fn steps_are(index: &Index, wanted: &[(By, i64)]) -> bool {
    let has = |&(by, stride): &(By, i64)| {
        index.steps.iter().any(|step| step.by == by && step.stride == Expr::Int(stride))
    };
    index.steps.len() == wanted.len() && wanted.iter().all(has)
}
