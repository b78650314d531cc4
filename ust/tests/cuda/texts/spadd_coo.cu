// parts of the outermost loop
// A in `(i, j) -> (i : compressed(nonunique), j : singleton)`, f64
// B in `(i, j) -> (i : compressed(nonunique), j : singleton)`, f64
// the result in `(i, j) -> (i : compressed(nonunique), j : singleton)`, f64

// Counts the rows of each part. Then `offsets` are made of `counts`: the sum of those before each
// part. The sum of all is the number of rows, for which `fill` needs room.
// A worker is a thread, and runs every `workers`-th part. Launch any number of workers, in blocks
// of one dimension, with a multiple of 32 threads in each, such as 256.
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed(nonunique)`): 2 elements
//   A0_crd: u32, `crd` of level 0 of A (`i : compressed(nonunique)`): one for each position of the
//     level
//   A1_crd: u32, `crd` of level 1 of A (`j : singleton`): one for each position of the level
//   B0_pos: u32, `pos` of level 0 of B (`i : compressed(nonunique)`): 2 elements
//   B0_crd: u32, `crd` of level 0 of B (`i : compressed(nonunique)`): one for each position of the
//     level
//   B1_crd: u32, `crd` of level 1 of B (`j : singleton`): one for each position of the level
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   counts: i64, the number of rows of each part, which the kernel stores
extern "C" __global__ void count(
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ A0_crd,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ B0_pos,
    const u32* __restrict__ B0_crd,
    const u32* __restrict__ B1_crd,
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
    const i64 end = A0_pos[1];
    i64 from = A0_pos[0];
    i64 to = end;
    while (from < to) {
      const i64 middle = (from + to) >> 1;
      if ((i64)A0_crd[middle] < part_lo) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    i64 from_2 = from;
    i64 to_2 = end;
    while (from_2 < to_2) {
      const i64 middle_2 = (from_2 + to_2) >> 1;
      if ((i64)A0_crd[middle_2] < part_hi) {
        from_2 = middle_2 + 1;
      } else {
        to_2 = middle_2;
      }
    }
    const i64 end_2 = B0_pos[1];
    i64 from_3 = B0_pos[0];
    i64 to_3 = end_2;
    while (from_3 < to_3) {
      const i64 middle_3 = (from_3 + to_3) >> 1;
      if ((i64)B0_crd[middle_3] < part_lo) {
        from_3 = middle_3 + 1;
      } else {
        to_3 = middle_3;
      }
    }
    i64 from_4 = from_3;
    i64 to_4 = end_2;
    while (from_4 < to_4) {
      const i64 middle_4 = (from_4 + to_4) >> 1;
      if ((i64)B0_crd[middle_4] < part_hi) {
        from_4 = middle_4 + 1;
      } else {
        to_4 = middle_4;
      }
    }
    i64 p_i = from;
    i64 p_i_2 = from_3;
    while (p_i < from_2 || p_i_2 < from_4) {
      const i64 i_A = p_i < from_2 ? (i64)A0_crd[p_i] : 9223372036854775807ll;
      const i64 i_B = p_i_2 < from_4 ? (i64)B0_crd[p_i_2] : 9223372036854775807ll;
      const i64 i = ust_minimum(i_A, i_B);
      const i64 stop = i_A == i ? from_2 : p_i;
      i64 q = p_i;
      while (q < stop ? (i64)A0_crd[q] == i : false) {
        q += 1;
      }
      const i64 stop_2 = i_B == i ? from_4 : p_i_2;
      i64 q_2 = p_i_2;
      while (q_2 < stop_2 ? (i64)B0_crd[q_2] == i : false) {
        q_2 += 1;
      }
      const bool mine = i_A == i;
      const bool mine_2 = i_B == i;
      if (mine && mine_2) {
        i64 p_j = p_i;
        i64 p_j_2 = p_i_2;
        while (p_j < q && p_j_2 < q_2) {
          const i64 crd = A1_crd[p_j];
          const i64 crd_2 = B1_crd[p_j_2];
          if (crd == crd_2) {
            row += 1;
            p_j += 1;
            p_j_2 += 1;
          } else {
            const bool mine_3 = crd < crd_2;
            const bool mine_4 = crd_2 < crd;
            row += 1;
            p_j += mine_3 ? 1 : 0;
            p_j_2 += mine_4 ? 1 : 0;
          }
        }
        while (p_j < q) {
          row += 1;
          p_j += 1;
        }
        while (p_j_2 < q_2) {
          row += 1;
          p_j_2 += 1;
        }
      } else {
        if (mine) {
          for (i64 p_j_3 = p_i, end_p_j_3 = (q); p_j_3 < end_p_j_3; ++p_j_3) {
            row += 1;
          }
        } else {
          if (mine_2) {
            for (i64 p_j_4 = p_i_2, end_p_j_4 = (q_2); p_j_4 < end_p_j_4; ++p_j_4) {
              row += 1;
            }
          }
        }
      }
      p_i = q;
      p_i_2 = q_2;
    }
    rows[0] = row;
    counts[part] = rows[0];
  }
}

// Writes the rows of the result, after `count`.
// A worker is a thread, and runs every `workers`-th part. Launch any number of workers, in blocks
// of one dimension, with a multiple of 32 threads in each, such as 256.
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed(nonunique)`): 2 elements
//   A0_crd: u32, `crd` of level 0 of A (`i : compressed(nonunique)`): one for each position of the
//     level
//   A1_crd: u32, `crd` of level 1 of A (`j : singleton`): one for each position of the level
//   B0_pos: u32, `pos` of level 0 of B (`i : compressed(nonunique)`): 2 elements
//   B0_crd: u32, `crd` of level 0 of B (`i : compressed(nonunique)`): one for each position of the
//     level
//   B1_crd: u32, `crd` of level 1 of B (`j : singleton`): one for each position of the level
//   A_val: f64, values of A: one for each position of its last level
//   B_val: f64, values of B: one for each position of its last level
//   out: f64, values of the rows of the result: one for each row; all are 0 before
//   out0_crd: u32, coordinates at level 0 of the result (`i : compressed(nonunique)`): one for each
//     row
//   out1_crd: u32, coordinates at level 1 of the result (`j : singleton`): one for each row
//   range_lo: beginning of the range that parts cut: 0
//   range_hi: end of the range that parts cut: n_i
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   offsets: i64, the number of rows in the parts before each part
extern "C" __global__ void fill(
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ A0_crd,
    const u32* __restrict__ A1_crd,
    const u32* __restrict__ B0_pos,
    const u32* __restrict__ B0_crd,
    const u32* __restrict__ B1_crd,
    const double* __restrict__ A_val,
    const double* __restrict__ B_val,
    double* __restrict__ out,
    u32* __restrict__ out0_crd,
    u32* __restrict__ out1_crd,
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
    i64 rows[2] = {offsets[part], 0};
    i64 row = rows[0];
    const i64 end = A0_pos[1];
    i64 from = A0_pos[0];
    i64 to = end;
    while (from < to) {
      const i64 middle = (from + to) >> 1;
      if ((i64)A0_crd[middle] < part_lo) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    i64 from_2 = from;
    i64 to_2 = end;
    while (from_2 < to_2) {
      const i64 middle_2 = (from_2 + to_2) >> 1;
      if ((i64)A0_crd[middle_2] < part_hi) {
        from_2 = middle_2 + 1;
      } else {
        to_2 = middle_2;
      }
    }
    const i64 end_2 = B0_pos[1];
    i64 from_3 = B0_pos[0];
    i64 to_3 = end_2;
    while (from_3 < to_3) {
      const i64 middle_3 = (from_3 + to_3) >> 1;
      if ((i64)B0_crd[middle_3] < part_lo) {
        from_3 = middle_3 + 1;
      } else {
        to_3 = middle_3;
      }
    }
    i64 from_4 = from_3;
    i64 to_4 = end_2;
    while (from_4 < to_4) {
      const i64 middle_4 = (from_4 + to_4) >> 1;
      if ((i64)B0_crd[middle_4] < part_hi) {
        from_4 = middle_4 + 1;
      } else {
        to_4 = middle_4;
      }
    }
    i64 p_i = from;
    i64 p_i_2 = from_3;
    while (p_i < from_2 || p_i_2 < from_4) {
      const i64 i_A = p_i < from_2 ? (i64)A0_crd[p_i] : 9223372036854775807ll;
      const i64 i_B = p_i_2 < from_4 ? (i64)B0_crd[p_i_2] : 9223372036854775807ll;
      const i64 i = ust_minimum(i_A, i_B);
      const i64 stop = i_A == i ? from_2 : p_i;
      i64 q = p_i;
      while (q < stop ? (i64)A0_crd[q] == i : false) {
        q += 1;
      }
      const i64 stop_2 = i_B == i ? from_4 : p_i_2;
      i64 q_2 = p_i_2;
      while (q_2 < stop_2 ? (i64)B0_crd[q_2] == i : false) {
        q_2 += 1;
      }
      const bool mine = i_A == i;
      const bool mine_2 = i_B == i;
      if (mine && mine_2) {
        i64 p_j = p_i;
        i64 p_j_2 = p_i_2;
        while (p_j < q && p_j_2 < q_2) {
          const i64 crd = A1_crd[p_j];
          const double A_at = A_val[p_j];
          const i64 crd_2 = B1_crd[p_j_2];
          const double B_at = B_val[p_j_2];
          if (crd == crd_2) {
            out0_crd[row] = (u32)(i);
            out1_crd[row] = (u32)(crd);
            out[row] = A_at + B_at;
            row += 1;
            p_j += 1;
            p_j_2 += 1;
          } else {
            const bool mine_3 = crd < crd_2;
            const bool mine_4 = crd_2 < crd;
            const i64 j = ust_minimum(crd, crd_2);
            const double element = mine_3 ? A_at : 0.0;
            const double element_2 = mine_4 ? B_at : 0.0;
            out0_crd[row] = (u32)(i);
            out1_crd[row] = (u32)(j);
            out[row] = element + element_2;
            row += 1;
            p_j += mine_3 ? 1 : 0;
            p_j_2 += mine_4 ? 1 : 0;
          }
        }
        while (p_j < q) {
          const i64 crd_3 = A1_crd[p_j];
          const double A_at_2 = A_val[p_j];
          out0_crd[row] = (u32)(i);
          out1_crd[row] = (u32)(crd_3);
          out[row] = A_at_2;
          row += 1;
          p_j += 1;
        }
        while (p_j_2 < q_2) {
          const i64 crd_4 = B1_crd[p_j_2];
          const double B_at_2 = B_val[p_j_2];
          out0_crd[row] = (u32)(i);
          out1_crd[row] = (u32)(crd_4);
          out[row] = B_at_2;
          row += 1;
          p_j_2 += 1;
        }
      } else {
        if (mine) {
          for (i64 p_j_3 = p_i, end_p_j_3 = (q); p_j_3 < end_p_j_3; ++p_j_3) {
            const i64 j_2 = A1_crd[p_j_3];
            const double A_at_3 = A_val[p_j_3];
            out0_crd[row] = (u32)(i);
            out1_crd[row] = (u32)(j_2);
            out[row] = A_at_3;
            row += 1;
          }
        } else {
          if (mine_2) {
            for (i64 p_j_4 = p_i_2, end_p_j_4 = (q_2); p_j_4 < end_p_j_4; ++p_j_4) {
              const i64 j_3 = B1_crd[p_j_4];
              const double B_at_3 = B_val[p_j_4];
              out0_crd[row] = (u32)(i);
              out1_crd[row] = (u32)(j_3);
              out[row] = B_at_3;
              row += 1;
            }
          }
        }
      }
      p_i = q;
      p_i_2 = q_2;
    }
    rows[0] = row;
  }
}
