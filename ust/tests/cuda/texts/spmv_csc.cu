// parts of the outermost loop, lanes share inner loops
// A in `(i, j) -> (j : dense, i : compressed)`, f64
// x in `(i) -> (i : dense)`, f64
// the result in `(i) -> (i : dense)`, f64

// Writes the result.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_j: extent of dimension 1 of A
//   A1_pos: u32, `pos` of level 1 of A (`i : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`i : compressed`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   x_val: f64, values of x: one for each position of its last level
//   out: f64, values of the result, by position: all are 0 before
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_j
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
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
        ust_atomic_add(&out[i], (double)(A_at * x_at));
      }
    }
  }
}
