// parts of the outermost loop, lanes share inner loops
extern "C" __global__ void bounds(
    const u32* __restrict__ A0_pos,
    i64* __restrict__ stored_values)
{
  stored_values[0] = (i64)A0_pos[0];
  stored_values[1] = ust_maximum((i64)A0_pos[1], (i64)A0_pos[0]);
}

extern "C" __global__ void run(
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ A0_crd,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ x_val,
    double* __restrict__ out,
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
    const i64 first = ust_maximum((i64)A0_pos[0], part_lo);
    const i64 last = ust_minimum((i64)A0_pos[1], part_hi);
    for (i64 p_i = first; p_i < last; ++p_i) {
      const i64 i = A0_crd[p_i];
      double sum = 0.0;
      for (i64 p_j = (i64)A1_pos[p_i] + lane, end_p_j = A1_pos[p_i + 1]; p_j < end_p_j; p_j += 32) {
        const i64 j = A1_crd[p_j];
        const double A_at = A_val[p_j];
        const double x_at = x_val[j];
        sum += A_at * x_at;
      }
      sum = ust_lanes_add(sum, 32, lanes);
      if (lane == 0) out[i] = sum;
    }
  }
}
