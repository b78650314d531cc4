// parts of the outermost loop
// A in `(i, j) -> (j - i : compressed, i : range)`, f64
// x in `(i) -> (i : dense)`, f64
// the result in `(i) -> (i : dense)`, f64

// Writes the result.
// A worker is a thread, and runs every `workers`-th part. Launch any number of workers, in blocks
// of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_j: extent of dimension 1 of A
//   A0_pos: u32, `pos` of level 0 of A (`j - i : compressed`): 2 elements
//   A0_crd: i32, `crd` of level 0 of A (`j - i : compressed`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   x_val: f64, values of x: one for each position of its last level
//   out: f64, values of the result, by position: all are 0 before
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_i,
    const i64 n_j,
    const u32* __restrict__ A0_pos,
    const i32* __restrict__ A0_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ x_val,
    double* __restrict__ out,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts)
{
  const i64 worker = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const i64 workers = (i64)gridDim.x * blockDim.x;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    for (i64 i = ust_maximum(0ll, part_lo), end_i = ust_minimum(n_i, part_hi); i < end_i; ++i) {
      double sum = 0.0;
      for (i64 p_c = A0_pos[0], end_p_c = A0_pos[1]; p_c < end_p_c; ++p_c) {
        const i64 c = A0_crd[p_c];
        if (ust_maximum(0ll, 0 - c) <= i && i < ust_minimum(n_i, n_j - c)) {
          const i64 pos = p_c * n_i + i;
          const i64 j = c + i;
          const double A_at = A_val[pos];
          const double x_at = x_val[j];
          sum += A_at * x_at;
        }
      }
      out[i] = sum;
    }
  }
}
