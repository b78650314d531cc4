//! Calls of the microkernel that multiplies small blocks.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ust_level_api::ir::{Elem, Expr, Stmt, Var};

use super::super::tile::{Block, Tile, tile};
use super::Emitter;
use crate::kernels::micro::{self, Loop};

impl Emitter<'_, '_> {
    /// Writes loops that multiply blocks as a call, with the loops themselves beside it where blocks may
    /// be cut. False where they are no such loops.
    pub(super) fn tile(&mut self, var: Var, lo: &Expr, hi: &Expr, body: &[Stmt]) -> bool {
        if self.options.checked {
            return false;
        }
        let Some(found) = tile(var, lo, hi, body, &self.assigned) else { return false };
        let Some(kernel) = self.tile_kernel(&found) else { return false };
        let Tile { c, a, b, counts: [rows, sums, _], guards } = found;
        let (call, cut, end) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let whole = guards.iter().map(|guard| self.bool(guard)).collect::<Vec<Value>>();
        match whole.into_iter().reduce(|all, one| self.b.ins().band(all, one)) {
            Some(whole) => self.b.ins().brif(whole, call, &[], cut, &[]),
            None => self.b.ins().jump(call, &[]),
        };
        self.b.switch_to_block(call);
        self.b.seal_block(call);
        let zero = self.const_int(0);
        let mut args = [&c, &a, &b].map(|of: &Block| self.start(&of.start, zero)).to_vec();
        let sizes = [c.strides[0], a.strides[0], a.strides[1], b.strides[0], rows, sums];
        args.extend(sizes.map(|size| self.const_int(size)));
        let kernel = self.const_int(kernel as i64);
        self.call_at(kernel, &[types::I64; 9], None, &args);
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(cut);
        self.b.seal_block(cut);
        if !guards.is_empty() {
            self.plain_for(var, lo, hi, body);
        }
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        self.b.seal_block(end);
        true
    }

    /// The address of the kernel, where there is one for these arrays.
    fn tile_kernel(&self, found: &Tile) -> Option<usize> {
        let elem = |block: &Block| self.arrays[block.start.array.0 as usize].elem;
        let Elem::Value(dtype) = elem(&found.c) else { return None };
        let same = [&found.a, &found.b].map(elem) == [Elem::Value(dtype); 2];
        let width = u8::try_from(found.counts[2]).ok().filter(|_| same)?;
        micro::address(Loop::Tile(width), dtype, self.options.strict)
    }
}
