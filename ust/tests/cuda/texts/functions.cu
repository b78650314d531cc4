// parts of the outermost loop, lanes share inner loops
extern "C" __global__ void run(
    const i64 n_i,
    const c64* __restrict__ x_val,
    c64* __restrict__ out,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts)
{
  const i64 lane = threadIdx.x % 32;
  const u32 lanes = 0xffffffffu;
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const i64 workers = (i64)gridDim.x * blockDim.x / 32;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_i, part_hi);
    __syncwarp(lanes);
    for (i64 i = first + lane; i < last; i += 32) {
      const c64 x_at = x_val[i];
      out[i] = ust_exp(x_at) * ust_sqrt(x_at);
    }
    __syncwarp(lanes);
  }
}
