//! Functions of numbers: an instruction if there is one, else a call of the reference.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value, types,
};
use ust_ir::{Expr, Func, Ty};

use super::super::math;
use super::number::{Class, class};
use super::{Emitter, Operand, Site};

impl Emitter<'_, '_> {
    /// A function of numbers. The error of a division by zero names `whole`.
    pub(super) fn function(&mut self, whole: &Expr, func: Func, args: &[Expr]) -> Operand {
        let a = self.expr(&args[0]);
        let b = args.get(1).map(|b| self.expr(b));
        match class(a.dtype()) {
            Class::Float => self.of_float(func, a, b),
            Class::Complex => self.of_complex(func, a, b),
            kind => self.of_integer(whole, kind, func, a, b),
        }
    }

    fn of_float(&mut self, func: Func, a: Operand, b: Option<Operand>) -> Operand {
        let ins = self.b.ins();
        let re = match func {
            Func::Abs => ins.fabs(a.re),
            Func::Sqrt => ins.sqrt(a.re),
            Func::Floor => ins.floor(a.re),
            Func::Ceil => ins.ceil(a.re),
            Func::Round => ins.nearest(a.re),
            Func::Trunc => ins.trunc(a.re),
            Func::Conj | Func::Real => a.re,
            Func::Imag => self.zero(self.b.func.dfg.value_type(a.re)),
            Func::Signbit => return self.signbit(a.re),
            Func::Sgn => return self.sign_of_float(a),
            _ => {
                let address = math::of_floats(func, a.dtype()).expect("every other is there");
                let lane = self.b.func.dfg.value_type(a.re);
                let args: Vec<Value> =
                    [Some(a.re), b.map(|b| b.re)].into_iter().flatten().collect();
                let called = self.call(address, &vec![lane; args.len()], Some(lane), &args);
                called.expect("it gives a result")
            }
        };
        Operand { re, ..a }
    }

    fn signbit(&mut self, float: Value) -> Operand {
        let ty = self.b.func.dfg.value_type(float).as_int();
        let bits = self.b.ins().bitcast(ty, MemFlagsData::new(), float);
        let zero = self.b.ins().iconst(ty, 0);
        Operand::bool(self.b.ins().icmp(IntCC::SignedLessThan, bits, zero))
    }

    fn sign_of_float(&mut self, a: Operand) -> Operand {
        use cranelift_codegen::ir::condcodes::FloatCC;
        let zero = self.zero(self.b.func.dfg.value_type(a.re));
        let one = self.constant(a.dtype().one()).re;
        let minus = self.b.ins().fneg(one);
        // NaN for NaN, and 0 for either zero.
        let sum = self.b.ins().fadd(a.re, zero);
        let above = self.b.ins().fcmp(FloatCC::GreaterThan, a.re, zero);
        let below = self.b.ins().fcmp(FloatCC::LessThan, a.re, zero);
        let re = self.b.ins().select(below, minus, sum);
        Operand { re: self.b.ins().select(above, one, re), ..a }
    }

    fn of_complex(&mut self, func: Func, a: Operand, b: Option<Operand>) -> Operand {
        let a_im = a.im.expect("complex");
        let lane = self.b.func.dfg.value_type(a.re);
        let real = |re| Operand { ty: func.result(a.dtype()), re, im: None };
        match func {
            Func::Real => return real(a.re),
            Func::Imag => return real(a_im),
            Func::Conj => return Operand { im: Some(self.b.ins().fneg(a_im)), ..a },
            Func::Abs | Func::Angle => {
                let address = math::of_parts(func, a.dtype()).expect("both are there");
                let called = self.call(address, &[lane; 2], Some(lane), &[a.re, a_im]);
                return real(called.expect("it gives a result"));
            }
            _ => {}
        }
        let address = math::of_complex(func, a.dtype()).expect("every other is there");
        let bytes = lane.bytes();
        let slot = StackSlotData::new(StackSlotKind::ExplicitSlot, 2 * bytes, 3);
        let slot = self.b.create_sized_stack_slot(slot);
        let out = self.b.ins().stack_addr(types::I64, slot, 0);
        let mut args = vec![a.re, a_im];
        if let Some(b) = b {
            args.extend([b.re, b.im.expect("complex")]);
        }
        let mut params = vec![lane; args.len()];
        args.push(out);
        params.push(types::I64);
        self.call(address, &params, None, &args);
        let flags = MemFlagsData::trusted();
        let re = self.b.ins().load(lane, flags, out, 0);
        let im = self.b.ins().load(lane, flags, out, bytes as i32);
        Operand { ty: a.ty, re, im: Some(im) }
    }

    fn of_integer(
        &mut self,
        whole: &Expr,
        kind: Class,
        func: Func,
        a: Operand,
        b: Option<Operand>,
    ) -> Operand {
        let ty = self.b.func.dfg.value_type(a.re);
        let zero = self.b.ins().iconst(ty, 0);
        let signed = kind == Class::Signed;
        let re = match (func, b) {
            (Func::Abs, _) if signed => {
                let negative = self.b.ins().icmp(IntCC::SignedLessThan, a.re, zero);
                let opposite = self.b.ins().ineg(a.re);
                self.b.ins().select(negative, opposite, a.re)
            }
            (Func::Signbit, _) => {
                return Operand::bool(if signed {
                    self.b.ins().icmp(IntCC::SignedLessThan, a.re, zero)
                } else {
                    self.b.ins().iconst(types::I8, 0)
                });
            }
            (Func::Sgn, _) => {
                let some = self.b.ins().icmp(IntCC::NotEqual, a.re, zero);
                let one = self.b.ins().iconst(ty, 1);
                let sign = self.b.ins().select(some, one, zero);
                if signed {
                    let negative = self.b.ins().icmp(IntCC::SignedLessThan, a.re, zero);
                    let minus = self.b.ins().ineg(one);
                    self.b.ins().select(negative, minus, sign)
                } else {
                    sign
                }
            }
            (Func::Imag, _) => zero,
            (Func::Rem, Some(b)) => {
                let nothing = self.const_int(0);
                self.guard(b.re, Site::Division(whole.clone()), nothing, nothing);
                self.remainder(kind, a.re, b.re)
            }
            (Func::Pow, Some(b)) => {
                let widest = if signed { ust_ir::Dtype::I64 } else { ust_ir::Dtype::U64 };
                let args = [self.cast(a, widest).re, self.cast(b, widest).re];
                let address = math::pow_of_integers(signed);
                let called = self.call(address, &[types::I64; 2], Some(types::I64), &args);
                let power =
                    Operand { ty: Ty::Val(widest), re: called.expect("a result"), im: None };
                return self.cast(power, a.dtype());
            }
            // Integers are real and whole already.
            _ => a.re,
        };
        Operand { re, ..a }
    }
}
