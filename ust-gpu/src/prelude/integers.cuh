// Arithmetic of integers and truth values. All of it wraps.
// Needs: types.
#ifndef UST_INTEGERS
#define UST_INTEGERS

template <class T> UST_FN T ust_add(T a, T b) { return (T)((ust_word<T>)a + (ust_word<T>)b); }
template <class T> UST_FN T ust_sub(T a, T b) { return (T)((ust_word<T>)a - (ust_word<T>)b); }
template <class T> UST_FN T ust_mul(T a, T b) { return (T)((ust_word<T>)a * (ust_word<T>)b); }
template <class T> UST_FN T ust_neg(T a) { return (T)(0 - (ust_word<T>)a); }
template <class T> UST_FN T ust_minimum(T a, T b) { return b < a ? b : a; }
template <class T> UST_FN T ust_maximum(T a, T b) { return a < b ? b : a; }
template <class T> UST_FN T ust_and(T a, T b) { return (T)(a & b); }
template <class T> UST_FN T ust_or(T a, T b) { return (T)(a | b); }

// Number of ones among the bits.
UST_FN i64 ust_count_ones(i64 a) {
#ifdef __CUDA_ARCH__
    return __popcll(a);
#else
    return __builtin_popcountll(a);
#endif
}

// Number of zeros below the lowest one; 64 for 0.
UST_FN i64 ust_trailing_zeros(i64 a) { return ust_count_ones(~a & (i64)((u64)a - 1)); }

// Truth values are added by `or`, and multiplied by `and`.
UST_FN bool ust_add(bool a, bool b) { return a || b; }
UST_FN bool ust_mul(bool a, bool b) { return a && b; }
UST_FN bool ust_minimum(bool a, bool b) { return a && b; }
UST_FN bool ust_maximum(bool a, bool b) { return a || b; }
UST_FN bool ust_and(bool a, bool b) { return a && b; }
UST_FN bool ust_or(bool a, bool b) { return a || b; }

// Notes that the operation of this number failed. Many threads may do so; one of them is heard.
UST_FN void ust_fail(i32* error, i32 site) { atomicExch(error, site); }

// The quotient rounded towards zero. A division by zero is noted, and gives 0.
template <class T> UST_FN T ust_div(T a, T b, i32* error, i32 site) {
    if (b == 0) {
        ust_fail(error, site);
        return 0;
    }
    // The quotient of the least number by -1 has no place in the type.
    if constexpr (ust_is_signed<T>) {
        if (b == T(-1)) return ust_neg(a);
    }
    return (T)(a / b);
}

// The remainder, with the sign of `a`. A division by zero is noted, and gives 0.
template <class T> UST_FN T ust_rem(T a, T b, i32* error, i32 site) {
    if (b == 0) {
        ust_fail(error, site);
        return 0;
    }
    if constexpr (ust_is_signed<T>) {
        if (b == T(-1)) return 0;
    }
    return (T)(a % b);
}

// The quotient rounded towards minus infinity. `b` is not 0.
UST_FN i64 ust_floordiv(i64 a, i64 b) {
    if (b == -1) return ust_neg(a);
    i64 quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The remainder that belongs to `ust_floordiv`; it has the sign of `b`. `b` is not 0.
UST_FN i64 ust_floormod(i64 a, i64 b) {
    if (b == -1) return 0;
    i64 remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

// The same for a `b` that may be 0. A division by zero is noted, and gives 0.
UST_FN i64 ust_floordiv(i64 a, i64 b, i32* error, i32 site) {
    if (b != 0) return ust_floordiv(a, b);
    ust_fail(error, site);
    return 0;
}
UST_FN i64 ust_floormod(i64 a, i64 b, i32* error, i32 site) {
    if (b != 0) return ust_floormod(a, b);
    ust_fail(error, site);
    return 0;
}

#endif
