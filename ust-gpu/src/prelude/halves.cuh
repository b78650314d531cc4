// Numbers of half precision. They are stored in 16 bits, and computed as `float`.
// Needs: types.
#ifndef UST_HALVES
#define UST_HALVES

// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
struct f16 { u16 bits; };
// The upper half of a `float`: 8 bits of exponent, 7 of fraction.
struct bf16 { u16 bits; };

template <> struct ust_storage<f16> {
    typedef float held;

    static UST_FN float get(f16 stored) {
#ifdef __CUDA_ARCH__
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored.bits));
        return value;
#else
        u32 sign = (u32)(stored.bits & 0x8000) << 16;
        u32 exponent = stored.bits >> 10 & 0x1f, fraction = stored.bits & 0x3ff;
        if (exponent == 0) {
            // Zero, or a number of 2^-24ths.
            float size = (float)fraction * 0x1p-24f;
            return __uint_as_float(sign | __float_as_uint(size));
        }
        if (exponent == 31) {
            u32 quiet = fraction != 0 ? 0x00400000u : 0;
            return __uint_as_float(sign | 0x7f800000u | quiet | fraction << 13);
        }
        return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
#endif
    }

    // Rounds to nearest; of two, to the even one.
    static UST_FN f16 put(float value) {
#ifdef __CUDA_ARCH__
        f16 stored;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(stored.bits) : "f"(value));
        return stored;
#else
        u32 bits = __float_as_uint(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
        u32 half;
        if (size > 0x7f800000u) {
            half = 0x7e00 | (size >> 13 & 0x3ff);  // NaN
        } else if (size >= 0x47800000u) {
            half = 0x7c00;  // 2^16 or more
        } else if (size < 0x38800000u) {
            // Below 2^-14, halves are multiples of 2^-24, as are floats next to 1/2: the sum rounds.
            half = __float_as_uint(__uint_as_float(size) + 0.5f) - 0x3f000000u;
        } else {
            half = (size - (112u << 23) + 0xfff + (size >> 13 & 1)) >> 13;
        }
        return f16{(u16)(sign | half)};
#endif
    }
};

template <> struct ust_storage<bf16> {
    typedef float held;

    static UST_FN float get(bf16 stored) { return __uint_as_float((u32)stored.bits << 16); }

    // Rounds to nearest; of two, to the even one.
    static UST_FN bf16 put(float value) {
#ifdef __CUDA_ARCH__
        bf16 stored;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(stored.bits) : "f"(value));
        return stored;
#else
        u32 bits = __float_as_uint(value);
        if ((bits & 0x7fffffff) > 0x7f800000u) return bf16{(u16)(bits >> 16 | 0x40)};  // NaN
        return bf16{(u16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
#endif
    }
};

#endif
