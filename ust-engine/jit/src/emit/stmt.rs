//! Statements and loops.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Value, types};
use ust_ir::{ArrayId, Expr, Stmt, Var};

use super::super::bind::CONTEXT;
use super::super::loops::{CodeOf, Reason, has_loop, searches};
use super::super::shims;
use super::super::tuning::MAX_REPEATED_CONDITION;
use super::{Emitter, Site};

impl Emitter<'_, '_> {
    pub(super) fn block(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(var, value) => {
                let value = self.expr(value);
                self.declare(*var, value);
            }
            Stmt::Assign(var, value) => {
                let value = self.expr(value);
                self.assign(*var, value);
            }
            Stmt::Store(array, index, value) => self.store(*array, index, value),
            Stmt::Reduce(op, array, index, value) => self.reduce(*op, *array, index, value),
            Stmt::For { var, lo, hi, body } => self.for_(*var, lo, hi, body),
            Stmt::While { cond, body } => self.while_(cond, body),
            Stmt::If { cond, then, otherwise } => self.if_(cond, then, otherwise),
            Stmt::Reserve(array, len) => self.reserve(*array, len),
            Stmt::Sort(array, lo, hi) => self.sort(*array, lo, hi),
            Stmt::Comment(_) => {}
        }
    }

    fn for_(&mut self, var: Var, lo: &Expr, hi: &Expr, body: &[Stmt]) {
        if !self.tile(var, lo, hi, body) {
            self.plain_for(var, lo, hi, body);
        }
    }

    /// A loop that is no operation on blocks.
    pub(super) fn plain_for(&mut self, var: Var, lo: &Expr, hi: &Expr, body: &[Stmt]) {
        if self.unroll(var, lo, hi, body) {
            return;
        }
        let (lo, hi) = (self.int(lo), self.int(hi));
        if self.union(var, lo, hi, body) {
            return;
        }
        self.loop_or_kernel(var, lo, hi, body);
    }

    /// Emits a loop from `lo` up to `hi`. The test stands before the loop and at its end.
    pub(super) fn counted(&mut self, lo: Value, hi: Value, body: impl FnOnce(&mut Self, Value)) {
        let (iteration, end) = (self.b.create_block(), self.b.create_block());
        let i = self.b.append_block_param(iteration, types::I64);
        let some = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        self.b.ins().brif(some, iteration, &[lo.into()], end, &[]);
        self.b.switch_to_block(iteration);
        body(self, i);
        // `i` is below `hi`, so `i + 1` does not overflow.
        let next = self.add_int(i, 1);
        let more = self.b.ins().icmp(IntCC::SignedLessThan, next, hi);
        self.b.ins().brif(more, iteration, &[next.into()], end, &[]);
        self.b.seal_block(iteration);
        self.b.switch_to_block(end);
        self.b.seal_block(end);
    }

    fn while_(&mut self, cond: &Expr, body: &[Stmt]) {
        if !has_loop(body) && !searches(self.function, body) {
            self.note(None, CodeOf::Scalar(Reason::Merge));
        }
        let (iteration, end) = (self.b.create_block(), self.b.create_block());
        let twice = size(cond) <= MAX_REPEATED_CONDITION;
        let test = if twice { None } else { Some(self.b.create_block()) };
        if let Some(test) = test {
            self.b.ins().jump(test, &[]);
            self.b.switch_to_block(test);
        }
        let more = self.bool(cond);
        self.b.ins().brif(more, iteration, &[], end, &[]);
        self.b.switch_to_block(iteration);
        self.block(body);
        if let Some(test) = test {
            self.b.ins().jump(test, &[]);
            self.b.seal_block(test);
        } else {
            let more = self.bool(cond);
            self.b.ins().brif(more, iteration, &[], end, &[]);
        }
        self.b.seal_block(iteration);
        self.b.switch_to_block(end);
        self.b.seal_block(end);
    }

    fn if_(&mut self, cond: &Expr, then: &[Stmt], otherwise: &[Stmt]) {
        let cond = self.bool(cond);
        let (yes, end) = (self.b.create_block(), self.b.create_block());
        let no = if otherwise.is_empty() { end } else { self.b.create_block() };
        self.b.ins().brif(cond, yes, &[], no, &[]);
        self.b.switch_to_block(yes);
        self.b.seal_block(yes);
        self.block(then);
        self.b.ins().jump(end, &[]);
        if no != end {
            self.b.switch_to_block(no);
            self.b.seal_block(no);
            self.block(otherwise);
            self.b.ins().jump(end, &[]);
        }
        self.b.switch_to_block(end);
        self.b.seal_block(end);
    }

    /// Calls the shim only if the array is too short.
    fn reserve(&mut self, array: ArrayId, len: &Expr) {
        let at = array.0 as usize;
        let len = self.int(len);
        let has = self.get(self.arrays[at].len);
        let short = self.b.ins().icmp(IntCC::SignedLessThan, has, len);
        let (grow, end) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(grow);
        self.b.ins().brif(short, grow, &[], end, &[]);
        self.b.switch_to_block(grow);
        self.b.seal_block(grow);
        let context = self.word(types::I64, CONTEXT);
        let number = self.b.ins().iconst(types::I64, at as i64);
        let done = self.call(
            shims::reserve as *const () as usize,
            &[types::I64; 3],
            Some(types::I64),
            &[context, number, len],
        );
        self.guard(done.expect("it gives a result"), Site::Memory(at), len, len);
        self.read_place(at);
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        self.b.seal_block(end);
    }

    fn sort(&mut self, array: ArrayId, lo: &Expr, hi: &Expr) {
        let at = array.0 as usize;
        let (lo, hi) = (self.int(lo), self.int(hi));
        let some = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        let (work, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(some, work, &[], end, &[]);
        self.b.switch_to_block(work);
        self.b.seal_block(work);
        if self.options.checked {
            let len = self.get(self.arrays[at].len);
            let last = self.add_int(hi, -1);
            let zero = self.const_int(0);
            let before = self.b.ins().icmp(IntCC::SignedLessThan, lo, zero);
            let index = self.b.ins().select(before, lo, last);
            let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
            self.guard(inside, Site::Bounds(at), index, len);
        }
        let base = self.get(self.arrays[at].base);
        let offset = self.shift_left(lo, 3);
        let start = self.b.ins().iadd(base, offset);
        let count = self.b.ins().isub(hi, lo);
        self.call(shims::sort as *const () as usize, &[types::I64; 2], None, &[start, count]);
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        self.b.seal_block(end);
    }

    /// Calls a function of this process.
    pub(super) fn call(
        &mut self,
        address: usize,
        params: &[types::Type],
        result: Option<types::Type>,
        args: &[Value],
    ) -> Option<Value> {
        let callee = self.b.ins().iconst(types::I64, address as i64);
        self.call_at(callee, params, result, args)
    }

    /// Calls the function at an address of this process.
    pub(super) fn call_at(
        &mut self,
        callee: Value,
        params: &[types::Type],
        result: Option<types::Type>,
        args: &[Value],
    ) -> Option<Value> {
        let mut signature = Signature::new(self.isa.default_call_conv());
        signature.params.extend(params.iter().map(|&ty| AbiParam::new(ty)));
        signature.returns.extend(result.map(AbiParam::new));
        let signature = self.b.import_signature(signature);
        let call = self.b.ins().call_indirect(signature, callee, args);
        self.b.inst_results(call).first().copied()
    }
}

/// Number of nodes of an expression.
pub(super) fn size(expr: &Expr) -> usize {
    1 + match expr {
        Expr::Load(_, a) | Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::ToInt(a) => size(a),
        Expr::Binary(_, a, b) => size(a) + size(b),
        Expr::Select(a, b, c) => size(a) + size(b) + size(c),
        Expr::Call(_, args) => args.iter().map(size).sum(),
        Expr::Int(_) | Expr::Bool(_) | Expr::Const(_) | Expr::Var(_) | Expr::Len(_) => 0,
    }
}
