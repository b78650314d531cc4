//! Calls of microkernels in place of loops, and unrolled loops.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ust_ir::{ArrayId, BinOp, Dtype, Elem, Expr, Stmt, Ty, Var};

use super::super::loops::{CodeOf, Reason, has_loop};
use super::super::recognise::{Pattern, Stream, Target, sets_constant};
use super::super::tuning::{
    MAX_UNROLLED_COPIES, MAX_UNROLLED_ITERATIONS, MAX_UNROLLED_STATEMENTS, MIN_CALL_COLUMNS,
    MIN_CALL_ITERATIONS, MIN_CALL_ROWS,
};
use super::tile::later_coordinate;
use super::{Emitter, Operand, lane};

impl Emitter<'_, '_> {
    /// Emits a loop from `lo` up to `hi`. If a kernel exists for it, the loop is a call at run time when it
    /// is long enough.
    pub(super) fn loop_or_kernel(&mut self, var: Var, lo: Value, hi: Value, body: &[Stmt]) {
        let plain = |e: &mut Self| {
            e.counted(lo, hi, |e, i| {
                e.declare(var, Operand { ty: Ty::Int, re: i, im: None });
                let before = e.later_coordinates.len();
                e.later_coordinates.extend(later_coordinate(var, body));
                e.block(body);
                e.later_coordinates.truncate(before);
            });
        };
        let (pattern, dtype, kernel) = match self.kernel(var, body) {
            Ok(found) => found,
            Err(reason) => {
                if !has_loop(body) || reason == Reason::Types {
                    self.note(Some(var), CodeOf::Scalar(reason));
                }
                return plain(self);
            }
        };
        self.note(Some(var), CodeOf::Microkernel(pattern.name()));
        let plain = |e: &mut Self| e.beside(plain);
        let kernel = self.const_int(kernel as i64);
        let (call, short, end) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let count = self.b.ins().isub(hi, lo);
        let mut columns = None;
        let long = if let Pattern::Row { lo: left, hi: right, .. }
        | Pattern::Added { lo: left, hi: right, .. }
        | Pattern::Products { lo: left, hi: right, .. }
        | Pattern::Sampled { lo: left, hi: right, .. } = &pattern
        {
            // Column bounds are evaluated only if there is a row: otherwise, the loop would not read them.
            let some = self.b.create_block();
            let any = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
            self.b.ins().brif(any, some, &[], end, &[]);
            self.b.switch_to_block(some);
            self.b.seal_block(some);
            let (first, last) = (self.int(left), self.int(right));
            let width = self.b.ins().isub(last, first);
            columns = Some((first, width));
            self.compare_int(IntCC::SignedGreaterThanOrEqual, width, MIN_CALL_COLUMNS)
        } else {
            let least = match &pattern {
                Pattern::Combined { .. } => MIN_CALL_ROWS,
                _ => MIN_CALL_ITERATIONS,
            };
            self.compare_int(IntCC::SignedGreaterThanOrEqual, count, least)
        };
        // If the difference wrapped, the loop has no iteration.
        let some = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        let long = self.b.ins().band(long, some);
        self.b.ins().brif(long, call, &[], short, &[]);
        self.b.switch_to_block(call);
        self.b.seal_block(call);
        let pointer = types::I64;
        let float = lane(dtype);
        match &pattern {
            Pattern::GatherDot { target, a, crd, x, factor } => {
                let zero = self.const_int(0);
                let args = [self.start(a, lo), self.start(crd, lo), self.start(x, zero), count];
                let sum = self.call_at(kernel, &[pointer; 4], Some(float), &args);
                self.add_to(target, dtype, sum, factor.as_ref());
            }
            Pattern::Dot { target, a, b, factor } => {
                let args = [self.start(a, lo), self.start(b, lo), count];
                let sum = self.call_at(kernel, &[pointer; 3], Some(float), &args);
                self.add_to(target, dtype, sum, factor.as_ref());
            }
            Pattern::Fill { y, value } => {
                let args = [self.start(y, lo), count, self.expr(value).re];
                self.call_at(kernel, &[pointer, pointer, float], None, &args);
            }
            Pattern::Axpy { y, x, factor } => {
                let factor = self.expr(factor).re;
                let args = [self.start(y, lo), self.start(x, lo), count, factor];
                self.call_at(kernel, &[pointer, pointer, pointer, float], None, &args);
            }
            Pattern::MultiplyAdd { y, a, x, factor } => {
                let mut args = vec![self.start(y, lo), self.start(a, lo), self.start(x, lo), count];
                let mut params = vec![pointer; 4];
                if let Some(factor) = factor {
                    args.push(self.expr(factor).re);
                    params.push(float);
                }
                self.call_at(kernel, &params, None, &args);
            }
            Pattern::Rows { pos, crd, a, x, out, places } => {
                let zero = self.const_int(0);
                let places = places.map_or(zero, |places| self.base(places));
                let args = [
                    self.start(pos, zero),
                    self.base(*crd),
                    self.base(*a),
                    self.start(x, zero),
                    self.start(out, zero),
                    lo,
                    hi,
                    places,
                ];
                self.call_at(kernel, &[pointer; 8], None, &args);
            }
            Pattern::Products { pos, crd, a, b, c, stride, pitch, clear, .. } => {
                let (first, width) = columns.expect("evaluated above");
                let mut args: Vec<Value> =
                    [*pos, *crd, *a].into_iter().map(|array| self.base(array)).collect();
                let [total, reach] =
                    [c, b].map(|of| self.get(self.arrays[of.array.0 as usize].len));
                args.extend([
                    self.start(b, first),
                    self.start(c, first),
                    lo,
                    hi,
                    width,
                    self.int(stride),
                    self.int(pitch),
                    self.const_int(i64::from(*clear)),
                    total,
                    reach,
                ]);
                self.call_at(kernel, &[pointer; 13], None, &args);
            }
            Pattern::Added { c, rows, pitch, a, b, crd, .. } => {
                let (first, width) = columns.expect("evaluated above");
                let zero = self.const_int(0);
                let (crd, stride) = match crd {
                    Some((crd, stride)) => (self.start(crd, lo), self.int(stride)),
                    None => (zero, zero),
                };
                let [total, reach] =
                    [c, b].map(|of| self.get(self.arrays[of.array.0 as usize].len));
                let args = [
                    self.start(c, first),
                    self.start(rows, lo),
                    self.start(a, lo),
                    crd,
                    self.start(b, first),
                    count,
                    width,
                    stride,
                    self.int(pitch),
                    total,
                    reach,
                ];
                self.call_at(kernel, &[pointer; 11], None, &args);
            }
            Pattern::Sampled { out, m, a, rows, b, crd, stride, .. } => {
                let (first, width) = columns.expect("evaluated above");
                let zero = self.const_int(0);
                let (rows, pitch) = match rows {
                    Some((rows, pitch)) => (self.start(rows, lo), self.int(pitch)),
                    None => (zero, zero),
                };
                let args = [
                    self.start(out, lo),
                    self.start(m, lo),
                    self.start(a, first),
                    self.start(b, first),
                    rows,
                    pitch,
                    self.start(crd, lo),
                    self.int(stride),
                    count,
                    width,
                    self.rest(crd, lo),
                    self.get(self.arrays[b.array.0 as usize].len),
                ];
                self.call_at(kernel, &[pointer; 12], None, &args);
            }
            Pattern::Spread { pos, crd, a, x, out, places } => {
                let arrays = [*pos, *crd, *a, *x, *out].into_iter();
                let mut args: Vec<Value> = arrays.map(|array| self.base(array)).collect();
                let zero = self.const_int(0);
                let places = places.map_or(zero, |places| self.base(places));
                args.extend([lo, hi, places]);
                self.call_at(kernel, &[pointer; 8], None, &args);
            }
            Pattern::Combined { pos, crd, a, columns, b, sums, mark, list, stamp, touched } => {
                let arrays = [*pos, *crd, *a, *columns, *b, *sums, *mark, *list];
                let mut args = arrays.map(|of| self.base(of)).to_vec();
                let [end, ends, places] =
                    [*crd, *pos, *mark].map(|of| self.get(self.arrays[of.0 as usize].len));
                let (rows, stamp, before) =
                    (self.add_int(ends, -1), self.int(stamp), self.var(*touched).re);
                args.extend([lo, hi, end, rows, stamp, before, places]);
                let after = self.call_at(kernel, &[pointer; 15], Some(pointer), &args);
                let re = after.expect("it gives a result");
                self.assign(*touched, Operand { ty: Ty::Int, re, im: None });
            }
            Pattern::Entries { rows, crd, a, x, out } => {
                let at = |e: &mut Self, array: ArrayId, from: Value| {
                    e.start(&Stream { array, at: Vec::new() }, from)
                };
                let zero = self.const_int(0);
                let args = [
                    at(self, *rows, lo),
                    at(self, *crd, lo),
                    at(self, *a, lo),
                    at(self, *x, zero),
                    at(self, *out, zero),
                    count,
                ];
                self.call_at(kernel, &[pointer; 6], None, &args);
            }
            Pattern::Scatter { crd, next, column, number, from, out } => {
                let array = |e: &Self, of: ArrayId| e.arrays[of.0 as usize];
                let (column, out) = (array(self, *column), array(self, *out));
                let zero = self.const_int(0);
                let rest = self.rest(crd, lo);
                let keys = self.rest(next, zero);
                let args = [
                    self.start(crd, lo),
                    rest,
                    count,
                    self.start(next, zero),
                    keys,
                    self.get(column.base),
                    self.int(number),
                    self.start(from, lo),
                    self.get(out.base),
                    self.get(out.len),
                ];
                self.call_at(kernel, &[pointer; 10], None, &args);
            }
            Pattern::ScatterRows { pos, crd, next, column, number, from, out } => {
                let zero = self.const_int(0);
                let number = self.sum(zero, number);
                let total = self.arrays[out.0 as usize].len;
                let args = [
                    self.base(*pos),
                    self.base(*crd),
                    self.start(next, zero),
                    self.base(*column),
                    number,
                    self.base(*from),
                    self.base(*out),
                    lo,
                    hi,
                    self.get(total),
                ];
                self.call_at(kernel, &[pointer; 10], None, &args);
            }
            Pattern::Count { pos, crd, counts } => {
                let zero = self.const_int(0);
                let args = [self.base(*pos), self.base(*crd), self.start(counts, zero), lo, hi];
                self.call_at(kernel, &[pointer; 5], None, &args);
            }
            Pattern::Row { c, a, crd, b, stride, m, .. } => {
                let (first, width) = columns.expect("evaluated above");
                let mut args = vec![
                    self.start(c, first),
                    self.start(a, lo),
                    self.start(crd, lo),
                    self.start(b, first),
                    count,
                    width,
                    self.int(stride),
                ];
                args.extend(m.as_ref().map(|m| self.start(m, first)));
                self.call_at(kernel, &vec![pointer; args.len()], None, &args);
            }
        }
        // The loop has at least one iteration.
        for stmt in body.iter().filter(|stmt| sets_constant(stmt)) {
            self.block(std::slice::from_ref(stmt));
        }
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(short);
        self.b.seal_block(short);
        plain(self);
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        self.b.seal_block(end);
    }

    fn compare_int(&mut self, cond: IntCC, a: Value, b: i64) -> Value {
        let b = self.const_int(b);
        self.b.ins().icmp(cond, a, b)
    }

    /// `from`, plus all terms.
    fn sum(&mut self, from: Value, terms: &[Expr]) -> Value {
        terms.iter().fold(from, |sum, term| {
            let term = self.int(term);
            self.b.ins().iadd(sum, term)
        })
    }

    /// The address of an array.
    fn base(&mut self, of: ArrayId) -> Value {
        self.get(self.arrays[of.0 as usize].base)
    }

    /// The number of elements from that of [`start`](Self::start) to the end of the array.
    fn rest(&mut self, stream: &Stream, from: Value) -> Value {
        let index = self.sum(from, &stream.at);
        let len = self.get(self.arrays[stream.array.0 as usize].len);
        self.b.ins().isub(len, index)
    }

    /// The address of the element at `from` plus the constant terms of the stream.
    pub(super) fn start(&mut self, stream: &Stream, from: Value) -> Value {
        let index = self.sum(from, &stream.at);
        let array = self.arrays[stream.array.0 as usize];
        let size: u32 = match array.elem {
            Elem::Index(kind) => kind.bits() / 8,
            Elem::Value(dtype) => dtype.bytes() as u32,
        };
        let base = self.get(array.base);
        self.element(base, index, size)
    }

    /// Adds the result of a kernel, times a factor, to its target.
    fn add_to(&mut self, target: &Target, dtype: Dtype, sum: Option<Value>, factor: Option<&Expr>) {
        let mut sum = Operand::number(dtype, sum.expect("it gives a result"), None);
        if let Some(factor) = factor {
            let factor = self.expr(factor);
            sum = self.combine_safe(BinOp::Mul, factor, sum);
        }
        match target {
            Target::Var(var) => {
                let before = self.var(*var);
                let value = self.combine_safe(BinOp::Add, before, sum);
                self.assign(*var, value);
            }
            Target::Element(array, index) => self.reduce_value(*array, index, sum),
        }
    }

    /// Unrolls a loop of few iterations, if its bounds are constants.
    pub(super) fn unroll(&mut self, var: Var, lo: &Expr, hi: &Expr, body: &[Stmt]) -> bool {
        let (Expr::Int(lo), Expr::Int(hi)) = (lo, hi) else { return false };
        let iterations = hi.saturating_sub(*lo).max(0) as usize;
        if iterations > MAX_UNROLLED_ITERATIONS {
            return false;
        }
        let copies = self.copies * iterations.max(1);
        let all = copies * statements(body);
        if copies > MAX_UNROLLED_COPIES || all > MAX_UNROLLED_STATEMENTS {
            return false;
        }
        if !has_loop(body) {
            self.note(Some(var), CodeOf::Unrolled);
        }
        let before = std::mem::replace(&mut self.copies, copies);
        for i in *lo..*hi {
            let re = self.const_int(i);
            self.declare(var, Operand { ty: Ty::Int, re, im: None });
            self.block(body);
        }
        self.copies = before;
        true
    }
}

/// The number of statements in a body, nested ones included.
fn statements(body: &[Stmt]) -> usize {
    let of = |stmt: &Stmt| match stmt {
        Stmt::For { body, .. } | Stmt::While { body, .. } => 1 + statements(body),
        Stmt::If { then, otherwise, .. } => 1 + statements(then) + statements(otherwise),
        _ => 1,
    };
    body.iter().map(of).sum()
}
