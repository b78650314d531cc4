//! f16 and bf16 to f32 and back, with integer instructions.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use ust_ir::Dtype;

use super::Emitter;

impl Emitter<'_, '_> {
    fn bits32(&mut self, bits: u32) -> Value {
        self.b.ins().iconst(types::I32, i64::from(bits))
    }

    fn as_f32(&mut self, bits: Value) -> Value {
        self.b.ins().bitcast(types::F32, MemFlagsData::new(), bits)
    }

    fn as_bits(&mut self, float: Value) -> Value {
        self.b.ins().bitcast(types::I32, MemFlagsData::new(), float)
    }

    /// From the lower 16 bits of an i32.
    pub(super) fn widen_half(&mut self, dtype: Dtype, half: Value) -> Value {
        if dtype == Dtype::Bf16 {
            let sixteen = self.bits32(16);
            let bits = self.b.ins().ishl(half, sixteen);
            return self.as_f32(bits);
        }
        // Exponent and fraction are in place; the bias of the exponent is 112 more in f32.
        let (thirteen, sixteen) = (self.bits32(13), self.bits32(16));
        let mask = self.bits32(0x7fff);
        let magnitude = self.b.ins().band(half, mask);
        let shifted = self.b.ins().ishl(magnitude, thirteen);
        let bias = self.bits32(112 << 23);
        let normal = self.b.ins().iadd(shifted, bias);
        let infinite = self.b.ins().iadd(normal, bias);
        // Subnormal: `step` gives the number a leading one, which the subtraction removes.
        let step = self.bits32(113 << 23);
        let float = self.b.ins().iadd(shifted, step);
        let float = self.as_f32(float);
        let unit = self.as_f32(step);
        let small = self.b.ins().fsub(float, unit);
        let small = self.as_bits(small);
        let (least, most) = (self.bits32(0x0400), self.bits32(0x7c00));
        let is_small = self.b.ins().icmp(IntCC::UnsignedLessThan, magnitude, least);
        let is_infinite = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, magnitude, most);
        let bits = self.b.ins().select(is_infinite, infinite, normal);
        let bits = self.b.ins().select(is_small, small, bits);
        let sign = self.bits32(0x8000);
        let sign = self.b.ins().band(half, sign);
        let sign = self.b.ins().ishl(sign, sixteen);
        let bits = self.b.ins().bor(bits, sign);
        self.as_f32(bits)
    }

    /// To the lower 16 bits of an i32, rounded to nearest, ties to even.
    pub(super) fn narrow_half(&mut self, dtype: Dtype, float: Value) -> Value {
        let bits = self.as_bits(float);
        let mask = self.bits32(0x7fff_ffff);
        let magnitude = self.b.ins().band(bits, mask);
        let infinity = self.bits32(0x7f80_0000);
        let is_nan = self.b.ins().icmp(IntCC::UnsignedGreaterThan, magnitude, infinity);
        let (one, sixteen) = (self.bits32(1), self.bits32(16));
        if dtype == Dtype::Bf16 {
            let high = self.b.ins().ushr(bits, sixteen);
            let odd = self.b.ins().band(high, one);
            let almost = self.bits32(0x7fff);
            let sum = self.b.ins().iadd(bits, almost);
            let sum = self.b.ins().iadd(sum, odd);
            let rounded = self.b.ins().ushr(sum, sixteen);
            let quiet = self.bits32(0x40);
            let nan = self.b.ins().bor(high, quiet);
            return self.b.ins().select(is_nan, nan, rounded);
        }
        let thirteen = self.bits32(13);
        let low = self.b.ins().ushr(magnitude, thirteen);
        let odd = self.b.ins().band(low, one);
        // Subtracts 112 from the exponent, and adds just less than half of the bits that are cut off.
        let rebias = self.bits32((112_u32 << 23).wrapping_neg().wrapping_add(0xfff));
        let sum = self.b.ins().iadd(magnitude, rebias);
        let sum = self.b.ins().iadd(sum, odd);
        let normal = self.b.ins().ushr(sum, thirteen);
        // Subnormal: the addition of `unit` in f32 rounds at the last bit of the result.
        let magic = self.bits32(126 << 23);
        let unit = self.as_f32(magic);
        let small = self.as_f32(magnitude);
        let small = self.b.ins().fadd(small, unit);
        let small = self.as_bits(small);
        let small = self.b.ins().isub(small, magic);
        let (least, most) = (self.bits32(113 << 23), self.bits32(143 << 23));
        let is_small = self.b.ins().icmp(IntCC::UnsignedLessThan, magnitude, least);
        let is_large = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, magnitude, most);
        let (infinite, nan) = (self.bits32(0x7c00), self.bits32(0x7e00));
        let large = self.b.ins().select(is_nan, nan, infinite);
        let half = self.b.ins().select(is_small, small, normal);
        let half = self.b.ins().select(is_large, large, half);
        let sign = self.b.ins().ushr(bits, sixteen);
        let only = self.bits32(0x8000);
        let sign = self.b.ins().band(sign, only);
        self.b.ins().bor(half, sign)
    }
}
