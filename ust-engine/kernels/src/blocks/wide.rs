//! Row-major blocks of whole vectors, times a vector `x`. A vector register holds some rows of a block, or a
//! part of a row. It is multiplied with the elements of `x` for its columns, repeated for each row.

use std::ops::Range;

use super::{Blocks, Order, prefetch_elements};
use crate::vector::{Real, Vector, prefetch};

/// Columns of a block, at most.
const WIDEST: usize = 16;

/// Bytes of a vector of which the machine has registers for 16 sums and their operands.
const WIDE: usize = 64;

/// Whether blocks of this size consist of whole vectors `V`.
pub(super) fn suits<V: Vector>([rows, columns]: [usize; 2], order: Order) -> bool {
    let whole = (rows * columns).is_multiple_of(V::N.max(columns));
    order == Order::Rows && columns.is_power_of_two() && columns <= WIDEST && whole
}

/// As [`Blocks::times`], for blocks that suit.
///
/// # Safety
/// As of [`Vector`], here and below.
#[inline(always)]
pub(super) unsafe fn times<V: Vector>(
    blocks: &Blocks<'_, V::Lane>,
    rows: Range<usize>,
    x: &[V::Lane],
    y: &mut [V::Lane],
) {
    // SAFETY: as the caller says.
    unsafe {
        // Up to `WIDEST`. A row of 16 is up to four vectors. A constant condition: what it excludes is not
        // compiled.
        match blocks.size[1] {
            1 => times_rows::<V, 1, 1>(blocks, rows, x, y),
            2 => times_rows::<V, 2, 1>(blocks, rows, x, y),
            4 => times_rows::<V, 4, 1>(blocks, rows, x, y),
            8 if const { V::N >= 8 } => times_rows::<V, 8, 1>(blocks, rows, x, y),
            8 if const { V::N < 8 } => times_rows::<V, 8, 2>(blocks, rows, x, y),
            16 if const { V::N >= 16 } => times_rows::<V, 16, 1>(blocks, rows, x, y),
            16 if const { V::N >= 8 } => times_rows::<V, 16, 2>(blocks, rows, x, y),
            16 if const { V::N < 8 } => times_rows::<V, 16, 4>(blocks, rows, x, y),
            columns => unreachable!("blocks of {columns} columns do not suit"),
        }
    }
}

/// Blocks of `C` columns, each row of which is `P` vectors, or `P` is 1.
#[inline(always)]
unsafe fn times_rows<V: Vector, const C: usize, const P: usize>(
    blocks: &Blocks<'_, V::Lane>,
    rows: Range<usize>,
    x: &[V::Lane],
    y: &mut [V::Lane],
) {
    let height = blocks.size[0];
    let area = height * C;
    let ahead = blocks.ahead();
    // Vectors of sums for a row of blocks.
    let vectors = area / (P * V::N);
    for (row, y) in rows.zip(y.chunks_mut(height)) {
        let (lo, mut hi) = (blocks.pos[row] as usize, blocks.pos[row + 1] as usize);
        // Only the last block of a row may reach beyond the end of `x`.
        if hi > lo && (blocks.crd[hi - 1] as usize + 1) * C > x.len() {
            hi -= 1;
            cut(&blocks.values[hi * area..][..area], C, &x[blocks.crd[hi] as usize * C..], y);
        }
        let (crd, values) = (&blocks.crd[lo..hi], &blocks.values[lo * area..hi * area]);
        let next = (blocks.crd.get(lo + ahead..).unwrap_or_default(), ahead);
        if crd.is_empty() {
            continue;
        }
        let mut first = 0;
        while first < vectors {
            let (values, y) = (&values[first * P * V::N..], &mut *y);
            // SAFETY: as the caller says; these vectors of each block are left.
            first += unsafe {
                match vectors - first {
                    16.. if const { size_of::<V>() >= WIDE } => {
                        group::<V, C, P, 16>(crd, next, values, area, x, first, y)
                    }
                    8.. => group::<V, C, P, 8>(crd, next, values, area, x, first, y),
                    4.. => group::<V, C, P, 4>(crd, next, values, area, x, first, y),
                    2.. => group::<V, C, P, 2>(crd, next, values, area, x, first, y),
                    _ => group::<V, C, P, 1>(crd, next, values, area, x, first, y),
                }
            };
        }
    }
}

/// Adds `G` vectors of sums of a row of blocks, from vector `first` on, to `y`. Gives `G`. `values` begins
/// with the vectors of the first block; those of the next block follow `area` numbers later. `next` has the
/// coordinate of a later block to prefetch for each block, `ahead` blocks later.
///
/// # Safety
/// As of [`Vector`]; there are `G * P` vectors of values in each block.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn group<V: Vector, const C: usize, const P: usize, const G: usize>(
    crd: &[u32],
    (next, ahead): (&[u32], usize),
    values: &[V::Lane],
    area: usize,
    x: &[V::Lane],
    first: usize,
    y: &mut [V::Lane],
) -> usize {
    // SAFETY: as the caller says; slices are checked where they are taken.
    unsafe {
        let mut sums = [V::splat(V::Lane::ZERO); G];
        for (block, &crd) in crd.iter().enumerate() {
            if let Some(&next) = next.get(block) {
                prefetch_elements(x, next as usize * C, C);
            }
            let x = x[crd as usize * C..][..C].as_ptr();
            let values = values.as_ptr().add(block * area);
            let mut vectors = [V::repeat::<C>(x); P];
            if const { P > 1 } {
                for (part, vector) in vectors.iter_mut().enumerate() {
                    *vector = V::load(x.add(part * V::N));
                }
            }
            for (at, sum) in sums.iter_mut().enumerate() {
                for (part, &x) in vectors.iter().enumerate() {
                    let values = values.add((at * P + part) * V::N);
                    // Not for larger blocks: the hardware prefetches them, and software prefetches
                    // disturb it.
                    if G * P == 1 {
                        prefetch(values.wrapping_add(ahead * area));
                    }
                    let values = V::load(values);
                    *sum = sum.plus::<true>(values, x);
                }
            }
        }
        // The lanes of one row, side by side: adjacent lanes are added until one is left.
        let mut width = C.min(V::N);
        let rows = G * V::N / width;
        let mut left = G;
        while width > 1 {
            left = left.div_ceil(2);
            for at in 0..left {
                sums[at] = sums[2 * at].pairs(sums[(2 * at + 1) % G]);
            }
            width /= 2;
        }
        let lanes = std::slice::from_raw_parts(sums.as_ptr().cast::<V::Lane>(), left * V::N);
        let (lanes, first) = (&lanes[..rows], first * rows / G);
        let add = |(y, &sum): (&mut V::Lane, _)| *y = *y + sum;
        match y.get_mut(first..first + rows) {
            // A constant number of rows.
            Some(y) => y.iter_mut().zip(lanes).for_each(add),
            None => y.iter_mut().skip(first).zip(lanes).for_each(add),
        }
    }
    G
}

/// Adds the products of a block that reaches beyond the end of `x`.
#[cold]
#[inline(never)]
fn cut<T: Real>(block: &[T], columns: usize, x: &[T], y: &mut [T]) {
    for (y, row) in y.iter_mut().zip(block.chunks(columns)) {
        *y = row.iter().zip(x).fold(*y, |sum, (&value, &x)| sum + value * x);
    }
}
