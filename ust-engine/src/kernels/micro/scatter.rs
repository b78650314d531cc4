//! Entries of a row that go to the next free place of their columns, as where a matrix is transposed.

use ust_level_api::{Dtype, IndexKind};

use crate::kernels::vector::{Index, prefetch};

/// Entries that places are asked for ahead of their use; and that what says which places they are is
/// asked for ahead of that.
const AHEAD: usize = 32;

/// Bytes of values that the caches hold anyhow.
const LITTLE: usize = 1 << 22;

pub(super) fn address(kind: IndexKind, dtype: Dtype) -> Option<usize> {
    macro_rules! of {
        ($ty:ty) => {
            match kind {
                IndexKind::U32 => Some(scatter::<$ty, u32> as *const () as usize),
                IndexKind::I32 => Some(scatter::<$ty, i32> as *const () as usize),
                IndexKind::U64 | IndexKind::I64 => Some(scatter::<$ty, i64> as *const () as usize),
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

/// SAFETY: `crd` is valid for `rest` reads, `count` of them in use, `from` for `count`; what is in
/// use of `crd` lies below `keys`, for which `next` is valid; its numbers lie below `total`, for
/// which `column` and `out` are, as often as they are counted up here. Nothing that is written
/// overlaps anything else.
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
    // SAFETY: as said above; what is asked for ahead need not be valid. Coordinates beyond this row
    // are read, but nobody has checked them: they are compared before they are used, and may lead to
    // a number that another thread is writing, of which nothing but what is asked for depends.
    unsafe {
        let entry = |p: usize| {
            let next = next.offset((*crd.add(p)).get());
            let at = *next as usize;
            *next = (*next).wrapping_add(1);
            *column.add(at) = number;
            *out.add(at) = *from.add(p);
        };
        let mut p = 0;
        let wide = (*crd.add(count - 1)).get().wrapping_sub((*crd).get()) as usize >= count;
        if wide && total * size_of::<T>() > LITTLE {
            let end = count.min(rest.saturating_sub(2 * AHEAD));
            while p < end {
                prefetch(next.wrapping_offset((*crd.add(p + 2 * AHEAD)).get()));
                let key = (*crd.add(p + AHEAD)).get() as usize;
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

/// Coordinates as they are stored.
trait Number: Copy {
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
