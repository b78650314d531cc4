// parts of the outermost loop, lanes share inner loops
// A in `(i, j) -> (i : compressed(nonunique), j : singleton)`, f64
// B in `(i, j) -> (i : dense, j : dense)`, f64
// the result in `(i, k) -> (i : dense, k : dense)`, f64

// Stores the range that parts cut. One thread runs it.
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed(nonunique)`): 2 elements
//   stored_values: i64, 2 elements: the beginning and the end of the range
extern "C" __global__ void bounds(
    const u32* __restrict__ A0_pos,
    i64* __restrict__ stored_values)
{
  stored_values[0] = (i64)A0_pos[0];
  stored_values[1] = ust_maximum((i64)A0_pos[1], (i64)A0_pos[0]);
}

// Writes the result.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_k: extent of dimension 1 of B
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed(nonunique)`): 2 elements
//   A0_crd: u32, `crd` of level 0 of A (`i : compressed(nonunique)`): one for each position of the
//     level
//   A1_crd: u32, `crd` of level 1 of A (`j : singleton`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   B_val: f64, values of B: one for each position of its last level
//   out: f64, values of the result, by position: all are 0 before
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_k,
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ A0_crd,
    const u32* __restrict__ A1_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ B_val,
    double* __restrict__ out,
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
    const i64 begin = A0_pos[0];
    const i64 end = A0_pos[1];
    const i64 first = ust_maximum(begin, part_lo);
    const i64 last = ust_minimum(end, part_hi);
    i64 bound = first;
    while (begin < bound && bound < end ? (i64)A0_crd[bound] == (i64)A0_crd[bound - 1] : false) {
      bound += 1;
    }
    i64 bound_2 = last;
    while (begin < bound_2 && bound_2 < end ? (i64)A0_crd[bound_2] == (i64)A0_crd[bound_2 - 1] : false) {
      bound_2 += 1;
    }
    for (i64 p_i = bound, end_p_i = (bound_2); p_i < end_p_i; ++p_i) {
      const i64 i = A0_crd[p_i];
      const i64 p_j = p_i;
      const i64 j = A1_crd[p_j];
      const double A_at = A_val[p_j];
      for (i64 k = 0 + lane; k < n_k; k += 32) {
        const double B_at = B_val[j * n_k + k];
        out[i * n_k + k] += A_at * B_at;
      }
    }
  }
}
