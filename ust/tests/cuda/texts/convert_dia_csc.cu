// parts of the outermost loop, lanes share inner loops
// A in `(i, j) -> (j - i : compressed, i : range)`, f32
// the result in `(i, j) -> (j : dense, i : compressed)`, f32

// Stores the range that parts cut. One thread runs it.
//   A0_pos: u32, `pos` of level 0 of A (`j - i : compressed`): 2 elements
//   stored_values: i64, 2 elements: the beginning and the end of the range
extern "C" __global__ void bounds(
    const u32* __restrict__ A0_pos,
    i64* __restrict__ stored_values)
{
  stored_values[0] = (i64)A0_pos[0];
  stored_values[1] = ust_maximum((i64)A0_pos[1], (i64)A0_pos[0]);
}

// Writes columns, at the position of each stored value.
// A worker is `width` threads, and runs every `workers`-th part. Launch any number of workers, in
// blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   A_n1: extent of dimension 1 of A
//   A1_size: number of coordinates of level 1 of A (`i : range`)
//   A0_pos: u32, `pos` of level 0 of A (`j - i : compressed`): 2 elements
//   A0_crd: i32, `crd` of level 0 of A (`j - i : compressed`): one for each position of the level
//   A_val: f32, values of A: one for each position of its last level
//   column0: u32, a column of the conversion: one for each stored value of A
//   column1: u32, a column of the conversion: one for each stored value of A
//   kept: u8, 1 for each stored value of A that is an entry; all are 0 before
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   width: number of threads of a worker: a power of 2, such as the mean number of stored values of
//     a part
extern "C" __global__ void run(
    const i64 A_n1,
    const i64 A1_size,
    const u32* __restrict__ A0_pos,
    const i32* __restrict__ A0_crd,
    const float* __restrict__ A_val,
    u32* __restrict__ column0,
    u32* __restrict__ column1,
    u8* __restrict__ kept,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    const i64 width)
{
  const i64 thread = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const i64 lane = thread % width, worker = thread / width;
  const i64 workers = (i64)gridDim.x * blockDim.x / width;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 from = range_lo + part * grain;
    const i64 to = ust_minimum(from + grain, range_hi);
    for (i64 l0 = ust_maximum((i64)A0_pos[0], from), end_l0 = ust_minimum((i64)A0_pos[1], to); l0 < end_l0; ++l0) {
      const i64 l0_crd = A0_crd[l0];
      for (i64 i1 = ust_maximum(0ll, 0 - l0_crd) + lane, end_i1 = ust_minimum(A1_size, A_n1 - l0_crd); i1 < end_i1; i1 += width) {
        const i64 i1_pos = l0 * A1_size + i1;
        const i64 j = l0_crd + i1;
        column0[i1_pos] = (u32)(j);
        column1[i1_pos] = (u32)(i1);
        const float value = A_val[i1_pos];
        kept[i1_pos] = (u8)(value != 0.0f ? 1 : 0);
      }
    }
  }
}
