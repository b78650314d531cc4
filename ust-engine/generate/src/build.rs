//! Columns of coordinates and values, filled in parallel.

use rayon::prelude::*;
use ust_engine::coo::Coo;
use ust_level_api::assemble::fill;

use super::sample::Cell;

/// Entries from their row-major cell numbers.
pub(super) fn from_cells<T: Cell>(
    shape: Vec<usize>,
    len: usize,
    cell: impl Fn(usize) -> T + Sync,
    value: impl Fn(usize) -> f64 + Send + Sync,
) -> Coo {
    // An empty tensor may have more cells in a row than T counts; a tensor with an entry has not.
    let crd = match len {
        0 => vec![Vec::new(); shape.len()],
        _ => (0..shape.len())
            .map(|dim| {
                let after = &shape[dim + 1..];
                let stride =
                    after.iter().fold(T::from(1), |product, &extent| product.join(extent, 0));
                let column = |n| cell(n).coordinate(stride, shape[dim]);
                (0..len).into_par_iter().map(column).collect()
            })
            .collect(),
    };
    Coo { shape, crd, values: fill(len, value).into() }
}

/// Row and column coordinates of a matrix, from the number of entries in each row and what fills
/// their columns.
pub(super) fn by_rows(
    rows: usize,
    count: impl Fn(usize) -> usize + Sync,
    fill: impl Fn(usize, &mut [i64]) + Sync,
) -> [Vec<i64>; 2] {
    const CHUNK: usize = 4096;
    let rows_of = |chunk: usize| chunk * CHUNK..rows.min((chunk + 1) * CHUNK);
    let chunks = rows.div_ceil(CHUNK);
    let lengths: Vec<usize> =
        (0..chunks).into_par_iter().map(|chunk| rows_of(chunk).map(&count).sum()).collect();

    let total = lengths.iter().sum();
    let (mut i, mut j) = (vec![0_i64; total], vec![0_i64; total]);
    let mut tasks = Vec::with_capacity(chunks);
    let (mut rest_i, mut rest_j) = (&mut i[..], &mut j[..]);
    for (chunk, &length) in lengths.iter().enumerate() {
        let (this_i, this_j);
        (this_i, rest_i) = rest_i.split_at_mut(length);
        (this_j, rest_j) = rest_j.split_at_mut(length);
        tasks.push((chunk, this_i, this_j));
    }
    tasks.into_par_iter().for_each(|(chunk, mut i, mut j)| {
        for row in rows_of(chunk) {
            let (this_i, this_j);
            (this_i, i) = std::mem::take(&mut i).split_at_mut(count(row));
            (this_j, j) = std::mem::take(&mut j).split_at_mut(this_i.len());
            this_i.fill(row as i64);
            fill(row, this_j);
        }
    });
    [i, j]
}
