// parts of the outermost loop, a table for each row, lanes share inner loops
// A in `(i, j) -> (i : dense, j : compressed)`, f64
// B in `(i, j) -> (i : dense, j : compressed)`, f64
// the result in `(i, j) -> (i : dense, j : compressed)`, f64

// Counts the additions of each part: none of its tables has more coordinates.
// A worker is 8 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   B1_pos: u32, `pos` of level 1 of B (`j : compressed`): one for each position of level 0, and
//     one more
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   counts: i64, the number of additions of each part, which the kernel stores
extern "C" __global__ void bound(
    const i64 n_i,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ B1_pos,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    i64* __restrict__ counts)
{
  const i64 lane = threadIdx.x % 8;
  const u32 lanes = 0xffu << (threadIdx.x % 32 / 8 * 8);
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 8;
  const i64 workers = (i64)gridDim.x * blockDim.x / 8;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64 rows[2] = {0, 0};
    i64 row = rows[0];
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_i, part_hi);
    for (i64 i = first; i < last; ++i) {
      const i64 all_row = row;
      row = 0;
      for (i64 p_j = (i64)A1_pos[i] + lane, end_p_j = A1_pos[i + 1]; p_j < end_p_j; p_j += 8) {
        const i64 j = A1_crd[p_j];
        row += ust_maximum((i64)B1_pos[j + 1] - (i64)B1_pos[j], 0ll);
      }
      row = ust_lanes_add(row, 8, lanes);
      row = all_row + row;
    }
    rows[0] = row;
    if (lane == 0) counts[part] = rows[0];
  }
}

// Counts the rows of each part. Then `offsets` are made of `counts`: the sum of those before each
// part. The sum of all is the number of rows, for which `fill` needs room.
// A worker is `width` threads, and runs every `workers`-th of the parts that `chosen` lists: those
// whose tables fit. Launch any number of workers, in blocks of one dimension, with a multiple of 32
// threads in each, with `room` bytes of dynamic shared memory for each worker of a block.
//   n_i: extent of dimension 0 of A
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   B1_pos: u32, `pos` of level 1 of B (`j : compressed`): one for each position of level 0, and
//     one more
//   B1_crd: u32, `crd` of level 1 of B (`j : compressed`): one for each position of the level
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts to be run
//   counts: i64, the number of rows of each part, which the kernel stores
//   error: i32, 0 before; -1 if a table has no room
//   chosen: i64, the numbers of the parts to be run
//   width: number of threads of a worker: a power of 2 up to 32, or all of a block
//   team: number of these that share an inner loop: a power of 2, such as its mean number of
//     iterations
//   slots: number of places of a table: a power of 2, 4 or more, and twice what `bound` counts of a
//     part or more
//   room: bytes of a table: 4 * slots + 4, rounded up to a multiple of 16
extern "C" __global__ void count(
    const i64 n_i,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ B1_pos,
    const u32* __restrict__ B1_crd,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    i64* __restrict__ counts,
    i32* error,
    const i64* __restrict__ chosen,
    const i64 width,
    const i64 team,
    const i64 slots,
    const i64 room)
{
  const i64 lane = threadIdx.x % width;
  const u32 lanes = ust_lanes_of(width);
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / width;
  const i64 workers = (i64)gridDim.x * blockDim.x / width;
  const i64 group = lane / team, groups = width / team, member = lane % team;
  alignas(16) extern __shared__ unsigned char memory[];
  unsigned char* const own = memory + threadIdx.x / width * room;
  u32* const row_mark = (u32*)own;
  u32* const noted = row_mark + slots;
  for (i64 turn = worker; turn < parts; turn += workers) {
    const i64 part = chosen[turn];
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64 rows[2] = {0, 0};
    i64 row = rows[0];
    i64 touched = 0;
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_i, part_hi);
    for (i64 i = first; i < last; ++i) {
      touched = 0;
      ust_meet(width, lanes);
      for (i64 cleared = lane; cleared < slots; cleared += width) {
        row_mark[cleared] = UST_FREE;
      }
      ust_meet(width, lanes);
      for (i64 p_j = (i64)A1_pos[i] + group, end_p_j = A1_pos[i + 1]; p_j < end_p_j; p_j += groups) {
        const i64 j = A1_crd[p_j];
        for (i64 p_k = (i64)B1_pos[j] + member, end_p_k = B1_pos[j + 1]; p_k < end_p_k; p_k += team) {
          const i64 k = B1_crd[p_k];
          ust_table_note(row_mark, slots, k, error);
        }
      }
      touched = ust_table_count(row_mark, slots, noted, lane, width, lanes);
      row += touched;
    }
    rows[0] = row;
    if (lane == 0) counts[part] = rows[0];
  }
}

// Writes the rows of the result, after `count`.
// A worker is `width` threads, and runs every `workers`-th of the parts that `chosen` lists: those
// whose tables fit. Launch any number of workers, in blocks of one dimension, with a multiple of 32
// threads in each, with `room` bytes of dynamic shared memory for each worker of a block.
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
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts to be run
//   offsets: i64, the number of rows in the parts before each part
//   error: i32, 0 before; -1 if a table has no room
//   chosen: i64, the numbers of the parts to be run
//   width: number of threads of a worker: a power of 2 up to 32, or all of a block
//   team: number of these that share an inner loop: a power of 2, such as its mean number of
//     iterations
//   slots: number of places of a table: a power of 2, 4 or more, and twice the number of rows of a
//     part or more
//   room: bytes of a table: 14 * slots + 4, rounded up to a multiple of 16
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
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    const i64* __restrict__ offsets,
    i32* error,
    const i64* __restrict__ chosen,
    const i64 width,
    const i64 team,
    const i64 slots,
    const i64 room)
{
  const i64 lane = threadIdx.x % width;
  const u32 lanes = ust_lanes_of(width);
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / width;
  const i64 workers = (i64)gridDim.x * blockDim.x / width;
  const i64 group = lane / team, groups = width / team, member = lane % team;
  alignas(16) extern __shared__ unsigned char memory[];
  unsigned char* const own = memory + threadIdx.x / width * room;
  double* const row_val = (double*)own;
  u32* const row_mark = (u32*)(row_val + slots);
  u32* const row_list = row_mark + slots;
  u32* const noted = row_list + slots / 2;
  for (i64 turn = worker; turn < parts; turn += workers) {
    const i64 part = chosen[turn];
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64* const row_starts = all_row_starts + (part_lo - range_lo);
    i64 rows[2] = {offsets[part], 0};
    i64 row = rows[0];
    i64 touched = 0;
    const i64 first = ust_maximum(0ll, part_lo);
    const i64 last = ust_minimum(n_i, part_hi);
    for (i64 i = first; i < last; ++i) {
      if (lane == 0) row_starts[i - first] = row;
      touched = 0;
      ust_meet(width, lanes);
      for (i64 cleared = lane; cleared < slots; cleared += width) {
        row_mark[cleared] = UST_FREE;
        row_val[cleared] = 0.0;
      }
      ust_meet(width, lanes);
      for (i64 p_j = (i64)A1_pos[i] + group, end_p_j = A1_pos[i + 1]; p_j < end_p_j; p_j += groups) {
        const i64 j = A1_crd[p_j];
        const double A_at = A_val[p_j];
        for (i64 p_k = (i64)B1_pos[j] + member, end_p_k = B1_pos[j + 1]; p_k < end_p_k; p_k += team) {
          const i64 k = B1_crd[p_k];
          const double B_at = B_val[p_k];
          const u32 place_of_mark = ust_table_note(row_mark, slots, k, error);
          ust_atomic_add(&row_val[place_of_mark], (double)(A_at * B_at));
        }
      }
      touched = ust_table_list(row_mark, slots, row_list, noted, error, lane, width, lanes);
      ust_table_sort(row_list, touched, lane, width, lanes);
      for (i64 t = 0 + lane, end_t = (touched); t < end_t; t += width) {
        const i64 slot = row_list[t];
        const i64 at_ = row + t;
        out1_crd[at_] = (u32)(slot);
        out[at_] = row_val[ust_table_find(row_mark, slots, slot)];
      }
      row += touched;
    }
    rows[0] = row;
  }
}
