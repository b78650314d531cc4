//! Rows side by side times a vector: the first entry of each row is stored, then the second of each, and so on
//! (ELL, or a slice of it).

use ust_ir::{Dtype, IndexKind};

use super::Loop;
use crate::tuning::SLOT_ROWS;
use crate::vector::{Four, Index, Real, Vector, prefetch_ahead_l2};

/// How rows are summed.
trait Added {
    type Lane: Real;

    /// Adds `SLOTS` slots of so many rows. SAFETY: as for [`each`].
    unsafe fn add<const SLOTS: usize, I: Index>(
        y: *mut Self::Lane,
        a: *const Self::Lane,
        crd: *const I,
        x: *const Self::Lane,
        rows: usize,
        stride: usize,
    );
}

/// One row after another. No product is fused with its sum.
struct InOrder<T>(T);

/// Four rows at a time.
struct ByFours<V>(V);

impl<T: Real> Added for InOrder<T> {
    type Lane = T;

    #[inline(always)]
    unsafe fn add<const SLOTS: usize, I: Index>(
        y: *mut T,
        a: *const T,
        crd: *const I,
        x: *const T,
        rows: usize,
        stride: usize,
    ) {
        for row in 0..rows {
            // SAFETY: as said above.
            unsafe {
                let mut sum = *y.add(row);
                for slot in 0..SLOTS {
                    let at = slot * stride + row;
                    sum = sum + *a.add(at) * *x.offset((*crd.add(at)).get());
                }
                *y.add(row) = sum;
            }
        }
    }
}

impl<V: Vector> Added for ByFours<V> {
    type Lane = V::Lane;

    #[inline(always)]
    unsafe fn add<const SLOTS: usize, I: Index>(
        y: *mut V::Lane,
        a: *const V::Lane,
        crd: *const I,
        x: *const V::Lane,
        rows: usize,
        stride: usize,
    ) {
        let mut row = 0;
        // SAFETY: as said above.
        unsafe {
            while row + 4 <= rows {
                let mut sum = V::Four::read(y.add(row));
                for slot in 0..SLOTS {
                    let at = slot * stride + row;
                    prefetch_ahead_l2(a.wrapping_add(at));
                    prefetch_ahead_l2(crd.wrapping_add(at));
                    sum = sum.plus_products(a.add(at), crd.add(at), x);
                }
                sum.write(y.add(row));
                row += 4;
            }
            let (y, a, crd) = (y.add(row), a.add(row), crd.add(row));
            InOrder::add::<SLOTS, I>(y, a, crd, x, rows - row, stride);
        }
    }
}

/// Some rows at a time, so that their sums stay in the nearest cache while all slots are added.
///
/// SAFETY: `y` is valid for reads and writes at `0..rows`; `a` and `crd` are valid for reads at `p * stride + i` for
/// `p` below `slots` and `i` below `rows`, `x` at each of these coordinates. Nothing overlaps `y`.
#[inline(always)]
unsafe fn each<S: Added, I: Index>(
    y: *mut S::Lane,
    a: *const S::Lane,
    crd: *const I,
    x: *const S::Lane,
    slots: usize,
    rows: usize,
    stride: usize,
) {
    let mut row = 0;
    while row < rows {
        let count = SLOT_ROWS.min(rows - row);
        let mut slot = 0;
        while slot < slots {
            let at = slot * stride + row;
            // SAFETY: as said above.
            unsafe {
                let (y, a, crd) = (y.add(row), a.add(at), crd.add(at));
                match slots - slot {
                    1 => S::add::<1, I>(y, a, crd, x, count, stride),
                    2 => S::add::<2, I>(y, a, crd, x, count, stride),
                    3 => S::add::<3, I>(y, a, crd, x, count, stride),
                    _ => S::add::<4, I>(y, a, crd, x, count, stride),
                }
            }
            slot += 4;
        }
        row += count;
    }
}

/// The kernels of rows that are summed exactly.
pub(super) fn exact(wanted: Loop, dtype: Dtype) -> Option<usize> {
    match dtype {
        Dtype::F32 => portable::address::<InOrder<f32>>(wanted),
        Dtype::F64 => portable::address::<InOrder<f64>>(wanted),
        _ => None,
    }
}

/// Kernels for an instruction set. SAFETY of all: as of [`each`], and the machine has the instructions.
macro_rules! kernels {
    ($name:ident, $single:ty, $double:ty $(, $features:literal)?) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn fast(wanted: Loop, dtype: Dtype) -> Option<usize> {
                match dtype {
                    Dtype::F32 => address::<ByFours<$single>>(wanted),
                    Dtype::F64 => address::<ByFours<$double>>(wanted),
                    _ => None,
                }
            }

            pub(super) fn address<S: Added>(wanted: Loop) -> Option<usize> {
                use IndexKind::{I32, I64, U8, U16, U32, U64};
                let Loop::Slots(kind) = wanted else { return None };
                Some(match kind {
                    U8 => all::<S, u8> as *const () as usize,
                    U16 => all::<S, u16> as *const () as usize,
                    U32 => all::<S, u32> as *const () as usize,
                    I32 => all::<S, i32> as *const () as usize,
                    U64 | I64 => all::<S, i64> as *const () as usize,
                    _ => return None,
                })
            }

            $(#[target_feature(enable = $features)])?
            unsafe extern "C" fn all<S: Added, I: Index>(
                y: *mut S::Lane,
                a: *const S::Lane,
                crd: *const I,
                x: *const S::Lane,
                slots: usize,
                rows: usize,
                stride: usize,
            ) {
                // SAFETY: as said above.
                unsafe { each::<S, I>(y, a, crd, x, slots, rows, stride) }
            }
        }
    };
}
kernels!(portable, [f32; 4], [f64; 2]);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, std::arch::x86_64::__m256, std::arch::x86_64::__m256d, "avx2,fma");
