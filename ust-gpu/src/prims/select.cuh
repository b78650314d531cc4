// Entries chosen by flags, a byte each. The scan of the flags says how many come before each.
// Above: `From`, what is looked at; `Place`, the sums of flags; `To`, numbers of entries; `Element`, what is moved;
// grid.cuh.

// Which entries have another coordinate than the one before. The first column sets flags, and others add theirs.
extern "C" __global__ void __launch_bounds__(THREADS)
heads(const From* __restrict__ column, i64 n, i64 is_first, u8* __restrict__ flags) {
#pragma unroll 4
    EACH(i, n) {
        bool differs = i == 0 || column[i] != column[i - 1];
        flags[i] = differs || (!is_first && flags[i]);
    }
}

// Which entries are not zero.
extern "C" __global__ void __launch_bounds__(THREADS)
marks(const From* __restrict__ column, i64 n, u8* __restrict__ flags) {
#pragma unroll 4
    EACH(i, n) flags[i] = column[i] != 0;
}

// The numbers of chosen entries, and of all entries behind them.
extern "C" __global__ void __launch_bounds__(THREADS)
starts(const u8* __restrict__ flags, const Place* __restrict__ places, i64 n, To* __restrict__ to) {
#pragma unroll 4
    EACH(i, n + 1) {
        if (i == n || flags[i]) to[places[i]] = (To)i;
    }
}

// Chosen elements.
extern "C" __global__ void __launch_bounds__(THREADS)
compact(const u8* __restrict__ flags, const Place* __restrict__ places, i64 n, const Element* __restrict__ from,
        Element* __restrict__ to) {
#pragma unroll 4
    EACH(i, n) {
        if (flags[i]) to[places[i]] = from[i];
    }
}
