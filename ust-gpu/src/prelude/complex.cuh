// Complex numbers.
// Needs: types.
#ifndef UST_COMPLEX
#define UST_COMPLEX

struct alignas(8) c64 { float re, im; };
struct alignas(16) c128 { double re, im; };
template <> constexpr ust_kinds ust_kind<c64> = ust_kinds::complex;
template <> constexpr ust_kinds ust_kind<c128> = ust_kinds::complex;

// Products and quotients follow the plain formulas: a square that overflows makes them infinite or
// NaN, although the result might fit.
#define UST_COMPLEX_ARITHMETIC(C, Part)                                          \
    UST_FN C operator+(C a, C b) { return C{a.re + b.re, a.im + b.im}; }         \
    UST_FN C operator-(C a, C b) { return C{a.re - b.re, a.im - b.im}; }         \
    UST_FN C operator-(C a) { return C{-a.re, -a.im}; }                          \
    UST_FN C operator*(C a, C b) {                                               \
        return C{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};          \
    }                                                                            \
    UST_FN C operator/(C a, C b) {                                               \
        Part square = b.re * b.re + b.im * b.im;                                 \
        Part re = a.re * b.re + a.im * b.im, im = a.im * b.re - a.re * b.im;     \
        return C{re / square, im / square};                                      \
    }                                                                            \
    UST_FN bool operator==(C a, C b) { return a.re == b.re && a.im == b.im; }    \
    UST_FN bool operator!=(C a, C b) { return !(a == b); }                       \
    UST_FN C ust_add(C a, C b) { return a + b; }                                 \
    UST_FN C ust_sub(C a, C b) { return a - b; }                                 \
    UST_FN C ust_mul(C a, C b) { return a * b; }                                 \
    UST_FN C ust_div(C a, C b) { return a / b; }                                 \
    UST_FN C ust_neg(C a) { return -a; }
UST_COMPLEX_ARITHMETIC(c64, float)
UST_COMPLEX_ARITHMETIC(c128, double)

#endif
