// parts of the outermost loop, lanes share inner loops, 4 elements side by side each
// A in `(i, j) -> (i : compressed, j : compressed)`, f64
// B in `(i, j) -> (i : dense, j : dense)`, f64
// the result in `(i, k) -> (i : dense, k : dense)`, f64

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
//   n_k: extent of dimension 1 of B, a multiple of 4
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed`): 2 elements
//   A0_crd: u32, `crd` of level 0 of A (`i : compressed`): one for each position of the level
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   B_val: f64, values of B: one for each position of its last level; its address is a multiple of
//     16; at most 2^32 elements
//   out: f64, values of the result, by position: all are 0 before; its address is a multiple of 16
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_k,
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ A0_crd,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ B_val,
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
      for (i64 k = 0 + lane, end_k = ust_floordiv(n_k, 4ll); k < end_k; k += 8) {
        double sum = 0.0;
        double sum_1 = 0.0;
        double sum_2 = 0.0;
        double sum_3 = 0.0;
        for (i64 p_j = A1_pos[p_i], end_p_j = A1_pos[p_i + 1]; p_j < end_p_j; ++p_j) {
          const i64 j = A1_crd[p_j];
          const double A_at = A_val[p_j];
          double B_at, B_at_1, B_at_2, B_at_3;
          ust_load(&B_val[(u32)j * (u32)n_k + (u32)k * 4u], B_at, B_at_1, B_at_2, B_at_3);
          sum += A_at * B_at;
          sum_1 += A_at * B_at_1;
          sum_2 += A_at * B_at_2;
          sum_3 += A_at * B_at_3;
        }
        ust_store(&out[i * n_k + k * 4], sum, sum_1, sum_2, sum_3);
      }
    }
  }
}
