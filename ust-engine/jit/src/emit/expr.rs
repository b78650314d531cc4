//! Expressions: dispatch, ints, truth values, choices.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use ust_ir::{BinOp, Expr, Ty, UnOp};

use super::super::tuning::MAX_SELECT_SIDE;
use super::stmt::size;
use super::{Emitter, Operand, Site, register};

impl Operand {
    fn int(re: Value) -> Self {
        Self { ty: Ty::Int, re, im: None }
    }

    pub(super) fn bool(re: Value) -> Self {
        Self { ty: Ty::Bool, re, im: None }
    }
}

impl Emitter<'_, '_> {
    pub(super) fn int(&mut self, expr: &Expr) -> Value {
        self.expr(expr).re
    }

    pub(super) fn bool(&mut self, expr: &Expr) -> Value {
        self.expr(expr).re
    }

    pub(super) fn const_int(&mut self, value: i64) -> Value {
        self.b.ins().iconst(types::I64, value)
    }

    pub(super) fn add_int(&mut self, a: Value, b: i64) -> Value {
        let b = self.const_int(b);
        self.b.ins().iadd(a, b)
    }

    pub(super) fn shift_left(&mut self, a: Value, bits: u32) -> Value {
        if bits == 0 {
            return a;
        }
        let bits = self.const_int(bits.into());
        self.b.ins().ishl(a, bits)
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Operand {
        match expr {
            Expr::Int(value) => Operand::int(self.const_int(*value)),
            Expr::Bool(value) => Operand::bool(self.b.ins().iconst(types::I8, i64::from(*value))),
            Expr::Const(scalar) => self.constant(*scalar),
            Expr::Var(var) => self.var(*var),
            Expr::Len(array) => Operand::int(self.get(self.arrays[array.0 as usize].len)),
            Expr::Load(array, index) => self.load(*array, index),
            Expr::Unary(op, a) => {
                let a = self.expr(a);
                match (op, a.ty) {
                    (UnOp::Not, _) => {
                        let one = self.b.ins().iconst(types::I8, 1);
                        Operand::bool(self.b.ins().bxor(a.re, one))
                    }
                    (UnOp::CountOnes, _) => Operand::int(self.b.ins().popcnt(a.re)),
                    (UnOp::TrailingZeros, _) => Operand::int(self.b.ins().ctz(a.re)),
                    (UnOp::Neg, Ty::Int) => Operand::int(self.b.ins().ineg(a.re)),
                    (UnOp::Neg, _) => self.negate(a),
                }
            }
            Expr::Binary(op, a, b) => self.binary(expr, *op, a, b),
            Expr::Select(cond, a, b) => self.select(cond, a, b),
            Expr::Call(func, args) => self.function(expr, *func, args),
            Expr::Cast(dtype, a) => {
                let a = self.expr(a);
                self.cast(a, *dtype)
            }
            Expr::ToInt(a) => {
                let a = self.expr(a);
                let cast = self.cast(a, ust_ir::Dtype::I64);
                Operand::int(cast.re)
            }
        }
    }

    fn binary(&mut self, whole: &Expr, op: BinOp, a: &Expr, b: &Expr) -> Operand {
        if let (BinOp::FloorDiv | BinOp::Mod, Expr::Int(divisor)) = (op, b)
            && *divisor != 0
        {
            let a = self.int(a);
            return Operand::int(self.divide_by(op, a, *divisor));
        }
        let (a, b) = (self.expr(a), self.expr(b));
        match (op, a.ty) {
            (BinOp::FloorDiv | BinOp::Mod, _) => {
                self.guard_divisor(whole, b.re);
                Operand::int(self.floor_divide(op, a.re, b.re))
            }
            (_, Ty::Int | Ty::Bool) => self.binary_int(op, a, b),
            (BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le, Ty::Val(_)) => self.compare(op, a, b),
            (_, Ty::Val(_)) => self.combine(whole, op, a, b),
        }
    }

    /// An operator of ints or truth values that cannot fail.
    pub(super) fn binary_int(&mut self, op: BinOp, a: Operand, b: Operand) -> Operand {
        let (x, y) = (a.re, b.re);
        let cond = match op {
            BinOp::Eq => Some(IntCC::Equal),
            BinOp::Ne => Some(IntCC::NotEqual),
            BinOp::Lt | BinOp::Min => Some(IntCC::SignedLessThan),
            BinOp::Le => Some(IntCC::SignedLessThanOrEqual),
            BinOp::Max => Some(IntCC::SignedGreaterThan),
            _ => None,
        };
        if let Some(cond) = cond {
            let holds = self.b.ins().icmp(cond, x, y);
            return match op {
                BinOp::Min | BinOp::Max => Operand::int(self.b.ins().select(holds, x, y)),
                _ => Operand::bool(holds),
            };
        }
        let re = match op {
            BinOp::Add => self.b.ins().iadd(x, y),
            BinOp::Sub => self.b.ins().isub(x, y),
            BinOp::Mul => self.b.ins().imul(x, y),
            BinOp::BitAnd | BinOp::And => self.b.ins().band(x, y),
            BinOp::Or => self.b.ins().bor(x, y),
            // Cranelift, too, shifts by the lowest six bits.
            BinOp::Shr => self.b.ins().sshr(x, y),
            _ => unreachable!("validated: {op:?} is no operator of ints"),
        };
        Operand { ty: a.ty, re, im: None }
    }

    /// Ends the function early if a divisor is 0.
    pub(super) fn guard_divisor(&mut self, whole: &Expr, divisor: Value) {
        let nothing = self.const_int(0);
        self.guard(divisor, Site::Division(whole.clone()), nothing, nothing);
    }

    /// Floor division by a constant that is not 0.
    fn divide_by(&mut self, op: BinOp, a: Value, divisor: i64) -> Value {
        if divisor > 0 && divisor.count_ones() == 1 {
            return if op == BinOp::Mod {
                let mask = self.const_int(divisor - 1);
                self.b.ins().band(a, mask)
            } else {
                let bits = self.const_int(divisor.trailing_zeros().into());
                self.b.ins().sshr(a, bits)
            };
        }
        let b = self.const_int(divisor);
        if divisor < 0 {
            return self.floor_divide(op, a, b);
        }
        let quotient = self.b.ins().sdiv(a, b);
        let product = self.b.ins().imul(quotient, b);
        let rest = self.b.ins().isub(a, product);
        let bits = self.const_int(63);
        // All ones where the rest is negative.
        let below = self.b.ins().sshr(rest, bits);
        if op == BinOp::Mod {
            let back = self.b.ins().band(below, b);
            self.b.ins().iadd(rest, back)
        } else {
            self.b.ins().iadd(quotient, below)
        }
    }

    /// Floor division by a divisor that is not 0; the quotient wraps.
    fn floor_divide(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        let quotient = self.divide_wrapping(a, b);
        let product = self.b.ins().imul(quotient, b);
        let rest = self.b.ins().isub(a, product);
        let zero = self.const_int(0);
        let mixed = self.b.ins().bxor(rest, b);
        let signs = self.b.ins().icmp(IntCC::SignedLessThan, mixed, zero);
        let some = self.b.ins().icmp(IntCC::NotEqual, rest, zero);
        let off = self.b.ins().band(signs, some);
        if op == BinOp::Mod {
            let sum = self.b.ins().iadd(rest, b);
            self.b.ins().select(off, sum, rest)
        } else {
            let less = self.add_int(quotient, -1);
            self.b.ins().select(off, less, quotient)
        }
    }

    /// The quotient rounded towards zero, of signed integers of 32 or 64 bits. The smallest divided
    /// by -1 traps in hardware; here it wraps.
    pub(super) fn divide_wrapping(&mut self, a: Value, b: Value) -> Value {
        let ty = self.b.func.dfg.value_type(a);
        let minus_one = self.b.ins().iconst(ty, if ty == types::I64 { -1 } else { 0xffff_ffff });
        let one = self.b.ins().iconst(ty, 1);
        let negates = self.b.ins().icmp(IntCC::Equal, b, minus_one);
        let divisor = self.b.ins().select(negates, one, b);
        let quotient = self.b.ins().sdiv(a, divisor);
        let negative = self.b.ins().ineg(a);
        self.b.ins().select(negates, negative, quotient)
    }

    /// A choice: one side is evaluated, or both if that is cheaper than a jump.
    fn select(&mut self, cond: &Expr, a: &Expr, b: &Expr) -> Operand {
        let cond = self.bool(cond);
        if harmless(a) && harmless(b) {
            let (a, b) = (self.expr(a), self.expr(b));
            return self.choose(cond, a, b);
        }
        let (yes, no, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().brif(cond, yes, &[], no, &[]);
        let mut ty = Ty::Int;
        for (block, side) in [(yes, a), (no, b)] {
            self.b.switch_to_block(block);
            self.b.seal_block(block);
            let value = self.expr(side);
            if block == yes {
                ty = value.ty;
                for _ in 0..1 + usize::from(value.im.is_some()) {
                    self.b.append_block_param(end, register(ty));
                }
            }
            match value.im {
                None => self.b.ins().jump(end, &[value.re.into()]),
                Some(im) => self.b.ins().jump(end, &[value.re.into(), im.into()]),
            };
        }
        self.b.switch_to_block(end);
        self.b.seal_block(end);
        let params = self.b.block_params(end);
        Operand { ty, re: params[0], im: params.get(1).copied() }
    }

    pub(super) fn choose(&mut self, cond: Value, a: Operand, b: Operand) -> Operand {
        let re = self.either(cond, a.re, b.re);
        let im = a.im.zip(b.im).map(|(x, y)| self.either(cond, x, y));
        Operand { ty: a.ty, re, im }
    }

    /// A choice without a jump. Processors have conditional moves for integers only.
    fn either(&mut self, cond: Value, a: Value, b: Value) -> Value {
        let ty = self.b.func.dfg.value_type(a);
        if !ty.is_float() {
            return self.b.ins().select(cond, a, b);
        }
        let flags = MemFlagsData::new();
        let (a, b) = (
            self.b.ins().bitcast(ty.as_int(), flags, a),
            self.b.ins().bitcast(ty.as_int(), flags, b),
        );
        let bits = self.b.ins().select(cond, a, b);
        self.b.ins().bitcast(ty, flags, bits)
    }
}

/// Whether evaluating an expression is cheaper than a jump, and cannot fail.
fn harmless(expr: &Expr) -> bool {
    fn pure(expr: &Expr) -> bool {
        match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Const(_) | Expr::Var(_) | Expr::Len(_) => true,
            Expr::Unary(_, a) => pure(a),
            Expr::Binary(op, a, b) => {
                !matches!(op, BinOp::FloorDiv | BinOp::Mod | BinOp::Div) && pure(a) && pure(b)
            }
            _ => false,
        }
    }
    size(expr) <= MAX_SELECT_SIDE && pure(expr)
}
