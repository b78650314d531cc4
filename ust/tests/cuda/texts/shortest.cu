// parts of the outermost loop, lanes share inner loops
extern "C" __global__ void run(
    const i64 n_j,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ x_val,
    double* out,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts)
{
  const i64 lane = threadIdx.x % 32;
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const i64 workers = (i64)gridDim.x * blockDim.x / 32;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_j, part_hi);
    for (i64 j = first; j < last; ++j) {
      const double x_at = x_val[j];
      for (i64 p_i = (i64)A1_pos[j] + lane, end_p_i = A1_pos[j + 1]; p_i < end_p_i; p_i += 32) {
        const i64 i = A1_crd[p_i];
        const double A_at = A_val[p_i];
        ust_atomic_min(&out[i], (double)(A_at + x_at));
      }
    }
  }
}
