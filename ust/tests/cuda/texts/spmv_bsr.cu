// parts of the outermost loop, lanes share inner loops
// A in `(i, j) -> (i / 4 : dense, j / 4 : compressed, i % 4 : dense, j % 4 : dense)`, f32
// x in `(i) -> (i : dense)`, f32
// the result in `(i) -> (i : dense)`, f32

// Writes the result.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_j: extent of dimension 1 of A
//   size_0_0: number of coordinates of level 0 of A (`i / 4 : dense`)
//   A1_pos: u32, `pos` of level 1 of A (`j / 4 : compressed`): one for each position of level 0,
//     and one more
//   A1_crd: u32, `crd` of level 1 of A (`j / 4 : compressed`): one for each position of the level
//   A_val: f32, values of A: one for each position of its last level
//   x_val: f32, values of x: one for each position of its last level
//   out: f32, values of the result, by position: all are 0 before
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: min(size_0_0, (n_i + 3) floordiv 4)
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_i,
    const i64 n_j,
    const i64 size_0_0,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const float* __restrict__ A_val,
    const float* __restrict__ x_val,
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
    const i64 last = ust_minimum(ust_minimum(size_0_0, ust_floordiv(n_i + 3, 4ll)), part_hi);
    for (i64 c = first; c < last; ++c) {
      for (i64 p_c = A1_pos[c], end_p_c = A1_pos[c + 1]; p_c < end_p_c; ++p_c) {
        const i64 c_2 = A1_crd[p_c];
        const i64 rest = n_i - c * 4;
        if (4 <= rest) {
          for (i64 c_3 = 0; c_3 < 4; ++c_3) {
            const i64 pos = p_c * 4 + c_3;
            const i64 i = c * 4 + c_3;
            float sum = 0.0f;
            const i64 rest_2 = n_j - c_2 * 4;
            if (4 <= rest_2) {
              const float all_sum = sum;
              sum = 0.0f;
              for (i64 c_4 = 0 + lane; c_4 < 4; c_4 += 32) {
                const i64 pos_2 = pos * 4 + c_4;
                const i64 j = c_2 * 4 + c_4;
                const float A_at = A_val[pos_2];
                const float x_at = x_val[j];
                sum += A_at * x_at;
              }
              sum = ust_lanes_add(sum, 32, lanes);
              sum = all_sum + sum;
            } else {
              const float all_sum = sum;
              sum = 0.0f;
              for (i64 c_5 = 0 + lane; c_5 < rest_2; c_5 += 32) {
                const i64 pos_3 = pos * 4 + c_5;
                const i64 j_2 = c_2 * 4 + c_5;
                const float A_at_2 = A_val[pos_3];
                const float x_at_2 = x_val[j_2];
                sum += A_at_2 * x_at_2;
              }
              sum = ust_lanes_add(sum, 32, lanes);
              sum = all_sum + sum;
            }
            if (lane == 0) out[i] += sum;
          }
        } else {
          for (i64 c_6 = 0; c_6 < rest; ++c_6) {
            const i64 pos_4 = p_c * 4 + c_6;
            const i64 i_2 = c * 4 + c_6;
            float sum_2 = 0.0f;
            for (i64 c_7 = 0 + lane, end_c_7 = ust_minimum(4ll, n_j - c_2 * 4); c_7 < end_c_7; c_7 += 32) {
              const i64 pos_5 = pos_4 * 4 + c_7;
              const i64 j_3 = c_2 * 4 + c_7;
              const float A_at_3 = A_val[pos_5];
              const float x_at_3 = x_val[j_3];
              sum_2 += A_at_3 * x_at_3;
            }
            sum_2 = ust_lanes_add(sum_2, 32, lanes);
            if (lane == 0) out[i_2] += sum_2;
          }
        }
      }
    }
  }
}
