//! Calls of the microkernels for small blocks.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ust_ir::{Elem, Expr, Stmt, Var};
use ust_kernels::micro::{self, Loop};

use super::super::loops::CodeOf;
use super::super::pattern::Stream;
use super::super::tile::{Tile, tile};
use super::Emitter;

impl Emitter<'_, '_> {
    /// Emits loops over a block as a call; for blocks that may be cut, also as loops, and a test that chooses.
    /// False if there is no kernel for the loops.
    pub(super) fn tile(&mut self, var: Var, lo: &Expr, hi: &Expr, body: &[Stmt]) -> bool {
        if self.options.checked {
            return false;
        }
        let Some(loops) = self.nest(var) else { return false };
        let Some((found, guards)) = tile(loops, self.options.strict) else { return false };
        let Some(kernel) = self.tile_kernel(&found) else { return false };
        let name = match &found {
            Tile::Product { .. } => "block-products",
            Tile::Dots { .. } => "block-dots",
        };
        self.note(Some(var), CodeOf::Microkernel(name));
        let (call, cut, end) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        for guard in &guards {
            let holds = self.bool(guard);
            let next = self.b.create_block();
            self.b.ins().brif(holds, next, &[], cut, &[]);
            self.b.switch_to_block(next);
            self.b.seal_block(next);
        }
        self.b.ins().jump(call, &[]);
        self.b.switch_to_block(call);
        self.b.seal_block(call);
        let args = self.tile_args(&found);
        let kernel = self.const_int(kernel as i64);
        self.call_at(kernel, &vec![types::I64; args.len()], None, &args);
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(cut);
        self.b.seal_block(cut);
        if !guards.is_empty() {
            self.beside(|e| e.plain_for(var, lo, hi, body));
        }
        self.b.ins().jump(end, &[]);
        self.b.switch_to_block(end);
        self.b.seal_block(end);
        true
    }

    /// The arguments of the kernel.
    fn tile_args(&mut self, found: &Tile) -> Vec<Value> {
        let zero = self.const_int(0);
        match found {
            Tile::Product { c, a, b, counts: [rows, sums, _], .. } => {
                let mut args = [c, a, b].map(|of| self.start(&of.start, zero)).to_vec();
                let strides = [&c.strides[0], &a.strides[0], &a.strides[1], &b.strides[0]];
                args.extend(strides.map(|stride| self.int(stride)));
                args.extend([rows, sums].map(|&count| self.const_int(count)));
                args
            }
            Tile::Dots { out, m, a, b, later, lo, hi, counts } => {
                let (first, last) = (self.int(lo), self.int(hi));
                let mut args = [&out.start, m].map(|of| self.start(of, zero)).to_vec();
                args.extend([&a.0, &b.0].map(|of| self.start(of, first)));
                let strides = [&out.strides[0], &out.strides[1], &a.1, &b.1];
                args.extend(strides.map(|stride| self.int(stride)));
                args.extend(counts.map(|count| self.const_int(count)));
                args.push(self.b.ins().isub(last, first));
                let next = later.as_ref().map_or(zero, |later| self.start(later, first));
                let reach = self.get(self.arrays[b.0.array.0 as usize].len);
                args.extend([next, reach]);
                args
            }
        }
    }

    /// The address of the kernel, if there is one for the dtype.
    fn tile_kernel(&self, found: &Tile) -> Option<usize> {
        let elem = |of: &Stream| self.arrays[of.array.0 as usize].elem;
        let (to, from, wanted) = match found {
            Tile::Product { c, a, b, counts, .. } => {
                let width = u8::try_from(counts[2]).ok()?;
                (&c.start, vec![&a.start, &b.start], Loop::Tile(width))
            }
            Tile::Dots { out, m, a, b, .. } => (&out.start, vec![m, &a.0, &b.0], Loop::Dots),
        };
        let Elem::Value(dtype) = elem(to) else { return None };
        let same = from.into_iter().all(|of| elem(of) == Elem::Value(dtype));
        micro::address(wanted, dtype, self.options.strict).filter(|_| same)
    }
}
