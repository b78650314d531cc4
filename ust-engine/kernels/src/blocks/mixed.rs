//! Blocks of any size that fits into a few vectors, times a vector `x`. A vector register may hold parts of
//! several rows or columns of a block: a permutation of `x` puts, in each lane, the element of its column.

use std::ops::Range;

use super::{Blocks, Order, prefetch_elements};
use crate::vector::{Real, Vector, prefetch_ahead};

/// Vectors of a block, at most.
const VECTORS: usize = 8;

/// Whether blocks of this size fit into [`VECTORS`] vectors `V`.
pub(super) fn suits<V: Vector>([rows, columns]: [usize; 2]) -> bool {
    columns <= V::N && rows * columns <= VECTORS * V::N
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
    let [height, width] = blocks.size;
    // SAFETY: as the caller says.
    unsafe {
        // Up to `VECTORS`.
        match (height * width).div_ceil(V::N) {
            1 => times_rows::<V, 1>(blocks, rows, x, y),
            2 => times_rows::<V, 2>(blocks, rows, x, y),
            3 => times_rows::<V, 3>(blocks, rows, x, y),
            4 => times_rows::<V, 4>(blocks, rows, x, y),
            5 => times_rows::<V, 5>(blocks, rows, x, y),
            6 => times_rows::<V, 6>(blocks, rows, x, y),
            7 => times_rows::<V, 7>(blocks, rows, x, y),
            8 => times_rows::<V, 8>(blocks, rows, x, y),
            vectors => unreachable!("blocks of {vectors} vectors do not suit"),
        }
    }
}

/// Blocks of `G` vectors.
#[inline(always)]
unsafe fn times_rows<V: Vector, const G: usize>(
    blocks: &Blocks<'_, V::Lane>,
    rows: Range<usize>,
    x: &[V::Lane],
    y: &mut [V::Lane],
) {
    let [height, width] = blocks.size;
    let area = height * width;
    let ahead = blocks.ahead();
    let column = |at: usize| match blocks.order {
        Order::Rows => at % width,
        Order::Columns => (at / height).min(width - 1),
    };
    // SAFETY: as the caller says; columns are below `width`, which is at most `V::N`.
    let columns: [V::Places; G] = std::array::from_fn(|part| unsafe {
        V::places(std::array::from_fn(|lane| column(part * V::N + lane % V::N) as u8))
    });
    // Numbers in the last vector.
    let rest = area - (G - 1) * V::N;
    for (row, y) in rows.zip(y.chunks_mut(height)) {
        let (lo, hi) = (blocks.pos[row] as usize, blocks.pos[row + 1] as usize);
        let (crd, values) = (&blocks.crd[lo..hi], &blocks.values[lo * area..hi * area]);
        let next = blocks.crd.get(lo + ahead..).unwrap_or_default();
        let mut lanes = [V::Lane::ZERO; VECTORS * 16];
        // SAFETY: as the caller says; each block has `area` numbers, no element behind `x` is read, and
        // `lanes` holds `G` vectors.
        unsafe {
            let mut sums = [V::splat(V::Lane::ZERO); G];
            for (block, &crd) in crd.iter().enumerate() {
                if let Some(&next) = next.get(block) {
                    prefetch_elements(x, next as usize * width, width);
                }
                let x = &x[crd as usize * width..];
                let x = V::first(x.as_ptr(), x.len().min(width));
                let values = values.as_ptr().add(block * area);
                for (part, sum) in sums.iter_mut().enumerate() {
                    let values = values.add(part * V::N);
                    prefetch_ahead(values);
                    let values = match part + 1 < G {
                        true => V::load(values),
                        false => V::first(values, rest),
                    };
                    *sum = sum.plus::<true>(values, x.pick(columns[part]));
                }
            }
            for (part, sum) in sums.into_iter().enumerate() {
                sum.store(lanes.as_mut_ptr().add(part * V::N));
            }
        }
        for (i, y) in y.iter_mut().enumerate() {
            let sum = |sum: V::Lane, &next: &V::Lane| sum + next;
            *y = *y
                + match blocks.order {
                    Order::Rows => lanes[i * width..][..width].iter().fold(V::Lane::ZERO, sum),
                    Order::Columns => {
                        lanes[i..area].iter().step_by(height).fold(V::Lane::ZERO, sum)
                    }
                };
        }
    }
}
