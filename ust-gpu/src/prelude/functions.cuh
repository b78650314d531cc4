// Functions of integers and of floating-point numbers.
// Needs: types, integers, floats.
#ifndef UST_FUNCTIONS
#define UST_FUNCTIONS

template <class T> UST_FN bool ust_signbit(T a) { return ust_is_signed<T> && a < T(0); }
template <class T> UST_FN T ust_abs(T a) { return ust_signbit(a) ? ust_neg(a) : a; }
template <class T> UST_FN T ust_sgn(T a) { return ust_signbit(a) ? ust_neg(T(1)) : T(a != 0); }
template <class T> UST_FN T ust_conj(T a) { return a; }
template <class T> UST_FN T ust_real(T a) { return a; }
template <class T> UST_FN T ust_imag(T) { return 0; }
template <class T> UST_FN T ust_floor(T a) { return a; }
template <class T> UST_FN T ust_ceil(T a) { return a; }
template <class T> UST_FN T ust_round(T a) { return a; }
template <class T> UST_FN T ust_trunc(T a) { return a; }

// A power wraps; a negative one is truncated: 1 for 1, 1 or -1 for -1, else 0.
template <class T> UST_FN T ust_pow(T a, T power) {
    if (ust_signbit(power)) {
        if (a == T(1)) return a;
        if (ust_signbit(a) && ust_neg(a) == T(1)) return power & 1 ? a : T(1);
        return 0;
    }
    ust_word<T> result = 1, square = (ust_word<T>)a, left = (ust_word<T>)power;
    for (; left != 0; left >>= 1) {
        if (left & 1) result *= square;
        square *= square;
    }
    return (T)result;
}

// Those of floating-point numbers are CUDA's own.
#define UST_REAL_FUNCTION(name, of_float, of_double)          \
    UST_FN float ust_##name(float a) { return of_float(a); }  \
    UST_FN double ust_##name(double a) { return of_double(a); }
UST_REAL_FUNCTION(abs, fabsf, fabs)
UST_REAL_FUNCTION(sqrt, sqrtf, sqrt)
UST_REAL_FUNCTION(exp, expf, exp)
UST_REAL_FUNCTION(expm1, expm1f, expm1)
UST_REAL_FUNCTION(log, logf, log)
UST_REAL_FUNCTION(log1p, log1pf, log1p)
UST_REAL_FUNCTION(sin, sinf, sin)
UST_REAL_FUNCTION(cos, cosf, cos)
UST_REAL_FUNCTION(tan, tanf, tan)
UST_REAL_FUNCTION(asin, asinf, asin)
UST_REAL_FUNCTION(acos, acosf, acos)
UST_REAL_FUNCTION(atan, atanf, atan)
UST_REAL_FUNCTION(sinh, sinhf, sinh)
UST_REAL_FUNCTION(cosh, coshf, cosh)
UST_REAL_FUNCTION(tanh, tanhf, tanh)
UST_REAL_FUNCTION(asinh, asinhf, asinh)
UST_REAL_FUNCTION(acosh, acoshf, acosh)
UST_REAL_FUNCTION(atanh, atanhf, atanh)
UST_REAL_FUNCTION(floor, floorf, floor)
UST_REAL_FUNCTION(ceil, ceilf, ceil)
UST_REAL_FUNCTION(round, rintf, rint)  // Halves go to the even number.
UST_REAL_FUNCTION(trunc, truncf, trunc)
UST_REAL_FUNCTION(erf, erff, erf)
UST_REAL_FUNCTION(erfinv, erfinvf, erfinv)

UST_FN float ust_pow(float a, float power) { return powf(a, power); }
UST_FN double ust_pow(double a, double power) { return pow(a, power); }
UST_FN float ust_atan2(float y, float x) { return atan2f(y, x); }
UST_FN double ust_atan2(double y, double x) { return atan2(y, x); }
UST_FN float ust_angle(float a) { return atan2f(0.0f, a); }
UST_FN double ust_angle(double a) { return atan2(0.0, a); }

// -1, 0 or 1, and NaN for NaN; the sum makes 0 of -0.
UST_FN float ust_sgn(float a) { return a > 0 ? 1.0f : a < 0 ? -1.0f : a + 0.0f; }
UST_FN double ust_sgn(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a + 0.0; }

#endif
