// Values of a run combined into one. Blocks combine pieces; what a piece does to the run that it begins in, and
// to the one that it ends in, is combined by one block afterwards.
// Above: `Element`, what values are stored as; `Place`, the numbers of runs begun before each entry; `Held`, what
// values are computed as; `combine_two`; block.cuh.

// Entries one after another: how many runs begin in them, and the value of the last of these or, if none begins,
// of all; whether there is a value.
struct State {
    u32 heads, full;
    Held value;
};

struct Join {
    UST_FN State operator()(State a, State b) const {
        State both = b;
        both.heads += a.heads;
        both.full |= a.full;
        if (a.full && b.heads == 0) both.value = b.full ? combine_two(a.value, b.value) : a.value;
        return both;
    }
};

extern "C" __global__ void __launch_bounds__(THREADS)
combine_pieces(const Element* __restrict__ values, const u8* __restrict__ flags, const Place* __restrict__ places,
               i64 n, i64 piece, Element* __restrict__ to, State* __restrict__ wholes, State* __restrict__ leads) {
    __shared__ Held tile[THREADS * ITEMS];
    __shared__ u8 begins[THREADS * ITEMS];
    __shared__ State warps[THREADS / 32];
    const int me = threadIdx.x;
    const i64 lo = blockIdx.x * piece, hi = min(lo + piece, n), runs_before = places[lo];
    const State none = {0, 0, Held()};
    const Join join;
    State carry = none;
    // A run ends. If it began before the piece, its end leads the piece. Entries before all runs are in none.
    auto finish = [&](State run) {
        const i64 number = runs_before + run.heads - 1;
        if (run.heads == 0) leads[blockIdx.x] = State{1, run.full, run.value};
        else to[number] = ust_put<Element>(run.value);
    };
    if (me == 0) leads[blockIdx.x] = none;
    for (i64 at = lo; at < hi; at += THREADS * ITEMS) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const int to = k * THREADS + me;
            if (at + to >= hi) continue;
            tile[to] = ust_get(values[at + to]);
            begins[to] = flags[at + to];
        }
        __syncthreads();
        const int count = (int)min(hi - at - me * ITEMS, (i64)ITEMS);
        State mine = none, total;
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const int from = me * ITEMS + k;
            if (k < count) mine = join(mine, State{begins[from], 1, tile[from]});
        }
        State before = join(carry, block_before(mine, none, join, warps, &total));
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            const int from = me * ITEMS + k;
            if (k >= count) continue;
            if (begins[from]) finish(before);
            before = join(before, State{begins[from], 1, tile[from]});
        }
        carry = join(carry, total);
        __syncthreads();
    }
    if (me != 0) return;
    wholes[blockIdx.x] = carry;
    if (hi == n) finish(carry);
}

// One block: the ends of runs that began in pieces before. Each piece has `length` entries.
extern "C" __global__ void __launch_bounds__(THREADS)
combine_across(const State* __restrict__ wholes, const State* __restrict__ leads, i64 count, i64 length,
               const Place* __restrict__ places, Element* __restrict__ to) {
    __shared__ State warps[THREADS / 32];
    const State none = {0, 0, Held()};
    const Join join;
    State carry = none;
    for (i64 at = 0; at < count; at += THREADS) {
        __syncthreads();
        const i64 piece = at + threadIdx.x;
        State total;
        State before = join(carry, block_before(piece < count ? wholes[piece] : none, none, join, warps, &total));
        carry = join(carry, total);
        if (piece >= count || leads[piece].heads == 0) continue;
        const i64 number = (i64)places[piece * length] - 1;
        if (number < 0) continue;
        const State end = {0, leads[piece].full, leads[piece].value};
        to[number] = ust_put<Element>(join(before, end).value);
    }
}
