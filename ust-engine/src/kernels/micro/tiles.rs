//! Rows of a sparse matrix times a dense one: a part of the result's row in registers.

use crate::kernels::vector::{Index, NEAR, Real, Vector, prefetch};

/// Entries of a row, at least, that operands are asked for ahead of their use.
const AHEAD: usize = 4;
/// Lines of operands that are asked for ahead of their use, where rows are short.
const LINES: usize = 64;

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

/// What to do with rows.
#[derive(Clone, Copy)]
struct Manner {
    /// Those of the result are written, whatever they held; otherwise products are added.
    clear: bool,
    /// They are written around the caches.
    stream: bool,
    /// Those of the operand are asked for ahead of their use.
    ask: bool,
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
    let manner = Manner { clear: false, stream: false, ask: true };
    // SAFETY: as said above.
    unsafe { part::<V, I, FUSED>(c, a, crd, b, count, count, width, stride, manner) }
}

/// Results of so many bytes do not stay in the caches: a line that is written whole is not read first.
const LARGE: usize = 32 << 20;

/// `pos` valid for reads at `lo..=hi`, and ascending there, `a` and `crd` for reads at
/// `pos[lo]..pos[hi]`, `b` for `width` reads at `crd[p] * stride` for each `p` there, `c` for `width`
/// reads and writes at `i * pitch` for each `i` in `lo..hi`; nothing overlaps `c`, which lies in an
/// array of `total` numbers, as `b` does in one of `reach`. Where `clear`, what `c` holds does not
/// matter.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn products<V: Vector, I: Index, const FUSED: bool>(
    pos: *const I,
    crd: *const I,
    a: *const V::Lane,
    b: *const V::Lane,
    c: *mut V::Lane,
    lo: isize,
    hi: isize,
    width: usize,
    stride: isize,
    pitch: isize,
    clear: usize,
    total: usize,
    reach: usize,
) {
    let lane = size_of::<V::Lane>();
    let aligned = |bytes: usize| bytes.is_multiple_of(16);
    let clear = clear != 0;
    let stream = clear
        && total.saturating_mul(lane) >= LARGE
        && aligned(c.addr())
        && aligned(pitch.unsigned_abs().wrapping_mul(lane));
    let manner = Manner { clear, stream, ask: reach.saturating_mul(lane) > NEAR };
    // SAFETY: as said above.
    unsafe {
        let last = (*pos.offset(hi)).get();
        let mut begin = (*pos.offset(lo)).get();
        for i in lo..hi {
            let end = (*pos.offset(i + 1)).get();
            let count = end.saturating_sub(begin).max(0) as usize;
            let room = last.saturating_sub(begin).max(0) as usize;
            let (a, crd) = (a.offset(begin), crd.offset(begin));
            let c = c.offset(i.wrapping_mul(pitch));
            part::<V, I, FUSED>(c, a, crd, b, count, room, width, stride, manner);
            begin = end;
        }
        if stream {
            V::settle();
        }
    }
}

/// `rows`, `a` and `crd` valid for `count` reads, `b` for `width` reads at `crd[p] * stride` for each
/// `p`, or without if `crd` is null, `c` for `width` reads and writes at each `rows[p] * pitch`; nothing
/// overlaps `c`, which lies in an array of `total` numbers, as `b` does in one of `reach`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn added<V: Vector, I: Index, const FUSED: bool>(
    c: *mut V::Lane,
    rows: *const I,
    a: *const V::Lane,
    crd: *const I,
    b: *const V::Lane,
    count: usize,
    width: usize,
    stride: isize,
    pitch: isize,
    total: usize,
    reach: usize,
) {
    let far = |numbers: usize| numbers.saturating_mul(size_of::<V::Lane>()) > NEAR;
    let manner = Manner { clear: false, stream: false, ask: far(reach) };
    // SAFETY: as said above.
    unsafe {
        if crd.is_null() {
            let to = Places { rows, pitch, count, ask: far(total) };
            let mut j = 0;
            while j + 4 * V::N <= width {
                add_tile::<V, I, 4, FUSED>(c.add(j), to, a, b.add(j));
                j += 4 * V::N;
            }
            while j + V::N <= width {
                add_tile::<V, I, 1, FUSED>(c.add(j), to, a, b.add(j));
                j += V::N;
            }
            for (j, p) in (j..width).flat_map(|j| (0..count).map(move |p| (j, p))) {
                let c = c.add(j).offset(to.place(p));
                *c = *c + *a.add(p) * *b.add(j);
            }
            return;
        }
        let mut p = 0;
        while p < count {
            let row = (*rows.add(p)).get();
            let same = (p + 1..count).take_while(|&next| (*rows.add(next)).get() == row).count();
            let (c, own) = (c.offset(row.wrapping_mul(pitch)), same + 1);
            let (a, crd) = (a.add(p), crd.add(p));
            part::<V, I, FUSED>(c, a, crd, b, own, count - p, width, stride, manner);
            p += own;
        }
    }
}

/// Rows that products are added to.
#[derive(Clone, Copy)]
struct Places<I> {
    rows: *const I,
    pitch: isize,
    count: usize,
    /// Whether they are asked for ahead of their use.
    ask: bool,
}

impl<I: Index> Places<I> {
    /// # Safety
    /// `p` is less than there are.
    #[inline(always)]
    unsafe fn place(&self, p: usize) -> isize {
        // SAFETY: as the caller says.
        unsafe { (*self.rows.add(p)).get().wrapping_mul(self.pitch) }
    }
}

/// Adds multiples of `W` vectors, which stay in registers, to some rows.
///
/// # Safety
/// As of [`added`].
#[inline(always)]
unsafe fn add_tile<V: Vector, I: Index, const W: usize, const FUSED: bool>(
    c: *mut V::Lane,
    to: Places<I>,
    a: *const V::Lane,
    b: *const V::Lane,
) {
    let line = (64 / size_of::<V>()).max(1);
    // SAFETY: as the caller says; what is asked for need not be valid.
    unsafe {
        let b: [V; W] = std::array::from_fn(|k| V::load(b.add(k * V::N)));
        for p in 0..to.count {
            if to.ask && p + AHEAD < to.count {
                let next = c.wrapping_offset(to.place(p + AHEAD));
                (0..W).step_by(line).for_each(|k| prefetch(next.wrapping_add(k * V::N)));
            }
            let c = c.offset(to.place(p));
            let factor = V::splat(*a.add(p));
            for (k, &b) in b.iter().enumerate() {
                let c = c.add(k * V::N);
                V::load(c).plus::<FUSED>(factor, b).store(c);
            }
        }
    }
}

/// As [`row`]; `a` and `crd` are valid for `room` reads, and operands of what follows the row are
/// asked for.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn part<V: Vector, I: Index, const FUSED: bool>(
    c: *mut V::Lane,
    a: *const V::Lane,
    crd: *const I,
    b: *const V::Lane,
    count: usize,
    room: usize,
    width: usize,
    stride: isize,
    manner: Manner,
) {
    // SAFETY: every column is below `width`, every place below `count`.
    unsafe {
        let mut j = 0;
        while j + 8 * V::N <= width {
            tile::<V, I, 8, FUSED>(c.add(j), a, crd, b.add(j), count, room, stride, manner);
            j += 8 * V::N;
        }
        if j + 4 * V::N <= width {
            tile::<V, I, 4, FUSED>(c.add(j), a, crd, b.add(j), count, room, stride, manner);
            j += 4 * V::N;
        }
        while j + V::N <= width {
            tile::<V, I, 1, FUSED>(c.add(j), a, crd, b.add(j), count, room, stride, manner);
            j += V::N;
        }
        while j < width {
            let mut sum = if manner.clear { V::Lane::ZERO } else { *c.add(j) };
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
#[allow(clippy::too_many_arguments)]
unsafe fn tile<V: Vector, I: Index, const W: usize, const FUSED: bool>(
    c: *mut V::Lane,
    a: *const V::Lane,
    crd: *const I,
    b: *const V::Lane,
    count: usize,
    room: usize,
    stride: isize,
    manner: Manner,
) {
    // Vectors of a line, and entries ahead of their use.
    let line = (64 / size_of::<V>()).max(1);
    let ahead = if room == count { AHEAD } else { (LINES * line / W).clamp(AHEAD, 4 * AHEAD) };
    // SAFETY: as said of `part`; what is asked for ahead of its use need not be valid.
    unsafe {
        let mut sums = [V::splat(V::Lane::ZERO); W];
        if !manner.clear {
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = V::load(c.add(k * V::N));
            }
        }
        for p in 0..count {
            if manner.ask && p + ahead < room {
                let far = (*crd.add(p + ahead)).get().wrapping_mul(stride);
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
            let to = c.add(k * V::N);
            if manner.stream { sum.stream(to) } else { sum.store(to) }
        }
    }
}
