// Hash tables of coordinates, each for a group of lanes that work together.
// Needs: types, integers, floats, atomics.
//
// A group is `width` threads in a row: a power of 2 up to 32, which are lanes of a warp, or all threads of a block. A
// table has `slots` places, of which each holds a coordinate below 2^32 - 1 or is free. It has room for all
// coordinates. Where it has not, because somebody counted too few, that is noted, and all that is computed is wrong.
#ifndef UST_TABLES
#define UST_TABLES

constexpr u32 UST_FREE = 0xffffffffu;

// The number of the operation that fails where a table has no room.
constexpr i32 UST_FULL = -1;

// The lanes of this thread's group, as a mask of its warp.
UST_FN u32 ust_lanes_of(i64 width) {
    if (width >= 32) return 0xffffffffu;
    return ((1u << width) - 1) << (threadIdx.x % 32 / (u32)width * (u32)width);
}

// Waits for the other lanes of the group, and sees what they wrote.
UST_FN void ust_meet(i64 width, u32 lanes) {
    if (width > 32) __syncthreads();
    else __syncwarp(lanes);
}

// Where the search for a coordinate begins: the upper half of a product, so that coordinates which differ by a power
// of 2 begin at different places.
UST_FN u32 ust_table_first(u32 coordinate, u32 slots) {
    return (u32)((u64)(coordinate * 2654435769u) * slots >> 32);
}

// The place of a coordinate, which is put there if it has none.
UST_FN u32 ust_table_note(u32* marks, i64 slots, i64 coordinate, i32* error) {
    u32 own = (u32)coordinate, first = ust_table_first(own, (u32)slots), at = first;
    do {
        u32 seen = ust_peek(&marks[at]);
        if (seen == UST_FREE) seen = atomicCAS(&marks[at], UST_FREE, own);
        if (seen == UST_FREE || seen == own) return at;
        if (++at == (u32)slots) at = 0;
    } while (at != first);
    ust_fail(error, UST_FULL);
    return first;
}

// The place of a coordinate that has one, when nobody puts any there.
UST_FN u32 ust_table_find(const u32* marks, i64 slots, i64 coordinate) {
    u32 own = (u32)coordinate, first = ust_table_first(own, (u32)slots), at = first;
    while (marks[at] != own && marks[at] != UST_FREE) {
        if (++at == (u32)slots) at = 0;
        if (at == first) break;
    }
    return at;
}

// The number of coordinates in a table, when all are noted. All lanes call it, and wait for each other.
UST_FN i64 ust_table_count(const u32* marks, i64 slots, u32* count, i64 lane, i64 width, u32 lanes) {
    if (lane == 0) *count = 0;
    ust_meet(width, lanes);
    u32 own = 0;
    for (i64 at = lane; at < slots; at += width) own += marks[at] != UST_FREE;
    if (own > 0) atomicAdd(count, own);
    ust_meet(width, lanes);
    return *count;
}

// Lists the coordinates in a table, when all are noted, in any order, and gives their number. All lanes call it, and
// wait for each other. The list has room for half as many as the table.
UST_FN i64 ust_table_list(const u32* marks, i64 slots, u32* list, u32* count, i32* error, i64 lane, i64 width,
                          u32 lanes) {
    const u32 most = (u32)(slots / 2);
    if (lane == 0) *count = 0;
    ust_meet(width, lanes);
    for (i64 at = lane; at < slots; at += width) {
        if (marks[at] == UST_FREE) continue;
        const u32 to = atomicAdd(count, 1u);
        if (to < most) list[to] = marks[at];
        else ust_fail(error, UST_FULL);
    }
    ust_meet(width, lanes);
    return *count < most ? *count : most;
}

// Sorts a list in ascending order. All lanes call it, and wait for each other. The list has room for the next power
// of 2. (Batcher's bitonic sort.)
UST_FN void ust_table_sort(u32* list, i64 length, i64 lane, i64 width, u32 lanes) {
    u32 whole = 1;
    while (whole < length) whole *= 2;
    for (i64 at = length + lane; at < whole; at += width) list[at] = UST_FREE;
    ust_meet(width, lanes);
    for (u32 size = 2; size <= whole; size *= 2) {
        for (u32 step = size / 2; step > 0; step /= 2) {
            for (u32 pair = (u32)lane; pair < whole / 2; pair += (u32)width) {
                u32 low = 2 * pair - (pair & (step - 1)), high = low + step;
                u32 a = list[low], b = list[high];
                if ((low & size) == 0 ? b < a : a < b) {
                    list[low] = b;
                    list[high] = a;
                }
            }
            ust_meet(width, lanes);
        }
    }
}

#endif
