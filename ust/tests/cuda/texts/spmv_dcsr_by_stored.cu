// parts of equally many stored elements, lanes share inner loops
// A in `(i, j) -> (i : compressed, j : compressed)`, f32
// x in `(i) -> (i : dense)`, f32
// the result in `(i) -> (i : dense)`, f32

// Stores the range that parts cut. One thread runs it.
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed`): 2 elements
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   stored_values: i64, 2 elements: the beginning and the end of the range
extern "C" __global__ void bounds(
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ A1_pos,
    i64* __restrict__ stored_values)
{
  stored_values[0] = 0;
  stored_values[1] = ust_maximum((i64)A0_pos[0] < (i64)A0_pos[1] ? (i64)A0_pos[1] - (i64)A0_pos[0] + ((i64)A1_pos[(i64)A0_pos[1] - 1 + 1] - (i64)A1_pos[(i64)A0_pos[0]]) : 0, 0ll);
}

// Writes the result, but for what `add_left` adds afterwards.
// A worker is 8 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed`): 2 elements
//   A0_crd: u32, `crd` of level 0 of A (`i : compressed`): one for each position of the level
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   A_val: f32, values of A: one for each position of its last level
//   x_val: f32, values of x: one for each position of its last level
//   out: f32, values of the result, by position: all are 0 before
//   all_carried_row: i64, for each part, the row whose sum it leaves for others, or the least `i64`
//   all_carried_sum: f32, for each part, that sum
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void run(
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ A0_crd,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const float* __restrict__ A_val,
    const float* __restrict__ x_val,
    float* __restrict__ out,
    i64* __restrict__ all_carried_row,
    float* __restrict__ all_carried_sum,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts)
{
  const i64 lane = threadIdx.x % 8;
  const u32 lanes = 0xffu << (threadIdx.x % 32 / 8 * 8);
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 8;
  const i64 workers = (i64)gridDim.x * blockDim.x / 8;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64* const carried_row = all_carried_row + part;
    float* const carried_sum = all_carried_sum + part;
    if (lane == 0) carried_row[0] = (-9223372036854775807ll - 1);
    const i64 rows_lo = A0_pos[0];
    const i64 rows_hi = A0_pos[1];
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
      const i64 p_i = row;
      const bool ends = row - rows_lo + ((i64)A1_pos[row + 1] - first_entry) < part_hi;
      const i64 begin = ust_maximum((i64)A1_pos[row], part_lo - (row - rows_lo) + first_entry);
      const i64 stop = ust_minimum((i64)A1_pos[row + 1], part_hi - (row - rows_lo) + first_entry);
      const i64 i = A0_crd[p_i];
      float sum = 0.0f;
      for (i64 p_j = begin + lane; p_j < stop; p_j += 8) {
        const i64 j = A1_crd[p_j];
        const float A_at = A_val[p_j];
        const float x_at = x_val[j];
        sum += A_at * x_at;
      }
      sum = ust_lanes_add(sum, 8, lanes);
      if (ends) {
        if (lane == 0) out[i] = sum;
      } else {
        if (lane == 0) carried_row[0] = row;
        if (lane == 0) carried_sum[0] = sum;
      }
      row += 1;
    }
  }
}

// Adds what the parts of `run` left for others. Parts of it are intervals of those parts, and leave
// something for others in turn: run it again on that, until it has one part.
// A worker is 32 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   A0_crd: u32, `crd` of level 0 of A (`i : compressed`): one for each position of the level
//   out: f32, values of the result, by position: all are 0 before
//   carried_row: i64, for each part of `run`, or of `add_left` before, the row whose sum it left,
//     or the least `i64`
//   len_carried_row: number of elements
//   carried_sum: f32, for each part, that sum
//   all_next_row: i64, for each part, the row whose sum it leaves for others, or the least `i64`
//   all_next_sum: f32, for each part, that sum
//   range_lo: 0
//   range_hi: number of parts of `run`
//   grain: length of a part, 2 or more, such as 32
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void add_left(
    const u32* __restrict__ A0_crd,
    float* __restrict__ out,
    i64* __restrict__ carried_row,
    const i64 len_carried_row,
    float* __restrict__ carried_sum,
    i64* __restrict__ all_next_row,
    float* __restrict__ all_next_sum,
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
    float* const next_sum = all_next_sum + part;
    __syncwarp(lanes);
    if (lane == 0) next_row[0] = (-9223372036854775807ll - 1);
    __syncwarp(lanes);
    __syncwarp(lanes);
    for (i64 number = part_lo + lane; number < part_hi; number += 32) {
      const i64 row = carried_row[number];
      if (row != (-9223372036854775807ll - 1) && !(part_lo < number ? carried_row[number - 1] == row : false)) {
        i64 stop = number + 1;
        while (stop < part_hi ? carried_row[stop] == row : false) {
          stop += 1;
        }
        const bool ends = stop < len_carried_row ? !(carried_row[stop] == row) : true;
        if (!ends) {
          next_row[0] = row;
        }
        float sum_18 = carried_sum[number];
        for (i64 other = number + 1, end_other = (stop); other < end_other; ++other) {
          sum_18 += carried_sum[other];
        }
        if (ends) {
          out[(i64)A0_crd[row]] += sum_18;
        } else {
          next_sum[0] = sum_18;
        }
      }
    }
    __syncwarp(lanes);
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
    for (i64 p_i = part_lo; p_i < part_hi; ++p_i) {
      ust_atomic_max(&longest[0], (i64)((i64)A1_pos[p_i + 1] - (i64)A1_pos[p_i]));
    }
  }
}
