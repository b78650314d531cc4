// parts of the outermost loop, lanes share inner loops, 4 elements side by side each
// A in `(i, j) -> (i / 4 : dense, j / 4 : compressed, i % 4 : dense, j % 4 : dense)`, f32
// B in `(i, j) -> (i : dense, j : dense)`, f32
// the result in `(m, n) -> (m : dense, n : dense)`, f32

// Writes the result.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_m: extent of dimension 0 of A
//   n_n: extent of dimension 1 of B, a multiple of 4
//   n_o: extent of dimension 1 of A
//   size_0_0: number of coordinates of level 0 of A (`i / 4 : dense`)
//   A1_pos: u32, `pos` of level 1 of A (`j / 4 : compressed`): one for each position of level 0,
//     and one more
//   A1_crd: u32, `crd` of level 1 of A (`j / 4 : compressed`): one for each position of the level
//   A_val: f32, values of A: one for each position of its last level
//   B_val: f32, values of B: one for each position of its last level; its address is a multiple of
//     16
//   out: f32, values of the result, by position: all are 0 before; its address is a multiple of 16
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: min(size_0_0, (n_m + 3) floordiv 4)
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_m,
    const i64 n_n,
    const i64 n_o,
    const i64 size_0_0,
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
  const i64 lane = threadIdx.x % 32;
  const u32 lanes = 0xffffffffu;
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const i64 workers = (i64)gridDim.x * blockDim.x / 32;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(ust_minimum(size_0_0, ust_floordiv(n_m + 3, 4ll)), part_hi);
    for (i64 c = first; c < last; ++c) {
      const i64 rest = n_m - c * 4;
      const i64 step = ust_floordiv(ust_minimum(4ll, rest) + 3, 4ll);
      for (i64 c_6 = 0; c_6 < step; ++c_6) {
        const bool has_c_6_1 = c_6 + step < ust_minimum(4ll, rest);
        const i64 c_6_1 = ust_minimum(c_6 + step, ust_minimum(4ll, rest) - 1);
        const bool has_c_6_2 = c_6 + step * 2 < ust_minimum(4ll, rest);
        const i64 c_6_2 = ust_minimum(c_6 + step * 2, ust_minimum(4ll, rest) - 1);
        const bool has_c_6_3 = c_6 + step * 3 < ust_minimum(4ll, rest);
        const i64 c_6_3 = ust_minimum(c_6 + step * 3, ust_minimum(4ll, rest) - 1);
        const i64 m_2 = c * 4 + c_6;
        const i64 m_2_1 = c * 4 + c_6_1;
        const i64 m_2_2 = c * 4 + c_6_2;
        const i64 m_2_3 = c * 4 + c_6_3;
        __syncwarp(lanes);
        for (i64 n_3 = 0 + lane, end_n_3 = ust_floordiv(n_n, 4ll); n_3 < end_n_3; n_3 += 32) {
          float sum = 0.0f;
          float sum_1_64 = 0.0f;
          float sum_2_65 = 0.0f;
          float sum_3_66 = 0.0f;
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
          for (i64 p_c = A1_pos[c], end_p_c = A1_pos[c + 1]; p_c < end_p_c; ++p_c) {
            const i64 c_2 = A1_crd[p_c];
            const i64 pos_4 = p_c * 4 + c_6;
            const i64 pos_4_1 = p_c * 4 + c_6_1;
            const i64 pos_4_2 = p_c * 4 + c_6_2;
            const i64 pos_4_3 = p_c * 4 + c_6_3;
            for (i64 c_7 = 0, end_c_7 = ust_minimum(4ll, n_o - c_2 * 4); c_7 < end_c_7; ++c_7) {
              const i64 pos_5 = pos_4 * 4 + c_7;
              const i64 pos_5_1 = pos_4_1 * 4 + c_7;
              const i64 pos_5_2 = pos_4_2 * 4 + c_7;
              const i64 pos_5_3 = pos_4_3 * 4 + c_7;
              const i64 o_3 = c_2 * 4 + c_7;
              const float A_at_3 = A_val[pos_5];
              const float A_at_3_1 = A_val[pos_5_1];
              const float A_at_3_2 = A_val[pos_5_2];
              const float A_at_3_3 = A_val[pos_5_3];
              float B_at_3, B_at_3_1, B_at_3_2, B_at_3_3;
              ust_load(&B_val[o_3 * n_n + n_3 * 4], B_at_3, B_at_3_1, B_at_3_2, B_at_3_3);
              sum += A_at_3 * B_at_3;
              sum_1_64 += A_at_3 * B_at_3_1;
              sum_2_65 += A_at_3 * B_at_3_2;
              sum_3_66 += A_at_3 * B_at_3_3;
              sum_1 += A_at_3_1 * B_at_3;
              sum_1_1 += A_at_3_1 * B_at_3_1;
              sum_1_2 += A_at_3_1 * B_at_3_2;
              sum_1_3 += A_at_3_1 * B_at_3_3;
              sum_2 += A_at_3_2 * B_at_3;
              sum_2_1 += A_at_3_2 * B_at_3_1;
              sum_2_2 += A_at_3_2 * B_at_3_2;
              sum_2_3 += A_at_3_2 * B_at_3_3;
              sum_3 += A_at_3_3 * B_at_3;
              sum_3_1 += A_at_3_3 * B_at_3_1;
              sum_3_2 += A_at_3_3 * B_at_3_2;
              sum_3_3 += A_at_3_3 * B_at_3_3;
            }
          }
          ust_store(&out[m_2 * n_n + n_3 * 4], sum, sum_1_64, sum_2_65, sum_3_66);
          if (has_c_6_1) {
            ust_store(&out[m_2_1 * n_n + n_3 * 4], sum_1, sum_1_1, sum_1_2, sum_1_3);
          }
          if (has_c_6_2) {
            ust_store(&out[m_2_2 * n_n + n_3 * 4], sum_2, sum_2_1, sum_2_2, sum_2_3);
          }
          if (has_c_6_3) {
            ust_store(&out[m_2_3 * n_n + n_3 * 4], sum_3, sum_3_1, sum_3_2, sum_3_3);
          }
        }
        __syncwarp(lanes);
      }
    }
  }
}
