// parts of equally many stored elements
// A in `(i, j) -> (i : dense, j : compressed)`, f64
// B in `(i, j) -> (i : dense, j : compressed)`, f64
// the result in `(i, j) -> (i : dense, j : compressed)`, f64

// Stores the range that parts cut. One thread runs it.
//   n_i: extent of dimension 0 of A
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   B1_pos: u32, `pos` of level 1 of B (`j : compressed`): one for each position of level 0, and
//     one more
//   stored_values: i64, 2 elements: the beginning and the end of the range
extern "C" __global__ void bounds(
    const i64 n_i,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ B1_pos,
    i64* __restrict__ stored_values)
{
  stored_values[0] = 0;
  stored_values[1] = ust_maximum((i64)A1_pos[n_i] - (i64)A1_pos[0] + ((i64)B1_pos[n_i] - (i64)B1_pos[0]) + n_i, 0ll);
}

// Counts the rows of each part. Then `offsets` are made of `counts`: the sum of those before each
// part. The sum of all is the number of rows, for which `fill` needs room.
// A worker is 8 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_j: extent of dimension 1 of A
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   A1_crd: u32, `crd` of level 1 of A (`j : compressed`): one for each position of the level
//   B1_pos: u32, `pos` of level 1 of B (`j : compressed`): one for each position of level 0, and
//     one more
//   B1_crd: u32, `crd` of level 1 of B (`j : compressed`): one for each position of the level
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   counts: i64, the number of rows of each part, which the kernel stores
extern "C" __global__ void count(
    const i64 n_i,
    const i64 n_j,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ B1_pos,
    const u32* __restrict__ B1_crd,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    i64* __restrict__ counts)
{
  const i64 lane = threadIdx.x % 8;
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 8;
  const i64 workers = (i64)gridDim.x * blockDim.x / 8;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64 rows[2] = {0, 0};
    i64 first_row = 0;
    i64 first_crd = 0;
    i64 last_row = 0;
    i64 last_crd = 0;
    for (i64 side = 0; side < 2; ++side) {
      const i64 item = side == 0 ? part_lo : part_hi;
      i64 row = 0;
      i64 to = 0 < item ? n_i : 0;
      while (row < to) {
        const i64 behind = ((row + to) >> 1) + 1;
        if (item < (i64)A1_pos[behind] - (i64)A1_pos[0] + ((i64)B1_pos[behind] - (i64)B1_pos[0]) + behind) {
          to = behind - 1;
        } else {
          row = behind;
        }
      }
      i64 crd = 0;
      if (row < n_i) {
        const i64 offset = item - ((i64)A1_pos[row] - (i64)A1_pos[0] + ((i64)B1_pos[row] - (i64)B1_pos[0]) + row);
        i64 from = 0;
        i64 to_2 = 0 < offset ? n_j : 0;
        const i64 begin = A1_pos[row];
        const i64 begin_2 = B1_pos[row];
        i64 low = begin;
        i64 low_2 = begin_2;
        i64 high = A1_pos[row + 1];
        i64 high_2 = B1_pos[row + 1];
        while (from < to_2) {
          const i64 half = (from + to_2) >> 1;
          i64 from_2 = low;
          i64 to_3 = high;
          while (from_2 < to_3) {
            const i64 middle = (from_2 + to_3) >> 1;
            if ((i64)A1_crd[middle] < half) {
              from_2 = middle + 1;
            } else {
              to_3 = middle;
            }
          }
          i64 from_3 = low_2;
          i64 to_4 = high_2;
          while (from_3 < to_4) {
            const i64 middle_2 = (from_3 + to_4) >> 1;
            if ((i64)B1_crd[middle_2] < half) {
              from_3 = middle_2 + 1;
            } else {
              to_4 = middle_2;
            }
          }
          if (from_2 - begin + (from_3 - begin_2) < offset) {
            from = half + 1;
            low = from_2;
            low_2 = from_3;
          } else {
            to_2 = half;
            high = from_2;
            high_2 = from_3;
          }
        }
        crd = from;
      }
      if (side == 0) {
        first_row = row;
        first_crd = crd;
      } else {
        last_row = row;
        last_crd = crd;
      }
    }
    i64 row_2 = rows[0];
    const i64 first = ust_maximum(0ll, first_row);
    const i64 last = ust_minimum(n_i, last_row + (0 < last_crd ? 1 : 0));
    for (i64 i = first; i < last; ++i) {
      if (first_row < i ? true : first_crd == 0) {
      }
      i64 begin_3 = A1_pos[i];
      i64 end = A1_pos[i + 1];
      if (i == first_row) {
        i64 from_4 = begin_3;
        i64 to_5 = end;
        while (from_4 < to_5) {
          const i64 middle_3 = (from_4 + to_5) >> 1;
          if ((i64)A1_crd[middle_3] < first_crd) {
            from_4 = middle_3 + 1;
          } else {
            to_5 = middle_3;
          }
        }
        begin_3 = from_4;
      }
      if (i == last_row) {
        i64 from_5 = begin_3;
        i64 to_6 = end;
        while (from_5 < to_6) {
          const i64 middle_4 = (from_5 + to_6) >> 1;
          if ((i64)A1_crd[middle_4] < last_crd) {
            from_5 = middle_4 + 1;
          } else {
            to_6 = middle_4;
          }
        }
        end = from_5;
      }
      i64 begin_4 = B1_pos[i];
      i64 end_2 = B1_pos[i + 1];
      if (i == first_row) {
        i64 from_6 = begin_4;
        i64 to_7 = end_2;
        while (from_6 < to_7) {
          const i64 middle_5 = (from_6 + to_7) >> 1;
          if ((i64)B1_crd[middle_5] < first_crd) {
            from_6 = middle_5 + 1;
          } else {
            to_7 = middle_5;
          }
        }
        begin_4 = from_6;
      }
      if (i == last_row) {
        i64 from_7 = begin_4;
        i64 to_8 = end_2;
        while (from_7 < to_8) {
          const i64 middle_6 = (from_7 + to_8) >> 1;
          if ((i64)B1_crd[middle_6] < last_crd) {
            from_7 = middle_6 + 1;
          } else {
            to_8 = middle_6;
          }
        }
        end_2 = from_7;
      }
      i64 p_j = begin_3;
      i64 p_j_2 = begin_4;
      while (p_j < end && p_j_2 < end_2) {
        const i64 crd_2 = A1_crd[p_j];
        const i64 crd_3 = B1_crd[p_j_2];
        if (crd_2 == crd_3) {
          row_2 += 1;
          p_j += 1;
          p_j_2 += 1;
        } else {
          const bool mine = crd_2 < crd_3;
          const bool mine_2 = crd_3 < crd_2;
          row_2 += 1;
          p_j += mine ? 1 : 0;
          p_j_2 += mine_2 ? 1 : 0;
        }
      }
      while (p_j < end) {
        row_2 += 1;
        p_j += 1;
      }
      while (p_j_2 < end_2) {
        row_2 += 1;
        p_j_2 += 1;
      }
    }
    rows[0] = row_2;
    if (lane == 0) counts[part] = rows[0];
  }
}

// Writes the rows of the result, after `count`.
// A worker is 8 threads side by side, and runs every `workers`-th part. Launch any number of
// workers, in blocks of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_j: extent of dimension 1 of A
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
//   row_starts: i64, number of the first row of each coordinate of level 0 of the result (`i :
//     dense`); coordinates beyond the range have no rows, and are not set
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   offsets: i64, the number of rows in the parts before each part
extern "C" __global__ void fill(
    const i64 n_i,
    const i64 n_j,
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ B1_pos,
    const u32* __restrict__ B1_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ B_val,
    double* __restrict__ out,
    u32* __restrict__ out1_crd,
    i64* __restrict__ row_starts,
    const i64 range_lo,
    const i64 range_hi,
    const i64 grain,
    const i64 parts,
    const i64* __restrict__ offsets)
{
  const i64 lane = threadIdx.x % 8;
  const i64 worker = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / 8;
  const i64 workers = (i64)gridDim.x * blockDim.x / 8;
  for (i64 part = worker; part < parts; part += workers) {
    const i64 part_lo = range_lo + part * grain;
    const i64 part_hi = ust_minimum(part_lo + grain, range_hi);
    i64 rows[2] = {offsets[part], 0};
    i64 first_row = 0;
    i64 first_crd = 0;
    i64 last_row = 0;
    i64 last_crd = 0;
    for (i64 side = 0; side < 2; ++side) {
      const i64 item = side == 0 ? part_lo : part_hi;
      i64 row = 0;
      i64 to = 0 < item ? n_i : 0;
      while (row < to) {
        const i64 behind = ((row + to) >> 1) + 1;
        if (item < (i64)A1_pos[behind] - (i64)A1_pos[0] + ((i64)B1_pos[behind] - (i64)B1_pos[0]) + behind) {
          to = behind - 1;
        } else {
          row = behind;
        }
      }
      i64 crd = 0;
      if (row < n_i) {
        const i64 offset = item - ((i64)A1_pos[row] - (i64)A1_pos[0] + ((i64)B1_pos[row] - (i64)B1_pos[0]) + row);
        i64 from = 0;
        i64 to_2 = 0 < offset ? n_j : 0;
        const i64 begin = A1_pos[row];
        const i64 begin_2 = B1_pos[row];
        i64 low = begin;
        i64 low_2 = begin_2;
        i64 high = A1_pos[row + 1];
        i64 high_2 = B1_pos[row + 1];
        while (from < to_2) {
          const i64 half = (from + to_2) >> 1;
          i64 from_2 = low;
          i64 to_3 = high;
          while (from_2 < to_3) {
            const i64 middle = (from_2 + to_3) >> 1;
            if ((i64)A1_crd[middle] < half) {
              from_2 = middle + 1;
            } else {
              to_3 = middle;
            }
          }
          i64 from_3 = low_2;
          i64 to_4 = high_2;
          while (from_3 < to_4) {
            const i64 middle_2 = (from_3 + to_4) >> 1;
            if ((i64)B1_crd[middle_2] < half) {
              from_3 = middle_2 + 1;
            } else {
              to_4 = middle_2;
            }
          }
          if (from_2 - begin + (from_3 - begin_2) < offset) {
            from = half + 1;
            low = from_2;
            low_2 = from_3;
          } else {
            to_2 = half;
            high = from_2;
            high_2 = from_3;
          }
        }
        crd = from;
      }
      if (side == 0) {
        first_row = row;
        first_crd = crd;
      } else {
        last_row = row;
        last_crd = crd;
      }
    }
    i64 row_2 = rows[0];
    const i64 first = ust_maximum(0ll, first_row);
    const i64 last = ust_minimum(n_i, last_row + (0 < last_crd ? 1 : 0));
    for (i64 i = first; i < last; ++i) {
      if (first_row < i ? true : first_crd == 0) {
        if (lane == 0) row_starts[i] = row_2;
      }
      i64 begin_3 = A1_pos[i];
      i64 end = A1_pos[i + 1];
      if (i == first_row) {
        i64 from_4 = begin_3;
        i64 to_5 = end;
        while (from_4 < to_5) {
          const i64 middle_3 = (from_4 + to_5) >> 1;
          if ((i64)A1_crd[middle_3] < first_crd) {
            from_4 = middle_3 + 1;
          } else {
            to_5 = middle_3;
          }
        }
        begin_3 = from_4;
      }
      if (i == last_row) {
        i64 from_5 = begin_3;
        i64 to_6 = end;
        while (from_5 < to_6) {
          const i64 middle_4 = (from_5 + to_6) >> 1;
          if ((i64)A1_crd[middle_4] < last_crd) {
            from_5 = middle_4 + 1;
          } else {
            to_6 = middle_4;
          }
        }
        end = from_5;
      }
      i64 begin_4 = B1_pos[i];
      i64 end_2 = B1_pos[i + 1];
      if (i == first_row) {
        i64 from_6 = begin_4;
        i64 to_7 = end_2;
        while (from_6 < to_7) {
          const i64 middle_5 = (from_6 + to_7) >> 1;
          if ((i64)B1_crd[middle_5] < first_crd) {
            from_6 = middle_5 + 1;
          } else {
            to_7 = middle_5;
          }
        }
        begin_4 = from_6;
      }
      if (i == last_row) {
        i64 from_7 = begin_4;
        i64 to_8 = end_2;
        while (from_7 < to_8) {
          const i64 middle_6 = (from_7 + to_8) >> 1;
          if ((i64)B1_crd[middle_6] < last_crd) {
            from_7 = middle_6 + 1;
          } else {
            to_8 = middle_6;
          }
        }
        end_2 = from_7;
      }
      i64 p_j = begin_3;
      i64 p_j_2 = begin_4;
      while (p_j < end && p_j_2 < end_2) {
        const i64 crd_2 = A1_crd[p_j];
        const double A_at = A_val[p_j];
        const i64 crd_3 = B1_crd[p_j_2];
        const double B_at = B_val[p_j_2];
        if (crd_2 == crd_3) {
          if (lane == 0) out1_crd[row_2] = (u32)(crd_2);
          if (lane == 0) out[row_2] = A_at + B_at;
          row_2 += 1;
          p_j += 1;
          p_j_2 += 1;
        } else {
          const bool mine = crd_2 < crd_3;
          const bool mine_2 = crd_3 < crd_2;
          const i64 j = ust_minimum(crd_2, crd_3);
          const double element = mine ? A_at : 0.0;
          const double element_2 = mine_2 ? B_at : 0.0;
          if (lane == 0) out1_crd[row_2] = (u32)(j);
          if (lane == 0) out[row_2] = element + element_2;
          row_2 += 1;
          p_j += mine ? 1 : 0;
          p_j_2 += mine_2 ? 1 : 0;
        }
      }
      while (p_j < end) {
        const i64 crd_4 = A1_crd[p_j];
        const double A_at_2 = A_val[p_j];
        if (lane == 0) out1_crd[row_2] = (u32)(crd_4);
        if (lane == 0) out[row_2] = A_at_2;
        row_2 += 1;
        p_j += 1;
      }
      while (p_j_2 < end_2) {
        const i64 crd_5 = B1_crd[p_j_2];
        const double B_at_2 = B_val[p_j_2];
        if (lane == 0) out1_crd[row_2] = (u32)(crd_5);
        if (lane == 0) out[row_2] = B_at_2;
        row_2 += 1;
        p_j_2 += 1;
      }
    }
    rows[0] = row_2;
  }
}

// Finds the longest row.
// A worker is a thread, and runs every `workers`-th part. Launch any number of workers, in blocks
// of one dimension, with a multiple of 32 threads in each, such as 256.
//   A1_pos: u32, `pos` of level 1 of A (`j : compressed`): one for each position of level 0, and
//     one more
//   B1_pos: u32, `pos` of level 1 of B (`j : compressed`): one for each position of level 0, and
//     one more
//   longest: i64, 1 element, 0 before: the number of entries of the longest row
//   range_lo: beginning of the rows to look at, such as 0
//   range_hi: end of the rows to look at
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
extern "C" __global__ void longest(
    const u32* __restrict__ A1_pos,
    const u32* __restrict__ B1_pos,
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
    for (i64 row = part_lo; row < part_hi; ++row) {
      ust_atomic_max(&longest[0], (i64)((i64)A1_pos[row + 1] - (i64)A1_pos[row] + ((i64)B1_pos[row + 1] - (i64)B1_pos[row])));
    }
  }
}
