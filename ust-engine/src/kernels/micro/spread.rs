//! Rows that are added, times a number each, to what their coordinates say.

use ust_level_api::{Dtype, IndexKind};

use crate::kernels::vector::{Index, Real, ask};

pub(super) fn address(kind: IndexKind, dtype: Dtype) -> Option<usize> {
    macro_rules! of {
        ($ty:ty) => {
            match kind {
                IndexKind::U32 => Some(spread::<$ty, u32> as *const () as usize),
                IndexKind::I32 => Some(spread::<$ty, i32> as *const () as usize),
                IndexKind::U64 | IndexKind::I64 => Some(spread::<$ty, i64> as *const () as usize),
                _ => None,
            }
        };
    }
    match dtype {
        Dtype::F32 => of!(f32),
        Dtype::F64 => of!(f64),
        _ => None,
    }
}

/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there, `a` and `crd` for reads at
/// `pos[lo]..pos[hi]`, `out` for reads and writes at each `crd[p]`; `places` null, or valid for
/// reads at `lo..hi`; `x` for reads there, or at each place. Nothing overlaps `out`.
///
/// What is read in order is asked for: what is written keeps the machine from looking ahead. No
/// product is fused with its sum.
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
    // SAFETY: as said above; what is asked for need not be valid.
    unsafe {
        let mut p = (*pos.offset(lo)).get();
        for i in lo..hi {
            let end = (*pos.offset(i + 1)).get();
            let place = if places.is_null() { i } else { (*places.offset(i)).get() };
            let factor = *x.offset(place);
            let add = |p: isize| {
                let to = out.offset((*crd.offset(p)).get());
                *to = *to + *a.offset(p) * factor;
            };
            while p + 8 <= end {
                ask(a.wrapping_offset(p));
                ask(crd.wrapping_offset(p));
                for k in 0..8 {
                    add(p + k);
                }
                p += 8;
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
