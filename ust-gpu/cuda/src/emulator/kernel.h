// Put before every kernel: the parts of CUDA that kernels use, for a host's compiler.
#include <math.h>
#include <stdint.h>
#include <string.h>

#define UST_INLINE static inline __attribute__((always_inline))
#define UST_PLAIN __attribute__((no_sanitize_thread))
#define UST_SEEN __attribute__((visibility("default")))
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__
#define __align__(n) alignas(n)
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static __attribute__((section("ust_shared")))
#define __constant__ static __attribute__((section("ust_constant")))
#define __CUDACC_RTC__ 1

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
// Dynamic shared memory, as much as a block can have.
#define UST_DYNAMIC (227 << 10)
struct ust_place { uint3 thread, block; dim3 threads, grid; };
extern "C" {
UST_SEEN void ust_where(unsigned*);
UST_SEEN unsigned ust_lane() __attribute__((const));
UST_SEEN unsigned ust_meet_block(int);
UST_SEEN unsigned long long ust_meet_warp(unsigned mask, int what, unsigned long long value, int source);
UST_SEEN void ust_atomic(const void*, unsigned, const void* at);
UST_SEEN void ust_trap(const char*);
UST_SEEN void ust_range(const void*, size_t, int writes);
int printf(const char*, ...);
}
UST_PLAIN static inline ust_place ust_here() { ust_place p; ust_where((unsigned*)&p); return p; }
UST_PLAIN __attribute__((const, noinline, unused)) static uint3 ust_thread() { return ust_here().thread; }
UST_PLAIN __attribute__((const, noinline, unused)) static uint3 ust_block() { return ust_here().block; }
UST_PLAIN __attribute__((const, noinline, unused)) static dim3 ust_threads() { return ust_here().threads; }
UST_PLAIN __attribute__((const, noinline, unused)) static dim3 ust_grid() { return ust_here().grid; }
#define threadIdx (ust_thread())
#define blockIdx (ust_block())
#define blockDim (ust_threads())
#define gridDim (ust_grid())
static const int warpSize = 32;

// Vectors.
#define UST_VECTOR2(N, T, A) struct alignas(A) N { T x, y; }; \
  UST_INLINE N make_##N(T x, T y) { N v; v.x = x; v.y = y; return v; }
#define UST_VECTOR4(N, T, A) struct alignas(A) N { T x, y, z, w; }; \
  UST_INLINE N make_##N(T x, T y, T z, T w) { N v; v.x = x; v.y = y; v.z = z; v.w = w; return v; }
UST_VECTOR2(char2, signed char, 2) UST_VECTOR4(char4, signed char, 4)
UST_VECTOR2(uchar2, unsigned char, 2) UST_VECTOR4(uchar4, unsigned char, 4)
UST_VECTOR2(short2, short, 4) UST_VECTOR4(short4, short, 8)
UST_VECTOR2(ushort2, unsigned short, 4) UST_VECTOR4(ushort4, unsigned short, 8)
UST_VECTOR2(int2, int, 8) UST_VECTOR4(int4, int, 16)
UST_VECTOR2(uint2, unsigned, 8) UST_VECTOR4(uint4, unsigned, 16)
UST_VECTOR2(float2, float, 8) UST_VECTOR4(float4, float, 16)
UST_VECTOR2(longlong2, long long, 16) UST_VECTOR4(longlong4, long long, 16)
UST_VECTOR2(ulonglong2, unsigned long long, 16) UST_VECTOR4(ulonglong4, unsigned long long, 16)
UST_VECTOR2(double2, double, 16) UST_VECTOR4(double4, double, 16)

// Bits.
template <class T, class F> UST_INLINE T ust_bits(F f) { static_assert(sizeof(T) == sizeof(F), ""); T t; __builtin_memcpy(&t, &f, sizeof t); return t; }
UST_INLINE unsigned __float_as_uint(float v) { return ust_bits<unsigned>(v); }
UST_INLINE int __float_as_int(float v) { return ust_bits<int>(v); }
UST_INLINE float __uint_as_float(unsigned v) { return ust_bits<float>(v); }
UST_INLINE float __int_as_float(int v) { return ust_bits<float>(v); }
UST_INLINE long long __double_as_longlong(double v) { return ust_bits<long long>(v); }
UST_INLINE double __longlong_as_double(long long v) { return ust_bits<double>(v); }
UST_INLINE double __hiloint2double(int hi, int lo) { return ust_bits<double>((unsigned long long)(unsigned)hi << 32 | (unsigned)lo); }
UST_INLINE int __double2hiint(double v) { return (int)(ust_bits<unsigned long long>(v) >> 32); }
UST_INLINE int __double2loint(double v) { return (int)ust_bits<unsigned long long>(v); }
UST_INLINE int __popc(unsigned v) { return __builtin_popcount(v); }
UST_INLINE int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
UST_INLINE int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
UST_INLINE int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
UST_INLINE int __ffs(int v) { return __builtin_ffs(v); }
UST_INLINE int __ffsll(long long v) { return __builtin_ffsll(v); }
UST_INLINE unsigned __brev(unsigned v) { unsigned r = 0; for (int i = 0; i < 32; i++) r |= (v >> i & 1) << (31 - i); return r; }
UST_INLINE unsigned long long __brevll(unsigned long long v) { return (unsigned long long)__brev((unsigned)v) << 32 | __brev((unsigned)(v >> 32)); }
UST_INLINE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
UST_INLINE int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
UST_INLINE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
UST_INLINE long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
UST_INLINE unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned k) { k &= 31; return k ? hi << k | lo >> (32 - k) : hi; }
UST_INLINE unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned k) { k &= 31; return k ? hi << (32 - k) | lo >> k : lo; }
UST_INLINE unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  unsigned long long all = (unsigned long long)b << 32 | a; unsigned r = 0;
  for (int i = 0; i < 4; i++) { unsigned k = s >> 4 * i & 15, v = (unsigned)(all >> 8 * (k & 7)) & 255; if (k & 8) v = v & 128 ? 255 : 0; r |= v << 8 * i; }
  return r; }

// Mathematics beyond math.h.
UST_INLINE float rsqrtf(float v) { return 1 / sqrtf(v); }
UST_INLINE double rsqrt(double v) { return 1 / sqrt(v); }
UST_INLINE float rcbrtf(float v) { return 1 / cbrtf(v); }
UST_INLINE double rcbrt(double v) { return 1 / cbrt(v); }
UST_INLINE void sincospi(double v, double* s, double* c) { sincos(v * M_PI, s, c); }
UST_INLINE float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
UST_INLINE double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
UST_INLINE float __fadd_rn(float a, float b) { return a + b; }
UST_INLINE float __fmul_rn(float a, float b) { return a * b; }
UST_INLINE float __fdiv_rn(float a, float b) { return a / b; }
UST_INLINE float __fsqrt_rn(float a) { return sqrtf(a); }
UST_INLINE double __dadd_rn(double a, double b) { return a + b; }
UST_INLINE double __dmul_rn(double a, double b) { return a * b; }
UST_INLINE double __ddiv_rn(double a, double b) { return a / b; }
UST_INLINE double __dsqrt_rn(double a) { return sqrt(a); }
UST_INLINE float __saturatef(float a) { return a > 1 ? 1 : a > 0 ? a : 0; }
UST_INLINE float __fdividef(float a, float b) { return a / b; }
// Names that the host's library has taken.
#define __expf(a) expf(a)
#define __logf(a) logf(a)
#define __sinf(a) sinf(a)
#define __cosf(a) cosf(a)
#define __powf(a, b) powf(a, b)
// The approximation of S. Winitzki, and steps of Halley's method.
UST_INLINE double erfinv(double x) {
  double s = fabs(x);
  if (!(s < 1)) return s == 1 ? copysign(__builtin_inf(), x) : __builtin_nan("");
  double a = 0.147, y;
  if (s < 0.1) y = s / M_2_SQRTPI * (1 + s * s * M_PI / 12);
  else { double l = log((1 - s) * (1 + s)), h = 2 / (M_PI * a) + l / 2; y = sqrt(sqrt(h * h - l / a) - h); }
  for (int k = 0; k < 3; k++) {
    double slope = M_2_SQRTPI * exp(-y * y), off = s < 0.5 ? erf(y) - s : (1 - s) - erfc(y), d = off / slope;
    y -= d / (1 + y * d);
  }
  return copysign(y, x);
}
UST_INLINE float erfinvf(float x) { return (float)erfinv((double)x); }
UST_INLINE double normcdf(double x) { return erfc(-x * M_SQRT1_2) / 2; }
UST_INLINE float normcdff(float x) { return (float)normcdf((double)x); }
// As CUDA has them: for each pair of types.
#define UST_MINMAX(T) UST_INLINE T min(T a, T b) { return b < a ? b : a; } UST_INLINE T max(T a, T b) { return a < b ? b : a; }
UST_MINMAX(int) UST_MINMAX(unsigned) UST_MINMAX(long) UST_MINMAX(unsigned long) UST_MINMAX(long long) UST_MINMAX(unsigned long long)
UST_INLINE unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
UST_INLINE unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
UST_INLINE unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
UST_INLINE unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
UST_INLINE unsigned long long min(long long a, unsigned long long b) { return min((unsigned long long)a, b); }
UST_INLINE unsigned long long min(unsigned long long a, long long b) { return min(a, (unsigned long long)b); }
UST_INLINE unsigned long long max(long long a, unsigned long long b) { return max((unsigned long long)a, b); }
UST_INLINE unsigned long long max(unsigned long long a, long long b) { return max(a, (unsigned long long)b); }
UST_INLINE float min(float a, float b) { return fminf(a, b); }
UST_INLINE float max(float a, float b) { return fmaxf(a, b); }
UST_INLINE double min(double a, double b) { return fmin(a, b); }
UST_INLINE double max(double a, double b) { return fmax(a, b); }
UST_INLINE double min(float a, double b) { return fmin(a, b); }
UST_INLINE double min(double a, float b) { return fmin(a, b); }
UST_INLINE double max(float a, double b) { return fmax(a, b); }
UST_INLINE double max(double a, float b) { return fmax(a, b); }

// Memory.
UST_INLINE void* ust_memcpy(void* to, const void* from, size_t n) { ust_range(from, n, 0); ust_range(to, n, 1); return __builtin_memcpy(to, from, n); }
UST_INLINE void* ust_memset(void* to, int v, size_t n) { ust_range(to, n, 1); return __builtin_memset(to, v, n); }
#define memcpy(to, from, n) ust_memcpy(to, from, n)
#define memset(to, v, n) ust_memset(to, v, n)
template <class T> UST_INLINE T __ldg(const T* p) { return *p; }
template <class T> UST_INLINE T __ldcs(const T* p) { return *p; }
template <class T> UST_INLINE T __ldcg(const T* p) { return *p; }
template <class T> UST_INLINE T __ldca(const T* p) { return *p; }
template <class T> UST_INLINE void __stcs(T* p, T v) { *p = v; }
template <class T> UST_INLINE void __stcg(T* p, T v) { *p = v; }
UST_INLINE void __threadfence() {}
UST_INLINE void __threadfence_block() {}
UST_INLINE void __threadfence_system() {}
UST_INLINE void __nanosleep(unsigned) {}
UST_INLINE long long clock64() { return 0; }
UST_INLINE void __trap() { ust_trap("the kernel ran into __trap()"); }
#define assert(c) ((c) ? (void)0 : ust_trap("an assertion failed: " #c))
#define __builtin_assume(c) ((void)0)

#define UST_ATOMIC(NAME, T, NEW) UST_PLAIN __attribute__((noinline, unused)) static T NAME(T* p, T v) { \
  ust_atomic(p, sizeof(T), __builtin_return_address(0)); T old = *p; *p = (NEW); return old; }
#define UST_EACH_WORD(M) M(int) M(unsigned) M(unsigned long long)
#define UST_ADD(T) UST_ATOMIC(atomicAdd, T, (T)(old + v))
UST_EACH_WORD(UST_ADD) UST_ADD(float) UST_ADD(double)
#define UST_SUB(T) UST_ATOMIC(atomicSub, T, (T)(old - v))
UST_SUB(int) UST_SUB(unsigned)
#define UST_EXCH(T) UST_ATOMIC(atomicExch, T, v)
UST_EACH_WORD(UST_EXCH) UST_EXCH(float)
#define UST_LIMIT(T) UST_ATOMIC(atomicMin, T, v < old ? v : old) UST_ATOMIC(atomicMax, T, old < v ? v : old)
UST_EACH_WORD(UST_LIMIT) UST_LIMIT(long long)
#define UST_BIT(T) UST_ATOMIC(atomicAnd, T, old & v) UST_ATOMIC(atomicOr, T, old | v) UST_ATOMIC(atomicXor, T, old ^ v)
UST_EACH_WORD(UST_BIT)
UST_ATOMIC(atomicInc, unsigned, old >= v ? 0 : old + 1)
UST_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
#define UST_CAS(T) UST_PLAIN __attribute__((noinline, unused)) static T atomicCAS(T* p, T c, T v) { \
  ust_atomic(p, sizeof(T), __builtin_return_address(0)); T old = *p; if (old == c) *p = v; return old; }
UST_EACH_WORD(UST_CAS) UST_CAS(unsigned short)

// Lanes and blocks.
UST_INLINE void __syncthreads() { ust_meet_block(0); }
UST_INLINE int __syncthreads_count(int p) { return (int)ust_meet_block(p); }
UST_INLINE int __syncthreads_or(int p) { return ust_meet_block(p) != 0; }
UST_INLINE int __syncthreads_and(int p) { return ust_meet_block(!p) == 0; }
UST_INLINE void __syncwarp(unsigned mask = ~0u) { ust_meet_warp(mask, 0, 0, 0); }
// Whether threads exist is not known here: a lane is sure of itself alone.
UST_INLINE unsigned __activemask() { return 1u << ust_lane(); }
UST_INLINE unsigned __lanemask_lt() { return (1u << ust_lane()) - 1; }
template <class T> UST_INLINE T ust_shuffle(unsigned mask, T v, int from) {
  unsigned long long bits = 0; __builtin_memcpy(&bits, &v, sizeof v);
  bits = ust_meet_warp(mask, 1, bits, from); __builtin_memcpy(&v, &bits, sizeof v); return v; }
UST_INLINE int ust_within(int from, bool there) { return there ? from : (int)ust_lane(); }
#define UST_EACH(M) M(int) M(unsigned) M(long) M(unsigned long) M(long long) M(unsigned long long) M(float) M(double)
#define UST_SHUFFLES(T) \
  UST_INLINE T __shfl_sync(unsigned m, T v, int k, int w = 32) { int l = (int)ust_lane(); return ust_shuffle(m, v, (l & ~(w - 1)) | (k & (w - 1))); } \
  UST_INLINE T __shfl_xor_sync(unsigned m, T v, int k, int w = 32) { int l = (int)ust_lane(), s = l ^ k; return ust_shuffle(m, v, ust_within(s, s < (l & ~(w - 1)) + w)); } \
  UST_INLINE T __shfl_down_sync(unsigned m, T v, unsigned k, int w = 32) { int l = (int)ust_lane(); return ust_shuffle(m, v, ust_within(l + (int)k, (l & (w - 1)) + (int)k < w)); } \
  UST_INLINE T __shfl_up_sync(unsigned m, T v, unsigned k, int w = 32) { int l = (int)ust_lane(); return ust_shuffle(m, v, ust_within(l - (int)k, (l & (w - 1)) >= (int)k)); }
UST_EACH(UST_SHUFFLES)
UST_INLINE unsigned __ballot_sync(unsigned m, int p) { return (unsigned)ust_meet_warp(m, 2, p != 0, 0); }
UST_INLINE int __any_sync(unsigned m, int p) { return __ballot_sync(m, p) != 0; }
UST_INLINE int __all_sync(unsigned m, int p) { return __ballot_sync(m, !p) == 0; }
UST_INLINE unsigned __match_any_sync(unsigned m, unsigned v) {
  unsigned r = 0; for (int l = 0; l < 32; l++) if (m >> l & 1) r |= (unsigned)(ust_shuffle(m, v, l) == v) << l; return r; }
UST_INLINE unsigned __reduce_add_sync(unsigned m, unsigned v) { return (unsigned)ust_meet_warp(m, 3, v, 0); }
UST_INLINE int __reduce_add_sync(unsigned m, int v) { return (int)ust_meet_warp(m, 3, (unsigned long long)(long long)v, 0); }
UST_INLINE unsigned __reduce_min_sync(unsigned m, unsigned v) { return (unsigned)ust_meet_warp(m, 4, v, 0); }
UST_INLINE int __reduce_min_sync(unsigned m, int v) { return (int)ust_meet_warp(m, 4, (unsigned long long)(long long)v, 0); }
UST_INLINE unsigned __reduce_max_sync(unsigned m, unsigned v) { return (unsigned)ust_meet_warp(m, 5, v, 0); }
UST_INLINE int __reduce_max_sync(unsigned m, int v) { return (int)ust_meet_warp(m, 5, (unsigned long long)(long long)v, 0); }
UST_INLINE unsigned __reduce_and_sync(unsigned m, unsigned v) { return (unsigned)ust_meet_warp(m, 6, v, 0); }
UST_INLINE unsigned __reduce_or_sync(unsigned m, unsigned v) { return (unsigned)ust_meet_warp(m, 7, v, 0); }
UST_INLINE unsigned __reduce_xor_sync(unsigned m, unsigned v) { return (unsigned)ust_meet_warp(m, 8, v, 0); }

// How the virtual device calls a kernel: `ust_kernel_NAME`, made by the line `UST_KERNEL(NAME, most)`
// behind the text.
struct ust_kernel { void (*call)(void**); unsigned count; const unsigned* sizes; unsigned most; };
template <unsigned... I> struct ust_indices {};
template <unsigned N, unsigned... I> struct ust_upto : ust_upto<N - 1, N - 1, I...> {};
template <unsigned... I> struct ust_upto<0, I...> { typedef ust_indices<I...> type; };
template <class F> struct ust_signature;
template <class... A> struct ust_signature<void (*)(A...)> {
  static constexpr unsigned count = sizeof...(A);
  static const unsigned sizes[sizeof...(A) + 1];
  template <void (*F)(A...), unsigned... I> UST_PLAIN static void unpack(void** p, ust_indices<I...>) { (void)p; F(*(A*)p[I]...); }
  template <void (*F)(A...)> UST_PLAIN static void call(void** p) { unpack<F>(p, typename ust_upto<sizeof...(A)>::type()); }
};
template <class... A> const unsigned ust_signature<void (*)(A...)>::sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
#define UST_KERNEL(NAME, MOST) extern "C" UST_SEEN const ust_kernel ust_kernel_##NAME = { \
  ust_signature<decltype(&NAME)>::call<&NAME>, ust_signature<decltype(&NAME)>::count, ust_signature<decltype(&NAME)>::sizes, MOST };
