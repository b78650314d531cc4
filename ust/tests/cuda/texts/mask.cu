// parts of the outermost loop
// A in `(i, j) -> (i : dense, j : compressed)`, f64
// M in `(i, j) -> (i : dense, j : compressed)`, bool
// the result in `(i, j) -> (i : dense, j : compressed)`, f64

// Counts the rows of each part. Then `offsets` are made of `counts`: the sum of those before each
// part. The sum of all is the number of rows, for which `fill` needs room.
// A worker is a thread, and runs every `workers`-th part. Launch any number of workers, in blocks
// of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   M1_pos: u32, `pos` of level 1 of M (`j : compressed`): one for each position of level 0, and
//     one more
//   M1_crd: u32, `crd` of level 1 of M (`j : compressed`): one for each position of the level
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   counts: i64, the number of rows of each part, which the kernel stores
extern "C" __global__ void count(
    const i64 n_i,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ M1_pos,
    const u32* __restrict__ M1_crd,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    i64* __restrict__ counts)
{
  const i64 worker = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const i64 workers = (i64)gridDim.x * blockDim.x;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64 rows[2] = {0, 0};
    i64 row = rows[0];
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_i, part_hi);
    for (i64 i = first; i < last; ++i) {
      const i64 end = A1_pos[i + 1];
      const i64 end_2 = M1_pos[i + 1];
      i64 p_j = A1_pos[i];
      i64 p_j_2 = M1_pos[i];
      while (p_j_2 < end_2) {
        const i64 j_A = p_j < end ? (i64)A1_crd[p_j] : 9223372036854775807ll;
        const i64 j_M = M1_crd[p_j_2];
        const i64 j = ust_minimum(j_A, j_M);
        const bool mine = j_A == j;
        const bool mine_2 = j_M == j;
        if (mine && mine_2) {
          row += 1;
        } else {
          if (mine_2) {
            row += 1;
          }
        }
        p_j += mine ? 1 : 0;
        p_j_2 += mine_2 ? 1 : 0;
      }
    }
    rows[0] = row;
    counts[part] = rows[0];
  }
}

// Writes the rows of the result, after `count`.
// A worker is a thread, and runs every `workers`-th part. Launch any number of workers, in blocks
// of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   M1_pos: u32, `pos` of level 1 of M (`j : compressed`): one for each position of level 0, and
//     one more
//   M1_crd: u32, `crd` of level 1 of M (`j : compressed`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   M_val: bool, values of M: one for each position of its last level
//   out: f64, values of the rows of the result: one for each row; all are 0 before
//   out1_crd: u32, coordinates at level 1 of the result (`j : compressed`): one for each row
//   all_row_starts: i64, number of the first row of each coordinate of level 0 of the result (`i :
//     dense`); coordinates beyond the range have no rows, and are not set
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   offsets: i64, the number of rows in the parts before each part
extern "C" __global__ void fill(
    const i64 n_i,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ M1_pos,
    const u32* __restrict__ M1_crd,
    const double* __restrict__ A_val,
    const bool* __restrict__ M_val,
    double* __restrict__ out,
    u32* __restrict__ out1_crd,
    i64* __restrict__ all_row_starts,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    const i64* __restrict__ offsets)
{
  const i64 worker = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const i64 workers = (i64)gridDim.x * blockDim.x;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64* const row_starts = all_row_starts + (part_lo - range_lo);
    i64 rows[2] = {offsets[part], 0};
    i64 row = rows[0];
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_i, part_hi);
    for (i64 i = first; i < last; ++i) {
      row_starts[i - first] = row;
      const i64 end = A1_pos[i + 1];
      const i64 end_2 = M1_pos[i + 1];
      i64 p_j = A1_pos[i];
      i64 p_j_2 = M1_pos[i];
      while (p_j_2 < end_2) {
        const i64 j_A = p_j < end ? (i64)A1_crd[p_j] : 9223372036854775807ll;
        const i64 j_M = M1_crd[p_j_2];
        const i64 j = ust_minimum(j_A, j_M);
        const bool mine = j_A == j;
        const bool mine_2 = j_M == j;
        if (mine && mine_2) {
          const bool M_at = M_val[p_j_2];
          const double A_at = A_val[p_j];
          out1_crd[row] = (u32)(j);
          out[row] = M_at != false ? A_at + 1.0 : 0.0;
          row += 1;
        } else {
          if (mine_2) {
            const bool M_at_2 = M_val[p_j_2];
            out1_crd[row] = (u32)(j);
            out[row] = M_at_2 != false ? 1.0 : 0.0;
            row += 1;
          }
        }
        p_j += mine ? 1 : 0;
        p_j_2 += mine_2 ? 1 : 0;
      }
    }
    rows[0] = row;
  }
}
