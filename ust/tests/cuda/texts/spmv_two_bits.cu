// parts of the outermost loop, lanes share inner loops
// A in `(i, j) -> (i : dense, j / 4 : dense, j % 4 : block2_4), crdWidth = 2`, f32
// x in `(i) -> (i : dense)`, f32
// the result in `(i) -> (i : dense)`, f32

// Writes the result.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_j: extent of dimension 1 of A
//   size_0_1: number of coordinates of level 1 of A (`j / 4 : dense`)
//   A2_crd: u2, 4 in a byte, `crd` of level 2 of A (`j % 4 : block2_4`): one for each position of
//     the level
//   A_val: f32, values of A: one for each position of its last level
//   x_val: f32, values of x: one for each position of its last level
//   out: f32, values of the result, by position: all are set
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_i,
    const i64 n_j,
    const i64 size_0_1,
    const u8* __restrict__ A2_crd,
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
    const i64 last = ust_minimum(n_i, part_hi);
    for (i64 i = first; i < last; ++i) {
      float sum = 0.0f;
      for (i64 c = 0 + lane, end_c = ust_minimum(size_0_1, ust_floordiv(n_j + 3, 4ll)); c < end_c; c += 32) {
        const i64 pos = i * size_0_1 + c;
        if (4 <= n_j - c * 4) {
          for (i64 p_c = pos * 2, end_p_c = (pos + 1) * 2; p_c < end_p_c; ++p_c) {
            const i64 c_2 = ust_two_bits(A2_crd, p_c);
            const i64 j = c * 4 + c_2;
            const float A_at = A_val[p_c];
            const float x_at = x_val[j];
            sum += A_at * x_at;
          }
        } else {
          for (i64 p_c_2 = pos * 2, end_p_c_2 = (pos + 1) * 2; p_c_2 < end_p_c_2; ++p_c_2) {
            const i64 c_3 = ust_two_bits(A2_crd, p_c_2);
            const i64 j_2 = c * 4 + c_3;
            if (0 <= j_2 && j_2 < n_j) {
              const float A_at_2 = A_val[p_c_2];
              const float x_at_2 = x_val[j_2];
              sum += A_at_2 * x_at_2;
            }
          }
        }
      }
      sum = ust_lanes_add(sum, 32, lanes);
      if (lane == 0) out[i] = sum;
    }
  }
}
