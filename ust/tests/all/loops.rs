//! The loops that formats become: snapshots of the code that unpacks a tensor.

use ust::walk::nest::Reach;
use ust::walk::unpack::{Column, Keep, lower};
use ust::{Dtype, Format, Tensor};

/// The code that unpacks a tensor of this format must be this.
fn becomes(text: &str, expected: &str) {
    becomes_where(text, Keep::All, expected);
}

/// The same, where not all values are wanted.
fn becomes_where(text: &str, keep: Keep<'_>, expected: &str) {
    let format: Format = text.parse().unwrap_or_else(|e| panic!("{e}"));
    let shape = &[5, 7, 3][..format.rank()];
    let tensor = Tensor::zeros(shape, &format, Dtype::F64).unwrap();
    let mut columns: Vec<Column> = (0..format.rank()).map(Column::Dim).collect();
    columns.push(Column::Value);
    let loops = lower(&tensor, Reach::Inside, &columns, keep).function.to_string();
    assert_eq!(loops.trim(), expected.trim(), "{loops}");
}

#[test]
fn a_dense_level_is_a_loop_over_coordinates_and_a_compressed_one_over_positions() {
    becomes(
        "CSR",
        "
fn unpack(int A_n0, int A_n1, int A0_size, int A1_size, int from, int to; u32 A1_pos[], u32 A1_crd[], mut i64 count[], mut i64 column0[], mut i64 column1[], mut i64 column2[]) {
  let row = 0;
  for i0 in max(0, from)..min(A0_size, to) {
    for j1 in A1_pos[i0]..A1_pos[i0 + 1] {
      let j1_crd = A1_crd[j1];
      column0[row] = i0;
      column1[row] = j1_crd;
      column2[row] = j1;
      row = row + 1;
    }
  }
  count[0] = row;
}
",
    );
}

#[test]
fn a_diagonal_bounds_the_range_below_it() {
    becomes(
        "DIA-I",
        "
fn unpack(int A_n0, int A_n1, int A0_size, int A1_size, int A0_lower, int from, int to; u32 A0_pos[], i32 A0_crd[], mut i64 count[], mut i64 column0[], mut i64 column1[], mut i64 column2[]) {
  let row = 0;
  for l0 in max(A0_pos[0], from)..min(A0_pos[1], to) {
    let l0_crd = A0_crd[l0];
    for i1 in max(0, 0 - l0_crd)..min(A1_size, A_n1 - l0_crd) {
      let i1_pos = l0 * A1_size + i1;
      let j = l0_crd + i1;
      column0[row] = i1;
      column1[row] = j;
      column2[row] = i1_pos;
      row = row + 1;
    }
  }
  count[0] = row;
}
",
    );
}

#[test]
fn blocks_that_do_not_divide_the_shape_are_cut_at_its_edge() {
    becomes(
        "BSR(2,3)",
        "
fn unpack(int A_n0, int A_n1, int A0_size, int A1_size, int from, int to; u32 A1_pos[], u32 A1_crd[], mut i64 count[], mut i64 column0[], mut i64 column1[], mut i64 column2[]) {
  let row = 0;
  for l0 in max(0, from)..min(min(A0_size, (A_n0 + 1) floordiv 2), to) {
    for l1 in A1_pos[l0]..A1_pos[l0 + 1] {
      let l1_crd = A1_crd[l1];
      for l2 in 0..min(2, A_n0 - l0 * 2) {
        let l2_pos = l1 * 2 + l2;
        let i = l0 * 2 + l2;
        for l3 in 0..min(3, A_n1 - l1_crd * 3) {
          let l3_pos = l2_pos * 3 + l3;
          let j = l1_crd * 3 + l3;
          column0[row] = i;
          column1[row] = j;
          column2[row] = l3_pos;
          row = row + 1;
        }
      }
    }
  }
  count[0] = row;
}
",
    );
}

#[test]
fn padding_beyond_the_shape_is_passed_over() {
    becomes(
        "2:4",
        "
fn unpack(int A_n0, int A_n1, int A0_size, int A1_size, int from, int to; u32 A2_crd[], mut i64 count[], mut i64 column0[], mut i64 column1[], mut i64 column2[]) {
  let row = 0;
  for i0 in max(0, from)..min(A0_size, to) {
    for l1 in 0..min(A1_size, (A_n1 + 3) floordiv 4) {
      let l1_pos = i0 * A1_size + l1;
      for l2 in l1_pos * 2..(l1_pos + 1) * 2 {
        let l2_crd = A2_crd[l2];
        let j = l1 * 4 + l2_crd;
        if 0 <= j && j < A_n1 {
          column0[row] = i0;
          column1[row] = j;
          column2[row] = l2;
          row = row + 1;
        }
      }
    }
  }
  count[0] = row;
}
",
    );
}

#[test]
fn a_linearised_level_is_decoded_and_tested() {
    becomes(
        "(i, j) -> (i * 9 + j : dense)",
        "
fn unpack(int A_n0, int A_n1, int A0_size, int from, int to; mut i64 count[], mut i64 column0[], mut i64 column1[], mut i64 column2[]) {
  let row = 0;
  for l0 in max(0, from)..min(A0_size, to) {
    let i = l0 floordiv 9;
    let j = l0 mod 9;
    if 0 <= i && i < A_n0 && 0 <= j && j < A_n1 && i * 9 + j == l0 {
      column0[row] = i;
      column1[row] = j;
      column2[row] = l0;
      row = row + 1;
    }
  }
  count[0] = row;
}
",
    );
}

#[test]
fn where_places_are_known_the_last_level_goes_from_one_to_the_next() {
    becomes_where(
        "Dense",
        Keep::At(&vec![u32::MAX].into()),
        "
fn unpack(int A_n0, int A_n1, int A0_size, int A1_size, int from, int to, int places; u32 keep[], mut i64 count[], mut i64 column0[], mut i64 column1[], mut i64 column2[]) {
  let row = 0;
  let next = 0;
  for i0 in max(0, from)..min(A0_size, to) {
    let position = i0 * A1_size;
    if keep[next] < position {
      let to_2 = places;
      while next < to_2 {
        let middle = next + to_2 >> 1;
        if keep[middle] < position {
          next = middle + 1;
        } else {
          to_2 = middle;
        }
      }
    }
    let end = position + A1_size;
    while keep[next] < end {
      let place = keep[next];
      let j1_crd = place - position;
      column0[row] = i0;
      column1[row] = j1_crd;
      column2[row] = place;
      row = row + 1;
      next = next + 1;
    }
  }
  count[0] = row;
}
",
    );
}
