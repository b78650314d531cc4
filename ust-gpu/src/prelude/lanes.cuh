// Numbers combined over groups of lanes.
// Needs: types, integers, floats.
//
// A group is `width` consecutive lanes of a warp, a power of 2 up to 32, and begins at a multiple of
// `width`. All lanes of `mask` call the function, and all lanes of their groups are in `mask`.
#ifndef UST_LANES
#define UST_LANES

// The value of the lane whose number differs from this one's in the bit `step`.
template <class T> UST_FN T ust_lanes_across(T value, int step, unsigned mask) {
    if constexpr (ust_kind<T> == ust_kinds::complex) {
        return T{ust_lanes_across(value.re, step, mask), ust_lanes_across(value.im, step, mask)};
    } else if constexpr (sizeof(T) < 4) {
        return (T)__shfl_xor_sync(mask, (i32)value, step);
    } else {
        return __shfl_xor_sync(mask, value, step);
    }
}

// The value of the group's first lane.
template <class T> UST_FN T ust_lanes_first(T value, int width, unsigned mask) {
    if constexpr (ust_kind<T> == ust_kinds::complex) {
        return T{ust_lanes_first(value.re, width, mask), ust_lanes_first(value.im, width, mask)};
    } else if constexpr (sizeof(T) < 4) {
        return (T)__shfl_sync(mask, (i32)value, 0, width);
    } else {
        return __shfl_sync(mask, value, 0, width);
    }
}

// The values of the group's lanes, combined by `f`, which is associative and commutative. In each
// step, a lane combines its value with that of the lane across. The order of operations is therefore
// always the same, and all lanes get the same bits.
template <class T, class F> UST_FN T ust_lanes_combine(T value, int width, unsigned mask, F f) {
    for (int step = width / 2; step > 0; step /= 2) {
        value = f(value, ust_lanes_across(value, step, mask));
    }
    return value;
}

template <class T> UST_FN T ust_lanes_add(T value, int width, unsigned mask) {
    return ust_lanes_combine(value, width, mask, [](T a, T b) { return ust_add(a, b); });
}
template <class T> UST_FN T ust_lanes_min(T value, int width, unsigned mask) {
    return ust_lanes_combine(value, width, mask, [](T a, T b) { return ust_minimum(a, b); });
}
template <class T> UST_FN T ust_lanes_max(T value, int width, unsigned mask) {
    return ust_lanes_combine(value, width, mask, [](T a, T b) { return ust_maximum(a, b); });
}
template <class T> UST_FN T ust_lanes_and(T value, int width, unsigned mask) {
    return ust_lanes_combine(value, width, mask, [](T a, T b) { return ust_and(a, b); });
}
template <class T> UST_FN T ust_lanes_or(T value, int width, unsigned mask) {
    return ust_lanes_combine(value, width, mask, [](T a, T b) { return ust_or(a, b); });
}
template <class T> UST_FN T ust_lanes_mul(T value, int width, unsigned mask) {
    value = ust_lanes_combine(value, width, mask, [](T a, T b) { return ust_mul(a, b); });
    // With fused operations, the imaginary part depends on which factor comes first.
    if constexpr (ust_kind<T> == ust_kinds::complex) value = ust_lanes_first(value, width, mask);
    return value;
}

#endif
