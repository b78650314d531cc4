//! The choice of a microkernel: a loop has one for some index kinds and dtypes.

use ust_ir::{ArrayId, Dtype, Elem, Expr, IndexKind, Stmt, Var};
use ust_kernels::micro::{self, Loop};

use super::super::loops::{Reason, reason};
use super::super::recognise::{Pattern, Stream, recognise};
use super::Emitter;

impl Emitter<'_, '_> {
    /// The pattern of a loop, the dtype and the address of its kernel.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn kernel(
        &self,
        var: Var,
        body: &[Stmt],
    ) -> Result<(Pattern, Dtype, usize), Reason> {
        if self.options.checked {
            return Err(Reason::Checked);
        }
        match recognise(var, body, &self.assigned) {
            Some(pattern) => self.kernel_of(pattern).ok_or(Reason::Types),
            None => Err(reason(self.function, body)),
        }
    }

    fn kernel_of(&self, pattern: Pattern) -> Option<(Pattern, Dtype, usize)> {
        let elem = |array: ArrayId| self.arrays[array.0 as usize].elem;
        let elem_of = |stream: &Stream| elem(stream.array);
        if let Pattern::Rows {
            pos: Stream { array: pos, .. },
            crd,
            a,
            x: Stream { array: x, .. },
            places,
            ..
        }
        | Pattern::Spread { pos, crd, a, x, places, .. } = pattern
        {
            let places = places.map_or(elem(pos), elem);
            return match (elem(pos), elem(crd), elem(a)) {
                (Elem::Index(of_pos), Elem::Index(of_crd), Elem::Value(dtype))
                    if places == elem(pos) && elem(x) == elem(a) =>
                {
                    let wanted = match pattern {
                        Pattern::Rows { .. } => Loop::Rows(of_pos, of_crd),
                        _ if of_pos == of_crd => Loop::Spread(of_pos),
                        _ => return None,
                    };
                    let address = micro::address(wanted, dtype, self.options.strict)?;
                    Some((pattern, dtype, address))
                }
                _ => None,
            };
        }
        if let Pattern::Products { pos, crd, a, .. } = pattern {
            return match (elem(pos), elem(a)) {
                (Elem::Index(kind), Elem::Value(dtype)) if elem(crd) == Elem::Index(kind) => {
                    let address = micro::address(Loop::Products(kind), dtype, self.options.strict)?;
                    Some((pattern, dtype, address))
                }
                _ => None,
            };
        }
        if let Pattern::Combined { pos, crd, a, columns, b, sums, mark, list, .. } = pattern {
            return match (elem(pos), elem(mark), elem(a)) {
                (Elem::Index(kind), Elem::Index(of_mark), Elem::Value(dtype))
                    if [crd, columns].map(elem) == [Elem::Index(kind); 2]
                        && [b, sums].map(elem) == [Elem::Value(dtype); 2]
                        && elem(list) == Elem::Index(IndexKind::I64) =>
                {
                    let wanted = Loop::Combined(kind, of_mark);
                    let address = micro::address(wanted, dtype, self.options.strict)?;
                    Some((pattern, dtype, address))
                }
                _ => None,
            };
        }
        if let Pattern::Sampled { out, m, a, rows, b, crd, .. } = &pattern {
            let rows = rows.as_ref().map_or(crd, |(rows, _)| rows);
            return match (elem_of(crd), elem_of(m)) {
                (Elem::Index(kind), Elem::Value(dtype))
                    if elem_of(rows) == elem_of(crd)
                        && [out, a, b].map(elem_of) == [Elem::Value(dtype); 3] =>
                {
                    let address = micro::address(Loop::Sampled(kind), dtype, self.options.strict)?;
                    Some((pattern, dtype, address))
                }
                _ => None,
            };
        }
        if let Pattern::Added { c, rows, a, b, crd, .. } = &pattern {
            let crd = crd.as_ref().map_or(rows, |(crd, _)| crd);
            return match (elem_of(rows), elem_of(a)) {
                (Elem::Index(kind), Elem::Value(dtype))
                    if elem_of(crd) == elem_of(rows)
                        && [b, c].map(elem_of) == [Elem::Value(dtype); 2] =>
                {
                    let address = micro::address(Loop::Added(kind), dtype, self.options.strict)?;
                    Some((pattern, dtype, address))
                }
                _ => None,
            };
        }
        if let Pattern::Entries { rows, crd, a, x, .. } = pattern {
            return match (elem(rows), elem(a)) {
                (Elem::Index(kind), Elem::Value(dtype))
                    if elem(crd) == Elem::Index(kind) && elem(x) == elem(a) =>
                {
                    let address = micro::address(Loop::Entries(kind), dtype, self.options.strict)?;
                    Some((pattern, dtype, address))
                }
                _ => None,
            };
        }
        if let Pattern::Scatter { crd, next, column, from, out, .. } = &pattern {
            let (kind, dtype) = match (elem(crd.array), elem(from.array)) {
                (Elem::Index(kind), Elem::Value(dtype)) if elem(*out) == Elem::Value(dtype) => {
                    (kind, dtype)
                }
                _ => return None,
            };
            let fits = elem(*column) == Elem::Index(kind)
                && elem(next.array) == Elem::Index(IndexKind::U32);
            let moved = moved_as(dtype)?;
            let address = micro::address(Loop::Scatter(kind), moved, self.options.strict)?;
            return fits.then_some((pattern, moved, address));
        }
        if let Pattern::ScatterRows { pos, crd, next, column, from, out, .. } = &pattern {
            let (Elem::Index(kind), Elem::Value(dtype)) = (elem(*crd), elem(*from)) else {
                return None;
            };
            let fits = [*pos, *column].map(elem) == [Elem::Index(kind); 2]
                && elem(*out) == Elem::Value(dtype)
                && elem(next.array) == Elem::Index(IndexKind::U32);
            let moved = moved_as(dtype)?;
            let address = micro::address(Loop::ScatterRows(kind), moved, self.options.strict)?;
            return fits.then_some((pattern, moved, address));
        }
        if let Pattern::Count { pos, crd, counts } = &pattern {
            let Elem::Index(kind) = elem(*crd) else { return None };
            let fits = elem(*pos) == Elem::Index(kind)
                && elem(counts.array) == Elem::Index(IndexKind::U32);
            // The kernel has no values: any dtype will do.
            let address = micro::address(Loop::Count(kind), Dtype::F64, self.options.strict)?;
            return fits.then_some((pattern, Dtype::F64, address));
        }
        let kind = |crd: &Stream| match elem_of(crd) {
            Elem::Index(kind) => kind,
            Elem::Value(_) => IndexKind::U2,
        };
        let (numbers, wanted) = match &pattern {
            Pattern::GatherDot { a, crd, .. } => (a, Loop::GatherDot(kind(crd))),
            Pattern::Dot { a, .. } => (a, Loop::Dot),
            Pattern::Fill { y, .. } => (y, Loop::Fill),
            Pattern::Axpy { x, .. } => (x, Loop::Axpy),
            Pattern::MultiplyAdd { a, factor: None, .. } => (a, Loop::MultiplyAdd),
            Pattern::MultiplyAdd { a, .. } => (a, Loop::ScaledMultiplyAdd),
            Pattern::Row { a, crd, m: None, .. } => (a, Loop::Row(kind(crd))),
            Pattern::Row { a, crd, .. } => (a, Loop::TimesRow(kind(crd))),
            Pattern::Rows { .. }
            | Pattern::Products { .. }
            | Pattern::Added { .. }
            | Pattern::Sampled { .. }
            | Pattern::Spread { .. }
            | Pattern::Combined { .. }
            | Pattern::Entries { .. }
            | Pattern::Count { .. }
            | Pattern::ScatterRows { .. }
            | Pattern::Scatter { .. } => unreachable!("handled above"),
        };
        if let Pattern::Axpy { factor: Expr::Binary(..), .. } = &pattern
            && self.options.strict
        {
            // The kernel would multiply the factors in another order.
            return None;
        }
        let Elem::Value(dtype) = elem_of(numbers) else { return None };
        let address = micro::address(wanted, dtype, self.options.strict)?;
        Some((pattern, dtype, address))
    }
}

/// A dtype of the same width, as which values are moved.
fn moved_as(dtype: Dtype) -> Option<Dtype> {
    match dtype.bytes() {
        4 => Some(Dtype::F32),
        8 => Some(Dtype::F64),
        _ => None,
    }
}
