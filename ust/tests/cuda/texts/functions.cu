// parts of the outermost loop, lanes share inner loops
// x in `(i) -> (i : dense)`, complex64
// the result in `(i) -> (i : dense)`, complex64

// Writes the result.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of x
//   x_val: complex64, values of x: one for each position of its last level
//   out: complex64, values of the result, by position: all are set
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
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
