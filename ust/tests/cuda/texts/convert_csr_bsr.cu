// parts of the outermost loop, lanes share inner loops
// A in `(i, j) -> (i : dense, j : compressed)`, f64
// the result in `(i, j) -> (i / 4 : dense, j / 4 : compressed, i % 4 : dense, j % 4 : dense)`, f64

// Writes columns, at the position of each stored value.
// A worker is `width` threads, and runs every `workers`-th part. Launch any number of workers, in
// blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   A0_size: number of coordinates of level 0 of A (`i : dense`)
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   column0: u32, a column of the conversion: one for each stored value of A
//   column1: u32, a column of the conversion: one for each stored value of A
//   column2: u32, a column of the conversion: one for each stored value of A
//   kept: u8, 1 for each stored value of A that is an entry; all are 0 before
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: A0_size
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   width: number of threads of a worker: a power of 2, such as the mean number of stored values of
//     a part
extern "C" __global__ void run(
    const i64 A0_size,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const double* __restrict__ A_val,
    u32* __restrict__ column0,
    u32* __restrict__ column1,
    u32* __restrict__ column2,
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
    for (i64 i0 = ust_maximum(0ll, from), end_i0 = ust_minimum(A0_size, to); i0 < end_i0; ++i0) {
      for (i64 j1 = (i64)A1_pos[i0] + lane, end_j1 = A1_pos[i0 + 1]; j1 < end_j1; j1 += width) {
        const i64 j1_crd = A1_crd[j1];
        column0[j1] = (u32)(ust_floordiv(i0, 4ll));
        column1[j1] = (u32)(ust_floordiv(j1_crd, 4ll));
        column2[j1] = (u32)(ust_floormod(i0, 4ll) * 4 + ust_floormod(j1_crd, 4ll));
        const double value = A_val[j1];
        kept[j1] = (u8)(value != 0.0 ? 1 : 0);
      }
    }
  }
}
