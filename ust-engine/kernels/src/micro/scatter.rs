//! Transposition: entries are counted by column, then each entry moves to the next free place of its
//! column.

use ust_ir::{Dtype, IndexKind};

use super::full::width;
use super::row_sample::{columns, sampled_rows};
use crate::tuning::{
    L1_BYTES, SAMPLED_ROWS, SCATTER_DIAGONAL_ENTRIES, SCATTER_DIAGONAL_ROWS, SCATTER_DISTANCE,
    SCATTER_NEAR_BYTES, SCATTER_NEIGHBOURS, SCATTER_SAMPLED_ENTRIES,
};
use crate::vector::{Index, LINE, prefetch};

/// Bytes of cache that the next place of a column takes: a line of coordinates and a line of values.
const OPEN_LINES: usize = 2 * LINE;

macro_rules! addresses {
    ($name:ident, $kernel:ident) => {
        pub(super) fn $name(kind: IndexKind, dtype: Dtype) -> Option<usize> {
            macro_rules! of {
                ($ty:ty) => {
                    match kind {
                        IndexKind::U32 => Some($kernel::<$ty, u32> as *const () as usize),
                        IndexKind::I32 => Some($kernel::<$ty, i32> as *const () as usize),
                        IndexKind::U64 | IndexKind::I64 => {
                            Some($kernel::<$ty, i64> as *const () as usize)
                        }
                        _ => None,
                    }
                };
            }
            match dtype {
                Dtype::F32 => of!(u32),
                Dtype::F64 => of!(u64),
                _ => None,
            }
        }
    };
}
addresses!(of_row, scatter);
addresses!(of_rows, scatter_rows);

pub(super) fn counting(kind: IndexKind) -> Option<usize> {
    match kind {
        IndexKind::U32 => Some(count::<u32> as *const () as usize),
        IndexKind::I32 => Some(count::<i32> as *const () as usize),
        IndexKind::U64 | IndexKind::I64 => Some(count::<i64> as *const () as usize),
        _ => None,
    }
}

/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there, `crd` for reads at
/// `pos[lo]..pos[hi]`, `counts` for reads and writes at each `crd[p]`. Nothing overlaps `counts`.
unsafe extern "C" fn count<I: Index>(
    pos: *const I,
    crd: *const I,
    counts: *mut u32,
    lo: isize,
    hi: isize,
) {
    // SAFETY: as said above.
    unsafe {
        let entries = (*pos.offset(lo)).get()..(*pos.offset(hi)).get();
        for p in entries {
            let count = counts.offset((*crd.offset(p)).get());
            *count = (*count).wrapping_add(1);
        }
    }
}

/// SAFETY: `pos`, `crd` and `next` as of [`count`]. `from` is valid where `crd` is. `column` and `out` are
/// valid for `total` writes; every place that `next` takes here is below `total`. Nothing that is written
/// overlaps anything else.
#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn scatter_rows<T: Copy, I: Index + Number>(
    pos: *const I,
    crd: *const I,
    next: *mut u32,
    column: *mut I,
    number: i64,
    from: *const T,
    out: *mut T,
    lo: isize,
    hi: isize,
    total: usize,
) {
    let moving = Moving { pos, crd, next, column, number, from, out };
    // SAFETY: as said above.
    unsafe {
        let entries = (*pos.offset(hi)).get() - (*pos.offset(lo)).get();
        // Entries of a row, rounded up: on diagonals, rows at the ends have fewer.
        let row = ((entries + hi - lo - 1) / (hi - lo).max(1)).max(1);
        let rows = (SCATTER_DIAGONAL_ENTRIES / row).clamp(1, SCATTER_DIAGONAL_ROWS);
        let behind = (rows * row) as usize;
        let (row, size) = (row as usize, size_of::<T>());
        if total * size <= SCATTER_NEAR_BYTES {
            return moving.all::<NOTHING>([lo, hi], behind);
        }
        if let Some(width) = width(pos, crd, size, lo, hi) {
            return moving.by_columns([lo, hi], width);
        }
        match to_prefetch(pos, crd, [row, size], lo, hi) {
            BEHIND => moving.all::<BEHIND>([lo, hi], behind),
            PLACES => moving.all::<PLACES>([lo, hi], behind),
            _ => moving.all::<NOTHING>([lo, hi], behind),
        }
    }
}

/// Rows of entries, and the arrays that they move to.
pub(super) struct Moving<T, I> {
    pub(super) pos: *const I,
    pub(super) crd: *const I,
    next: *mut u32,
    column: *mut I,
    /// The number that is written for row 0; row `i` has number `number + i`.
    number: i64,
    pub(super) from: *const T,
    out: *mut T,
}

/// No prefetch.
const NOTHING: u8 = 0;
/// Prefetch the places of later entries: read `next` of their columns early.
const PLACES: u8 = 1;
/// Prefetch at a fixed distance behind each place.
const BEHIND: u8 = 2;

/// What to prefetch, judged from a sample. A row has `row` entries, a column about as many, a value `size`
/// bytes. `pos` and `crd` as of [`count`].
///
/// [`BEHIND`] suits diagonals that are far from each other: the entry on the same diagonal `k` rows later
/// goes `k * row` places further, so its place is known without reading `next`. [`NOTHING`] suits narrow
/// bands: rows close to each other fill the same columns, whose open lines the first cache holds.
unsafe fn to_prefetch<I: Index>(
    pos: *const I,
    crd: *const I,
    [row, size]: [usize; 2],
    lo: isize,
    hi: isize,
) -> u8 {
    let last = hi - lo - SCATTER_DIAGONAL_ROWS - 1;
    if last < SAMPLED_ROWS {
        return PLACES;
    }
    // SAFETY: sampled rows, and the rows compared with them, are below `hi`, and their entries are read.
    unsafe {
        let entries = |at| columns::<SCATTER_SAMPLED_ENTRIES, _, _>(pos, crd, at);
        let [mut sampled, mut diagonal, mut band, mut span] = [0; 4];
        for at in sampled_rows(lo, lo + last) {
            let (mut least, mut most) = (isize::MAX, 0);
            for column in entries(at) {
                sampled += 1;
                let later = |other| other == column + SCATTER_DIAGONAL_ROWS;
                diagonal += isize::from(entries(at + SCATTER_DIAGONAL_ROWS).any(later));
                let close = |other: isize| (other - column).abs() <= SCATTER_NEIGHBOURS;
                band += isize::from(entries(at + SCATTER_NEIGHBOURS).any(close));
                (least, most) = (least.min(column), most.max(column));
            }
            span += most.saturating_sub(least).max(0);
        }
        match (2 * diagonal > sampled, 2 * band > sampled) {
            (true, _) if (span / SAMPLED_ROWS) as usize * row * size > L1_BYTES => BEHIND,
            (_, true) if SCATTER_NEIGHBOURS as usize * row * OPEN_LINES <= L1_BYTES => NOTHING,
            _ => PLACES,
        }
    }
}

impl<T: Copy, I: Index + Number> Moving<T, I> {
    /// Moves the entries of rows `lo..hi`, with prefetches as `PREFETCH` says; `behind` is the distance, in
    /// places, of [`BEHIND`].
    ///
    /// SAFETY: as of [`scatter_rows`].
    #[inline(always)]
    unsafe fn all<const PREFETCH: u8>(&self, [lo, hi]: [isize; 2], behind: usize) {
        let &Self { pos, crd, next, column, out, .. } = self;
        // SAFETY: as said above; coordinates that are read early are those of later entries.
        unsafe {
            let mut p = (*pos.offset(lo)).get();
            let last = (*pos.offset(hi)).get();
            let prefetched = last - 2 * SCATTER_DISTANCE as isize;
            for i in lo..hi {
                // No entry beyond the last one counted, even if `pos` does not ascend.
                let end = (*pos.offset(i + 1)).get().min(last);
                while p < end {
                    if PREFETCH == PLACES && p < prefetched {
                        let distance = SCATTER_DISTANCE as isize;
                        prefetch(next.offset((*crd.offset(p + 2 * distance)).get()));
                        let key = (*crd.offset(p + distance)).get();
                        let at = next.offset(key).read_volatile() as usize;
                        prefetch(column.wrapping_add(at));
                        prefetch(out.wrapping_add(at));
                    }
                    let at = self.put(i, p);
                    if PREFETCH == BEHIND {
                        prefetch(column.wrapping_add(at + behind));
                        prefetch(out.wrapping_add(at + behind));
                    }
                    p += 1;
                }
            }
        }
    }

    /// Moves entry `p` of a row. Gives its place.
    ///
    /// SAFETY: as of [`scatter_rows`]; each entry is moved once.
    #[inline(always)]
    pub(super) unsafe fn put(&self, row: isize, p: isize) -> usize {
        let number = I::of(self.number.wrapping_add(row as i64));
        // SAFETY: as said above.
        unsafe {
            let slot = self.next.offset((*self.crd.offset(p)).get());
            put(slot, self.column, number, self.out, *self.from.offset(p))
        }
    }
}

/// Writes an entry to the place `*next`, and increments `*next`. Gives the place.
///
/// SAFETY: `next` is valid for a read and a write, `column` and `out` for a write at `*next`.
#[inline(always)]
unsafe fn put<T, I>(next: *mut u32, column: *mut I, number: I, out: *mut T, value: T) -> usize {
    // SAFETY: as said above.
    unsafe {
        let at = *next as usize;
        *next = (*next).wrapping_add(1);
        column.add(at).write(number);
        out.add(at).write(value);
        at
    }
}

/// SAFETY: `crd` is valid for `rest` reads, `from` for `count` reads, no more than `rest`. The first `count`
/// coordinates are below `keys`, for which `next` is valid. `column` and `out` are valid for `total`
/// writes; every place that `next` takes here is below `total`. Nothing that is written overlaps
/// anything else.
#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn scatter<T: Copy, I: Index + Number>(
    crd: *const I,
    rest: usize,
    count: usize,
    next: *mut u32,
    keys: usize,
    column: *mut I,
    number: i64,
    from: *const T,
    out: *mut T,
    total: usize,
) {
    let number = I::of(number);
    // SAFETY: as said above; any address may be prefetched. Coordinates behind the row are unchecked: each
    // is compared with `keys` before `next` is read there. Another thread may be writing that number, but
    // only a prefetch depends on it.
    unsafe {
        let entry =
            |p: usize| put(next.offset((*crd.add(p)).get()), column, number, out, *from.add(p));
        let mut p = 0;
        let wide = (*crd.add(count - 1)).get().wrapping_sub((*crd).get()) as usize >= count;
        if wide && total * size_of::<T>() > SCATTER_NEAR_BYTES {
            let end = count.min(rest.saturating_sub(2 * SCATTER_DISTANCE));
            while p < end {
                prefetch(next.wrapping_offset((*crd.add(p + 2 * SCATTER_DISTANCE)).get()));
                let key = (*crd.add(p + SCATTER_DISTANCE)).get() as usize;
                if key < keys {
                    let at = next.add(key).read_volatile() as usize;
                    prefetch(column.wrapping_add(at));
                    prefetch(out.wrapping_add(at));
                }
                entry(p);
                p += 1;
            }
        }
        while p < count {
            entry(p);
            p += 1;
        }
    }
}

/// The type of a stored coordinate.
pub(super) trait Number: Copy {
    fn of(number: i64) -> Self;
}

impl Number for u32 {
    fn of(number: i64) -> Self {
        number as Self
    }
}

impl Number for i32 {
    fn of(number: i64) -> Self {
        number as Self
    }
}

impl Number for i64 {
    fn of(number: i64) -> Self {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moves the entries of a matrix whose rows hold these columns. Gives what was prefetched.
    fn check(name: &str, columns: usize, rows: &[Vec<u32>]) -> u8 {
        let mut pos = vec![0_u32];
        pos.extend(rows.iter().scan(0, |end, row| {
            *end += row.len() as u32;
            Some(*end)
        }));
        let crd = rows.concat();
        let n = crd.len();
        assert!(8 * n > SCATTER_NEAR_BYTES, "{name}");
        let from: Vec<u64> = (0..n as u64).map(|p| p.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut next = vec![0_u32; columns + 1];
        let last = rows.len() as isize;
        // SAFETY: all arrays are as long as is said, and columns lie below `columns`.
        unsafe { count(pos.as_ptr(), crd.as_ptr(), next[1..].as_mut_ptr(), 0, last) };
        for column in 0..columns {
            next[column + 1] += next[column];
        }
        let starts = next.clone();
        let (mut column, mut out) = (vec![u32::MAX; n], vec![u64::MAX; n]);
        // SAFETY: as above; there is room for as many as were counted.
        unsafe {
            let (next, column, out) = (next.as_mut_ptr(), column.as_mut_ptr(), out.as_mut_ptr());
            let (pos, crd, from) = (pos.as_ptr(), crd.as_ptr(), from.as_ptr());
            scatter_rows(pos, crd, next, column, 3, from, out, 0, last, n);
        }
        let mut wanted: Vec<(u32, u32, u64)> = Vec::new();
        for (i, ends) in pos.windows(2).enumerate() {
            let entries = ends[0] as usize..ends[1] as usize;
            wanted.extend(entries.map(|p| (crd[p], i as u32 + 3, from[p])));
        }
        wanted.sort_by_key(|&(column, row, _)| (column, row));
        let moved: Vec<(u32, u64)> = column.into_iter().zip(out).collect();
        let wanted: Vec<(u32, u64)> = wanted.into_iter().map(|(_, row, v)| (row, v)).collect();
        assert!(moved == wanted, "{name}");
        assert_eq!(next[..columns], starts[1..], "{name}");
        let row = [(n as isize / last) as usize, 8];
        // SAFETY: as above.
        unsafe { to_prefetch(pos.as_ptr(), crd.as_ptr(), row, 0, last) }
    }

    #[test]
    fn entries_go_to_their_columns_whatever_is_prefetched() {
        let size = 40_000_u32;
        let diagonals = |offsets: [i64; 5]| -> Vec<Vec<u32>> {
            let inside = |c: &i64| (0..i64::from(size)).contains(c);
            let row = |i: i64| offsets.iter().map(move |o| i + o).filter(inside);
            (0..i64::from(size)).map(|i| row(i).map(|c| c as u32).collect()).collect()
        };
        let far = diagonals([-7_000, -1, 0, 1, 7_000]);
        assert_eq!(check("diagonals", size as usize, &far), BEHIND);
        let near = diagonals([-2, -1, 0, 1, 2]);
        assert_eq!(check("a band", size as usize, &near), NOTHING);
        let mut state = 1_u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) as u32) % below
        };
        let scattered: Vec<Vec<u32>> = (0..size)
            .map(|i| {
                let mut row: Vec<u32> = (0..i % 11).map(|_| random(size)).collect();
                row.sort_unstable();
                row.dedup();
                row
            })
            .collect();
        assert_eq!(check("scattered", size as usize, &scattered), PLACES);
        let dense: Vec<Vec<u32>> = (0..300).map(|_| (0..500).collect()).collect();
        assert_eq!(check("full rows", 500, &dense), PLACES);
        let few: Vec<Vec<u32>> = (0..9).map(|_| (0..20_000).collect()).collect();
        assert_eq!(check("few rows", 20_000, &few), PLACES);
    }

    #[test]
    fn full_rows_go_to_some_columns_first() {
        // Columns a step apart; some rows outside the sample have a stray entry far away.
        let of = |columns: u32, step: u32, stray: u32| -> Vec<Vec<u32>> {
            let row = |i: u32| {
                let own = (i % step..columns).step_by(step as usize);
                own.chain((i % 50 == 2 && stray > 0).then_some(stray)).collect()
            };
            (0..700).map(row).collect()
        };
        for (columns, step, stray, expected) in [
            (5000, 3, 0, Some(64)),
            (4100, 6, 0, Some(128)),
            (4100, 12, 0, Some(256)),
            (4100, 20, 0, None),
            (3000, 2, 400_000, Some(64)),
            (1000, 2, 0, None),
        ] {
            let rows = of(columns, step, stray);
            let (mut pos, crd) = (vec![0_u32], rows.concat());
            rows.iter().for_each(|row| pos.push(pos[pos.len() - 1] + row.len() as u32));
            // SAFETY: as in `check`.
            let found = unsafe { width(pos.as_ptr(), crd.as_ptr(), 8, 0, 700) };
            assert_eq!(found, expected, "{columns} by {step}");
            check("full rows", columns.max(stray + 1) as usize, &rows);
        }
    }
}
