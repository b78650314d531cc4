// Numbers sorted by their size.
// Above: `From` and `Element`, kinds of numbers; grid.cuh.

// The bin of each number: 0 for 0, and k + 1 for those up to 2^k that are larger than 2^(k - 1). A number counts as
// `others[i] / divisor` or `most`, whichever is less, if that is more. `others` may be 0.
extern "C" __global__ void __launch_bounds__(THREADS)
bins(const From* __restrict__ numbers, i64 n, const Element* __restrict__ others, i64 divisor, i64 most, u8* to) {
    EACH(i, n) {
        i64 number = (i64)numbers[i];
        if (others) {
            i64 least = (i64)others[i] / divisor;
            least = least < most ? least : most;
            number = number < least ? least : number;
        }
        to[i] = number <= 1 ? (u8)(number == 1) : (u8)(65 - __clzll(number - 1));
    }
}
