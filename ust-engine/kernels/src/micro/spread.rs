//! A transposed sparse matrix times a vector: `out[crd[p]] += a[p] * x[i]` for each row `i`. And a list of
//! entries (COO) times a vector.

use ust_ir::{Dtype, IndexKind};

use super::row_sample::{in_blocks, uneven};
use crate::tuning::{BLOCK_ROW_DISTANCE, SPREAD_BUFFER, SPREAD_PREDICTED_ROWS, SPREAD_SHORT_ROW};
use crate::vector::{Index, Real, prefetch, prefetch_ahead, prefetch_ahead_l2};

macro_rules! addresses {
    ($name:ident, $kernel:ident) => {
        pub(super) fn $name(kind: IndexKind, dtype: Dtype) -> Option<usize> {
            let address = match (dtype, kind) {
                (Dtype::F32, IndexKind::U32) => $kernel::<f32, u32> as *const () as usize,
                (Dtype::F32, IndexKind::I32) => $kernel::<f32, i32> as *const () as usize,
                (Dtype::F32, IndexKind::U64 | IndexKind::I64) => {
                    $kernel::<f32, i64> as *const () as usize
                }
                (Dtype::F64, IndexKind::U32) => $kernel::<f64, u32> as *const () as usize,
                (Dtype::F64, IndexKind::I32) => $kernel::<f64, i32> as *const () as usize,
                (Dtype::F64, IndexKind::U64 | IndexKind::I64) => {
                    $kernel::<f64, i64> as *const () as usize
                }
                _ => return None,
            };
            Some(address)
        }
    };
}
addresses!(of_rows, spread);
addresses!(of_entries, entries);

/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there, `a` and `crd` for reads at
/// `pos[lo]..pos[hi]`, `out` for reads and writes at each `crd[p]`. `places` is null, or valid for reads at
/// `lo..hi`; `x` is valid for reads at `lo..hi`, or at each place. Nothing overlaps `out`.
///
/// No product is fused with its sum.
#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn spread<T: Real, I: Index>(
    pos: *const I,
    crd: *const I,
    a: *const T,
    x: *const T,
    out: *mut T,
    lo: isize,
    hi: isize,
    places: *const I,
) {
    // SAFETY: as said above.
    unsafe {
        let way = if in_blocks(pos, crd, lo, hi) {
            each::<true, T, I>
        } else if unpredictable(pos, lo, hi) {
            buffered::<T, I>
        } else {
            each::<false, T, I>
        };
        way(pos, crd, a, x, out, lo, hi, places);
    }
}

/// Whether rows are short, and no branch predictor knows where they end.
///
/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there.
unsafe fn unpredictable<I: Index>(pos: *const I, lo: isize, hi: isize) -> bool {
    // SAFETY: as said above.
    unsafe {
        let entries = (*pos.offset(hi)).get().saturating_sub((*pos.offset(lo)).get());
        let rows = hi - lo;
        rows > SPREAD_PREDICTED_ROWS && entries / SPREAD_SHORT_ROW < rows && uneven(pos, lo, hi)
    }
}

/// As [`spread`]: first, the factor `x[i]` of each entry is written to a buffer, then all entries of the
/// buffer are added. So the loop over entries has no branch at the end of a row.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn buffered<T: Real, I: Index>(
    pos: *const I,
    crd: *const I,
    a: *const T,
    x: *const T,
    out: *mut T,
    lo: isize,
    hi: isize,
    places: *const I,
) {
    let mut factors = [T::ZERO; SPREAD_BUFFER + EIGHT];
    let factors = factors.as_mut_ptr();
    // SAFETY: as said above. While entries are left, `row` is the row of the next entry, or an empty row
    // before it. Eight factors are written at a time, the first below `SPREAD_BUFFER`.
    unsafe {
        let (mut p, last) = ((*pos.offset(lo)).get(), (*pos.offset(hi)).get());
        let mut row = lo;
        while p < last {
            let stop = last.min(p + SPREAD_BUFFER as isize);
            let mut at = p;
            while at < stop {
                let place = if places.is_null() { row } else { (*places.offset(row)).get() };
                let factor = *x.offset(place);
                let row_end = (*pos.offset(row + 1)).get();
                let end = row_end.min(stop);
                // The next row overwrites the factors behind the end of this one.
                factors.offset(at - p).cast::<[T; EIGHT]>().write([factor; EIGHT]);
                while end - at > EIGHT as isize {
                    at += EIGHT as isize;
                    factors.offset(at - p).cast::<[T; EIGHT]>().write([factor; EIGHT]);
                }
                at = end;
                row += isize::from(row_end <= stop);
            }
            let add = |at: isize| {
                let to = out.offset((*crd.offset(at)).get());
                *to = *to + *a.offset(at) * *factors.offset(at - p);
            };
            let mut at = p;
            while at < stop {
                prefetch_ahead_l2(a.wrapping_offset(at));
                prefetch_ahead_l2(crd.wrapping_offset(at));
                let end = stop.min(at + EIGHT as isize);
                match end - at == EIGHT as isize {
                    true => (0..EIGHT as isize).for_each(|k| add(at + k)),
                    false => (at..end).for_each(add),
                }
                at = end;
            }
            p = stop;
        }
    }
}

/// Entries handled together.
const EIGHT: usize = 8;

/// As [`spread`]. With `RUNS`, four entries in adjacent columns are added together, as in dense blocks.
///
/// Entries are prefetched, though they are read in order: stores to `out` keep the machine busy.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn each<const RUNS: bool, T: Real, I: Index>(
    pos: *const I,
    crd: *const I,
    a: *const T,
    x: *const T,
    out: *mut T,
    lo: isize,
    hi: isize,
    places: *const I,
) {
    let prefetch_row = |a: *const T, crd: *const I| match RUNS {
        true => (prefetch_ahead(a), prefetch_ahead(crd)),
        false => (prefetch_ahead_l2(a), prefetch_ahead_l2(crd)),
    };
    // SAFETY: as said above; any address may be prefetched.
    unsafe {
        let mut p = (*pos.offset(lo)).get();
        let prefetched = (*pos.offset(hi)).get() - BLOCK_ROW_DISTANCE as isize;
        for i in lo..hi {
            let end = (*pos.offset(i + 1)).get();
            let place = if places.is_null() { i } else { (*places.offset(i)).get() };
            let factor = *x.offset(place);
            let add = |p: isize| {
                let to = out.offset((*crd.offset(p)).get());
                *to = *to + *a.offset(p) * factor;
            };
            // Four adjacent elements: all are read before one is written.
            let four = |p: isize| {
                if p < prefetched {
                    let later = (*crd.offset(p + BLOCK_ROW_DISTANCE as isize)).get();
                    prefetch(out.wrapping_offset(later));
                }
                let to = out.offset((*crd.offset(p)).get()).cast::<[T; 4]>();
                let (own, a) = (to.read(), a.offset(p).cast::<[T; 4]>().read());
                to.write(std::array::from_fn(|k| own[k] + a[k] * factor));
            };
            while p + 8 <= end {
                prefetch_row(a.wrapping_offset(p), crd.wrapping_offset(p));
                if !RUNS {
                    for k in 0..8 {
                        add(p + k);
                    }
                } else {
                    for half in [p, p + 4] {
                        match I::follow(crd.offset(half)) {
                            true => four(half),
                            false => (half..half + 4).for_each(add),
                        }
                    }
                }
                p += 8;
            }
            if RUNS && p + 4 <= end && I::follow(crd.offset(p)) {
                four(p);
                p += 4;
            }
            prefetch_row(a.wrapping_offset(p), crd.wrapping_offset(p));
            while p < end {
                add(p);
                p += 1;
            }
        }
    }
}

/// SAFETY: `rows`, `crd`, and `a` are valid for `n` reads, `x` for a read at each `crd[p]`, `out`
/// for reads and writes at each `rows[p]`. Nothing overlaps `out`.
///
/// Consecutive entries of one row are summed in a register. No product is fused with its sum.
unsafe extern "C" fn entries<T: Real, I: Index>(
    rows: *const I,
    crd: *const I,
    a: *const T,
    x: *const T,
    out: *mut T,
    n: usize,
) {
    // SAFETY: as said above; any address may be prefetched.
    unsafe {
        let mut p = 0;
        while p < n {
            prefetch_ahead(a.wrapping_add(p));
            prefetch_ahead(rows.wrapping_add(p));
            prefetch_ahead(crd.wrapping_add(p));
            let end = n.min(p + 8);
            let mut row = (*rows.add(p)).get();
            let mut sum = *out.offset(row);
            while p < end {
                let next = (*rows.add(p)).get();
                if next != row {
                    *out.offset(row) = sum;
                    row = next;
                    sum = *out.offset(row);
                }
                sum = sum + *a.add(p) * *x.offset((*crd.add(p)).get());
                p += 1;
            }
            *out.offset(row) = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Way = unsafe fn(
        *const u32,
        *const u32,
        *const f64,
        *const f64,
        *mut f64,
        isize,
        isize,
        *const u32,
    );

    #[test]
    fn products_are_added_in_order_whatever_the_rows() {
        let mut state = 5_u64;
        let mut next = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let rows = SPREAD_PREDICTED_ROWS as usize + 100;
        for (short, long) in [(0, 0), (1, 0), (6, 0), (12, 0), (4, 9), (4, 3000)] {
            let mut pos = vec![7_u32];
            for row in 0..rows {
                let length = if row % 1000 == 999 { long } else { 0 } + next(short + 1);
                pos.push(pos[row] + length as u32);
            }
            let n = pos[rows] as usize;
            let crd: Vec<u32> = (0..n).map(|_| next(500) as u32).collect();
            let a: Vec<f64> = (0..n).map(|_| next(1000) as f64 / 7.0).collect();
            let x: Vec<f64> = (0..rows).map(|_| next(1000) as f64 / 3.0).collect();
            let places: Vec<u32> = (0..rows).map(|_| next(rows as u64) as u32).collect();
            let ways: [Way; 4] = [
                each::<false, f64, u32>,
                each::<true, f64, u32>,
                buffered::<f64, u32>,
                // SAFETY: the caller's word is passed on.
                |pos, crd, a, x, out, lo, hi, places| unsafe {
                    spread(pos, crd, a, x, out, lo, hi, places);
                },
            ];
            for (lo, hi) in [(0, rows), (17, rows - 5), (20, 20)] {
                for places in [None, Some(&places)] {
                    let mut expected = vec![0.5; 500];
                    for row in lo..hi {
                        let factor = x[places.map_or(row, |places| places[row] as usize)];
                        for p in pos[row] as usize..pos[row + 1] as usize {
                            expected[crd[p] as usize] += a[p] * factor;
                        }
                    }
                    let places = places.map_or(std::ptr::null(), Vec::as_ptr);
                    for (number, way) in ways.iter().enumerate() {
                        let mut out = vec![0.5; 500];
                        let (lo, hi) = (lo as isize, hi as isize);
                        // SAFETY: `pos` ascends to the number of entries; coordinates are below the length
                        // of `out`, places below that of `x`.
                        unsafe {
                            way(
                                pos.as_ptr(),
                                crd.as_ptr(),
                                a.as_ptr(),
                                x.as_ptr(),
                                out.as_mut_ptr(),
                                lo,
                                hi,
                                places,
                            );
                        }
                        assert!(
                            out == expected,
                            "way {number}, rows {lo}..{hi} of {short}, {long}"
                        );
                    }
                }
            }
        }
    }
}
