// Elements moved to other places, and indices made and changed.
// Above: `Element`, what is moved; `Place`, from where or whereto; `From` and `To`, kinds of indices; grid.cuh.

extern "C" __global__ void __launch_bounds__(THREADS)
gather(const Element* __restrict__ from, i64 length, const Place* __restrict__ places, i64 n,
       Element* __restrict__ to, u64* misfit) {
#pragma unroll 4
    EACH(i, n) {
        // A negative place is a large one, too.
        u64 place = (u64)(i64)places[i];
        if (place < (u64)length) to[i] = from[place];
        else atomicMin(misfit, (u64)i);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
scatter(const Element* __restrict__ from, const Place* __restrict__ places, i64 n, Element* __restrict__ to,
        i64 length, u64* misfit) {
#pragma unroll 4
    EACH(i, n) {
        u64 place = (u64)(i64)places[i];
        if (place < (u64)length) to[place] = from[i];
        else atomicMin(misfit, (u64)i);
    }
}

// Whether an index is less than 0.
template <class T> UST_FN bool is_negative(T index) { return ust_is_signed<T> && (i64)index < 0; }

extern "C" __global__ void __launch_bounds__(THREADS)
convert(const From* __restrict__ from, i64 n, To* __restrict__ to, u64* misfit) {
#pragma unroll 4
    EACH(i, n) {
        From index = from[i];
        To same = (To)index;
        to[i] = same;
        if ((From)same != index || is_negative(same) != is_negative(index)) atomicMin(misfit, (u64)i);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) iota(To* to, i64 n) {
    EACH(i, n) to[i] = (To)i;
}

// For each element of blocks, the number of its block and its place there.
extern "C" __global__ void __launch_bounds__(THREADS) split(To* blocks, To* offsets, i64 n, i64 block) {
    EACH(i, n) {
        blocks[i] = (To)(i / block);
        offsets[i] = (To)(i % block);
    }
}

// Words of 8 bytes, one and the other in turn.
extern "C" __global__ void __launch_bounds__(THREADS) fill(u64* to, i64 n, u64 even, u64 odd) {
    EACH(i, n) to[i] = i % 2 ? odd : even;
}
