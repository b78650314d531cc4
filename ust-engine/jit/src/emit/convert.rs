//! Casts.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ust_ir::{Dtype, Ty};

use super::number::{Class, class};
use super::{Emitter, Operand, lane};

impl Emitter<'_, '_> {
    /// A value as a number of another dtype: Rust's `as`.
    pub(super) fn cast(&mut self, a: Operand, to: Dtype) -> Operand {
        let from = match a.ty {
            Ty::Int => Class::Signed,
            Ty::Bool => Class::Bool,
            Ty::Val(dtype) => class(dtype),
        };
        let target = lane(to);
        let re = match (from, class(to)) {
            (_, Class::Bool) => return Operand::number(to, self.not_zero(from, a), None),
            (Class::Float | Class::Complex, Class::Float | Class::Complex) => {
                self.float_to(target, a.re)
            }
            (Class::Float | Class::Complex, kind) => {
                let wide = if target.bits() < 32 { types::I32 } else { target };
                self.float_to_int(kind, target, wide, a.re)
            }
            (kind, Class::Float | Class::Complex) => {
                let (narrow, wide) = (self.b.func.dfg.value_type(a.re), types::I32);
                let signed = kind == Class::Signed;
                let value = match (narrow.bits() < 32, signed) {
                    (false, _) => a.re,
                    (true, true) => self.b.ins().sextend(wide, a.re),
                    (true, false) => self.b.ins().uextend(wide, a.re),
                };
                if signed || narrow.bits() < 32 {
                    self.b.ins().fcvt_from_sint(target, value)
                } else {
                    self.b.ins().fcvt_from_uint(target, value)
                }
            }
            (kind, _) => {
                let source = self.b.func.dfg.value_type(a.re);
                match (source.bits().cmp(&target.bits()), kind) {
                    (std::cmp::Ordering::Equal, _) => a.re,
                    (std::cmp::Ordering::Greater, _) => self.b.ins().ireduce(target, a.re),
                    (_, Class::Signed) => self.b.ins().sextend(target, a.re),
                    (_, _) => self.b.ins().uextend(target, a.re),
                }
            }
        };
        let im = to.is_complex().then(|| match a.im {
            Some(im) => self.float_to(target, im),
            None => self.zero(target),
        });
        Operand::number(to, re, im)
    }

    pub(super) fn zero(&mut self, float: types::Type) -> Value {
        if float == types::F32 { self.b.ins().f32const(0.0) } else { self.b.ins().f64const(0.0) }
    }

    fn float_to(&mut self, target: types::Type, a: Value) -> Value {
        match (self.b.func.dfg.value_type(a), target) {
            (types::F32, types::F64) => self.b.ins().fpromote(target, a),
            (types::F64, types::F32) => self.b.ins().fdemote(target, a),
            _ => a,
        }
    }

    /// Saturates, and gives 0 of NaN. Narrow integers go through 32 bits.
    fn float_to_int(
        &mut self,
        kind: Class,
        target: types::Type,
        wide: types::Type,
        a: Value,
    ) -> Value {
        if kind == Class::Unsigned {
            let value = self.b.ins().fcvt_to_uint_sat(wide, a);
            if wide == target {
                return value;
            }
            let most = self.b.ins().iconst(wide, (1 << target.bits()) - 1);
            let fits = self.b.ins().icmp(IntCC::UnsignedLessThan, value, most);
            let value = self.b.ins().select(fits, value, most);
            return self.b.ins().ireduce(target, value);
        }
        let mut value = self.b.ins().fcvt_to_sint_sat(wide, a);
        if wide == target {
            return value;
        }
        let half = 1_i64 << (target.bits() - 1);
        for (cond, bound) in [(IntCC::SignedLessThan, half - 1), (IntCC::SignedGreaterThan, -half)]
        {
            let bound = self.b.ins().iconst(wide, bound & 0xffff_ffff);
            let fits = self.b.ins().icmp(cond, value, bound);
            value = self.b.ins().select(fits, value, bound);
        }
        self.b.ins().ireduce(target, value)
    }

    fn not_zero(&mut self, from: Class, a: Operand) -> Value {
        match from {
            Class::Bool => a.re,
            Class::Signed | Class::Unsigned => {
                let ty = self.b.func.dfg.value_type(a.re);
                let zero = self.b.ins().iconst(ty, 0);
                self.b.ins().icmp(IntCC::NotEqual, a.re, zero)
            }
            Class::Float | Class::Complex => {
                let zero = self.zero(self.b.func.dfg.value_type(a.re));
                let re = self.b.ins().fcmp(FloatCC::NotEqual, a.re, zero);
                let Some(im) = a.im else { return re };
                let im = self.b.ins().fcmp(FloatCC::NotEqual, im, zero);
                self.b.ins().bor(re, im)
            }
        }
    }
}
