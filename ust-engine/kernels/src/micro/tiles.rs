//! Rows of a sparse matrix times a dense one: a part of the result's row in registers.

use crate::tuning::{NEAR_BYTES, STREAM_BYTES, TILE_DISTANCE, TILE_LINES};
use crate::vector::{Index, LINE, Real, Vector, prefetch};

/// Rows of a result that are computed a tile of columns at a time, each tile in registers.
trait Tiles<V: Vector>: Copy {
    /// Computes the tile of `W` vectors from column `j` on. Where `CUT`, the last vector has `cut` columns.
    ///
    /// # Safety
    /// The result has these columns.
    unsafe fn tile<const W: usize, const CUT: bool>(self, j: usize, cut: usize);
}

/// Computes `width` columns in tiles of up to eight vectors. A tile of one vector is avoided: each of its
/// sums would wait for the one before.
///
/// # Safety
/// The result has `width` columns.
#[inline(always)]
unsafe fn each<V: Vector>(tiles: impl Tiles<V>, width: usize) {
    let mut j = 0;
    // SAFETY: as the caller says.
    unsafe {
        while j + 8 * V::N <= width {
            tiles.tile::<8, false>(j, 0);
            j += 8 * V::N;
        }
        // No tile of one vector is left.
        match (width - j).div_ceil(V::N) {
            5 => {
                tiles.tile::<3, false>(j, 0);
                j += 3 * V::N;
            }
            6.. => {
                tiles.tile::<4, false>(j, 0);
                j += 4 * V::N;
            }
            _ => {}
        }
        let (whole, cut) = ((width - j) / V::N, (width - j) % V::N);
        match (whole, cut) {
            (0, 0) => {}
            (1, 0) => tiles.tile::<1, false>(j, 0),
            (2, 0) => tiles.tile::<2, false>(j, 0),
            (3, 0) => tiles.tile::<3, false>(j, 0),
            (_, 0) => tiles.tile::<4, false>(j, 0),
            (0, _) => tiles.tile::<1, true>(j, cut),
            (1, _) => tiles.tile::<2, true>(j, cut),
            (2, _) => tiles.tile::<3, true>(j, cut),
            _ => tiles.tile::<4, true>(j, cut),
        }
    }
}

/// Loads `W` vectors. Where `CUT`, the last has `cut` numbers.
///
/// # Safety
/// `from` is valid for these reads.
#[inline(always)]
unsafe fn get<V: Vector, const W: usize, const CUT: bool>(
    from: *const V::Lane,
    cut: usize,
) -> [V; W] {
    // SAFETY: as the caller says.
    unsafe {
        let mut all = [V::splat(V::Lane::ZERO); W];
        for (k, vector) in all.iter_mut().enumerate() {
            *vector = V::nth::<W, CUT>(from, k, cut);
        }
        all
    }
}

/// Stores `W` vectors. Where `CUT`, the last has `cut` numbers.
///
/// # Safety
/// `to` is valid for these writes.
#[inline(always)]
unsafe fn put<V: Vector, const W: usize, const CUT: bool>(
    of: &[V; W],
    to: *mut V::Lane,
    cut: usize,
) {
    for (k, vector) in of.iter().enumerate() {
        // SAFETY: as the caller says.
        unsafe { vector.store_nth::<W, CUT>(to, k, cut) };
    }
}

/// Entries of a row, and the rows of a dense matrix that they multiply.
#[derive(Clone, Copy)]
struct Entries<V: Vector, I> {
    a: *const V::Lane,
    crd: *const I,
    b: *const V::Lane,
    count: usize,
    stride: isize,
}

impl<V: Vector, I: Index> Entries<V, I> {
    /// The same entries, with the dense rows from column `j` on.
    #[inline(always)]
    fn from(self, j: usize) -> Self {
        Self { b: self.b.wrapping_add(j), ..self }
    }

    /// The address of the dense row that entry `p` multiplies.
    ///
    /// # Safety
    /// `crd` is valid for a read at `p`.
    #[inline(always)]
    unsafe fn row(&self, p: usize) -> *const V::Lane {
        // SAFETY: as the caller says.
        let crd = unsafe { *self.crd.add(p) };
        self.b.wrapping_offset(crd.get().wrapping_mul(self.stride))
    }

    /// Adds entry `p` times `W` vectors of its dense row to `sums`.
    ///
    /// # Safety
    /// `p` is an entry, and its dense row has these columns.
    #[inline(always)]
    unsafe fn add<const W: usize, const FUSED: bool, const CUT: bool>(
        &self,
        p: usize,
        cut: usize,
        sums: &mut [V; W],
    ) {
        // SAFETY: as the caller says.
        unsafe {
            let row = self.row(p);
            let factor = V::splat(*self.a.add(p));
            for (k, sum) in sums.iter_mut().enumerate() {
                *sum = sum.plus::<FUSED>(factor, V::nth::<W, CUT>(row, k, cut));
            }
        }
    }
}

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
    let entries = Entries { a, crd, b, count, stride };
    // SAFETY: as said above.
    unsafe { each::<V>(Weighted { entries, c, m }, width) }
}

/// The row `c` of a result, to which `m` times the sum of products is added.
#[derive(Clone, Copy)]
struct Weighted<V: Vector, I> {
    entries: Entries<V, I>,
    c: *mut V::Lane,
    m: *const V::Lane,
}

impl<V: Vector, I: Index> Tiles<V> for Weighted<V, I> {
    #[inline(always)]
    unsafe fn tile<const W: usize, const CUT: bool>(self, j: usize, cut: usize) {
        // SAFETY: as said of `times_row`.
        unsafe {
            let mut sums = [V::splat(V::Lane::ZERO); W];
            let entries = self.entries.from(j);
            for p in 0..entries.count {
                entries.add::<W, true, CUT>(p, cut, &mut sums);
            }
            let c = self.c.add(j);
            let mut all = get::<V, W, CUT>(c, cut);
            let m = get::<V, W, CUT>(self.m.add(j), cut);
            for ((all, m), sum) in all.iter_mut().zip(m).zip(sums) {
                *all = all.plus::<true>(m, sum);
            }
            put::<V, W, CUT>(&all, c, cut);
        }
    }
}

/// How rows of the result are written, and rows of the dense operand read.
#[derive(Clone, Copy)]
struct Manner {
    /// The result is overwritten; otherwise products are added to it.
    clear: bool,
    /// The result is written around the caches.
    stream: bool,
    /// Rows of the dense operand are prefetched.
    prefetch: bool,
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
    let manner = Manner { clear: false, stream: false, prefetch: true };
    // SAFETY: as said above.
    unsafe { part::<V, I, FUSED>(c, a, crd, b, count, count, width, stride, manner) }
}

/// `pos` valid for reads at `lo..=hi`, and ascending there, `a` and `crd` for reads at
/// `pos[lo]..pos[hi]`, `b` for `width` reads at `crd[p] * stride` for each `p` there, `c` for `width`
/// reads and writes at `i * pitch` for each `i` in `lo..hi`. Nothing overlaps `c`. `c` lies in an array of
/// `total` numbers, `b` in one of `reach`. Where `clear`, `c` is overwritten.
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
        && total.saturating_mul(lane) >= STREAM_BYTES
        && aligned(c.addr())
        && aligned(pitch.unsigned_abs().wrapping_mul(lane));
    let manner = Manner { clear, stream, prefetch: reach.saturating_mul(lane) > NEAR_BYTES };
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

/// `rows`, `a` and `crd` valid for `count` reads, `b` for `width` reads at `crd[p] * stride` for each `p`,
/// or at 0 if `crd` is null, `c` for `width` reads and writes at each `rows[p] * pitch`. Nothing overlaps
/// `c`. `c` lies in an array of `total` numbers, `b` in one of `reach`.
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
    let far = |numbers: usize| numbers.saturating_mul(size_of::<V::Lane>()) > NEAR_BYTES;
    let manner = Manner { clear: false, stream: false, prefetch: far(reach) };
    // SAFETY: as said above.
    unsafe {
        if crd.is_null() {
            let to = Places { rows, pitch, count, prefetch: far(total) };
            each::<V>(Multiples::<V, I, FUSED> { c, to, a, b }, width);
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

/// The `count` rows of a result that products are added to.
#[derive(Clone, Copy)]
struct Places<I> {
    rows: *const I,
    pitch: isize,
    count: usize,
    /// Whether these rows are prefetched.
    prefetch: bool,
}

impl<I: Index> Places<I> {
    /// The offset of row `rows[p]`.
    ///
    /// # Safety
    /// `p` is below `count`.
    #[inline(always)]
    unsafe fn place(&self, p: usize) -> isize {
        // SAFETY: as the caller says.
        unsafe { (*self.rows.add(p)).get().wrapping_mul(self.pitch) }
    }
}

/// Multiples of one row, which stays in registers, that are added to rows of a result.
#[derive(Clone, Copy)]
struct Multiples<V: Vector, I, const FUSED: bool> {
    c: *mut V::Lane,
    to: Places<I>,
    a: *const V::Lane,
    b: *const V::Lane,
}

impl<V: Vector, I: Index, const FUSED: bool> Tiles<V> for Multiples<V, I, FUSED> {
    #[inline(always)]
    unsafe fn tile<const W: usize, const CUT: bool>(self, j: usize, cut: usize) {
        let Self { to, a, .. } = self;
        // Vectors in a line.
        let line = (LINE / size_of::<V>()).max(1);
        // SAFETY: as said of `added`; any address may be prefetched.
        unsafe {
            let (c, b) = (self.c.add(j), get::<V, W, CUT>(self.b.add(j), cut));
            for p in 0..to.count {
                if to.prefetch && p + TILE_DISTANCE < to.count {
                    let next = c.wrapping_offset(to.place(p + TILE_DISTANCE));
                    for k in (0..W).step_by(line) {
                        prefetch(next.wrapping_add(k * V::N));
                    }
                }
                let c = c.offset(to.place(p));
                let factor = V::splat(*a.add(p));
                let mut sums = get::<V, W, CUT>(c, cut);
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum = sum.plus::<FUSED>(factor, b);
                }
                put::<V, W, CUT>(&sums, c, cut);
            }
        }
    }
}

/// As [`row`]. `a` and `crd` are valid for `room` reads: the dense rows of entries behind this row are
/// prefetched, too.
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
    let entries = Entries { a, crd, b, count, stride };
    // SAFETY: as said above.
    unsafe { each::<V>(Summed::<V, I, FUSED> { entries, c, room, manner }, width) }
}

/// The row `c` of a result, to which the products of entries are added.
#[derive(Clone, Copy)]
struct Summed<V: Vector, I, const FUSED: bool> {
    entries: Entries<V, I>,
    c: *mut V::Lane,
    room: usize,
    manner: Manner,
}

impl<V: Vector, I: Index, const FUSED: bool> Tiles<V> for Summed<V, I, FUSED> {
    #[inline(always)]
    unsafe fn tile<const W: usize, const CUT: bool>(self, j: usize, cut: usize) {
        let Self { room, manner, .. } = self;
        let entries = self.entries.from(j);
        // Vectors in a line, and the prefetch distance in entries.
        let line = (LINE / size_of::<V>()).max(1);
        let ahead = match room == entries.count {
            true => TILE_DISTANCE,
            false => (TILE_LINES * line / W).clamp(TILE_DISTANCE, 4 * TILE_DISTANCE),
        };
        // SAFETY: as said of `part`; any address may be prefetched.
        unsafe {
            let c = self.c.add(j);
            let mut sums = match manner.clear {
                true => [V::splat(V::Lane::ZERO); W],
                false => get::<V, W, CUT>(c, cut),
            };
            for p in 0..entries.count {
                if manner.prefetch && p + ahead < room {
                    let far = entries.row(p + ahead);
                    for k in (0..W).step_by(line) {
                        prefetch(far.wrapping_add(k * V::N));
                    }
                }
                entries.add::<W, FUSED, CUT>(p, cut, &mut sums);
            }
            if !manner.stream || CUT {
                return put::<V, W, CUT>(&sums, c, cut);
            }
            for (k, sum) in sums.iter().enumerate() {
                sum.stream(c.add(k * V::N));
            }
        }
    }
}
