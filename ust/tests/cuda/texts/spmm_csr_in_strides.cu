// parts of the outermost loop, lanes share inner loops, 4 elements apart each
// A in `(i, j) -> (i : dense, j : compressed)`, f32
// B in `(i, j) -> (i : dense, j : dense)`, f32
// the result in `(i, k) -> (i : dense, k : dense)`, f32

// Writes the result.
// A worker is 8 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_k: extent of dimension 1 of B
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   A_val: f32, values of A: one for each position of its last level
//   B_val: f32, values of B: one for each position of its last level; at most 2^32 elements
//   out: f32, values of the result, by position: all are 0 before
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_i,
    const i64 n_k,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const float* __restrict__ A_val,
    const float* __restrict__ B_val,
    float* __restrict__ out,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts)
{
  const i64 lane = threadIdx.x % 8;
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 8;
  const i64 workers = (i64)gridDim.x * blockDim.x / 8;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_i, part_hi);
    for (i64 i = first; i < last; ++i) {
      const i64 step = ust_floordiv(n_k + 3, 4ll);
      for (i64 k = 0 + lane; k < step; k += 8) {
        const bool has_k_1 = k + step < n_k;
        const i64 k_1 = ust_minimum(k + step, n_k - 1);
        const bool has_k_2 = k + step * 2 < n_k;
        const i64 k_2 = ust_minimum(k + step * 2, n_k - 1);
        const bool has_k_3 = k + step * 3 < n_k;
        const i64 k_3 = ust_minimum(k + step * 3, n_k - 1);
        float sum = 0.0f;
        float sum_1 = 0.0f;
        float sum_2 = 0.0f;
        float sum_3 = 0.0f;
        for (i64 p_j = A1_pos[i], end_p_j = A1_pos[i + 1]; p_j < end_p_j; ++p_j) {
          const i64 j = A1_crd[p_j];
          const float A_at = A_val[p_j];
          const float B_at = B_val[(u32)j * (u32)n_k + (u32)k];
          const float B_at_1 = B_val[(u32)j * (u32)n_k + (u32)k_1];
          const float B_at_2 = B_val[(u32)j * (u32)n_k + (u32)k_2];
          const float B_at_3 = B_val[(u32)j * (u32)n_k + (u32)k_3];
          sum += A_at * B_at;
          sum_1 += A_at * B_at_1;
          sum_2 += A_at * B_at_2;
          sum_3 += A_at * B_at_3;
        }
        out[i * n_k + k] = sum;
        if (has_k_1) {
          out[i * n_k + (k + step)] = sum_1;
        }
        if (has_k_2) {
          out[i * n_k + (k + step * 2)] = sum_2;
        }
        if (has_k_3) {
          out[i * n_k + (k + step * 3)] = sum_3;
        }
      }
    }
  }
}
