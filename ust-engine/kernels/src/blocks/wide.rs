//! Blocks that are whole vectors, row by row: a vector holds some rows, or a part of one, and is
//! multiplied with columns of `x` that are repeated for each row.

use std::ops::Range;

use super::{Blocks, Order, prefetch_elements};
use crate::vector::{Real, Vector, prefetch};

/// Columns that a block may have at most.
const WIDEST: usize = 16;

/// Bytes of vectors of which there are registers for 16 sums and more.
const WIDE: usize = 64;

/// Whether blocks are made of these vectors.
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
        // Up to `WIDEST`. A row of 16 is up to four vectors.
        match blocks.size[1] {
            1 => times_rows::<V, 1, 1>(blocks, rows, x, y),
            2 => times_rows::<V, 2, 1>(blocks, rows, x, y),
            4 => times_rows::<V, 4, 1>(blocks, rows, x, y),
            8 if V::N >= 8 => times_rows::<V, 8, 1>(blocks, rows, x, y),
            8 => times_rows::<V, 8, 2>(blocks, rows, x, y),
            16 if V::N >= 16 => times_rows::<V, 16, 1>(blocks, rows, x, y),
            16 if V::N >= 8 => times_rows::<V, 16, 2>(blocks, rows, x, y),
            16 => times_rows::<V, 16, 4>(blocks, rows, x, y),
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
    // Vectors of sums.
    let wanted = area / (P * V::N);
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
        while first < wanted {
            let (values, y) = (&values[first * P * V::N..], &mut *y);
            // SAFETY: as the caller says, and so many vectors of a block follow.
            first += unsafe {
                match wanted - first {
                    16.. if size_of::<V>() >= WIDE => {
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

/// `G` vectors of sums of a row of blocks, from the one of number `first` on, added to `y`. Gives
/// `G`. Values begin with the first block's for them, and `area` after are those of the next.
/// `next` are the coordinates of blocks that are to be asked for, one with each, and how far ahead
/// they are.
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
    // SAFETY: as the caller says; slices are as long as they are asked to be.
    unsafe {
        let mut sums = [V::splat(V::Lane::ZERO); G];
        for (block, &crd) in crd.iter().enumerate() {
            if let Some(&next) = next.get(block) {
                prefetch_elements(x, next as usize * C, C);
            }
            let x = x[crd as usize * C..][..C].as_ptr();
            let values = values.as_ptr().add(block * area);
            let x: [V; P] = std::array::from_fn(|part| match P {
                1 => V::repeat::<C>(x),
                _ => V::load(x.add(part * V::N)),
            });
            for (at, sum) in sums.iter_mut().enumerate() {
                for (part, &x) in x.iter().enumerate() {
                    let values = values.add((at * P + part) * V::N);
                    // The machine sees by itself that larger blocks are read in order, and is kept from
                    // it by who asks.
                    if G * P == 1 {
                        prefetch(values.wrapping_add(ahead * area));
                    }
                    let values = V::load(values);
                    *sum = sum.plus::<true>(values, x);
                }
            }
        }
        // Numbers of a vector that are of one row: neighbours are added until one is left.
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
            // As many as the compiler knows.
            Some(y) => y.iter_mut().zip(lanes).for_each(add),
            None => y.iter_mut().skip(first).zip(lanes).for_each(add),
        }
    }
    G
}

/// Adds what a block gives that reaches beyond the end of `x`.
#[cold]
#[inline(never)]
fn cut<T: Real>(block: &[T], columns: usize, x: &[T], y: &mut [T]) {
    for (y, row) in y.iter_mut().zip(block.chunks(columns)) {
        *y = row.iter().zip(x).fold(*y, |sum, (&value, &x)| sum + value * x);
    }
}
