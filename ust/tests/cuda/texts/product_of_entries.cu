// parts of the outermost loop, lanes share inner loops
// A in `(i) -> (i : dense)`, f64
// the result in `() -> ()`, f64

// Writes the result.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_p: extent of dimension 0 of A
//   A_val: f64, values of A: one for each position of its last level
//   out: f64, values of the result, by position: all are 1 before
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_p
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_p,
    const double* __restrict__ A_val,
    double* out,
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
    double sum = 1.0;
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_p, part_hi);
    const double all_sum = sum;
    sum = 1.0;
    for (i64 p = first + lane; p < last; p += 32) {
      const double A_at = A_val[p];
      sum *= A_at + 1.0;
    }
    sum = ust_lanes_mul(sum, 32, lanes);
    sum = all_sum * sum;
    if (lane == 0) ust_atomic_mul(&out[0], (double)(sum));
  }
}
