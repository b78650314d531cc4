//! The arguments of each microkernel, and what becomes of its result.

use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use ust_ir::{ArrayId, Dtype, Ty};

use super::super::pattern::{Ones, Pattern, SharedRuns, Stream};
use super::{Emitter, Operand, lane};

/// The iterations of a loop that is a call.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) lo: Value,
    pub(super) hi: Value,
    /// `hi - lo`.
    pub(super) count: Value,
    /// Of a pattern with a loop over columns: the first column, and the number of columns.
    pub(super) columns: Option<(Value, Value)>,
}

impl Emitter<'_, '_> {
    /// Calls the kernel of a pattern.
    pub(super) fn call_kernel(
        &mut self,
        pattern: &Pattern,
        dtype: Dtype,
        kernel: Value,
        span: Span,
    ) {
        let args = match span.columns {
            Some((first, width)) => self.arguments_of_rows(pattern, span, first, width),
            None => self.arguments(pattern, span),
        };
        let params: Vec<Type> = args.iter().map(|&arg| self.b.func.dfg.value_type(arg)).collect();
        let result = match pattern {
            Pattern::GatherDot { .. }
            | Pattern::Dot { .. }
            | Pattern::Total { .. }
            | Pattern::RunDots { .. }
            | Pattern::SharedDots { .. }
            | Pattern::OneDots { .. }
            | Pattern::GapDots { .. } => Some(lane(dtype)),
            Pattern::Combined { .. } => Some(types::I64),
            _ => None,
        };
        let result = self.call_at(kernel, &params, result, &args);
        match pattern {
            Pattern::GatherDot { target, factor, .. }
            | Pattern::Dot { target, factor, .. }
            | Pattern::Total { target, factor, .. }
            | Pattern::RunDots { target, factor, .. }
            | Pattern::SharedDots { target, factor, .. }
            | Pattern::OneDots { target, factor, .. }
            | Pattern::GapDots { target, factor, .. } => {
                self.add_to(target, dtype, result, factor.as_ref());
            }
            Pattern::Combined { touched, .. } => {
                let re = result.expect("it gives a result");
                self.assign(*touched, Operand { ty: Ty::Int, re, im: None });
            }
            _ => {}
        }
    }

    /// The arguments of a kernel without columns, in the order of [`Loop`](ust_kernels::micro::Loop).
    fn arguments(&mut self, pattern: &Pattern, span: Span) -> Vec<Value> {
        let Span { lo, hi, count, .. } = span;
        let zero = self.const_int(0);
        match pattern {
            Pattern::GatherDot { a, crd, x, .. } => {
                vec![self.start(a, lo), self.at(*crd, lo), self.start(x, zero), count]
            }
            Pattern::Dot { a, b, .. } => vec![self.start(a, lo), self.start(b, lo), count],
            Pattern::Total { x, .. } => vec![self.start(x, lo), count],
            Pattern::Fill { y, value } => vec![self.start(y, lo), count, self.expr(value).re],
            Pattern::Axpy { y, x, factor } => {
                let factor = self.expr(factor).re;
                vec![self.start(y, lo), self.start(x, lo), count, factor]
            }
            Pattern::MultiplyAdd { y, a, x, factor } => {
                let mut args = vec![self.start(y, lo), self.start(a, lo), self.start(x, lo), count];
                args.extend(factor.as_ref().map(|factor| self.expr(factor).re));
                args
            }
            Pattern::Rows { pos, crd, a, x, out, places, .. } => {
                let places = places.map_or(zero, |places| self.base(places));
                let [pos, crd, a] = [pos, crd, a].map(|of| self.start(of, zero));
                vec![pos, crd, a, self.start(x, zero), self.start(out, zero), lo, hi, places]
            }
            Pattern::RunDots { runs, .. } => {
                let mut args = self.bases(&[runs.bounds, runs.ofs]);
                args.extend([&runs.a, &runs.x].map(|of| self.start(of, zero)));
                args.extend([lo, hi, self.const_int(i64::from(runs.is_end))]);
                args
            }
            Pattern::SharedDots { runs: SharedRuns { begin, first, end, a, x }, .. } => {
                let begin = begin.map_or(zero, |begin| self.base(begin));
                let mut args = vec![begin, self.base(*end)];
                args.extend([a, x].map(|of| self.start(of, zero)));
                args.extend([lo, hi, self.int(first)]);
                args
            }
            Pattern::SharedRows {
                pos,
                runs: SharedRuns { begin, first, end, a, x },
                out,
                places,
            } => {
                let begin = begin.map_or(zero, |begin| self.base(begin));
                let places = places.map_or(zero, |places| self.base(places));
                let mut args = vec![self.start(pos, zero), begin, self.base(*end)];
                args.extend([a, x, out].map(|of| self.start(of, zero)));
                args.extend([lo, hi, places, self.int(first), self.rest(x, zero)]);
                args
            }
            Pattern::OneDots { ones: Ones { bits, ofs, a, x }, .. } => {
                let mut args = self.bases(&[*bits, *ofs]);
                args.extend([a, x].map(|of| self.start(of, zero)));
                args.extend([lo, hi, self.rest(a, zero)]);
                args
            }
            Pattern::GapDots { a, numbers, x, .. } => {
                let numbers = self.base(numbers.array);
                vec![self.start(a, lo), numbers, self.start(x, zero), lo, count]
            }
            Pattern::Runs { pos, runs, out, places } => {
                let pos = pos.as_ref().map_or(zero, |pos| self.start(pos, zero));
                let places = places.map_or(zero, |places| self.base(places));
                let mut args = vec![pos];
                args.extend(self.bases(&[runs.bounds, runs.ofs]));
                args.extend([&runs.a, &runs.x, out].map(|of| self.start(of, zero)));
                args.extend([lo, hi, places, self.const_int(i64::from(runs.is_end))]);
                args
            }
            Pattern::Slices { pos, crd, a, x, y, size, rows } => {
                let mut args = vec![self.base(*pos), self.start(crd, zero), self.start(a, zero)];
                args.extend([self.base(*x), self.start(y, zero), lo, hi, self.const_int(*size)]);
                args.push(self.sum(zero, rows));
                args
            }
            Pattern::Spread { pos, crd, a, x, out, places } => {
                let mut args = self.bases(&[*pos, *crd, *a, *x, *out]);
                let places = places.map_or(zero, |places| self.base(places));
                args.extend([lo, hi, places]);
                args
            }
            Pattern::Combined { pos, crd, a, columns, b, sums, mark, list, stamp, touched } => {
                let mut args = self.bases(&[*pos, *crd, *a, *columns, *b, *sums, *mark, *list]);
                let [end, ends, places] = [*crd, *pos, *mark].map(|of| self.len_of(of));
                let rows = self.add_int(ends, -1);
                let (stamp, before) = (self.int(stamp), self.var(*touched).re);
                args.extend([lo, hi, end, rows, stamp, before, places]);
                args
            }
            Pattern::Entries { rows, crd, a, x, out } => {
                let mut args: Vec<Value> = [*rows, *crd, *a].map(|of| self.at(of, lo)).to_vec();
                args.extend([*x, *out].map(|of| self.base(of)));
                args.push(count);
                args
            }
            Pattern::Scatter { crd, next, column, number, from, out } => {
                let rest = self.rest(&Stream::of(*crd), lo);
                let keys = self.rest(next, zero);
                let mut args = vec![self.at(*crd, lo), rest, count, self.start(next, zero), keys];
                args.extend([self.base(*column), self.int(number), self.start(from, lo)]);
                args.extend([self.base(*out), self.len_of(*out)]);
                args
            }
            Pattern::ScatterRows { pos, crd, next, column, number, from, out } => {
                let number = self.sum(zero, number);
                let mut args = self.bases(&[*pos, *crd]);
                args.extend([self.start(next, zero), self.base(*column), number]);
                args.extend(self.bases(&[*from, *out]));
                args.extend([lo, hi, self.len_of(*out)]);
                args
            }
            Pattern::Count { pos, crd, counts } => {
                vec![self.base(*pos), self.base(*crd), self.start(counts, zero), lo, hi]
            }
            Pattern::Row { .. }
            | Pattern::Added { .. }
            | Pattern::Products { .. }
            | Pattern::Slots { .. }
            | Pattern::Sampled { .. } => unreachable!("these have columns"),
        }
    }

    /// The arguments of a kernel with a loop over so many columns, of which the first is given.
    fn arguments_of_rows(
        &mut self,
        pattern: &Pattern,
        span: Span,
        first: Value,
        width: Value,
    ) -> Vec<Value> {
        let Span { lo, hi, count, .. } = span;
        let zero = self.const_int(0);
        match pattern {
            Pattern::Row { c, a, crd, b, stride, m, .. } => {
                let mut args = vec![self.start(c, first), self.start(a, lo), self.at(*crd, lo)];
                args.extend([self.start(b, first), count, width, self.int(stride)]);
                args.extend(m.as_ref().map(|m| self.start(m, first)));
                args
            }
            Pattern::Products { pos, crd, a, b, c, stride, pitch, clear, .. } => {
                let mut args = self.bases(&[*pos, *crd, *a]);
                args.extend([self.start(b, first), self.start(c, first), lo, hi, width]);
                args.extend([self.int(stride), self.int(pitch)]);
                args.push(self.const_int(i64::from(*clear)));
                args.extend([self.len_of(c.array), self.len_of(b.array)]);
                args
            }
            Pattern::Added { c, rows, pitch, a, b, crd, .. } => {
                let (crd, stride) = match crd {
                    Some((crd, stride)) => (self.at(*crd, lo), self.int(stride)),
                    None => (zero, zero),
                };
                let mut args = vec![self.start(c, first), self.at(*rows, lo), self.start(a, lo)];
                args.extend([crd, self.start(b, first), count, width, stride, self.int(pitch)]);
                args.extend([self.len_of(c.array), self.len_of(b.array)]);
                args
            }
            Pattern::Sampled { out, m, a, rows, b, crd, stride, .. } => {
                let (rows, pitch) = match rows {
                    Some((rows, pitch)) => (self.at(*rows, lo), self.int(pitch)),
                    None => (zero, zero),
                };
                let m = m.as_ref().map_or(zero, |m| self.start(m, lo));
                let mut args = vec![self.start(out, lo), m];
                args.extend([self.start(a, first), self.start(b, first), rows, pitch]);
                args.extend([self.at(*crd, lo), self.int(stride), count, width]);
                args.extend([self.rest(&Stream::of(*crd), lo), self.len_of(b.array)]);
                args
            }
            Pattern::Slots { y, a, crd, x, stride, .. } => {
                let stride = self.int(stride);
                let slots = self.b.ins().imul(lo, stride);
                let from = self.b.ins().iadd(slots, first);
                let mut args = vec![self.start(y, first), self.start(a, from)];
                args.extend([self.start(crd, from), self.base(*x), count, width, stride]);
                args
            }
            _ => unreachable!("these have no columns"),
        }
    }

    /// The addresses of arrays.
    fn bases(&mut self, arrays: &[ArrayId]) -> Vec<Value> {
        arrays.iter().map(|&array| self.base(array)).collect()
    }

    /// The length of an array.
    fn len_of(&mut self, array: ArrayId) -> Value {
        self.get(self.arrays[array.0 as usize].len)
    }
}
