// Sums of all elements before each: first of pieces, then of the pieces before each, then within pieces.
// Above: `From`, what is summed; `To`, what sums are stored as; block.cuh.

struct Add {
    UST_FN i64 operator()(i64 a, i64 b) const { return ust_add(a, b); }
};

// Each block sums its piece of `piece` elements.
extern "C" __global__ void __launch_bounds__(THREADS)
scan_sums(const From* __restrict__ from, i64 n, i64 piece, i64* __restrict__ sums) {
    __shared__ i64 warps[THREADS / 32];
    const i64 lo = blockIdx.x * piece, hi = min(lo + piece, n);
    i64 sum = 0, total;
#pragma unroll 4
    for (i64 i = lo + threadIdx.x; i < hi; i += THREADS) sum = ust_add(sum, (i64)from[i]);
    block_before(sum, (i64)0, Add(), warps, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

template <class T> UST_FN void put_sum(T* to, i64 i, i64 sum, u64* misfit) {
    to[i] = (T)sum;
    if ((i64)(T)sum != sum) atomicMin(misfit, (u64)i);
}

// Writes the sums before each element of `lo..hi`, which are `carry` before the first one, and, if nothing
// comes behind, the sum of all.
template <class In, class Out>
UST_FN void scan_piece(const In* __restrict__ from, i64 n, i64 lo, i64 hi, i64 carry, Out* __restrict__ to,
                       u64* misfit, i64* tile, i64* warps) {
    const int me = threadIdx.x;
    for (i64 at = lo; at < hi; at += THREADS * ITEMS) {
        // Neighbours read neighbours, and then change over to consecutive elements.
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            i64 i = at + k * THREADS + me;
            tile[k * THREADS + me] = i < hi ? (i64)from[i] : 0;
        }
        __syncthreads();
        i64 own[ITEMS], sum = 0, total;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) sum = ust_add(sum, own[k] = tile[me * ITEMS + k]);
        i64 before = ust_add(carry, block_before(sum, (i64)0, Add(), warps, &total));
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            tile[me * ITEMS + k] = before;
            before = ust_add(before, own[k]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            i64 i = at + k * THREADS + me;
            if (i < hi) put_sum(to, i, tile[k * THREADS + me], misfit);
        }
        carry = ust_add(carry, total);
    }
    if (hi == n && me == 0) put_sum(to, n, carry, misfit);
}

// One block: the sums of pieces before each piece.
extern "C" __global__ void __launch_bounds__(THREADS)
scan_offsets(const i64* sums, i64 count, i64* offsets, u64* misfit) {
    __shared__ i64 tile[THREADS * ITEMS], warps[THREADS / 32];
    scan_piece(sums, count, 0, count, 0, offsets, misfit, tile, warps);
}

// Each block writes its piece. Without offsets there is one piece.
extern "C" __global__ void __launch_bounds__(THREADS)
scan_write(const From* from, i64 n, i64 piece, const i64* offsets, To* to, u64* misfit) {
    __shared__ i64 tile[THREADS * ITEMS], warps[THREADS / 32];
    const i64 lo = blockIdx.x * piece;
    scan_piece(from, n, lo, min(lo + piece, n), offsets ? offsets[blockIdx.x] : 0, to, misfit, tile, warps);
}
