// parts of equally many stored elements, lanes share inner loops
// A in `(i, j) -> (i : dense, j : compressed)`, f64
// B in `(i, j) -> (i : dense, j : dense)`, f64
// the result in `(i, k) -> (i : dense, k : dense)`, f64

// Stores the range that parts cut. One thread runs it.
//   n_i: extent of dimension 0 of A
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   stored_values: i64, 2 elements: the beginning and the end of the range
extern "C" __global__ void bounds(
    const i64 n_i,
    const u32* __restrict__ A1_pos,
    i64* __restrict__ stored_values)
{
  stored_values[0] = 0;
  stored_values[1] = ust_maximum(0 < n_i ? n_i + ((i64)A1_pos[n_i - 1 + 1] - (i64)A1_pos[0]) : 0, 0ll);
}

// Writes the result, but for what `add_left` adds afterwards.
// A worker is 8 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_k: extent of dimension 1 of B
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   B_val: f64, values of B: one for each position of its last level; at most 2^32 elements
//   out: f64, values of the result, by position: all are 0 before
//   all_carried_row: i64, for each part, the row whose sum it leaves for others, or the least `i64`
//   all_carried_sum: f64, for each part, the sums of that row
//   len_carried_sum: number of sums of a row
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const i64 n_i,
    const i64 n_k,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ B_val,
    double* __restrict__ out,
    i64* __restrict__ all_carried_row,
    double* __restrict__ all_carried_sum,
    const i64 len_carried_sum,
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
    i64* const carried_row = all_carried_row + part;
    double* const carried_sum = all_carried_sum + part * len_carried_sum;
    if (lane == 0) carried_row[0] = (-9223372036854775807ll - 1);
    const i64 rows_lo = 0;
    const i64 rows_hi = n_i;
    const i64 first_entry = rows_lo < rows_hi ? (i64)A1_pos[rows_lo] : 0;
    i64 from = rows_lo;
    i64 to = rows_hi;
    while (from < to) {
      const i64 middle = (from + to) >> 1;
      if (middle - rows_lo + ((i64)A1_pos[middle + 1] - first_entry) < part_lo) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    i64 row = from;
    while (row < rows_hi ? row - rows_lo + ((i64)A1_pos[row] - first_entry) < part_hi : false) {
      const i64 i = row;
      const bool ends = row - rows_lo + ((i64)A1_pos[row + 1] - first_entry) < part_hi;
      const i64 begin = ust_maximum((i64)A1_pos[row], part_lo - (row - rows_lo) + first_entry);
      const i64 stop = ust_minimum((i64)A1_pos[row + 1], part_hi - (row - rows_lo) + first_entry);
      for (i64 k = 0 + lane; k < n_k; k += 8) {
        double sum = 0.0;
        for (i64 p_j = begin; p_j < stop; ++p_j) {
          const i64 j = A1_crd[p_j];
          const double A_at = A_val[p_j];
          const double B_at = B_val[(u32)j * (u32)n_k + (u32)k];
          sum += A_at * B_at;
        }
        if (ends) {
          out[i * n_k + k] = sum;
        } else {
          carried_sum[k] = sum;
        }
      }
      if (!ends) {
        if (lane == 0) carried_row[0] = row;
      }
      row += 1;
    }
  }
}

// Adds what the parts of `run` left for others. Parts of it are intervals of those parts, and leave
// something for others in turn: run it again on that, until it has one part.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_k: extent of dimension 1 of B
//   out: f64, values of the result, by position: all are 0 before
//   carried_row: i64, for each part of `run`, or of `add_left` before, the row whose sum it left,
//     or the least `i64`
//   len_carried_row: number of elements
//   carried_sum: f64, for each part, the sums of that row
//   all_next_row: i64, for each part, the row whose sum it leaves for others, or the least `i64`
//   all_next_sum: f64, for each part, the sums of that row
//   len_next_sum: number of sums of a row
//   range_lo: 0
//   range_hi: number of parts of `run`
//   grain: length of a part, 2 or more, such as 32
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void add_left(
    const i64 n_k,
    double* __restrict__ out,
    i64* __restrict__ carried_row,
    const i64 len_carried_row,
    double* __restrict__ carried_sum,
    i64* __restrict__ all_next_row,
    double* __restrict__ all_next_sum,
    const i64 len_next_sum,
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
    i64* const next_row = all_next_row + part;
    double* const next_sum = all_next_sum + part * len_next_sum;
    if (lane == 0) next_row[0] = (-9223372036854775807ll - 1);
    for (i64 number = part_lo; number < part_hi; ++number) {
      const i64 row = carried_row[number];
      if (row != (-9223372036854775807ll - 1) && !(part_lo < number ? carried_row[number - 1] == row : false)) {
        i64 stop = number + 1;
        while (stop < part_hi ? carried_row[stop] == row : false) {
          stop += 1;
        }
        const bool ends = stop < len_carried_row ? !(carried_row[stop] == row) : true;
        if (!ends) {
          if (lane == 0) next_row[0] = row;
        }
        __syncwarp(lanes);
        for (i64 k = 0 + lane; k < n_k; k += 32) {
          double sum_21 = carried_sum[number * n_k + k];
          for (i64 other = number + 1, end_other = (stop); other < end_other; ++other) {
            sum_21 += carried_sum[other * n_k + k];
          }
          if (ends) {
            out[row * n_k + k] += sum_21;
          } else {
            next_sum[k] = sum_21;
          }
        }
        __syncwarp(lanes);
      }
    }
  }
}

// Finds the longest row.
// A worker is a thread, and runs every `workers`-th part. Launch any number of workers, in blocks
// of one dimension, with a multiple of 32 threads in each, such as 256.
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   longest: i64, 1 element, 0 before: the number of entries of the longest row
//   range_lo: beginning of the rows to look at, such as 0
//   range_hi: end of the rows to look at
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void longest(
    const u32* __restrict__ A1_pos,
    i64* longest,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts)
{
  const i64 worker = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const i64 workers = (i64)gridDim.x * blockDim.x;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    for (i64 i = part_lo; i < part_hi; ++i) {
      ust_atomic_max(&longest[0], (i64)((i64)A1_pos[i + 1] - (i64)A1_pos[i]));
    }
  }
}
