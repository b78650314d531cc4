//! Rows side by side times a vector: the first entry of each row is stored, then the second of each, and so on
//! (ELL, or slices of it).

use ust_ir::{Dtype, IndexKind};

use super::Loop;
use crate::tuning::{SLICES_AHEAD, SLOT_ROWS, SLOTS_AHEAD};
use crate::vector::{Four, Index, Vector, prefetch_lines};

/// Some rows at a time, so that their sums stay in the nearest cache while all slots are added. Entries that lie as many
/// elements `ahead` are prefetched.
///
/// SAFETY: `y` is valid for reads and writes at `0..rows`; `a` and `crd` are valid for reads at `p * stride + i` for
/// `p` below `slots` and `i` below `rows`, `x` at each of these coordinates. Nothing overlaps `y`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn each<F: Four, I: Index>(
    y: *mut F::Lane,
    a: *const F::Lane,
    crd: *const I,
    x: *const F::Lane,
    slots: usize,
    rows: usize,
    stride: usize,
    ahead: usize,
) {
    let mut row = 0;
    while row < rows {
        let count = SLOT_ROWS.min(rows - row);
        let mut slot = 0;
        while slot < slots {
            let (rest, at) = (slots - slot, slot * stride + row);
            // About as many in each pass.
            let now = rest.div_ceil(rest.div_ceil(MAX_SLOTS));
            // SAFETY: as said above.
            unsafe {
                let (y, a, crd) = (y.add(row), a.add(at), crd.add(at));
                match now {
                    1 => add::<1, F, I>(y, a, crd, x, count, stride, ahead),
                    2 => add::<2, F, I>(y, a, crd, x, count, stride, ahead),
                    3 => add::<3, F, I>(y, a, crd, x, count, stride, ahead),
                    4 => add::<4, F, I>(y, a, crd, x, count, stride, ahead),
                    5 => add::<5, F, I>(y, a, crd, x, count, stride, ahead),
                    6 => add::<6, F, I>(y, a, crd, x, count, stride, ahead),
                    7 => add::<7, F, I>(y, a, crd, x, count, stride, ahead),
                    _ => add::<MAX_SLOTS, F, I>(y, a, crd, x, count, stride, ahead),
                }
            }
            slot += now;
        }
        row += count;
    }
}

/// Slots that are added in one pass over some rows, at most. Their number is constant in each pass: the hardware
/// prefetcher tells them apart by the instructions that read them.
const MAX_SLOTS: usize = 8;

/// Adds `SLOTS` slots. SAFETY: as of [`each`].
#[inline(always)]
unsafe fn add<const SLOTS: usize, F: Four, I: Index>(
    y: *mut F::Lane,
    a: *const F::Lane,
    crd: *const I,
    x: *const F::Lane,
    rows: usize,
    stride: usize,
    ahead: usize,
) {
    let mut row = 0;
    // SAFETY: as said above.
    unsafe {
        while row + 8 <= rows {
            let mut sums = [F::read(y.add(row)), F::read(y.add(row + 4))];
            for slot in 0..SLOTS {
                let at = slot * stride + row;
                sums = plus_slot(sums, a.add(at), crd.add(at), x, ahead);
            }
            sums[0].write(y.add(row));
            sums[1].write(y.add(row + 4));
            row += 8;
        }
        for row in row..rows {
            let product = |at: usize| *a.add(at) * *x.offset((*crd.add(at)).get());
            let sum = (0..SLOTS).fold(*y.add(row), |sum, slot| sum + product(slot * stride + row));
            *y.add(row) = sum;
        }
    }
}

/// Adds one entry of each of `4 * COUNT` rows. SAFETY: as of [`each`].
#[inline(always)]
unsafe fn plus_slot<const COUNT: usize, F: Four, I: Index>(
    mut sums: [F; COUNT],
    a: *const F::Lane,
    crd: *const I,
    x: *const F::Lane,
    ahead: usize,
) -> [F; COUNT] {
    prefetch_lines(a.wrapping_add(ahead), 4 * COUNT * size_of::<F::Lane>());
    prefetch_lines(crd.wrapping_add(ahead), 4 * COUNT * size_of::<I>());
    for (k, sum) in sums.iter_mut().enumerate() {
        // SAFETY: as said above.
        unsafe { *sum = sum.plus_products(a.add(4 * k), crd.add(4 * k), x) };
    }
    sums
}

/// Adds all entries of slices `lo..hi` of `size` rows each; the last of all slices has those that are left of `n`
/// rows.
///
/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there; `y` for reads and writes at the rows of these
/// slices, `i * size..` for slice `i`; `a` and `crd` for reads at `pos[lo] * size..pos[hi] * size`, `x` at each of
/// these coordinates. Nothing overlaps `y`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn each_slice<F: Four, P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    a: *const F::Lane,
    x: *const F::Lane,
    y: *mut F::Lane,
    lo: usize,
    hi: usize,
    size: usize,
    n: isize,
) {
    let n = n.max(0) as usize;
    // All slices but the last are whole.
    let whole = (n / size).clamp(lo, hi);
    // SAFETY: as said above.
    unsafe {
        let done = match size {
            4 => each_whole::<1, F, P, I>(pos, crd, a, x, y, lo, whole),
            8 => each_whole::<2, F, P, I>(pos, crd, a, x, y, lo, whole),
            16 => each_whole::<4, F, P, I>(pos, crd, a, x, y, lo, whole),
            32 => each_whole::<8, F, P, I>(pos, crd, a, x, y, lo, whole),
            _ => lo,
        };
        for slice in done..hi {
            let (first, slots) = of_slice(pos, slice);
            let (a, crd, row) = (a.add(first * size), crd.add(first * size), slice * size);
            each::<F, I>(
                y.add(row),
                a,
                crd,
                x,
                slots,
                size.min(n.saturating_sub(row)),
                size,
                SLICES_AHEAD,
            );
        }
    }
}

/// As [`each_slice`], for slices of `4 * COUNT` rows. Returns `hi`, where they end.
#[inline(always)]
unsafe fn each_whole<const COUNT: usize, F: Four, P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    a: *const F::Lane,
    x: *const F::Lane,
    y: *mut F::Lane,
    lo: usize,
    hi: usize,
) -> usize {
    let size = 4 * COUNT;
    for slice in lo..hi {
        // SAFETY: as said above.
        unsafe {
            let (first, slots) = of_slice(pos, slice);
            let y = y.add(slice * size);
            let mut sums: [F; COUNT] = std::array::from_fn(|k| F::read(y.add(4 * k)));
            for at in (first..first + slots).map(|slot| slot * size) {
                sums = plus_slot(sums, a.add(at), crd.add(at), x, SLICES_AHEAD);
            }
            for (k, sum) in sums.into_iter().enumerate() {
                sum.write(y.add(4 * k));
            }
        }
    }
    hi
}

/// The first slot of a slice, and the number of its slots.
#[inline(always)]
unsafe fn of_slice<P: Index>(pos: *const P, slice: usize) -> (usize, usize) {
    // SAFETY: as said above.
    let [first, end] = unsafe { [(*pos.add(slice)).get(), (*pos.add(slice + 1)).get()] };
    (first as usize, end.saturating_sub(first).max(0) as usize)
}

/// The kernels of rows that are summed exactly.
pub(super) fn exact(wanted: Loop, dtype: Dtype) -> Option<usize> {
    portable::fast(wanted, dtype)
}

/// Kernels for an instruction set. SAFETY of all: as of the function that is called, and the machine has the
/// instructions.
macro_rules! kernels {
    ($name:ident, $single:ty, $double:ty $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn fast(wanted: Loop, dtype: Dtype) -> Option<usize> {
                match dtype {
                    Dtype::F32 => address::<<$single as Vector>::Four>(wanted),
                    Dtype::F64 => address::<<$double as Vector>::Four>(wanted),
                    _ => None,
                }
            }

            fn address<F: Four>(wanted: Loop) -> Option<usize> {
                use IndexKind::{I32, I64, U8, U16, U32, U64};
                Some(match wanted {
                    Loop::Slots(U8) => slots::<F, u8> as *const () as usize,
                    Loop::Slots(U16) => slots::<F, u16> as *const () as usize,
                    Loop::Slots(U32) => slots::<F, u32> as *const () as usize,
                    Loop::Slots(I32) => slots::<F, i32> as *const () as usize,
                    Loop::Slots(U64 | I64) => slots::<F, i64> as *const () as usize,
                    Loop::Slices(U32, U8) => slices::<F, u32, u8> as *const () as usize,
                    Loop::Slices(U32, U16) => slices::<F, u32, u16> as *const () as usize,
                    Loop::Slices(U32, U32) => slices::<F, u32, u32> as *const () as usize,
                    Loop::Slices(I32, I32) => slices::<F, i32, i32> as *const () as usize,
                    Loop::Slices(U64 | I64, U64 | I64) => {
                        slices::<F, i64, i64> as *const () as usize
                    }
                    _ => return None,
                })
            }

            $(#[target_feature(enable = $features)])?
            unsafe extern "C" fn slots<F: Four, I: Index>(
                y: *mut F::Lane,
                a: *const F::Lane,
                crd: *const I,
                x: *const F::Lane,
                slots: usize,
                rows: usize,
                stride: usize,
            ) {
                // SAFETY: as said above.
                unsafe { each::<F, I>(y, a, crd, x, slots, rows, stride, SLOTS_AHEAD) }
            }

            $(#[target_feature(enable = $features)])?
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn slices<F: Four, P: Index, I: Index>(
                pos: *const P,
                crd: *const I,
                a: *const F::Lane,
                x: *const F::Lane,
                y: *mut F::Lane,
                lo: usize,
                hi: usize,
                size: usize,
                n: isize,
            ) {
                // SAFETY: as said above.
                unsafe { each_slice::<F, P, I>(pos, crd, a, x, y, lo, hi, size, n) }
            }
        }
    };
}
kernels!(portable, [f32; 4], [f64; 2]);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, std::arch::x86_64::__m256, std::arch::x86_64::__m256d, "avx2,fma");
