// parts of equally many stored elements
// A in `(i, j) -> (i : compressed(nonunique), j : singleton)`, f64
// B in `(i, j) -> (i : compressed(nonunique), j : singleton)`, f64
// the result in `(i, j) -> (i : compressed(nonunique), j : singleton)`, f64

// Stores the range that parts cut. One thread runs it.
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed(nonunique)`): 2 elements
//   B0_pos: u32, `pos` of level 0 of B (`i : compressed(nonunique)`): 2 elements
//   stored_values: i64, 2 elements: the beginning and the end of the range
extern "C" __global__ void bounds(
    const u32* __restrict__ A0_pos,
    const u32* __restrict__ B0_pos,
    i64* __restrict__ stored_values)
{
  stored_values[0] = 0;
  stored_values[1] = ust_maximum(ust_maximum((i64)A0_pos[1] - (i64)A0_pos[0] + ((i64)B0_pos[1] - (i64)B0_pos[0]), 1ll), 0ll);
}

// Counts the rows of each part. Then `offsets` are made of `counts`: the sum of those before each
// part. The sum of all is the number of rows, for which `fill` needs room.
// A worker is a thread, and runs every `workers`-th part. Launch any number of workers, in blocks
// of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_j: extent of dimension 1 of A
//   A0_pos: u32, `pos` of level 0 of A (`i : compressed(nonunique)`): 2 elements
//   A0_crd: u32, `crd` of level 0 of A (`i : compressed(nonunique)`): one for each position of the
//     level
//   A1_crd: u32, `crd` of level 1 of A (`j : singleton`): one for each position of the level
//   B0_pos: u32, `pos` of level 0 of B (`i : compressed(nonunique)`): 2 elements
//   B0_crd: u32, `crd` of level 0 of B (`i : compressed(nonunique)`): one for each position of the
//     level
//   B1_crd: u32, `crd` of level 1 of B (`j : singleton`): one for each position of the level
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   counts: i64, the number of rows of each part, which the kernel stores
extern "C" __global__ void count(
    const i64 n_i,
    const i64 n_j,
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
    i64 first_row = 0;
    i64 first_crd = 0;
    i64 last_row = 0;
    i64 last_crd = 0;
    for (i64 side = 0; side < 2; ++side) {
      const i64 item = side == 0 ? part_lo : part_hi;
      const i64 begin = A0_pos[0];
      const i64 end = A0_pos[1];
      const i64 begin_2 = B0_pos[0];
      const i64 end_2 = B0_pos[1];
      i64 low = begin;
      i64 high = end;
      i64 low_2 = begin_2;
      i64 high_2 = end_2;
      i64 row = 0;
      i64 to = 0 < item ? n_i : 0;
      while (row < to) {
        const i64 behind = ((row + to) >> 1) + 1;
        i64 from = low;
        i64 to_2 = high;
        while (from < to_2) {
          const i64 middle = (from + to_2) >> 1;
          if ((i64)A0_crd[middle] < behind) {
            from = middle + 1;
          } else {
            to_2 = middle;
          }
        }
        i64 from_2 = low_2;
        i64 to_3 = high_2;
        while (from_2 < to_3) {
          const i64 middle_2 = (from_2 + to_3) >> 1;
          if ((i64)B0_crd[middle_2] < behind) {
            from_2 = middle_2 + 1;
          } else {
            to_3 = middle_2;
          }
        }
        if (item < from - begin + (from_2 - begin_2)) {
          to = behind - 1;
          high = from;
          high_2 = from_2;
        } else {
          row = behind;
          low = from;
          low_2 = from_2;
        }
      }
      i64 crd = 0;
      if (row < n_i) {
        i64 from_3 = low;
        i64 to_4 = end;
        while (from_3 < to_4) {
          const i64 middle_3 = (from_3 + to_4) >> 1;
          if ((i64)A0_crd[middle_3] < row) {
            from_3 = middle_3 + 1;
          } else {
            to_4 = middle_3;
          }
        }
        i64 from_4 = low_2;
        i64 to_5 = end_2;
        while (from_4 < to_5) {
          const i64 middle_4 = (from_4 + to_5) >> 1;
          if ((i64)B0_crd[middle_4] < row) {
            from_4 = middle_4 + 1;
          } else {
            to_5 = middle_4;
          }
        }
        i64 from_5 = low;
        i64 to_6 = end;
        while (from_5 < to_6) {
          const i64 middle_5 = (from_5 + to_6) >> 1;
          if ((i64)A0_crd[middle_5] < row + 1) {
            from_5 = middle_5 + 1;
          } else {
            to_6 = middle_5;
          }
        }
        i64 from_6 = low_2;
        i64 to_7 = end_2;
        while (from_6 < to_7) {
          const i64 middle_6 = (from_6 + to_7) >> 1;
          if ((i64)B0_crd[middle_6] < row + 1) {
            from_6 = middle_6 + 1;
          } else {
            to_7 = middle_6;
          }
        }
        const i64 offset = item - (from_3 - begin + (from_4 - begin_2));
        i64 from_7 = 0;
        i64 to_8 = 0 < offset ? n_j : 0;
        i64 low_3 = from_3;
        i64 low_4 = from_4;
        i64 high_3 = from_5;
        i64 high_4 = from_6;
        while (from_7 < to_8) {
          const i64 half = (from_7 + to_8) >> 1;
          i64 from_8 = low_3;
          i64 to_9 = high_3;
          while (from_8 < to_9) {
            const i64 middle_7 = (from_8 + to_9) >> 1;
            if ((i64)A1_crd[middle_7] < half) {
              from_8 = middle_7 + 1;
            } else {
              to_9 = middle_7;
            }
          }
          i64 from_9 = low_4;
          i64 to_10 = high_4;
          while (from_9 < to_10) {
            const i64 middle_8 = (from_9 + to_10) >> 1;
            if ((i64)B1_crd[middle_8] < half) {
              from_9 = middle_8 + 1;
            } else {
              to_10 = middle_8;
            }
          }
          if (from_8 - from_3 + (from_9 - from_4) < offset) {
            from_7 = half + 1;
            low_3 = from_8;
            low_4 = from_9;
          } else {
            to_8 = half;
            high_3 = from_8;
            high_4 = from_9;
          }
        }
        crd = from_7;
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
    const i64 end_3 = A0_pos[1];
    i64 from_10 = A0_pos[0];
    i64 to_11 = end_3;
    while (from_10 < to_11) {
      const i64 middle_9 = (from_10 + to_11) >> 1;
      if ((i64)A0_crd[middle_9] < first_row) {
        from_10 = middle_9 + 1;
      } else {
        to_11 = middle_9;
      }
    }
    i64 from_11 = from_10;
    i64 to_12 = end_3;
    while (from_11 < to_12) {
      const i64 middle_10 = (from_11 + to_12) >> 1;
      if ((i64)A0_crd[middle_10] < last_row + (0 < last_crd ? 1 : 0)) {
        from_11 = middle_10 + 1;
      } else {
        to_12 = middle_10;
      }
    }
    const i64 end_4 = B0_pos[1];
    i64 from_12 = B0_pos[0];
    i64 to_13 = end_4;
    while (from_12 < to_13) {
      const i64 middle_11 = (from_12 + to_13) >> 1;
      if ((i64)B0_crd[middle_11] < first_row) {
        from_12 = middle_11 + 1;
      } else {
        to_13 = middle_11;
      }
    }
    i64 from_13 = from_12;
    i64 to_14 = end_4;
    while (from_13 < to_14) {
      const i64 middle_12 = (from_13 + to_14) >> 1;
      if ((i64)B0_crd[middle_12] < last_row + (0 < last_crd ? 1 : 0)) {
        from_13 = middle_12 + 1;
      } else {
        to_14 = middle_12;
      }
    }
    i64 p_i = from_10;
    i64 p_i_2 = from_12;
    while (p_i < from_11 || p_i_2 < from_13) {
      const i64 i_A = p_i < from_11 ? (i64)A0_crd[p_i] : 9223372036854775807ll;
      const i64 i_B = p_i_2 < from_13 ? (i64)B0_crd[p_i_2] : 9223372036854775807ll;
      const i64 i = ust_minimum(i_A, i_B);
      const i64 stop = i_A == i ? from_11 : p_i;
      const i64 next = i + 1;
      i64 from_14 = p_i;
      i64 to_15 = stop;
      while (from_14 < to_15) {
        const i64 middle_13 = (from_14 + to_15) >> 1;
        if ((i64)A0_crd[middle_13] < next) {
          from_14 = middle_13 + 1;
        } else {
          to_15 = middle_13;
        }
      }
      const i64 stop_2 = i_B == i ? from_13 : p_i_2;
      const i64 next_2 = i + 1;
      i64 from_15 = p_i_2;
      i64 to_16 = stop_2;
      while (from_15 < to_16) {
        const i64 middle_14 = (from_15 + to_16) >> 1;
        if ((i64)B0_crd[middle_14] < next_2) {
          from_15 = middle_14 + 1;
        } else {
          to_16 = middle_14;
        }
      }
      const bool mine = i_A == i;
      const bool mine_2 = i_B == i;
      if (mine && mine_2) {
        i64 begin_3 = p_i;
        i64 end_5 = from_14;
        if (i == first_row) {
          i64 from_16 = begin_3;
          i64 to_17 = end_5;
          while (from_16 < to_17) {
            const i64 middle_15 = (from_16 + to_17) >> 1;
            if ((i64)A1_crd[middle_15] < first_crd) {
              from_16 = middle_15 + 1;
            } else {
              to_17 = middle_15;
            }
          }
          begin_3 = from_16;
        }
        if (i == last_row) {
          i64 from_17 = begin_3;
          i64 to_18 = end_5;
          while (from_17 < to_18) {
            const i64 middle_16 = (from_17 + to_18) >> 1;
            if ((i64)A1_crd[middle_16] < last_crd) {
              from_17 = middle_16 + 1;
            } else {
              to_18 = middle_16;
            }
          }
          end_5 = from_17;
        }
        i64 begin_4 = p_i_2;
        i64 end_6 = from_15;
        if (i == first_row) {
          i64 from_18 = begin_4;
          i64 to_19 = end_6;
          while (from_18 < to_19) {
            const i64 middle_17 = (from_18 + to_19) >> 1;
            if ((i64)B1_crd[middle_17] < first_crd) {
              from_18 = middle_17 + 1;
            } else {
              to_19 = middle_17;
            }
          }
          begin_4 = from_18;
        }
        if (i == last_row) {
          i64 from_19 = begin_4;
          i64 to_20 = end_6;
          while (from_19 < to_20) {
            const i64 middle_18 = (from_19 + to_20) >> 1;
            if ((i64)B1_crd[middle_18] < last_crd) {
              from_19 = middle_18 + 1;
            } else {
              to_20 = middle_18;
            }
          }
          end_6 = from_19;
        }
        i64 p_j = begin_3;
        i64 p_j_2 = begin_4;
        while (p_j < end_5 && p_j_2 < end_6) {
          const i64 crd_2 = A1_crd[p_j];
          const i64 crd_3 = B1_crd[p_j_2];
          if (crd_2 == crd_3) {
            row_2 += 1;
            p_j += 1;
            p_j_2 += 1;
          } else {
            const bool mine_3 = crd_2 < crd_3;
            const bool mine_4 = crd_3 < crd_2;
            row_2 += 1;
            p_j += mine_3 ? 1 : 0;
            p_j_2 += mine_4 ? 1 : 0;
          }
        }
        while (p_j < end_5) {
          row_2 += 1;
          p_j += 1;
        }
        while (p_j_2 < end_6) {
          row_2 += 1;
          p_j_2 += 1;
        }
      } else {
        if (mine) {
          i64 begin_5 = p_i;
          i64 end_7 = from_14;
          if (i == first_row) {
            i64 from_20 = begin_5;
            i64 to_21 = end_7;
            while (from_20 < to_21) {
              const i64 middle_19 = (from_20 + to_21) >> 1;
              if ((i64)A1_crd[middle_19] < first_crd) {
                from_20 = middle_19 + 1;
              } else {
                to_21 = middle_19;
              }
            }
            begin_5 = from_20;
          }
          if (i == last_row) {
            i64 from_21 = begin_5;
            i64 to_22 = end_7;
            while (from_21 < to_22) {
              const i64 middle_20 = (from_21 + to_22) >> 1;
              if ((i64)A1_crd[middle_20] < last_crd) {
                from_21 = middle_20 + 1;
              } else {
                to_22 = middle_20;
              }
            }
            end_7 = from_21;
          }
          for (i64 p_j_3 = begin_5, end_p_j_3 = (end_7); p_j_3 < end_p_j_3; ++p_j_3) {
            row_2 += 1;
          }
        } else {
          if (mine_2) {
            i64 begin_6 = p_i_2;
            i64 end_8 = from_15;
            if (i == first_row) {
              i64 from_22 = begin_6;
              i64 to_23 = end_8;
              while (from_22 < to_23) {
                const i64 middle_21 = (from_22 + to_23) >> 1;
                if ((i64)B1_crd[middle_21] < first_crd) {
                  from_22 = middle_21 + 1;
                } else {
                  to_23 = middle_21;
                }
              }
              begin_6 = from_22;
            }
            if (i == last_row) {
              i64 from_23 = begin_6;
              i64 to_24 = end_8;
              while (from_23 < to_24) {
                const i64 middle_22 = (from_23 + to_24) >> 1;
                if ((i64)B1_crd[middle_22] < last_crd) {
                  from_23 = middle_22 + 1;
                } else {
                  to_24 = middle_22;
                }
              }
              end_8 = from_23;
            }
            for (i64 p_j_4 = begin_6, end_p_j_4 = (end_8); p_j_4 < end_p_j_4; ++p_j_4) {
              row_2 += 1;
            }
          }
        }
      }
      p_i = from_14;
      p_i_2 = from_15;
    }
    rows[0] = row_2;
    counts[part] = rows[0];
  }
}

// Writes the rows of the result, after `count`.
// A worker is a thread, and runs every `workers`-th part. Launch any number of workers, in blocks
// of one dimension, with a multiple of 32 threads in each, such as 256.
//   n_i: extent of dimension 0 of A
//   n_j: extent of dimension 1 of A
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
//   range_lo: beginning of the range that parts cut, as `bounds` stores it
//   range_hi: end of the range that parts cut, as `bounds` stores it
//   grain: length of a part, 1 or more
//   parts: number of parts: (range_hi - range_lo) / grain, rounded up
//   offsets: i64, the number of rows in the parts before each part
extern "C" __global__ void fill(
    const i64 n_i,
    const i64 n_j,
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
    i64 first_row = 0;
    i64 first_crd = 0;
    i64 last_row = 0;
    i64 last_crd = 0;
    for (i64 side = 0; side < 2; ++side) {
      const i64 item = side == 0 ? part_lo : part_hi;
      const i64 begin = A0_pos[0];
      const i64 end = A0_pos[1];
      const i64 begin_2 = B0_pos[0];
      const i64 end_2 = B0_pos[1];
      i64 low = begin;
      i64 high = end;
      i64 low_2 = begin_2;
      i64 high_2 = end_2;
      i64 row = 0;
      i64 to = 0 < item ? n_i : 0;
      while (row < to) {
        const i64 behind = ((row + to) >> 1) + 1;
        i64 from = low;
        i64 to_2 = high;
        while (from < to_2) {
          const i64 middle = (from + to_2) >> 1;
          if ((i64)A0_crd[middle] < behind) {
            from = middle + 1;
          } else {
            to_2 = middle;
          }
        }
        i64 from_2 = low_2;
        i64 to_3 = high_2;
        while (from_2 < to_3) {
          const i64 middle_2 = (from_2 + to_3) >> 1;
          if ((i64)B0_crd[middle_2] < behind) {
            from_2 = middle_2 + 1;
          } else {
            to_3 = middle_2;
          }
        }
        if (item < from - begin + (from_2 - begin_2)) {
          to = behind - 1;
          high = from;
          high_2 = from_2;
        } else {
          row = behind;
          low = from;
          low_2 = from_2;
        }
      }
      i64 crd = 0;
      if (row < n_i) {
        i64 from_3 = low;
        i64 to_4 = end;
        while (from_3 < to_4) {
          const i64 middle_3 = (from_3 + to_4) >> 1;
          if ((i64)A0_crd[middle_3] < row) {
            from_3 = middle_3 + 1;
          } else {
            to_4 = middle_3;
          }
        }
        i64 from_4 = low_2;
        i64 to_5 = end_2;
        while (from_4 < to_5) {
          const i64 middle_4 = (from_4 + to_5) >> 1;
          if ((i64)B0_crd[middle_4] < row) {
            from_4 = middle_4 + 1;
          } else {
            to_5 = middle_4;
          }
        }
        i64 from_5 = low;
        i64 to_6 = end;
        while (from_5 < to_6) {
          const i64 middle_5 = (from_5 + to_6) >> 1;
          if ((i64)A0_crd[middle_5] < row + 1) {
            from_5 = middle_5 + 1;
          } else {
            to_6 = middle_5;
          }
        }
        i64 from_6 = low_2;
        i64 to_7 = end_2;
        while (from_6 < to_7) {
          const i64 middle_6 = (from_6 + to_7) >> 1;
          if ((i64)B0_crd[middle_6] < row + 1) {
            from_6 = middle_6 + 1;
          } else {
            to_7 = middle_6;
          }
        }
        const i64 offset = item - (from_3 - begin + (from_4 - begin_2));
        i64 from_7 = 0;
        i64 to_8 = 0 < offset ? n_j : 0;
        i64 low_3 = from_3;
        i64 low_4 = from_4;
        i64 high_3 = from_5;
        i64 high_4 = from_6;
        while (from_7 < to_8) {
          const i64 half = (from_7 + to_8) >> 1;
          i64 from_8 = low_3;
          i64 to_9 = high_3;
          while (from_8 < to_9) {
            const i64 middle_7 = (from_8 + to_9) >> 1;
            if ((i64)A1_crd[middle_7] < half) {
              from_8 = middle_7 + 1;
            } else {
              to_9 = middle_7;
            }
          }
          i64 from_9 = low_4;
          i64 to_10 = high_4;
          while (from_9 < to_10) {
            const i64 middle_8 = (from_9 + to_10) >> 1;
            if ((i64)B1_crd[middle_8] < half) {
              from_9 = middle_8 + 1;
            } else {
              to_10 = middle_8;
            }
          }
          if (from_8 - from_3 + (from_9 - from_4) < offset) {
            from_7 = half + 1;
            low_3 = from_8;
            low_4 = from_9;
          } else {
            to_8 = half;
            high_3 = from_8;
            high_4 = from_9;
          }
        }
        crd = from_7;
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
    const i64 end_3 = A0_pos[1];
    i64 from_10 = A0_pos[0];
    i64 to_11 = end_3;
    while (from_10 < to_11) {
      const i64 middle_9 = (from_10 + to_11) >> 1;
      if ((i64)A0_crd[middle_9] < first_row) {
        from_10 = middle_9 + 1;
      } else {
        to_11 = middle_9;
      }
    }
    i64 from_11 = from_10;
    i64 to_12 = end_3;
    while (from_11 < to_12) {
      const i64 middle_10 = (from_11 + to_12) >> 1;
      if ((i64)A0_crd[middle_10] < last_row + (0 < last_crd ? 1 : 0)) {
        from_11 = middle_10 + 1;
      } else {
        to_12 = middle_10;
      }
    }
    const i64 end_4 = B0_pos[1];
    i64 from_12 = B0_pos[0];
    i64 to_13 = end_4;
    while (from_12 < to_13) {
      const i64 middle_11 = (from_12 + to_13) >> 1;
      if ((i64)B0_crd[middle_11] < first_row) {
        from_12 = middle_11 + 1;
      } else {
        to_13 = middle_11;
      }
    }
    i64 from_13 = from_12;
    i64 to_14 = end_4;
    while (from_13 < to_14) {
      const i64 middle_12 = (from_13 + to_14) >> 1;
      if ((i64)B0_crd[middle_12] < last_row + (0 < last_crd ? 1 : 0)) {
        from_13 = middle_12 + 1;
      } else {
        to_14 = middle_12;
      }
    }
    i64 p_i = from_10;
    i64 p_i_2 = from_12;
    while (p_i < from_11 || p_i_2 < from_13) {
      const i64 i_A = p_i < from_11 ? (i64)A0_crd[p_i] : 9223372036854775807ll;
      const i64 i_B = p_i_2 < from_13 ? (i64)B0_crd[p_i_2] : 9223372036854775807ll;
      const i64 i = ust_minimum(i_A, i_B);
      const i64 stop = i_A == i ? from_11 : p_i;
      const i64 next = i + 1;
      i64 from_14 = p_i;
      i64 to_15 = stop;
      while (from_14 < to_15) {
        const i64 middle_13 = (from_14 + to_15) >> 1;
        if ((i64)A0_crd[middle_13] < next) {
          from_14 = middle_13 + 1;
        } else {
          to_15 = middle_13;
        }
      }
      const i64 stop_2 = i_B == i ? from_13 : p_i_2;
      const i64 next_2 = i + 1;
      i64 from_15 = p_i_2;
      i64 to_16 = stop_2;
      while (from_15 < to_16) {
        const i64 middle_14 = (from_15 + to_16) >> 1;
        if ((i64)B0_crd[middle_14] < next_2) {
          from_15 = middle_14 + 1;
        } else {
          to_16 = middle_14;
        }
      }
      const bool mine = i_A == i;
      const bool mine_2 = i_B == i;
      if (mine && mine_2) {
        i64 begin_3 = p_i;
        i64 end_5 = from_14;
        if (i == first_row) {
          i64 from_16 = begin_3;
          i64 to_17 = end_5;
          while (from_16 < to_17) {
            const i64 middle_15 = (from_16 + to_17) >> 1;
            if ((i64)A1_crd[middle_15] < first_crd) {
              from_16 = middle_15 + 1;
            } else {
              to_17 = middle_15;
            }
          }
          begin_3 = from_16;
        }
        if (i == last_row) {
          i64 from_17 = begin_3;
          i64 to_18 = end_5;
          while (from_17 < to_18) {
            const i64 middle_16 = (from_17 + to_18) >> 1;
            if ((i64)A1_crd[middle_16] < last_crd) {
              from_17 = middle_16 + 1;
            } else {
              to_18 = middle_16;
            }
          }
          end_5 = from_17;
        }
        i64 begin_4 = p_i_2;
        i64 end_6 = from_15;
        if (i == first_row) {
          i64 from_18 = begin_4;
          i64 to_19 = end_6;
          while (from_18 < to_19) {
            const i64 middle_17 = (from_18 + to_19) >> 1;
            if ((i64)B1_crd[middle_17] < first_crd) {
              from_18 = middle_17 + 1;
            } else {
              to_19 = middle_17;
            }
          }
          begin_4 = from_18;
        }
        if (i == last_row) {
          i64 from_19 = begin_4;
          i64 to_20 = end_6;
          while (from_19 < to_20) {
            const i64 middle_18 = (from_19 + to_20) >> 1;
            if ((i64)B1_crd[middle_18] < last_crd) {
              from_19 = middle_18 + 1;
            } else {
              to_20 = middle_18;
            }
          }
          end_6 = from_19;
        }
        i64 p_j = begin_3;
        i64 p_j_2 = begin_4;
        while (p_j < end_5 && p_j_2 < end_6) {
          const i64 crd_2 = A1_crd[p_j];
          const double A_at = A_val[p_j];
          const i64 crd_3 = B1_crd[p_j_2];
          const double B_at = B_val[p_j_2];
          if (crd_2 == crd_3) {
            out0_crd[row_2] = (u32)(i);
            out1_crd[row_2] = (u32)(crd_2);
            out[row_2] = A_at + B_at;
            row_2 += 1;
            p_j += 1;
            p_j_2 += 1;
          } else {
            const bool mine_3 = crd_2 < crd_3;
            const bool mine_4 = crd_3 < crd_2;
            const i64 j = ust_minimum(crd_2, crd_3);
            const double element = mine_3 ? A_at : 0.0;
            const double element_2 = mine_4 ? B_at : 0.0;
            out0_crd[row_2] = (u32)(i);
            out1_crd[row_2] = (u32)(j);
            out[row_2] = element + element_2;
            row_2 += 1;
            p_j += mine_3 ? 1 : 0;
            p_j_2 += mine_4 ? 1 : 0;
          }
        }
        while (p_j < end_5) {
          const i64 crd_4 = A1_crd[p_j];
          const double A_at_2 = A_val[p_j];
          out0_crd[row_2] = (u32)(i);
          out1_crd[row_2] = (u32)(crd_4);
          out[row_2] = A_at_2;
          row_2 += 1;
          p_j += 1;
        }
        while (p_j_2 < end_6) {
          const i64 crd_5 = B1_crd[p_j_2];
          const double B_at_2 = B_val[p_j_2];
          out0_crd[row_2] = (u32)(i);
          out1_crd[row_2] = (u32)(crd_5);
          out[row_2] = B_at_2;
          row_2 += 1;
          p_j_2 += 1;
        }
      } else {
        if (mine) {
          i64 begin_5 = p_i;
          i64 end_7 = from_14;
          if (i == first_row) {
            i64 from_20 = begin_5;
            i64 to_21 = end_7;
            while (from_20 < to_21) {
              const i64 middle_19 = (from_20 + to_21) >> 1;
              if ((i64)A1_crd[middle_19] < first_crd) {
                from_20 = middle_19 + 1;
              } else {
                to_21 = middle_19;
              }
            }
            begin_5 = from_20;
          }
          if (i == last_row) {
            i64 from_21 = begin_5;
            i64 to_22 = end_7;
            while (from_21 < to_22) {
              const i64 middle_20 = (from_21 + to_22) >> 1;
              if ((i64)A1_crd[middle_20] < last_crd) {
                from_21 = middle_20 + 1;
              } else {
                to_22 = middle_20;
              }
            }
            end_7 = from_21;
          }
          for (i64 p_j_3 = begin_5, end_p_j_3 = (end_7); p_j_3 < end_p_j_3; ++p_j_3) {
            const i64 j_2 = A1_crd[p_j_3];
            const double A_at_3 = A_val[p_j_3];
            out0_crd[row_2] = (u32)(i);
            out1_crd[row_2] = (u32)(j_2);
            out[row_2] = A_at_3;
            row_2 += 1;
          }
        } else {
          if (mine_2) {
            i64 begin_6 = p_i_2;
            i64 end_8 = from_15;
            if (i == first_row) {
              i64 from_22 = begin_6;
              i64 to_23 = end_8;
              while (from_22 < to_23) {
                const i64 middle_21 = (from_22 + to_23) >> 1;
                if ((i64)B1_crd[middle_21] < first_crd) {
                  from_22 = middle_21 + 1;
                } else {
                  to_23 = middle_21;
                }
              }
              begin_6 = from_22;
            }
            if (i == last_row) {
              i64 from_23 = begin_6;
              i64 to_24 = end_8;
              while (from_23 < to_24) {
                const i64 middle_22 = (from_23 + to_24) >> 1;
                if ((i64)B1_crd[middle_22] < last_crd) {
                  from_23 = middle_22 + 1;
                } else {
                  to_24 = middle_22;
                }
              }
              end_8 = from_23;
            }
            for (i64 p_j_4 = begin_6, end_p_j_4 = (end_8); p_j_4 < end_p_j_4; ++p_j_4) {
              const i64 j_3 = B1_crd[p_j_4];
              const double B_at_3 = B_val[p_j_4];
              out0_crd[row_2] = (u32)(i);
              out1_crd[row_2] = (u32)(j_3);
              out[row_2] = B_at_3;
              row_2 += 1;
            }
          }
        }
      }
      p_i = from_14;
      p_i_2 = from_15;
    }
    rows[0] = row_2;
  }
}
