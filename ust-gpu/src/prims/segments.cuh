// Positions to coordinates and back, and numbers about arrays of indices.
// Above: `From`, what is read; `To`, what is written; grid.cuh.

// The last segment in `lo..hi` that begins at `p` or before. The first one does.
UST_FN i64 segment_at(const From* pos, i64 lo, i64 hi, i64 p) {
    while (hi - lo > 1) {
        i64 middle = lo + (hi - lo) / 2;
        if ((i64)pos[middle] <= p) lo = middle;
        else hi = middle;
    }
    return lo;
}

// The segment of each of `n` positions. A block looks first for those of its first and its last position.
extern "C" __global__ void __launch_bounds__(THREADS)
expand(const From* __restrict__ pos, i64 segments, i64 n, To* __restrict__ to) {
    __shared__ i64 ends[2];
    const i64 tile = THREADS * ITEMS;
    for (i64 at = blockIdx.x * tile; at < n; at += gridDim.x * tile) {
        const i64 end = min(at + tile, n);
        if (threadIdx.x % 32 == 0 && threadIdx.x < 64) {
            ends[threadIdx.x / 32] = segment_at(pos, 0, segments, threadIdx.x == 0 ? at : end - 1);
        }
        __syncthreads();
        const i64 first = ends[0], last = ends[1];
        for (i64 p = at + threadIdx.x; p < end; p += THREADS) to[p] = (To)segment_at(pos, first, last + 1, p);
        __syncthreads();
    }
}

// For each coordinate from `lowest` on, how many of the sorted ones are less.
extern "C" __global__ void __launch_bounds__(THREADS)
positions(const From* __restrict__ sorted, i64 n, i64 lowest, i64 segments, To* __restrict__ to) {
    EACH(i, segments + 1) {
        i64 lo = 0, hi = n;
        while (lo < hi) {
            i64 middle = lo + (hi - lo) / 2;
            if ((u64)(i64)sorted[middle] - (u64)lowest < (u64)i) lo = middle + 1;
            else hi = middle;
        }
        to[i] = (To)lo;
    }
}

// The length of the longest segment, and of all together.
extern "C" __global__ void __launch_bounds__(THREADS)
lengths(const From* __restrict__ pos, i64 segments, i64* found) {
    i64 longest = 0;
#pragma unroll 4
    EACH(i, segments) longest = ust_maximum(longest, (i64)pos[i + 1] - (i64)pos[i]);
    longest = ust_lanes_max(longest, 32, ~0u);
    if (threadIdx.x % 32 == 0) atomicMax(&found[0], longest);
    if (blockIdx.x == 0 && threadIdx.x == 0) found[1] = (i64)pos[segments] - (i64)pos[0];
}

// The smallest and the largest index, and those that were found before.
extern "C" __global__ void __launch_bounds__(THREADS)
extremes(const From* __restrict__ column, i64 n, i64* found) {
    i64 least = (i64)(~0ull >> 1), most = -least - 1;
#pragma unroll 4
    EACH(i, n) {
        const i64 index = column[i];
        least = ust_minimum(least, index);
        most = ust_maximum(most, index);
    }
    least = ust_lanes_min(least, 32, ~0u);
    most = ust_lanes_max(most, 32, ~0u);
    if (threadIdx.x % 32 != 0) return;
    atomicMin(&found[0], least);
    atomicMax(&found[1], most);
}
