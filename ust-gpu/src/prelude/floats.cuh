// Arithmetic of floating-point numbers.
// Needs: types.
#ifndef UST_FLOATS
#define UST_FLOATS

// Infinity and NaN: `ust_infinity<float>()`.
template <class T> UST_FN T ust_infinity() {
    if constexpr (sizeof(T) == 4) return __uint_as_float(0x7f800000u);
    else return __longlong_as_double(0x7ff0000000000000ll);
}
template <class T> UST_FN T ust_nan() {
    if constexpr (sizeof(T) == 4) return __uint_as_float(0x7fc00000u);
    else return __longlong_as_double(0x7ff8000000000000ll);
}

// Whether the sign bit is set, also of zeros and NaN.
UST_FN bool ust_signbit(float a) { return __float_as_uint(a) >> 31 != 0; }
UST_FN bool ust_signbit(double a) { return __double_as_longlong(a) < 0; }

// The remainder, with the sign of `a`.
UST_FN float ust_rem(float a, float b) { return fmodf(a, b); }
UST_FN double ust_rem(double a, double b) { return fmod(a, b); }

// The minimum and maximum of IEEE 754-2019: NaN if one of the numbers is NaN, and -0 is less than 0.
// Where no comparison holds, one of the numbers is NaN, and so is their sum.
#define UST_FLOAT_ARITHMETIC(T)                                 \
    UST_FN T ust_add(T a, T b) { return a + b; }                \
    UST_FN T ust_sub(T a, T b) { return a - b; }                \
    UST_FN T ust_mul(T a, T b) { return a * b; }                \
    UST_FN T ust_div(T a, T b) { return a / b; }                \
    UST_FN T ust_neg(T a) { return -a; }                        \
    UST_FN T ust_minimum(T a, T b) {                            \
        if (a < b || (a == b && ust_signbit(a))) return a;      \
        return a >= b ? b : a + b;                              \
    }                                                           \
    UST_FN T ust_maximum(T a, T b) {                            \
        if (a > b || (a == b && !ust_signbit(a))) return a;     \
        return a <= b ? b : a + b;                              \
    }
UST_FLOAT_ARITHMETIC(float)
UST_FLOAT_ARITHMETIC(double)

#endif
