// parts of the outermost loop, lanes share inner loops
extern "C" __global__ void bounds(
    const u32* __restrict__ A0_pos,
    i64* __restrict__ stored_values)
{
  stored_values[0] = (i64)A0_pos[0];
  stored_values[1] = ust_maximum((i64)A0_pos[1], (i64)A0_pos[0]);
}

extern "C" __global__ void run(
    const i64 n_i,
    const i64 n_j,
    const u32* __restrict__ A0_pos,
    const i32* __restrict__ A0_crd,
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
    const i64 first = ust_maximum((i64)A0_pos[0], part_lo);
    const i64 last = ust_minimum((i64)A0_pos[1], part_hi);
    for (i64 p_c = first; p_c < last; ++p_c) {
      const i64 c = A0_crd[p_c];
      for (i64 i = (ust_maximum(0ll, 0 - c)) + lane, end_i = ust_minimum(n_i, n_j - c); i < end_i; i += 32) {
        const i64 pos = p_c * n_i + i;
        const i64 j = c + i;
        const double A_at = A_val[pos];
        const double x_at = x_val[j];
        ust_atomic_add(&out[i], (double)(A_at * x_at));
      }
    }
  }
}
