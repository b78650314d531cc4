//! Rows of a sparse matrix times a dense one: a part of the result's row in registers.

use crate::kernels::vector::{Index, Real, Vector, prefetch};

/// Entries of a row that operands are asked for ahead of their use.
const AHEAD: usize = 4;

/// As [`row`], and `m` valid for `width` reads.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn times_row<V: Vector, I: Index>(
    c: *mut V::Lane,
    a: *const V::Lane,
    crd: *const I,
    b: *const V::Lane,
    count: usize,
    width: usize,
    stride: isize,
    m: *const V::Lane,
) {
    // SAFETY: every column is below `width`, every place below `count`.
    unsafe {
        let mut j = 0;
        while j + 8 * V::N <= width {
            times_tile::<V, I, 8>(c.add(j), a, crd, b.add(j), count, stride, m.add(j));
            j += 8 * V::N;
        }
        while j + V::N <= width {
            times_tile::<V, I, 1>(c.add(j), a, crd, b.add(j), count, stride, m.add(j));
            j += V::N;
        }
        while j < width {
            let mut sum = V::Lane::ZERO;
            for p in 0..count {
                let from = (*crd.add(p)).get().wrapping_mul(stride);
                sum = sum + *a.add(p) * *b.add(j).offset(from);
            }
            *c.add(j) = *c.add(j) + *m.add(j) * sum;
            j += 1;
        }
    }
}

/// `W` vectors of a row, kept in registers.
#[inline(always)]
unsafe fn times_tile<V: Vector, I: Index, const W: usize>(
    c: *mut V::Lane,
    a: *const V::Lane,
    crd: *const I,
    b: *const V::Lane,
    count: usize,
    stride: isize,
    m: *const V::Lane,
) {
    // SAFETY: as said of `times_row`.
    unsafe {
        let mut sums = [V::splat(V::Lane::ZERO); W];
        for p in 0..count {
            let from = b.offset((*crd.add(p)).get().wrapping_mul(stride));
            let factor = V::splat(*a.add(p));
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus::<true>(factor, V::load(from.add(k * V::N)));
            }
        }
        for (k, sum) in sums.iter().enumerate() {
            let (c, m) = (c.add(k * V::N), V::load(m.add(k * V::N)));
            V::load(c).plus::<true>(m, *sum).store(c);
        }
    }
}

/// `c` valid for `width` reads and writes, `a`, `crd` for `count` reads, `b` for `width` reads at
/// `crd[p] * stride` for each `p`; nothing overlaps `c`.
#[inline(always)]
pub(super) unsafe fn row<V: Vector, I: Index, const FUSED: bool>(
    c: *mut V::Lane,
    a: *const V::Lane,
    crd: *const I,
    b: *const V::Lane,
    count: usize,
    width: usize,
    stride: isize,
) {
    // SAFETY: every column is below `width`, every place below `count`; what is asked for ahead of
    // its use need not be valid.
    unsafe {
        let mut j = 0;
        while j + 8 * V::N <= width {
            tile::<V, I, 8, FUSED>(c.add(j), a, crd, b.add(j), count, stride);
            j += 8 * V::N;
        }
        if j + 4 * V::N <= width {
            tile::<V, I, 4, FUSED>(c.add(j), a, crd, b.add(j), count, stride);
            j += 4 * V::N;
        }
        while j + V::N <= width {
            tile::<V, I, 1, FUSED>(c.add(j), a, crd, b.add(j), count, stride);
            j += V::N;
        }
        while j < width {
            let mut sum = *c.add(j);
            for p in 0..count {
                let from = (*crd.add(p)).get().wrapping_mul(stride);
                sum = sum + *a.add(p) * *b.add(j).offset(from);
            }
            *c.add(j) = sum;
            j += 1;
        }
    }
}

/// `W` vectors of a row, kept in registers.
#[inline(always)]
unsafe fn tile<V: Vector, I: Index, const W: usize, const FUSED: bool>(
    c: *mut V::Lane,
    a: *const V::Lane,
    crd: *const I,
    b: *const V::Lane,
    count: usize,
    stride: isize,
) {
    // SAFETY: as said of `row`.
    unsafe {
        let mut sums = [V::splat(V::Lane::ZERO); W];
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum = V::load(c.add(k * V::N));
        }
        for p in 0..count {
            if p + AHEAD < count {
                let far = (*crd.add(p + AHEAD)).get().wrapping_mul(stride);
                let line = (64 / (V::N * size_of::<V::Lane>())).max(1);
                for k in (0..W).step_by(line) {
                    prefetch(b.wrapping_offset(far).wrapping_add(k * V::N));
                }
            }
            let from = b.offset((*crd.add(p)).get().wrapping_mul(stride));
            let factor = V::splat(*a.add(p));
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus::<FUSED>(factor, V::load(from.add(k * V::N)));
            }
        }
        for (k, sum) in sums.iter().enumerate() {
            sum.store(c.add(k * V::N));
        }
    }
}
