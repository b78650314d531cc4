// Values that are compared with one.
// Above: `Element`, what values are stored as; grid.cuh.

// Which values are not the same as another. With `is_nan`, that one is NaN.
extern "C" __global__ void __launch_bounds__(THREADS)
differing(const Element* __restrict__ values, i64 n, const Element* __restrict__ other, i64 is_nan,
          u8* __restrict__ flags) {
    const ust_held<Element> than = ust_get(*other);
#pragma unroll 4
    EACH(i, n) {
        const ust_held<Element> value = ust_get(values[i]);
        flags[i] = is_nan ? value == value : value != than;
    }
}
