// CUDA's words for a C++17 compiler of the host.
#ifndef UST_HOST
#define UST_HOST

#include <math.h>
#include <string.h>

#define __device__
#define __forceinline__ inline

template <class To, class From> inline To ust_bits(From from) {
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}
inline unsigned __float_as_uint(float a) { return ust_bits<unsigned>(a); }
inline float __uint_as_float(unsigned a) { return ust_bits<float>(a); }
inline long long __double_as_longlong(double a) { return ust_bits<long long>(a); }
inline double __longlong_as_double(long long a) { return ust_bits<double>(a); }

// The inverse of the error function, which C++ has not: Newton's steps from a start that is near.
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

// Numbers that fail are noted by one thread.
template <class T> inline T atomicExch(T* p, T next) {
    T old = *p;
    *p = next;
    return old;
}

#endif
