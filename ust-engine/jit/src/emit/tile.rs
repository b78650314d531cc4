//! Calls of the microkernels for small blocks.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ust_ir::{Elem, Expr, Stmt, Var};
use ust_kernels::micro::{self, Loop};

use super::super::recognise::Stream;
use super::super::tile::{Tile, tile};
use super::{Emitter, Slot};

impl Emitter<'_, '_> {
    /// Writes loops over a block as a call, with the loops themselves beside it where blocks may be cut.
    /// False where there is no kernel for them.
    pub(super) fn tile(&mut self, var: Var, lo: &Expr, hi: &Expr, body: &[Stmt]) -> bool {
        if self.options.checked {
            return false;
        }
        let strict = self.options.strict;
        let Some((found, guards)) = tile(var, lo, hi, body, &self.assigned, strict) else {
            return false;
        };
        let Some(kernel) = self.tile_kernel(&found) else { return false };
        let (call, cut, end) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let whole: Vec<Value> = guards.iter().map(|guard| self.bool(guard)).collect();
        match whole.into_iter().reduce(|all, one| self.b.ins().band(all, one)) {
            Some(whole) => self.b.ins().brif(whole, call, &[], cut, &[]),
            None => self.b.ins().jump(call, &[]),
        };
        self.b.switch_to_block(call);
        self.b.seal_block(call);
        let args = self.tile_args(&found);
        let kernel = self.const_int(kernel as i64);
        self.call_at(kernel, &vec![types::I64; args.len()], None, &args);
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

    /// What the kernel is given.
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
            Tile::Dots { out, m, a, b, lo, hi, counts, .. } => {
                let (first, last) = (self.int(lo), self.int(hi));
                let mut args = [&out.start, m].map(|of| self.start(of, zero)).to_vec();
                args.extend([&a.0, &b.0].map(|of| self.start(of, first)));
                let strides = [&out.strides[0], &out.strides[1], &a.1, &b.1];
                args.extend(strides.map(|stride| self.int(stride)));
                args.extend(counts.map(|count| self.const_int(count)));
                args.push(self.b.ins().isub(last, first));
                let next = self.start_soon(&b.0, first).unwrap_or(zero);
                let reach = self.get(self.arrays[b.0.array.0 as usize].len);
                args.extend([next, reach]);
                args
            }
        }
    }

    /// The address of the element at `from`, plus what the stream adds where a coordinate that it is found
    /// by is the one that comes soon.
    fn start_soon(&mut self, stream: &Stream, from: Value) -> Option<Value> {
        let is_found = |(key, _): &&(Var, Expr)| stream.at.iter().any(|term| reads(term, *key));
        let (key, soon) = self.walks.iter().rev().find(is_found)?.clone();
        let soon = self.int(&soon);
        let held = self.vars[key.0 as usize].replace((Slot::Fixed(soon), None));
        let start = self.start(stream, from);
        self.vars[key.0 as usize] = held;
        Some(start)
    }

    /// The address of the kernel, where there is one for these arrays.
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

/// How many rounds later what is asked for is read.
const ROUNDS: i64 = 2;

/// The coordinate that a loop over `var` reads first, and the one that it reads some rounds later, or
/// the last there is.
pub(super) fn walk(var: Var, body: &[Stmt]) -> Option<(Var, Expr)> {
    let first = body.iter().find(|stmt| !matches!(stmt, Stmt::Comment(_)))?;
    let Stmt::Let(key, Expr::Load(crd, at)) = first else { return None };
    let last = Expr::Len(*crd) - 1;
    let soon = Expr::Load(*crd, Box::new((Expr::Var(var) + ROUNDS).min(last)));
    (**at == Expr::Var(var)).then_some((*key, soon))
}

/// Whether a sum of products has a variable.
fn reads(expr: &Expr, var: Var) -> bool {
    match expr {
        Expr::Var(other) => *other == var,
        Expr::Binary(_, a, b) => reads(a, var) || reads(b, var),
        _ => false,
    }
}
