//! Rows that are added, times a number each, to what their coordinates say, and entries that are.

use ust_level_api::{Dtype, IndexKind};

use super::look::{BLOCKS_AHEAD, in_blocks};
use crate::kernels::vector::{Index, Real, ask, prefetch};

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
/// `pos[lo]..pos[hi]`, `out` for reads and writes at each `crd[p]`; `places` null, or valid for
/// reads at `lo..hi`; `x` for reads there, or at each place. Nothing overlaps `out`.
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
        let each =
            if in_blocks(pos, crd, lo, hi) { each::<true, T, I> } else { each::<false, T, I> };
        each(pos, crd, a, x, out, lo, hi, places);
    }
}

/// As [`spread`]; four entries at a time where those lie beside each other as a rule: `RUNS`.
///
/// What is read in order is asked for: what is written keeps the machine from looking ahead.
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
    // SAFETY: as said above; what is asked for need not be valid.
    unsafe {
        let mut p = (*pos.offset(lo)).get();
        let asked = (*pos.offset(hi)).get() - BLOCKS_AHEAD as isize;
        for i in lo..hi {
            let end = (*pos.offset(i + 1)).get();
            let place = if places.is_null() { i } else { (*places.offset(i)).get() };
            let factor = *x.offset(place);
            let add = |p: isize| {
                let to = out.offset((*crd.offset(p)).get());
                *to = *to + *a.offset(p) * factor;
            };
            // Four different elements: all are read before one is written.
            let four = |p: isize| {
                if p < asked {
                    prefetch(out.wrapping_offset((*crd.offset(p + BLOCKS_AHEAD as isize)).get()));
                }
                let to = out.offset((*crd.offset(p)).get()).cast::<[T; 4]>();
                let (own, a) = (to.read(), a.offset(p).cast::<[T; 4]>().read());
                to.write(std::array::from_fn(|k| own[k] + a[k] * factor));
            };
            while p + 8 <= end {
                ask(a.wrapping_offset(p));
                ask(crd.wrapping_offset(p));
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
            ask(a.wrapping_offset(p));
            ask(crd.wrapping_offset(p));
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
/// An element that several products in a row are added to is kept meanwhile. No product is fused
/// with its sum.
unsafe extern "C" fn entries<T: Real, I: Index>(
    rows: *const I,
    crd: *const I,
    a: *const T,
    x: *const T,
    out: *mut T,
    n: usize,
) {
    // SAFETY: as said above; what is asked for need not be valid.
    unsafe {
        let mut p = 0;
        while p < n {
            ask(a.wrapping_add(p));
            ask(rows.wrapping_add(p));
            ask(crd.wrapping_add(p));
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
