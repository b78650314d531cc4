// A stable radix sort, the lowest digit first. Of each digit, blocks count the keys of their pieces; the scan of
// these counts, digit by digit, says where each block writes the keys of each digit.
// Above: `From`, the unsigned type of keys; `Element`, what is carried with them; grid.cuh, block.cuh.

constexpr int DIGITS = THREADS, WARPS = THREADS / 32;
// Keys of a thread at a time: the tile of keys, and later of what is carried, is in shared memory.
constexpr int KEYS = sizeof(From) > 4 || sizeof(Element) > 4 ? 8 : 16;
constexpr int SORT_TILE = KEYS * THREADS;

struct AddWords {
    UST_FN u32 operator()(u32 a, u32 b) const { return a + b; }
};

// A digit is `bits` bits from `shift` on. `flip` turns the sign bit of signed keys.
struct Digit {
    u64 flip;
    int shift, bits;
    UST_FN Digit(i64 shift, i64 bits, u64 flip) : flip(flip), shift((int)shift), bits((int)bits) {}
    UST_FN u32 operator()(From key) const { return (u32)(((u64)key ^ flip) >> shift) & ((1u << bits) - 1); }
};

extern "C" __global__ void __launch_bounds__(THREADS)
radix_count(const From* __restrict__ keys, i64 n, i64 piece, i64 shift, i64 bits, u64 flip, u32* counts) {
    __shared__ u32 count[DIGITS];
    const Digit digit(shift, bits, flip);
    const i64 lo = blockIdx.x * piece, hi = min(lo + piece, n);
    count[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 4
    for (i64 i = lo + threadIdx.x; i < hi; i += THREADS) atomicAdd(&count[digit(keys[i])], 1u);
    __syncthreads();
    counts[threadIdx.x * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

// Without something that is carried, the numbers of the keys are.
extern "C" __global__ void __launch_bounds__(THREADS)
radix_place(const From* __restrict__ keys, const Element* __restrict__ carried, i64 n, i64 piece, i64 shift,
            i64 bits, u64 flip, const i64* __restrict__ offsets, From* __restrict__ keys_to,
            Element* __restrict__ carried_to) {
    // How many keys of each digit each warp has; then, where they begin within the tile.
    __shared__ u32 starts[WARPS][DIGITS];
    __shared__ u32 warps[WARPS];
    // What is added to a key's place in the sorted tile for its place in memory.
    __shared__ i64 moves[DIGITS];
    __shared__ From tile[SORT_TILE];
    __shared__ Element tile_carried[SORT_TILE];
    const Digit digit(shift, bits, flip);
    const int me = threadIdx.x, lane = me % 32, warp = me / 32;
    const i64 lo = blockIdx.x * piece, hi = min(lo + piece, n);
    // Where the next key of the digit `me` goes.
    i64 next = offsets[me * gridDim.x + blockIdx.x];
    for (i64 at = lo; at < hi; at += SORT_TILE) {
        for (int d = lane; d < DIGITS; d += 32) starts[warp][d] = 0;
        __syncwarp();
        // A warp has consecutive keys, and its lanes consecutive ones of these.
        const i64 first = at + warp * (32 * KEYS) + lane;
        From key[KEYS];
        u32 place[KEYS];
#pragma unroll
        for (int k = 0; k < KEYS; k++) key[k] = first + k * 32 < hi ? keys[first + k * 32] : 0;
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            const bool there = first + k * 32 < hi;
            const u32 mine = digit(key[k]);
            // Lanes with keys of the same digit.
            u32 equal = __ballot_sync(~0u, there);
            for (int bit = 0; bit < digit.bits; bit++) {
                const bool set = mine >> bit & 1;
                const u32 ones = __ballot_sync(~0u, set);
                equal &= set ? ones : ~ones;
            }
            const u32 before = __popc(equal & ((1u << lane) - 1)), start = starts[warp][mine];
            __syncwarp();
            if (there && before == 0) starts[warp][mine] = start + __popc(equal);
            __syncwarp();
            place[k] = start + before;
        }
        __syncthreads();
        u32 sum = 0, total;
        for (int w = 0; w < WARPS; w++) {
            const u32 count = starts[w][me];
            starts[w][me] = sum;
            sum += count;
        }
        const u32 begin = block_before(sum, 0u, AddWords(), warps, &total);
        for (int w = 0; w < WARPS; w++) starts[w][me] += begin;
        moves[me] = next - begin;
        next += sum;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            if (first + k * 32 >= hi) continue;
            place[k] += starts[warp][digit(key[k])];
            tile[place[k]] = key[k];
            tile_carried[place[k]] = carried ? carried[first + k * 32] : (Element)(first + k * 32);
        }
        __syncthreads();
        // Keys of a digit lie together, and go to consecutive places.
#pragma unroll
        for (int k = 0; k < KEYS; k++) {
            const u32 j = k * THREADS + me;
            if (j >= total) continue;
            const i64 to = moves[digit(tile[j])] + j;
            keys_to[to] = tile[j];
            carried_to[to] = tile_carried[j];
        }
    }
}

// Keys made of columns: the coordinates of one, less the lowest, from the bit `shift` on. `order` says which
// entries; without it, they are in order. The first column sets keys, and others are put in.
extern "C" __global__ void __launch_bounds__(THREADS)
pack(const Coordinate* __restrict__ column, const Place* __restrict__ order, i64 n, i64 lowest, i64 shift,
     i64 is_first, From* __restrict__ keys) {
#pragma unroll 4
    EACH(i, n) {
        u64 offset = (u64)(i64)column[order ? (i64)order[i] : i] - (u64)lowest;
        From key = (From)(offset << shift);
        keys[i] = is_first ? key : (From)(keys[i] | key);
    }
}
