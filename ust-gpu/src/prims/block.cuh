// A block of threads that combines what its threads have, in their order.
//
// Operators are associative, and need not be commutative. Operations are always grouped in the same way.

typedef unsigned int Words;

// The value of the lane `step` before this one; of the first lanes, their own. All lanes of a warp call it.
template <class T> UST_FN T lane_before(T value, int step) {
    static_assert(sizeof(T) % sizeof(Words) == 0, "lanes exchange whole words");
    union Both {
        T value;
        Words words[sizeof(T) / sizeof(Words)];
        UST_FN Both(T value) : value(value) {}
    } both(value);
#pragma unroll
    for (int i = 0; i < (int)(sizeof(T) / sizeof(Words)); i++) {
        both.words[i] = __shfl_up_sync(~0u, both.words[i], step);
    }
    return both.value;
}

// All threads before this one, combined; `total`, all threads. `none` combined with a value is the value.
// `warps` is shared memory for as many values as there are warps; a barrier comes before it is used again.
template <class T, class F>
UST_FN T block_before(T mine, T none, F combine, T* warps, T* total) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    T upto = mine;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        T other = lane_before(upto, step);
        if (lane >= step) upto = combine(other, upto);
    }
    if (lane == 31) warps[warp] = upto;
    T before = lane_before(upto, 1);
    if (lane == 0) before = none;
    __syncthreads();
    T all = none, start = none;
#pragma unroll
    for (int w = 0; w < THREADS / 32; w++) {
        if (w == warp) start = all;
        all = combine(all, warps[w]);
    }
    *total = all;
    return combine(start, before);
}
