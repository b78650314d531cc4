// CUDA's words, for a host compiler: as much of them as the prelude needs.
#include <math.h>
#include <sched.h>
#include <string.h>
#include <ucontext.h>

#define __device__
#define __forceinline__ inline __attribute__((always_inline))

template <class To, class From> inline To bits(From from) {
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}
inline unsigned __float_as_uint(float a) { return bits<unsigned>(a); }
inline float __uint_as_float(unsigned a) { return bits<float>(a); }
inline long long __double_as_longlong(double a) { return bits<long long>(a); }
inline double __longlong_as_double(long long a) { return bits<double>(a); }

// The inverse of the error function, which C has not: Newton's steps from a start that is near.
inline double erfinv(double a) {
    double size = fabs(a), root = 1.1283791670955126;
    if (!(size < 1)) return size == 1 ? copysign(INFINITY, a) : NAN;
    double x = size < 0.5 ? size / root : sqrt(-log((1 - size) * root));
    for (int i = 0; i < 40; i++) {
        double beyond = size < 0.5 ? erf(x) - size : 1 - size - erfc(x);
        double step = beyond / (root * exp(-x * x));
        x -= step / (1 + x * step);
        if (fabs(step) <= 1e-17 * x) break;
    }
    return copysign(x, a);
}
inline float erfinvf(float a) { return (float)erfinv(a); }

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
// Other threads come between now and then, also where there are fewer processors than threads.
template <class T> inline T atomicCAS(T* p, T expected, T next) {
    static thread_local unsigned calls = 0;
    if (++calls % 8 == 0) sched_yield();
    __atomic_compare_exchange_n(p, &expected, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
template <class T> inline T atomicExch(T* p, T next) {
    return __atomic_exchange_n(p, next, __ATOMIC_SEQ_CST);
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
