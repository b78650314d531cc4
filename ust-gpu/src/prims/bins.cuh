// Numbers sorted by their size.
// Above: `From`, the kind of numbers; grid.cuh.

// The bin of each number: 0 for 0, and k + 1 for those up to 2^k that are larger than 2^(k - 1).
extern "C" __global__ void __launch_bounds__(THREADS) bins(const From* __restrict__ numbers, i64 n, u8* to) {
    EACH(i, n) {
        i64 number = (i64)numbers[i];
        to[i] = number <= 1 ? (u8)(number == 1) : (u8)(65 - __clzll(number - 1));
    }
}
