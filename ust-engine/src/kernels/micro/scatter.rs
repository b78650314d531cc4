//! Entries that are counted by their columns, and then go to the next free place of these, as where a
//! matrix is transposed.

use ust_level_api::{Dtype, IndexKind};

use super::gather::apart;
use crate::kernels::vector::{Index, prefetch};

/// Entries that places are asked for ahead of their use; and that what says which places they are is
/// asked for ahead of that.
const AHEAD: usize = 32;

/// Bytes of values that the caches hold anyhow.
const LITTLE: usize = 1 << 20;

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

/// SAFETY: `pos`, `crd` and `next` as of [`count`], `from` is valid where `crd` is; the numbers of
/// `next` lie below `total`, for which `column` and `out` are, as often as they are counted up here.
/// Nothing that is written overlaps anything else.
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
    // SAFETY: as said above.
    unsafe {
        let entries = (*pos.offset(hi)).get() - (*pos.offset(lo)).get();
        // Places of one column and the next lie apart as far as there are entries in a column, here as
        // many as in a row.
        let bytes = size_of::<T>() * (entries / (hi - lo).max(1)).max(1) as usize;
        let asks = total * size_of::<T>() > LITTLE && apart(pos, crd, bytes, 8, lo, hi).is_some();
        match asks {
            true => all::<true, T, I>(pos, crd, next, column, number, from, out, lo, hi),
            false => all::<false, T, I>(pos, crd, next, column, number, from, out, lo, hi),
        }
    }
}

/// As [`scatter_rows`]; places are asked for where `ASK`.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn all<const ASK: bool, T: Copy, I: Index + Number>(
    pos: *const I,
    crd: *const I,
    next: *mut u32,
    column: *mut I,
    number: i64,
    from: *const T,
    out: *mut T,
    lo: isize,
    hi: isize,
) {
    // SAFETY: as said above; of what is asked for ahead, coordinates are those of later entries.
    unsafe {
        let mut p = (*pos.offset(lo)).get();
        let last = (*pos.offset(hi)).get();
        let asked = last - 2 * AHEAD as isize;
        for i in lo..hi {
            // No more than were counted, whatever a level type says of its rows.
            let end = (*pos.offset(i + 1)).get().min(last);
            let number = I::of(number.wrapping_add(i as i64));
            while p < end {
                if ASK && p < asked {
                    prefetch(next.offset((*crd.offset(p + 2 * AHEAD as isize)).get()));
                    let key = (*crd.offset(p + AHEAD as isize)).get();
                    let at = next.offset(key).read_volatile() as usize;
                    prefetch(column.wrapping_add(at));
                    prefetch(out.wrapping_add(at));
                }
                put(next.offset((*crd.offset(p)).get()), column, number, out, *from.offset(p));
                p += 1;
            }
        }
    }
}

/// SAFETY: `next` is valid for a read and a write, `column` and `out` for a write at its number.
#[inline(always)]
unsafe fn put<T, I>(next: *mut u32, column: *mut I, number: I, out: *mut T, value: T) {
    // SAFETY: as said above.
    unsafe {
        let at = *next as usize;
        *next = (*next).wrapping_add(1);
        column.add(at).write(number);
        out.add(at).write(value);
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
            put(next.offset((*crd.add(p)).get()), column, number, out, *from.add(p));
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
