//! Calls of the microkernel that adds sparse rows.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, Value, types};
use ust_ir::idiom::{Idiom, Union};
use ust_ir::{ArrayDecl, ArrayId, Elem, IndexKind, Stmt, Ty, Var};
use ust_kernels::micro::{self, Loop};

use super::super::loops::CodeOf;
use super::{Emitter, Operand};

impl Emitter<'_, '_> {
    /// Emits a loop that adds sparse rows as calls. The kernel returns at the first row that may not fit into
    /// the result; the body of the loop, which reserves memory, runs for that row. Then the kernel is called
    /// again. False if the loop does not add rows.
    pub(super) fn union(&mut self, var: Var, lo: Value, hi: Value, body: &[Stmt]) -> bool {
        if self.options.checked {
            return false;
        }
        let Some(&(Idiom::Union(found), _)) = self.idioms.get(&var) else { return false };
        let Some(kernel) = union_kernel(found, &self.function.arrays, self.options.strict) else {
            return false;
        };
        self.note(Some(var), CodeOf::Microkernel("rows-united"));
        let &Union { a, b, row, crd, values: out, ref starts, .. } = found;
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        let slot = self.b.create_sized_stack_slot(slot);
        let (rows, no_room, end) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let from = self.b.append_block_param(rows, types::I64);
        let some = self.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        self.b.ins().brif(some, rows, &[lo.into()], end, &[]);

        self.b.switch_to_block(rows);
        let base = |e: &mut Self, of: ArrayId| e.get(e.arrays[of.0 as usize].base);
        let arrays = [a.pos, a.crd, a.values, b.pos, b.crd, b.values, crd, out];
        let mut args: Vec<Value> = arrays.map(|array| base(self, array)).into();
        let [first, second] = [crd, out].map(|of| self.get(self.arrays[of.0 as usize].len));
        args.push(self.b.ins().smin(first, second));
        let starts = match starts {
            Some((array, first)) => {
                let (begin, first) = (base(self, *array), self.int(first));
                let place = self.b.ins().isub(from, first);
                self.element(begin, place, 8)
            }
            None => self.const_int(0),
        };
        let pointer = types::I64;
        let before = self.var(row).re;
        self.b.ins().stack_store(pointer, before, slot, 0);
        let address = self.b.ins().stack_addr(pointer, slot, 0);
        args.extend([starts, from, hi, address]);
        let kernel = self.const_int(kernel as i64);
        let done = self.call_at(kernel, &[pointer; 13], Some(pointer), &args);
        let done = done.expect("it gives a result");
        let int = |re| Operand { ty: Ty::Int, re, im: None };
        let after = self.b.ins().stack_load(pointer, types::I64, slot, 0);
        self.assign(row, int(after));
        let more = self.b.ins().icmp(IntCC::SignedLessThan, done, hi);
        self.b.ins().brif(more, no_room, &[], end, &[]);

        self.b.switch_to_block(no_room);
        self.b.seal_block(no_room);
        self.declare(var, int(done));
        self.beside(|e| e.block(body));
        // `done` is below `hi`, so `done + 1` does not overflow.
        let next = self.add_int(done, 1);
        let more = self.b.ins().icmp(IntCC::SignedLessThan, next, hi);
        self.b.ins().brif(more, rows, &[next.into()], end, &[]);
        self.b.seal_block(rows);
        self.b.switch_to_block(end);
        self.b.seal_block(end);
        true
    }
}

/// The address of the kernel, if there is one for the index kinds and the dtype.
pub(super) fn union_kernel(found: &Union, arrays: &[ArrayDecl], strict: bool) -> Option<usize> {
    let Union { a, b, crd, values: out, starts, .. } = found;
    let elem = |array: &ArrayId| arrays[array.0 as usize].elem;
    let (Elem::Index(of_pos), Elem::Index(of_crd), Elem::Value(dtype)) =
        (elem(&a.pos), elem(crd), elem(out))
    else {
        return None;
    };
    let fits = elem(&b.pos) == Elem::Index(of_pos)
        && [&a.crd, &b.crd].iter().all(|crd| elem(crd) == Elem::Index(of_crd))
        && [&a.values, &b.values].iter().all(|of| elem(of) == Elem::Value(dtype))
        && starts.iter().all(|(starts, _)| elem(starts) == Elem::Index(IndexKind::I64));
    let wanted = Loop::Union(of_pos, of_crd);
    if fits { micro::address(wanted, dtype, strict) } else { None }
}
