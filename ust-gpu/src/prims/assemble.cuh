// What the assembly of levels does with columns, besides segments.
// Above: `From`, parents or bounds; `Coordinate`, coordinates; `To`, what is written; grid.cuh.

// Positions in a full level.
extern "C" __global__ void __launch_bounds__(THREADS)
full_positions(const From* __restrict__ parent, const Coordinate* __restrict__ crd, i64 n, i64 size, i64 lower,
               To* __restrict__ to) {
#pragma unroll 4
    EACH(i, n) to[i] = (To)((i64)parent[i] * size + ((i64)crd[i] - lower));
}

// Neighbours, side by side: `n` numbers.
extern "C" __global__ void __launch_bounds__(THREADS)
pairs(const From* __restrict__ bounds, i64 n, To* __restrict__ to) {
    EACH(i, n) to[i] = (To)bounds[i / 2 + i % 2];
}

// The children of each parent in a group of `size` coordinates, ascending: those that there are, and the lowest free
// ones. A parent with more children is noted in `misfit`.
extern "C" __global__ void __launch_bounds__(THREADS)
groups(const From* __restrict__ offsets, const Coordinate* __restrict__ crd, i64 parents, i64 size, To* __restrict__ to,
       To* __restrict__ places, u64* misfit) {
    EACH(parent, parents) {
        const i64 lo = offsets[parent], hi = offsets[parent + 1];
        if (hi - lo > size) {
            atomicMin(misfit, (u64)parent);
            continue;
        }
        const i64 end = (parent + 1) * size;
        i64 spare = size - (hi - lo), at = parent * size, free = 0;
        for (i64 p = lo; p < hi; p++) {
            const i64 own = crd[p];
            for (; spare > 0 && free < own; spare--) to[at++] = (To)free++;
            places[p] = (To)at;
            to[at++] = (To)own;
            free = own + 1;
        }
        while (at < end) to[at++] = (To)free++;
    }
}

// Notes the first entry that does not come behind the one before it: under the same parent, its coordinate is not larger.
extern "C" __global__ void __launch_bounds__(THREADS)
descents(const From* __restrict__ parent, const Coordinate* __restrict__ crd, i64 n, u64* misfit) {
#pragma unroll 4
    EACH(i, n) {
        if (i > 0 && parent[i - 1] == parent[i] && crd[i - 1] >= crd[i]) atomicMin(misfit, (u64)i);
    }
}

// Indices of two bits, four to a byte, the first in the lowest bits.
extern "C" __global__ void __launch_bounds__(THREADS)
pack_two_bits(const From* __restrict__ from, i64 n, u8* __restrict__ to) {
    EACH(byte, (n + 3) / 4) {
        u32 bits = 0;
        for (i64 at = byte * 4; at < byte * 4 + 4 && at < n; at++) bits |= ((u32)from[at] & 3) << (at % 4 * 2);
        to[byte] = (u8)bits;
    }
}
