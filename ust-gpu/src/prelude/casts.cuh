// Casts between all types in which numbers are computed. A cast never fails.
// Needs: types.
#ifndef UST_CASTS
#define UST_CASTS

// A floating-point number as an integer: rounded towards zero, and the nearest one that the type has.
// NaN becomes 0.
template <class To, class From> UST_FN To ust_saturate(From value) {
    constexpr int bits = 8 * sizeof(To) - (ust_is_signed<To> ? 1 : 0);
    constexpr To most = (To)(~0ull >> (64 - bits)), least = (To)(ust_is_signed<To> ? -most - 1 : 0);
    // The first number beyond `most` is a power of 2, and exact; `most` itself may not be.
    constexpr From beyond = (From)(1ull << (bits - 1)) * 2;
    if (value >= beyond) return most;
    if (value >= (From)least) return (To)value;
    return value < (From)least ? least : (To)0;
}

// Between integers and floating-point numbers: integers wrap, floats saturate. The imaginary part is
// dropped by a cast to a real type. A cast to bool is `!= 0`.
template <class To, class From> UST_FN To ust_cast(From value) {
    if constexpr (ust_kind<From> == ust_kinds::complex) {
        if constexpr (ust_kind<To> == ust_kinds::complex) {
            typedef decltype(To::re) Part;
            return To{(Part)value.re, (Part)value.im};
        } else if constexpr (ust_kind<To> == ust_kinds::truth) {
            return value.re != 0 || value.im != 0;
        } else {
            return ust_cast<To>(value.re);
        }
    } else if constexpr (ust_kind<To> == ust_kinds::complex) {
        typedef decltype(To::re) Part;
        return To{(Part)value, 0};
    } else if constexpr (ust_kind<To> == ust_kinds::truth) {
        return value != 0;
    } else if constexpr (ust_kind<To> == ust_kinds::integer && ust_kind<From> == ust_kinds::floating) {
        return ust_saturate<To>(value);
    } else {
        return (To)value;
    }
}

#endif
