//! Kernels that the virtual device runs, and that NVRTC compiles.
#![allow(dead_code)]

pub(crate) const ADD: &str = r#"
extern "C" __global__ void k(float* z, const float* x, const float* y, long long n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}"#;

pub(crate) const SHUFFLES: &str = r#"
extern "C" __global__ void k(double* sums, const double* x) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  double v = x[t];
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  double first = __shfl_sync(0xffffffffu, v, 0, 8);
  unsigned odd = __ballot_sync(0xffffffffu, threadIdx.x & 1);
  int down = __shfl_down_sync(0xffffffffu, (int)threadIdx.x, 1);
  int up = __shfl_up_sync(0xffffffffu, (int)threadIdx.x, 1);
  int lane = threadIdx.x % 32, base = threadIdx.x - lane;
  bool fine = first == v && odd == 0xaaaaaaaau && down == (lane == 31 ? base + 31 : base + lane + 1)
           && up == (lane == 0 ? base : base + lane - 1)
           && __reduce_add_sync(0xffffffffu, lane) == 496 && __any_sync(0xffffffffu, lane == 3)
           && !__all_sync(0xffffffffu, lane == 3);
  if (lane == 0) sums[t / 32] = fine ? v : -1;
}"#;

pub(crate) const SHARED: &str = r#"
extern "C" __global__ void k(int* out, const int* x) {
  __shared__ int all[256];
  extern __shared__ int more[];
  int t = threadIdx.x;
  all[t] = x[blockIdx.x * 256 + t];
  more[t + 16000] = 2 * t;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (t < step) all[t] += all[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = all[0] + more[16255];
}"#;

pub(crate) const ATOMICS: &str = r#"
extern "C" __global__ void k(unsigned long long* count, float* sum, int* most, unsigned short* half) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(count, 1ull);
  atomicAdd(sum, 0.5f);
  atomicMax(most, t);
  unsigned short seen, old = *(volatile unsigned short*)half;
  do { seen = old; old = atomicCAS(half, seen, (unsigned short)(seen + 1)); } while (old != seen);
}"#;

pub(crate) const PRELUDE: &str = r#"
typedef long long i64;
template <class T> __device__ __forceinline__ T twice(T v) { return v + v; }
__constant__ float weights[3] = {1, 10, 100};
// ---- end of the prelude
extern "C" __global__ void __launch_bounds__(64) k(i64* out) {
  i64 t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  i64 b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * (i64)blockIdx.z);
  out[b * 24 + t] = twice(b * 24 + t) + (i64)weights[threadIdx.y];
}"#;

pub(crate) const MATHEMATICS: &str = r#"
extern "C" __global__ void k(double* out) {
  double s, c; sincos(0.5, &s, &c);
  float4 v = make_float4(1, 2, 3, 4);
  int i = 0;
  out[i++] = erf(erfinv(0.3)); out[i++] = erf((double)erfinvf(0.9f)); out[i++] = s * s + c * c;
  out[i++] = fma(2.0, 3.0, 1.0); out[i++] = rsqrtf(4.0f); out[i++] = copysign(3.0, -0.0);
  out[i++] = signbit(-0.0f); out[i++] = hypot(3.0, 4.0); out[i++] = fmin(1.0, 2.0) + max(3, 4);
  out[i++] = __popc(0xffu) + __popcll(~0ull) + __clz(1) + __clzll(1) + __ffs(8);
  out[i++] = __brev(1) == 0x80000000u && __umulhi(~0u, 2u) == 1 && __umul64hi(~0ull, 2ull) == 1;
  out[i++] = __uint_as_float(__float_as_uint(1.5f)) + __longlong_as_double(__double_as_longlong(2.0));
  out[i++] = v.w + sizeof(double2) + alignof(float4);
  out[i++] = isnan(0.0 / 0.0) && isinf(1e308 * 10);
}"#;

/// Every word that the virtual device knows.
pub(crate) const WORDS: &str = r#"
struct __align__(8) pair { float a, b; };
template <class T> __device__ __noinline__ T keep(T v) { return v; }
extern "C" __global__ void k(double* out, int* i, unsigned* u, unsigned long long* l, float* f, const float4* v) {
  int t = threadIdx.x + threadIdx.y * blockDim.x + threadIdx.z * warpSize;
  unsigned all = 0xffffffffu;
  double d = 0;
  if (t == 0) {
    atomicAdd(i, 1); atomicAdd(u, 1u); atomicAdd(l, 1ull); atomicAdd(f, 1.0f); atomicAdd(out, 1.0);
    atomicSub(i, 1); atomicSub(u, 1u); atomicExch(i, 2); atomicExch(u, 2u); atomicExch(l, 2ull); atomicExch(f, 2.0f);
    atomicMin(i, 1); atomicMin(u, 1u); atomicMin(l, 1ull); atomicMin((long long*)l, 1ll);
    atomicMax(i, 7); atomicMax(u, 7u); atomicMax(l, 7ull); atomicMax((long long*)l, 7ll);
    atomicAnd(i, 6); atomicAnd(u, 6u); atomicAnd(l, 6ull); atomicOr(i, 8); atomicOr(u, 8u); atomicOr(l, 8ull);
    atomicXor(i, 1); atomicXor(u, 1u); atomicXor(l, 1ull); atomicInc(u, 100u); atomicDec(u, 100u);
    atomicCAS(i, 15, 3); atomicCAS(u, 15u, 3u); atomicCAS(l, 15ull, 3ull); atomicCAS((unsigned short*)(u + 1), (unsigned short)0, (unsigned short)4);
    d = i[0] + u[0] + (double)l[0] + f[0] + u[1];
  }
  __syncwarp(); __syncthreads(); __threadfence(); __threadfence_block(); __threadfence_system();
  int votes = __syncthreads_count(t < 3) * 100 + __syncthreads_or(t == 5) * 10 + __syncthreads_and(t < 40);
  unsigned m = __ballot_sync(all, t & 1) + __activemask() * 0;
  int any = __any_sync(all, t == 3) + __all_sync(all, t < 32);
  unsigned same = __match_any_sync(all, (unsigned)t / 16);
  unsigned sums = __reduce_add_sync(all, 1u) + __reduce_min_sync(all, 3u) + __reduce_max_sync(all, (unsigned)t)
    + __reduce_and_sync(all, 6u) + __reduce_or_sync(all, (unsigned)t) + __reduce_xor_sync(all, (unsigned)t);
  int more = __reduce_add_sync(all, -1) + __reduce_min_sync(all, -t) + __reduce_max_sync(all, t);
  long long wide = __shfl_sync(all, 1ll << 40, 3) + __shfl_xor_sync(all, (unsigned long long)t, 1) + __shfl_up_sync(all, 1l, 1)
    + (long long)__shfl_down_sync(all, 1.5f, 1, 16) + (long long)__shfl_xor_sync(all, 2.5, 2);
  if (t != 0) return;
  float4 q = __ldg(v); float2 p = make_float2(q.x, q.y); double2 dd = make_double2(1, 2);
  int2 i2 = make_int2(1, 2); int4 i4 = make_int4(1, 2, 3, 4); uint2 u2 = make_uint2(1, 2); uint4 u4 = make_uint4(1, 2, 3, 4);
  longlong2 l2 = make_longlong2(1, 2); ulonglong2 ul2 = make_ulonglong2(1, 2);
  uchar4 c4 = make_uchar4(1, 2, 3, 4); short2 s2 = make_short2(1, 2); ushort4 us4 = make_ushort4(1, 2, 3, 4);
  pair both; both.a = 1; both.b = 2; dim3 g = gridDim; uint3 b = blockIdx;
  d += p.x + dd.y + i2.x + i4.w + u2.y + u4.w + (double)l2.x + (double)ul2.y + c4.w + s2.y + us4.z + both.b + g.x + b.x;
  d += __ldcs(f) + __ldcg(f) + __ldca(f) + min(1, 2) + max(1u, 2u) + min(1ll, 2ll) + max(1ull, 2ull) + min(1.0f, 2.0f) + max(1.0, 2.0);
  d += __float_as_int(0.0f) + __int_as_float(0) + __hiloint2double(0, 0) + __double2hiint(0.0) + __double2loint(0.0) + __ffsll(4) + (double)__brevll(0)
    + __mulhi(1 << 30, 8) + (double)__mul64hi(1ll << 62, 4) + __funnelshift_l(1u, 0u, 4) + __funnelshift_r(16u, 0u, 4) + __byte_perm(0x01020304u, 0u, 0x0123u) * 1e-9;
  d += rsqrt(4.0) + rcbrt(8.0) + rcbrtf(8.0f) + __fmaf_rn(1, 2, 3) + __fma_rn(1, 2, 3) + __fadd_rn(1, 2) + __fmul_rn(1, 2) + __fdiv_rn(1, 2) + __fsqrt_rn(4)
    + __dadd_rn(1, 2) + __dmul_rn(1, 2) + __ddiv_rn(1, 2) + __dsqrt_rn(4) + __saturatef(2) + __fdividef(1, 2) + __expf(0) + __logf(1) + __sinf(0) + __cosf(0) + __powf(2, 1);
  double s, c; sincospi(0.5, &s, &c); d += s + normcdf(0.0) + normcdff(0.0f);
  d += expm1(0.0) + log1p(0.0) + cbrt(8.0) + exp2(1.0) + log2(2.0) + log10(10.0) + tgamma(3.0) + lgamma(1.0) + fmod(5.0, 3.0) + remainder(5.0, 3.0) + rint(1.4)
    + trunc(1.6) + round(1.5) + floor(1.5) + ceil(1.5) + fdim(3.0, 1.0) + nextafter(0.0, 1.0) + ldexp(1.0, 2) + ilogb(8.0) + logb(8.0) + erfc(0.0) + atan2(0.0, 1.0) + isfinite(1.0)
    + fabsf(-1) + sqrtf(4) + expf(0) + logf(1) + powf(2, 2) + fmaf(1, 2, 3) + copysignf(1, -1) + hypotf(3, 4) + tanhf(0) + asinhf(0) + acoshf(1) + atanhf(0) + fminf(1, 2) + fmaxf(1, 2) + abs(-2) + fabs(-2.0);
  clock64(); __nanosleep(1); assert(d == d); memset(f, 0, 4); memcpy(f, &p, 4); __stcs(f, 1.0f); __stcg(f, 1.0f);
  if (d != d) __trap();
  out[1] = keep(d); out[2] = votes; out[3] = m; out[4] = any; out[5] = same; out[6] = sums; out[7] = more; out[8] = (double)(wide >> 40);
}"#;

/// All of them.
pub(crate) const ALL: [&str; 7] = [ADD, SHUFFLES, SHARED, ATOMICS, PRELUDE, MATHEMATICS, WORDS];
