//! Arithmetic on the dtypes.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ust_ir::{BinOp, Dtype, Expr, Scalar, Ty};

use super::super::bind;
use super::{Emitter, Operand, lane};

/// The arithmetic of a dtype.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Bool,
    Signed,
    Unsigned,
    Float,
    Complex,
}

pub(super) fn class(dtype: Dtype) -> Class {
    match dtype {
        Dtype::Bool => Class::Bool,
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => Class::Signed,
        Dtype::U8 | Dtype::U16 | Dtype::U32 | Dtype::U64 => Class::Unsigned,
        Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64 => Class::Float,
        Dtype::Complex64 | Dtype::Complex128 => Class::Complex,
    }
}

impl Operand {
    pub(super) fn dtype(&self) -> Dtype {
        match self.ty {
            Ty::Val(dtype) => dtype,
            ty => unreachable!("validated: {ty:?} is no number"),
        }
    }

    pub(super) fn number(dtype: Dtype, re: Value, im: Option<Value>) -> Self {
        Self { ty: Ty::Val(dtype), re, im }
    }
}

impl Emitter<'_, '_> {
    pub(super) fn constant(&mut self, scalar: Scalar) -> Operand {
        let dtype = scalar.dtype();
        let bits = bind::bits(scalar);
        let re = self.lane_constant(dtype, bits[0]);
        let im = dtype.is_complex().then(|| self.lane_constant(dtype, bits[1]));
        Operand::number(dtype, re, im)
    }

    fn lane_constant(&mut self, dtype: Dtype, bits: u64) -> Value {
        match lane(dtype) {
            types::F32 => self.b.ins().f32const(f32::from_bits(bits as u32)),
            types::F64 => self.b.ins().f64const(f64::from_bits(bits)),
            ty => {
                let mask = u64::MAX >> (64 - ty.bits());
                self.b.ins().iconst(ty, (bits & mask) as i64)
            }
        }
    }

    pub(super) fn negate(&mut self, a: Operand) -> Operand {
        match class(a.dtype()) {
            Class::Float | Class::Complex => {
                let re = self.b.ins().fneg(a.re);
                let im = a.im.map(|im| self.b.ins().fneg(im));
                Operand { re, im, ..a }
            }
            _ => Operand { re: self.b.ins().ineg(a.re), ..a },
        }
    }

    pub(super) fn compare(&mut self, op: BinOp, a: Operand, b: Operand) -> Operand {
        let (ints, floats) = match (op, class(a.dtype())) {
            (BinOp::Eq, _) => (IntCC::Equal, FloatCC::Equal),
            (BinOp::Ne, _) => (IntCC::NotEqual, FloatCC::NotEqual),
            (BinOp::Lt, Class::Signed) => (IntCC::SignedLessThan, FloatCC::LessThan),
            (BinOp::Lt, _) => (IntCC::UnsignedLessThan, FloatCC::LessThan),
            (_, Class::Signed) => (IntCC::SignedLessThanOrEqual, FloatCC::LessThanOrEqual),
            (_, _) => (IntCC::UnsignedLessThanOrEqual, FloatCC::LessThanOrEqual),
        };
        Operand::bool(match class(a.dtype()) {
            Class::Float => self.b.ins().fcmp(floats, a.re, b.re),
            Class::Complex => {
                let re = self.b.ins().fcmp(floats, a.re, b.re);
                let (Some(x), Some(y)) = (a.im, b.im) else { unreachable!("complex") };
                let im = self.b.ins().fcmp(floats, x, y);
                match op {
                    BinOp::Eq => self.b.ins().band(re, im),
                    _ => self.b.ins().bor(re, im),
                }
            }
            _ => self.b.ins().icmp(ints, a.re, b.re),
        })
    }

    /// An operator with a number as result. The error of a division by zero names `whole`.
    pub(super) fn combine(&mut self, whole: &Expr, op: BinOp, a: Operand, b: Operand) -> Operand {
        let dtype = a.dtype();
        let kind = class(dtype);
        if op == BinOp::Div && matches!(kind, Class::Signed | Class::Unsigned) {
            self.guard_divisor(whole, b.re);
            let re = self.quotient(kind, a.re, b.re);
            return Operand::number(dtype, re, None);
        }
        self.combine_safe(op, a, b)
    }

    /// An operator with a number as result that cannot fail.
    pub(super) fn combine_safe(&mut self, op: BinOp, a: Operand, b: Operand) -> Operand {
        let dtype = a.dtype();
        let (x, y) = (a.re, b.re);
        let re = match (class(dtype), op) {
            (Class::Complex, _) => return self.combine_complex(op, a, b),
            (Class::Bool, BinOp::Add | BinOp::Max) => self.b.ins().bor(x, y),
            (Class::Bool, _) => self.b.ins().band(x, y),
            (Class::Float, _) => self.combine_floats(op, x, y),
            (_, BinOp::Add) => self.b.ins().iadd(x, y),
            (_, BinOp::Sub) => self.b.ins().isub(x, y),
            (_, BinOp::Mul) => self.b.ins().imul(x, y),
            (kind, BinOp::Min | BinOp::Max) => {
                let cond = match (kind, op) {
                    (Class::Signed, BinOp::Min) => IntCC::SignedLessThan,
                    (Class::Signed, _) => IntCC::SignedGreaterThan,
                    (_, BinOp::Min) => IntCC::UnsignedLessThan,
                    (_, _) => IntCC::UnsignedGreaterThan,
                };
                let holds = self.b.ins().icmp(cond, x, y);
                self.b.ins().select(holds, x, y)
            }
            _ => unreachable!("validated: {op:?} is no operator of {dtype}"),
        };
        Operand::number(dtype, re, None)
    }

    fn combine_floats(&mut self, op: BinOp, x: Value, y: Value) -> Value {
        match op {
            BinOp::Add => self.b.ins().fadd(x, y),
            BinOp::Sub => self.b.ins().fsub(x, y),
            BinOp::Mul => self.b.ins().fmul(x, y),
            BinOp::Div => self.b.ins().fdiv(x, y),
            // IEEE 754-2019 minimum and maximum, as the IR asks for.
            BinOp::Min => self.b.ins().fmin(x, y),
            BinOp::Max => self.b.ins().fmax(x, y),
            _ => unreachable!("validated: {op:?} is no operator of floats"),
        }
    }

    fn combine_complex(&mut self, op: BinOp, a: Operand, b: Operand) -> Operand {
        let (Some(a_im), Some(b_im)) = (a.im, b.im) else { unreachable!("complex") };
        let (a_re, b_re) = (a.re, b.re);
        let mut float = |op, x, y| self.combine_floats(op, x, y);
        let (re, im) = match op {
            BinOp::Add | BinOp::Sub => (float(op, a_re, b_re), float(op, a_im, b_im)),
            BinOp::Mul => {
                let (rr, ii) = (float(op, a_re, b_re), float(op, a_im, b_im));
                let (ri, ir) = (float(op, a_re, b_im), float(op, a_im, b_re));
                (float(BinOp::Sub, rr, ii), float(BinOp::Add, ri, ir))
            }
            BinOp::Div => {
                let mul = BinOp::Mul;
                let (rr, ii) = (float(mul, b_re, b_re), float(mul, b_im, b_im));
                let norm = float(BinOp::Add, rr, ii);
                let (rr, ii) = (float(mul, a_re, b_re), float(mul, a_im, b_im));
                let (ir, ri) = (float(mul, a_im, b_re), float(mul, a_re, b_im));
                let (re, im) = (float(BinOp::Add, rr, ii), float(BinOp::Sub, ir, ri));
                (float(op, re, norm), float(op, im, norm))
            }
            _ => unreachable!("validated: {op:?} is no operator of complex numbers"),
        };
        Operand { ty: a.ty, re, im: Some(im) }
    }

    /// The quotient of integers; the divisor is not 0. Narrow integers are divided as 32 bits.
    fn quotient(&mut self, kind: Class, a: Value, b: Value) -> Value {
        let (narrow, a, b) = self.at_least_32(kind, a, b);
        let quotient = match kind {
            Class::Signed => self.divide_wrapping(a, b),
            _ => self.b.ins().udiv(a, b),
        };
        self.narrowed(narrow, quotient)
    }

    /// The remainder of integers; the divisor is not 0.
    pub(super) fn remainder(&mut self, kind: Class, a: Value, b: Value) -> Value {
        let (narrow, a, b) = self.at_least_32(kind, a, b);
        let rest = match kind {
            Class::Signed => {
                let quotient = self.divide_wrapping(a, b);
                let product = self.b.ins().imul(quotient, b);
                self.b.ins().isub(a, product)
            }
            _ => self.b.ins().urem(a, b),
        };
        self.narrowed(narrow, rest)
    }

    fn at_least_32(&mut self, kind: Class, a: Value, b: Value) -> (types::Type, Value, Value) {
        let ty = self.b.func.dfg.value_type(a);
        if ty.bits() >= 32 {
            return (ty, a, b);
        }
        let mut wide = |value| match kind {
            Class::Signed => self.b.ins().sextend(types::I32, value),
            _ => self.b.ins().uextend(types::I32, value),
        };
        (ty, wide(a), wide(b))
    }

    fn narrowed(&mut self, ty: types::Type, value: Value) -> Value {
        if self.b.func.dfg.value_type(value) == ty {
            return value;
        }
        self.b.ins().ireduce(ty, value)
    }
}
