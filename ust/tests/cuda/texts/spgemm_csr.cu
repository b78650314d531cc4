// parts of the outermost loop
// A in `(i, j) -> (i : dense, j : compressed)`, f64
// B in `(i, j) -> (i : dense, j : compressed)`, f64
// the result in `(i, j) -> (i : dense, j : compressed)`, f64

// Counts the rows of each part. Then `offsets` are made of `counts`: the sum of those before each
// part. The sum of all is the number of rows, for which `fill` needs room.
// A worker is a thread, and runs every `workers`-th part. Launch as many workers as there is
// working memory for, in blocks of one dimension, with a multiple of 32 threads in each, such as
// 256.
//   n_i: extent of dimension 0 of A
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   B1_pos: u32, `pos` of level 1 of B (`j : compressed`): one for each position of level 0, and
//     one more
//   B1_crd: u32, `crd` of level 1 of B (`j : compressed`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   B_val: f64, values of B: one for each position of its last level
//   all_row_val: f64, working memory of each worker, all 0 before
//   len_row_val: length of the working memory of each worker: one for each coordinate of level 1 of
//     the result (`j : compressed`)
//   all_row_mark: u32, working memory of each worker, all 0 before
//   len_row_mark: length of the working memory of each worker: one for each coordinate of level 1
//     of the result (`j : compressed`)
//   all_row_list: i64, working memory of each worker, of any values
//   len_row_list: length of the working memory of each worker: one for each coordinate of level 1
//     of the result (`j : compressed`)
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   counts: i64, the number of rows of each part, which the kernel stores
extern "C" __global__ void count(
    const i64 n_i,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ B1_pos,
    const u32* __restrict__ B1_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ B_val,
    double* __restrict__ all_row_val,
    const i64 len_row_val,
    u32* __restrict__ all_row_mark,
    const i64 len_row_mark,
    i64* __restrict__ all_row_list,
    const i64 len_row_list,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    i64* __restrict__ counts)
{
  const i64 worker = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const i64 workers = (i64)gridDim.x * blockDim.x;
  double* const row_val = all_row_val + worker * len_row_val;
  u32* const row_mark = all_row_mark + worker * len_row_mark;
  i64* const row_list = all_row_list + worker * len_row_list;
  i64 opened = 0;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64 rows[2] = {0, opened};
    i64 row = rows[0];
    i64 stamp = rows[1];
    i64 touched = 0;
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_i, part_hi);
    for (i64 i = first; i < last; ++i) {
      stamp += 1;
      touched = 0;
      for (i64 p_j = A1_pos[i], end_p_j = A1_pos[i + 1]; p_j < end_p_j; ++p_j) {
        const i64 j = A1_crd[p_j];
        const double A_at = A_val[p_j];
        for (i64 p_k = B1_pos[j], end_p_k = B1_pos[j + 1]; p_k < end_p_k; ++p_k) {
          const i64 k = B1_crd[p_k];
          const double B_at = B_val[p_k];
          if ((i64)row_mark[k] != stamp) {
            row_mark[k] = (u32)(stamp);
            row_list[touched] = k;
            touched += 1;
          }
          row_val[k] += A_at * B_at;
        }
      }
      ust_sort(row_list, 0, touched);
      for (i64 t = 0, end_t = (touched); t < end_t; ++t) {
        const i64 slot = row_list[t];
        row_val[slot] = 0.0;
      }
      row += touched;
    }
    rows[0] = row;
    rows[1] = stamp;
    counts[part] = rows[0];
    opened = rows[1];
  }
}

// Writes the rows of the result, after `count`.
// A worker is a thread, and runs every `workers`-th part. Launch as many workers as there is
// working memory for, in blocks of one dimension, with a multiple of 32 threads in each, such as
// 256.
//   n_i: extent of dimension 0 of A
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   B1_pos: u32, `pos` of level 1 of B (`j : compressed`): one for each position of level 0, and
//     one more
//   B1_crd: u32, `crd` of level 1 of B (`j : compressed`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   B_val: f64, values of B: one for each position of its last level
//   out: f64, values of the rows of the result: one for each row; all are 0 before
//   out1_crd: u32, coordinates at level 1 of the result (`j : compressed`): one for each row
//   all_row_starts: i64, number of the first row of each coordinate of level 0 of the result (`i :
//     dense`); coordinates beyond the range have no rows, and are not set
//   all_row_val: f64, working memory of each worker, all 0 before
//   len_row_val: length of the working memory of each worker: one for each coordinate of level 1 of
//     the result (`j : compressed`)
//   all_row_mark: u32, working memory of each worker, all 0 before
//   len_row_mark: length of the working memory of each worker: one for each coordinate of level 1
//     of the result (`j : compressed`)
//   all_row_list: i64, working memory of each worker, of any values
//   len_row_list: length of the working memory of each worker: one for each coordinate of level 1
//     of the result (`j : compressed`)
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   offsets: i64, the number of rows in the parts before each part
extern "C" __global__ void fill(
    const i64 n_i,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ B1_pos,
    const u32* __restrict__ B1_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ B_val,
    double* __restrict__ out,
    u32* __restrict__ out1_crd,
    i64* __restrict__ all_row_starts,
    double* __restrict__ all_row_val,
    const i64 len_row_val,
    u32* __restrict__ all_row_mark,
    const i64 len_row_mark,
    i64* __restrict__ all_row_list,
    const i64 len_row_list,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    const i64* __restrict__ offsets)
{
  const i64 worker = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const i64 workers = (i64)gridDim.x * blockDim.x;
  double* const row_val = all_row_val + worker * len_row_val;
  u32* const row_mark = all_row_mark + worker * len_row_mark;
  i64* const row_list = all_row_list + worker * len_row_list;
  i64 opened = 0;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64* const row_starts = all_row_starts + (part_lo - range_lo);
    i64 rows[2] = {offsets[part], opened};
    i64 row = rows[0];
    i64 stamp = rows[1];
    i64 touched = 0;
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_i, part_hi);
    for (i64 i = first; i < last; ++i) {
      row_starts[i - first] = row;
      stamp += 1;
      touched = 0;
      for (i64 p_j = A1_pos[i], end_p_j = A1_pos[i + 1]; p_j < end_p_j; ++p_j) {
        const i64 j = A1_crd[p_j];
        const double A_at = A_val[p_j];
        for (i64 p_k = B1_pos[j], end_p_k = B1_pos[j + 1]; p_k < end_p_k; ++p_k) {
          const i64 k = B1_crd[p_k];
          const double B_at = B_val[p_k];
          if ((i64)row_mark[k] != stamp) {
            row_mark[k] = (u32)(stamp);
            row_list[touched] = k;
            touched += 1;
          }
          row_val[k] += A_at * B_at;
        }
      }
      ust_sort(row_list, 0, touched);
      for (i64 t = 0, end_t = (touched); t < end_t; ++t) {
        const i64 slot = row_list[t];
        const i64 at_ = row + t;
        out1_crd[at_] = (u32)(slot);
        out[at_] = row_val[slot];
        row_val[slot] = 0.0;
      }
      row += touched;
    }
    rows[0] = row;
    rows[1] = stamp;
    opened = rows[1];
  }
}
