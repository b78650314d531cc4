// parts of the outermost loop, lanes share inner loops
// A in `(i, j) -> (i : compressed(nonunique), j : singleton)`, f64
// the result in `(i, j) -> (i : dense, j : compressed)`, f64

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

// Writes columns, at the position of each stored value.
// A worker is `width` threads, and runs every `workers`-th part. Launch any number of workers, in
// blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed(nonunique)`): 2 elements
//   A0_crd: u32, `crd` of level 0 of A (`i : compressed(nonunique)`): one for each position of the
//     level
//   A1_crd: u32, `crd` of level 1 of A (`j : singleton`): one for each position of the level
//   column0: u32, a column of the conversion: one for each stored value of A
//   column1: u32, a column of the conversion: one for each stored value of A
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   width: number of threads of a worker: a power of 2, such as the mean number of stored values of
//     a part
extern "C" __global__ void run(
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ A0_crd,
    const u32* __restrict__ A1_crd,
    u32* __restrict__ column0,
    u32* __restrict__ column1,
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
    for (i64 i0 = ust_maximum((i64)A0_pos[0], from) + lane, end_i0 = ust_minimum((i64)A0_pos[1], to); i0 < end_i0; i0 += width) {
      const i64 i0_crd = A0_crd[i0];
      const i64 j1 = i0;
      const i64 j1_crd = A1_crd[j1];
      column0[j1] = (u32)(i0_crd);
      column1[j1] = (u32)(j1_crd);
    }
  }
}
