// parts of the outermost loop, 4 iterations as one, lanes share inner loops, 4 elements side by side each
// A in `(i, j) -> (i : dense, j : dense)`, f32
// B in `(i, j) -> (i : dense, j : dense)`, f32
// the result in `(i, j) -> (i : dense, j : dense)`, f32

// Writes the result.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_k: extent of dimension 1 of B, a multiple of 4
//   n_j: extent of dimension 1 of A
//   A_val: f32, values of A: one for each position of its last level
//   B_val: f32, values of B: one for each position of its last level; its address is a multiple of
//     16
//   out: f32, values of the result, by position: all are 0 before; its address is a multiple of 16
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_i,
    const i64 n_k,
    const i64 n_j,
    const float* __restrict__ A_val,
    const float* __restrict__ B_val,
    float* __restrict__ out,
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
    const i64 step = ust_floordiv(last - first + 3, 4ll);
    for (i64 i = first, end_i = first + step; i < end_i; ++i) {
      const bool has_i_1 = i + step < last;
      const i64 i_1 = ust_minimum(i + step, last - 1);
      const bool has_i_2 = i + step * 2 < last;
      const i64 i_2 = ust_minimum(i + step * 2, last - 1);
      const bool has_i_3 = i + step * 3 < last;
      const i64 i_3 = ust_minimum(i + step * 3, last - 1);
      __syncwarp(lanes);
      for (i64 k = 0 + lane, end_k = ust_floordiv(n_k, 4ll); k < end_k; k += 32) {
        float sum = 0.0f;
        float sum_1_31 = 0.0f;
        float sum_2_32 = 0.0f;
        float sum_3_33 = 0.0f;
        float sum_1 = 0.0f;
        float sum_1_1 = 0.0f;
        float sum_1_2 = 0.0f;
        float sum_1_3 = 0.0f;
        float sum_2 = 0.0f;
        float sum_2_1 = 0.0f;
        float sum_2_2 = 0.0f;
        float sum_2_3 = 0.0f;
        float sum_3 = 0.0f;
        float sum_3_1 = 0.0f;
        float sum_3_2 = 0.0f;
        float sum_3_3 = 0.0f;
        for (i64 j = 0; j < n_j; ++j) {
          const float A_at = A_val[i * n_j + j];
          const float A_at_1 = A_val[i_1 * n_j + j];
          const float A_at_2 = A_val[i_2 * n_j + j];
          const float A_at_3 = A_val[i_3 * n_j + j];
          float B_at, B_at_1, B_at_2, B_at_3;
          ust_load(&B_val[j * n_k + k * 4], B_at, B_at_1, B_at_2, B_at_3);
          sum += A_at * B_at;
          sum_1_31 += A_at * B_at_1;
          sum_2_32 += A_at * B_at_2;
          sum_3_33 += A_at * B_at_3;
          sum_1 += A_at_1 * B_at;
          sum_1_1 += A_at_1 * B_at_1;
          sum_1_2 += A_at_1 * B_at_2;
          sum_1_3 += A_at_1 * B_at_3;
          sum_2 += A_at_2 * B_at;
          sum_2_1 += A_at_2 * B_at_1;
          sum_2_2 += A_at_2 * B_at_2;
          sum_2_3 += A_at_2 * B_at_3;
          sum_3 += A_at_3 * B_at;
          sum_3_1 += A_at_3 * B_at_1;
          sum_3_2 += A_at_3 * B_at_2;
          sum_3_3 += A_at_3 * B_at_3;
        }
        ust_store(&out[i * n_k + k * 4], sum, sum_1_31, sum_2_32, sum_3_33);
        if (has_i_1) {
          ust_store(&out[(i + step) * n_k + k * 4], sum_1, sum_1_1, sum_1_2, sum_1_3);
        }
        if (has_i_2) {
          ust_store(&out[(i + step * 2) * n_k + k * 4], sum_2, sum_2_1, sum_2_2, sum_2_3);
        }
        if (has_i_3) {
          ust_store(&out[(i + step * 3) * n_k + k * 4], sum_3, sum_3_1, sum_3_2, sum_3_3);
        }
      }
      __syncwarp(lanes);
    }
  }
}
