// CUDA's words, for a host compiler: as much of them as the prelude needs.
#include <sched.h>
#include <string.h>
#include <ucontext.h>

#include "../../src/prelude/host.h"

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
// Other threads come between now and then, also where there are fewer processors than threads.
template <class T> inline T atomicCAS(T* p, T expected, T next) {
    static thread_local unsigned calls = 0;
    if (++calls % 8 == 0) sched_yield();
    __atomic_compare_exchange_n(p, &expected, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
template <class T, class F> inline T update(T* p, F f) {
    T old, next;
    __atomic_load(p, &old, __ATOMIC_SEQ_CST);
    do {
        next = f(old);
    } while (!__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}
// For the types for which CUDA has them. An overflow of `int` would be undefined.
#define ATOMIC(name, T, expression) \
    inline T name(T* p, T a) { return update(p, [=](T old) { return expression; }); }
ATOMIC(atomicAdd, unsigned, old + a)
ATOMIC(atomicAdd, unsigned long long, old + a)
ATOMIC(atomicAdd, float, old + a)
ATOMIC(atomicAdd, double, old + a)
#define ATOMICS(T)                          \
    ATOMIC(atomicMin, T, old < a ? old : a) \
    ATOMIC(atomicMax, T, old > a ? old : a)
ATOMICS(int)
ATOMICS(unsigned)
ATOMICS(long long)
ATOMICS(unsigned long long)
ATOMIC(atomicAnd, unsigned, old & a)
ATOMIC(atomicAnd, unsigned long long, old & a)
ATOMIC(atomicOr, unsigned, old | a)
ATOMIC(atomicOr, unsigned long long, old | a)

// One thread, for what is only compiled here.
static const struct { unsigned x; } threadIdx = {0};
inline void __syncthreads() {}
inline void __syncwarp(unsigned) {}

// A warp whose lanes take turns. A lane that exchanges values leaves its own and waits until the
// others have done so; the next exchange uses other places, since some lanes come to it earlier.
struct Warp {
    ucontext_t host, lane[32];
    char stack[32][65536];
    bool done[32];
    unsigned long long place[2][32];
    unsigned turn[32], mask;
    int now;
    void (*body)(int lane, void* data);
    void* data;
};
static Warp warp;

static void warp_lane() {
    warp.body(warp.now, warp.data);
    warp.done[warp.now] = true;
}

static void make_lane(int i) {
    getcontext(&warp.lane[i]);
    warp.lane[i].uc_stack.ss_sp = warp.stack[i];
    warp.lane[i].uc_stack.ss_size = sizeof warp.stack[i];
    warp.lane[i].uc_link = &warp.host;
    makecontext(&warp.lane[i], warp_lane, 0);
}

// Runs the lanes of a mask.
static void run_warp(unsigned mask, void (*body)(int, void*), void* data) {
    warp.mask = mask;
    warp.body = body;
    warp.data = data;
    for (int i = 0; i < 32; i++) {
        make_lane(i);
        warp.done[i] = !(mask >> i & 1);
        warp.turn[i] = 0;
    }
    // `now` is not a local variable, because changing contexts could lose it.
    for (bool left = true; left;) {
        left = false;
        for (warp.now = 0; warp.now < 32; warp.now++) {
            if (warp.done[warp.now]) continue;
            left = true;
            swapcontext(&warp.host, &warp.lane[warp.now]);
        }
    }
}

template <class T> T exchange(unsigned mask, T value, int from) {
    int here = warp.now;
    unsigned turn = warp.turn[here]++ % 2;
    // All lanes that run take part, and nobody asks one that does not.
    if (mask != warp.mask || !(mask >> from & 1)) __builtin_trap();
    memcpy(&warp.place[turn][here], &value, sizeof value);
    swapcontext(&warp.lane[here], &warp.host);
    memcpy(&value, &warp.place[turn][from], sizeof value);
    return value;
}
// For the types for which CUDA has them.
#define SHUFFLES(T)                                                     \
    inline T __shfl_xor_sync(unsigned mask, T value, int step) {        \
        return exchange(mask, value, warp.now ^ step);                  \
    }                                                                   \
    inline T __shfl_sync(unsigned mask, T value, int from, int width) { \
        return exchange(mask, value, warp.now / width * width + from);  \
    }
SHUFFLES(int)
SHUFFLES(unsigned)
SHUFFLES(long long)
SHUFFLES(unsigned long long)
SHUFFLES(float)
SHUFFLES(double)
