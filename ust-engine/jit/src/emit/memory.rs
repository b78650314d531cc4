//! Addresses, loads, stores.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ust_ir::{ArrayId, BinOp, Elem, Expr, IndexKind, Ty};

use super::super::bind::is_half;
use super::{Array, Emitter, Operand, Site, lane};

/// The address of an element.
#[derive(Clone, Copy)]
struct Address {
    base: Value,
    /// Bytes to add.
    offset: i32,
    index: Option<Value>,
}

/// Splits an index into a variable part and a constant.
fn split(index: &Expr) -> (Option<&Expr>, i64) {
    match index {
        Expr::Int(value) => (None, *value),
        Expr::Binary(BinOp::Add, a, b) => match (&**a, &**b) {
            (rest, Expr::Int(value)) | (Expr::Int(value), rest) => (Some(rest), *value),
            _ => (Some(index), 0),
        },
        Expr::Binary(BinOp::Sub, a, b) => match &**b {
            Expr::Int(value) => (Some(a), value.wrapping_neg()),
            _ => (Some(index), 0),
        },
        _ => (Some(index), 0),
    }
}

fn bytes(elem: Elem) -> u32 {
    match elem {
        Elem::Index(kind) => kind.bits() / 8,
        Elem::Value(dtype) => dtype.bytes() as u32,
    }
}

impl Emitter<'_, '_> {
    /// The address of the element at an index. In checked code, the index is checked.
    fn address(&mut self, array: usize, index: &Expr) -> Address {
        if self.options.checked {
            let index = self.int(index);
            return self.checked_address(array, index);
        }
        let size = bytes(self.arrays[array].elem);
        let (rest, constant) = split(index);
        let offset = constant.checked_mul(size.into()).and_then(|bytes| i32::try_from(bytes).ok());
        let (index, offset) = match (rest, offset) {
            (rest, Some(offset)) => (rest.map(|rest| self.int(rest)), offset),
            (_, None) => (Some(self.int(index)), 0),
        };
        let base = self.get(self.arrays[array].base);
        let base = match index {
            None => base,
            Some(index) => self.element(base, index, size),
        };
        Address { base, offset, index }
    }

    fn checked_address(&mut self, array: usize, index: Value) -> Address {
        let len = self.get(self.arrays[array].len);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
        self.guard(inside, Site::Bounds(array), index, len);
        let base = self.get(self.arrays[array].base);
        let base = self.element(base, index, bytes(self.arrays[array].elem));
        Address { base, offset: 0, index: Some(index) }
    }

    /// The address of an element.
    pub(super) fn element(&mut self, base: Value, index: Value, size: u32) -> Value {
        let scaled = self.shift_left(index, size.trailing_zeros());
        self.b.ins().iadd(base, scaled)
    }

    pub(super) fn load(&mut self, array: ArrayId, index: &Expr) -> Operand {
        let at = array.0 as usize;
        if self.arrays[at].elem == Elem::Index(IndexKind::U2) {
            return self.load_packed(at, index);
        }
        let address = self.address(at, index);
        self.load_at(at, address)
    }

    fn load_at(&mut self, array: usize, Address { base, offset, .. }: Address) -> Operand {
        let Array { elem, flags, .. } = self.arrays[array];
        let ins = self.b.ins();
        match elem {
            Elem::Index(kind) => {
                let re = match kind {
                    IndexKind::U8 => ins.uload8(types::I64, flags, base, offset),
                    IndexKind::I8 => ins.sload8(types::I64, flags, base, offset),
                    IndexKind::U16 => ins.uload16(types::I64, flags, base, offset),
                    IndexKind::I16 => ins.sload16(types::I64, flags, base, offset),
                    IndexKind::U32 => ins.uload32(flags, base, offset),
                    IndexKind::I32 => ins.sload32(flags, base, offset),
                    IndexKind::U64 | IndexKind::I64 => ins.load(types::I64, flags, base, offset),
                    IndexKind::U2 => unreachable!("read elsewhere, and never written"),
                };
                Operand { ty: Ty::Int, re, im: None }
            }
            Elem::Value(dtype) if is_half(dtype) => {
                let half = ins.uload16(types::I32, flags, base, offset);
                let re = self.widen_half(dtype, half);
                Operand::number(dtype, re, None)
            }
            Elem::Value(dtype) => {
                let lane = lane(dtype);
                let re = ins.load(lane, flags, base, offset);
                let im = dtype
                    .is_complex()
                    .then(|| self.b.ins().load(lane, flags, base, offset + lane.bytes() as i32));
                Operand::number(dtype, re, im)
            }
        }
    }

    /// Loads an index of two bits from a byte.
    fn load_packed(&mut self, array: usize, index: &Expr) -> Operand {
        let index = self.int(index);
        if self.options.checked {
            let len = self.get(self.arrays[array].len);
            let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, index, len);
            self.guard(inside, Site::Bounds(array), index, len);
        }
        let base = self.get(self.arrays[array].base);
        let (one, two, three) = (self.const_int(1), self.const_int(2), self.const_int(3));
        let byte = self.b.ins().ushr(index, two);
        let address = self.b.ins().iadd(base, byte);
        let flags = self.arrays[array].flags;
        let byte = self.b.ins().uload8(types::I64, flags, address, 0);
        let place = self.b.ins().band(index, three);
        let place = self.b.ins().ishl(place, one);
        let bits = self.b.ins().ushr(byte, place);
        Operand { ty: Ty::Int, re: self.b.ins().band(bits, three), im: None }
    }

    pub(super) fn store(&mut self, array: ArrayId, index: &Expr, value: &Expr) {
        let at = array.0 as usize;
        let (address, value) = self.address_and_value(at, index, value);
        self.store_at(at, address, value);
    }

    pub(super) fn reduce(&mut self, op: BinOp, array: ArrayId, index: &Expr, value: &Expr) {
        let at = array.0 as usize;
        let (address, value) = self.address_and_value(at, index, value);
        self.combine_at(op, at, address, value);
    }

    /// Adds a number to an element, in unchecked code.
    pub(super) fn reduce_value(&mut self, array: ArrayId, index: &Expr, value: Operand) {
        let at = array.0 as usize;
        let address = self.address(at, index);
        self.combine_at(BinOp::Add, at, address, value);
    }

    fn combine_at(&mut self, op: BinOp, at: usize, address: Address, value: Operand) {
        let element = self.load_at(at, address);
        let combined = match element.ty {
            Ty::Int => self.binary_int(op, element, value),
            _ => self.combine_safe(op, element, value),
        };
        self.store_at(at, address, combined);
    }

    /// Bounds are checked after the value is evaluated.
    fn address_and_value(
        &mut self,
        array: usize,
        index: &Expr,
        value: &Expr,
    ) -> (Address, Operand) {
        if self.options.checked {
            let index = self.int(index);
            let value = self.expr(value);
            return (self.checked_address(array, index), value);
        }
        let value = self.expr(value);
        (self.address(array, index), value)
    }

    fn store_at(&mut self, array: usize, address: Address, value: Operand) {
        let Array { elem, flags, .. } = self.arrays[array];
        let Address { base, offset, .. } = address;
        match elem {
            Elem::Index(kind) => {
                if let (true, Some(index)) = (self.options.checked, address.index) {
                    self.guard_fit(array, kind, index, value.re);
                }
                let ins = self.b.ins();
                match kind.bits() {
                    8 => ins.istore8(flags, value.re, base, offset),
                    16 => ins.istore16(flags, value.re, base, offset),
                    32 => ins.istore32(flags, value.re, base, offset),
                    _ => ins.store(flags, value.re, base, offset),
                };
            }
            Elem::Value(dtype) if is_half(dtype) => {
                let half = self.narrow_half(dtype, value.re);
                self.b.ins().istore16(flags, half, base, offset);
            }
            Elem::Value(dtype) => {
                self.b.ins().store(flags, value.re, base, offset);
                if let Some(im) = value.im {
                    let next = offset + lane(dtype).bytes() as i32;
                    self.b.ins().store(flags, im, base, next);
                }
            }
        }
    }

    /// Ends the function early if an index does not fit its kind.
    fn guard_fit(&mut self, array: usize, kind: IndexKind, index: Value, value: Value) {
        let (lo, hi) = kind.range();
        if (lo, hi) == (i64::MIN, i64::MAX) {
            return;
        }
        // `value` is in `lo..=hi` exactly if `value - lo`, unsigned, is at most `hi - lo`.
        let distance = self.add_int(value, lo.wrapping_neg());
        let most = self.const_int(hi.wrapping_sub(lo));
        let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, distance, most);
        self.guard(fits, Site::Fit(array, kind), index, value);
    }
}
