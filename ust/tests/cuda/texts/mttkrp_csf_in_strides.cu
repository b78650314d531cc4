// parts of the outermost loop, lanes share inner loops, 4 elements apart each
// A in `(i, j, k) -> (i : compressed, j : compressed, k : compressed)`, f64
// B in `(i, j) -> (i : dense, j : dense)`, f64
// D in `(i, j) -> (i : dense, j : dense)`, f64
// the result in `(i, r) -> (i : dense, r : dense)`, f64

// Stores the range that parts cut. One thread runs it.
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed`): 2 elements
//   stored_values: i64, 2 elements: the beginning and the end of the range
extern "C" __global__ void bounds(
    const u32* __restrict__ A0_pos,
    i64* __restrict__ stored_values)
{
  stored_values[0] = (i64)A0_pos[0];
  stored_values[1] = ust_maximum((i64)A0_pos[1], (i64)A0_pos[0]);
}

// Writes the result.
// A worker is 8 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_r: extent of dimension 1 of B
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed`): 2 elements
//   A0_crd: u32, `crd` of level 0 of A (`i : compressed`): one for each position of the level
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   A2_pos: u32, `pos` of level 2 of A (`k : compressed`): one for each position of level 1, and
//     one more
//   A2_crd: u32, `crd` of level 2 of A (`k : compressed`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   B_val: f64, values of B: one for each position of its last level
//   D_val: f64, values of D: one for each position of its last level; at most 2^32 elements
//   out: f64, values of the result, by position: all are 0 before
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_r,
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ A0_crd,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ A2_pos,
    const u32* __restrict__ A2_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ B_val,
    const double* __restrict__ D_val,
    double* __restrict__ out,
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
    const i64 first = ust_maximum((i64)A0_pos[0], part_lo);
    const i64 last = ust_minimum((i64)A0_pos[1], part_hi);
    for (i64 p_i = first; p_i < last; ++p_i) {
      const i64 i = A0_crd[p_i];
      const i64 step = ust_floordiv(n_r + 3, 4ll);
      for (i64 r = 0 + lane; r < step; r += 8) {
        const bool has_r_1 = r + step < n_r;
        const i64 r_1 = ust_minimum(r + step, n_r - 1);
        const bool has_r_2 = r + step * 2 < n_r;
        const i64 r_2 = ust_minimum(r + step * 2, n_r - 1);
        const bool has_r_3 = r + step * 3 < n_r;
        const i64 r_3 = ust_minimum(r + step * 3, n_r - 1);
        double sum = 0.0;
        double sum_1 = 0.0;
        double sum_2 = 0.0;
        double sum_3 = 0.0;
        for (i64 p_k = A1_pos[p_i], end_p_k = A1_pos[p_i + 1]; p_k < end_p_k; ++p_k) {
          const i64 k = A1_crd[p_k];
          for (i64 p_l = A2_pos[p_k], end_p_l = A2_pos[p_k + 1]; p_l < end_p_l; ++p_l) {
            const i64 l = A2_crd[p_l];
            const double A_at = A_val[p_l];
            const double B_at = B_val[k * n_r + r];
            const double B_at_1 = B_val[k * n_r + r_1];
            const double B_at_2 = B_val[k * n_r + r_2];
            const double B_at_3 = B_val[k * n_r + r_3];
            const double D_at = D_val[(u32)l * (u32)n_r + (u32)r];
            const double D_at_1 = D_val[(u32)l * (u32)n_r + (u32)r_1];
            const double D_at_2 = D_val[(u32)l * (u32)n_r + (u32)r_2];
            const double D_at_3 = D_val[(u32)l * (u32)n_r + (u32)r_3];
            sum += A_at * B_at * D_at;
            sum_1 += A_at * B_at_1 * D_at_1;
            sum_2 += A_at * B_at_2 * D_at_2;
            sum_3 += A_at * B_at_3 * D_at_3;
          }
        }
        out[i * n_r + r] = sum;
        if (has_r_1) {
          out[i * n_r + (r + step)] = sum_1;
        }
        if (has_r_2) {
          out[i * n_r + (r + step * 2)] = sum_2;
        }
        if (has_r_3) {
          out[i * n_r + (r + step * 3)] = sum_3;
        }
      }
    }
  }
}
