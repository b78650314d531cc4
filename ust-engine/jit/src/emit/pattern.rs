//! Calls of microkernels in place of loops, and unrolled loops.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use ust_ir::{ArrayId, BinOp, Dtype, Elem, Expr, Stmt, Ty, Var};

use super::super::loops::{CodeOf, Reason, has_loop};
use super::super::pattern::{Pattern, Stream, Target};
use super::super::tuning::{
    MAX_UNROLLED_COPIES, MAX_UNROLLED_ITERATIONS, MAX_UNROLLED_STATEMENTS, MIN_CALL_COLUMNS,
    MIN_CALL_ITERATIONS, MIN_CALL_ROWS,
};
use super::calls::Span;
use super::{Emitter, Operand};

impl Emitter<'_, '_> {
    /// Emits a loop from `lo` up to `hi`. If a kernel exists for it, the loop is a call at run time when it
    /// is long enough.
    pub(super) fn loop_or_kernel(&mut self, var: Var, lo: Value, hi: Value, body: &[Stmt]) {
        let plain = |e: &mut Self| {
            e.counted(lo, hi, |e, i| {
                e.declare(var, Operand { ty: Ty::Int, re: i, im: None });
                e.block(body);
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
        let (long, columns) = self.is_long(&pattern, (lo, hi, count), end);
        // If the difference wrapped, the loop has no iteration.
        let some = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        let long = self.b.ins().band(long, some);
        self.b.ins().brif(long, call, &[], short, &[]);
        self.b.switch_to_block(call);
        self.b.seal_block(call);
        self.call_kernel(&pattern, dtype, kernel, Span { lo, hi, count, columns });
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

    /// Whether the loop is long enough for a call. Of a pattern with a loop over columns, also the first
    /// column and the number of columns; without a row, the code jumps to `end`.
    fn is_long(
        &mut self,
        pattern: &Pattern,
        (lo, hi, count): (Value, Value, Value),
        end: Block,
    ) -> (Value, Option<(Value, Value)>) {
        let at_least = IntCC::SignedGreaterThanOrEqual;
        if let Pattern::Row { lo: left, hi: right, .. }
        | Pattern::Added { lo: left, hi: right, .. }
        | Pattern::Products { lo: left, hi: right, .. }
        | Pattern::Sampled { lo: left, hi: right, .. }
        | Pattern::Slots { lo: left, hi: right, .. } = pattern
        {
            // Column bounds are evaluated only if there is a row: otherwise, the loop would not read them.
            let some = self.b.create_block();
            let any = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
            self.b.ins().brif(any, some, &[], end, &[]);
            self.b.switch_to_block(some);
            self.b.seal_block(some);
            let (first, last) = (self.int(left), self.int(right));
            let width = self.b.ins().isub(last, first);
            return (self.compare_int(at_least, width, MIN_CALL_COLUMNS), Some((first, width)));
        }
        let least = match pattern {
            Pattern::Combined { .. }
            | Pattern::RunDots { .. }
            | Pattern::SharedDots { .. }
            | Pattern::OneDots { .. } => MIN_CALL_ROWS,
            _ => MIN_CALL_ITERATIONS,
        };
        (self.compare_int(at_least, count, least), None)
    }

    fn compare_int(&mut self, cond: IntCC, a: Value, b: i64) -> Value {
        let b = self.const_int(b);
        self.b.ins().icmp(cond, a, b)
    }

    /// `from`, plus all terms.
    pub(super) fn sum(&mut self, from: Value, terms: &[Expr]) -> Value {
        terms.iter().fold(from, |sum, term| {
            let term = self.int(term);
            self.b.ins().iadd(sum, term)
        })
    }

    /// The address of an array.
    pub(super) fn base(&mut self, of: ArrayId) -> Value {
        self.get(self.arrays[of.0 as usize].base)
    }

    /// The number of elements from that of [`start`](Self::start) to the end of the array.
    pub(super) fn rest(&mut self, stream: &Stream, from: Value) -> Value {
        let index = self.sum(from, &stream.at);
        let len = self.get(self.arrays[stream.array.0 as usize].len);
        self.b.ins().isub(len, index)
    }

    /// The address of an element of an array.
    pub(super) fn at(&mut self, array: ArrayId, index: Value) -> Value {
        self.start(&Stream { array, at: Vec::new() }, index)
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
    pub(super) fn add_to(
        &mut self,
        target: &Target,
        dtype: Dtype,
        sum: Option<Value>,
        factor: Option<&Expr>,
    ) {
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

/// Whether a statement assigns a variable the same truth value in every iteration.
fn sets_constant(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::Assign(_, Expr::Bool(_)))
}

/// The number of statements in a body, nested ones included.
fn statements(body: &[Stmt]) -> usize {
    let mut count = 0;
    Stmt::visit_all(body, &mut |_| count += 1);
    count
}
