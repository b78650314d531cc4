//! The sum of two sparse matrices, row by row: coordinates are merged, values at equal coordinates added.

use std::ops::Range;

use ust_ir::{Dtype, IndexKind};

use super::row_sample::in_step;
use crate::tuning::UNION_SHORT_ROWS;
use crate::vector::{Index, Real};

pub(super) fn address(of_pos: IndexKind, of_crd: IndexKind, dtype: Dtype) -> Option<usize> {
    use IndexKind::{I32, I64, U8, U16, U32, U64};
    macro_rules! both {
        ($pos:ty, $crd:ty) => {
            match dtype {
                Dtype::F32 => union::<f32, $pos, $crd> as *const () as usize,
                Dtype::F64 => union::<f64, $pos, $crd> as *const () as usize,
                _ => return None,
            }
        };
    }
    Some(match (of_pos, of_crd) {
        (U32, U8) => both!(u32, u8),
        (U32, U16) => both!(u32, u16),
        (U32, U32) => both!(u32, u32),
        (I32, I32) => both!(i32, i32),
        (U64 | I64, U64 | I64) => both!(i64, i64),
        _ => return None,
    })
}

/// A number that is kept or replaced by 0 without a branch.
trait Kept: Real {
    /// The number if `keep`, else 0.
    fn kept(self, keep: bool) -> Self;
}

macro_rules! kept {
    ($($ty:ty, $bits:ty;)*) => {$(
        impl Kept for $ty {
            #[inline(always)]
            fn kept(self, keep: bool) -> Self {
                Self::from_bits(self.to_bits() & opaque(keep) as $bits)
            }
        }
    )*};
}
kept!(f32, u32; f64, u64;);

/// A mask of all ones if `keep`, else 0. The compiler must not see that there are only two masks: it would
/// emit a branch on which of two coordinates is the lesser, which is unpredictable.
#[inline(always)]
fn opaque(keep: bool) -> u64 {
    let mask = u64::from(keep).wrapping_neg();
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut mask = mask;
        // SAFETY: a comment, no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) mask,
                options(pure, nomem, nostack, preserves_flags));
        }
        mask
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(mask)
}

/// A sparse row: its coordinates and values.
struct Row<T, I> {
    crd: *const I,
    values: *const T,
}

impl<T: Kept, I: Index + Ord> Row<T, I> {
    /// SAFETY: as of [`merged`].
    #[inline(always)]
    unsafe fn at(&self, p: isize) -> (I, T) {
        // SAFETY: as said above.
        unsafe { (*self.crd.offset(p), *self.values.offset(p)) }
    }
}

/// The sparse row that the sum is written to.
struct Sum<T, I> {
    crd: *mut I,
    values: *mut T,
}

impl<T: Kept, I: Index + Ord> Sum<T, I> {
    #[inline(always)]
    unsafe fn set(&mut self, at: isize, crd: I, value: T) {
        // SAFETY: as of `merged`.
        unsafe {
            *self.crd.offset(at) = crd;
            *self.values.offset(at) = value;
        }
    }

    /// Copies a part of a row to `at`. Gives the end of the copy.
    #[inline(always)]
    unsafe fn copied(&mut self, from: &Row<T, I>, part: Range<isize>, at: isize) -> isize {
        for p in part.clone() {
            // SAFETY: as of `merged`.
            unsafe {
                let (j, x) = from.at(p);
                self.set(at + p - part.start, j, x);
            }
        }
        at + (part.end - part.start).max(0)
    }

    /// Moves a part of the sum to `at`, which is at most its start. Gives its new end.
    #[inline(always)]
    unsafe fn moved(&mut self, part: Range<isize>, at: isize) -> isize {
        let (lo, n) = (part.start, part.end - part.start);
        // SAFETY: as of `merged`.
        unsafe {
            std::ptr::copy(self.crd.offset(lo), self.crd.offset(at), n as usize);
            std::ptr::copy(self.values.offset(lo), self.values.offset(at), n as usize);
        }
        at + n
    }
}

/// SAFETY: `a_pos` and `b_pos` are valid for reads at `lo..=hi`; `a_crd`, `a`, `b_crd`, `b` for reads at the
/// entries of these rows, whose coordinates ascend strictly; `crd` and `out` for `room` writes, `starts` for
/// `hi - lo` writes if it is not null, and `row` for a read and a write. What is written overlaps nothing
/// else.
#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn union<T: Kept, P: Index, I: Index + Ord>(
    a_pos: *const P,
    a_crd: *const I,
    a: *const T,
    b_pos: *const P,
    b_crd: *const I,
    b: *const T,
    crd: *mut I,
    out: *mut T,
    room: isize,
    starts: *mut i64,
    lo: isize,
    hi: isize,
    row: *mut isize,
) -> isize {
    let a = Row { crd: a_crd, values: a };
    let b = Row { crd: b_crd, values: b };
    let mut sum = Sum { crd, values: out };
    // SAFETY: as said above; a row is written only if all of it fits below `room`.
    unsafe {
        let of = |pos: *const P, i: isize| {
            let begin = (*pos.offset(i)).get();
            begin..(*pos.offset(i + 1)).get().max(begin)
        };
        let predicted = in_step([a_pos, b_pos], [a_crd, b_crd], lo, hi);
        let mut at = *row;
        for i in lo..hi {
            let (p, q) = (of(a_pos, i), of(b_pos, i));
            let most = (p.end - p.start) + (q.end - q.start);
            if most > room - at {
                *row = at;
                return i;
            }
            if !starts.is_null() {
                *starts.offset(i - lo) = at as i64;
            }
            at = if predicted {
                in_turn::<true, _, _>(&a, &b, &mut sum, p, q, at)
            } else if most < UNION_SHORT_ROWS {
                in_turn::<false, _, _>(&a, &b, &mut sum, p, q, at)
            } else {
                merged(&a, &b, &mut sum, p, q, at)
            };
        }
        *row = at;
    }
    hi
}

/// Adds two rows from the front, and writes the sum from `row` on. Gives the end of the sum. With
/// `PREDICTED`, a branch tells which row has the lesser coordinate; otherwise, that choice has no branch.
/// SAFETY: as of [`merged`].
#[inline(always)]
unsafe fn in_turn<const PREDICTED: bool, T: Kept, I: Index + Ord>(
    a: &Row<T, I>,
    b: &Row<T, I>,
    sum: &mut Sum<T, I>,
    of_a: Range<isize>,
    of_b: Range<isize>,
    mut row: isize,
) -> isize {
    let (mut p, mut q) = (of_a.start, of_b.start);
    // SAFETY: as said above.
    unsafe {
        while p < of_a.end && q < of_b.end {
            let ((j, x), (k, y)) = (a.at(p), b.at(q));
            if j == k {
                sum.set(row, j, x + y);
                (p, q) = (p + 1, q + 1);
            } else if !PREDICTED {
                first_of_both(a, b, sum, &mut p, &mut q, row);
            } else if j < k {
                sum.set(row, j, x);
                p += 1;
            } else {
                sum.set(row, k, y);
                q += 1;
            }
            row += 1;
        }
        let row = sum.copied(a, p..of_a.end, row);
        sum.copied(b, q..of_b.end, row)
    }
}

/// Adds two rows, and writes the sum from `row` on. Gives the end of the sum. While coordinates are equal, a
/// branch compares them, which is predicted where rows are alike. From the first difference on, rows are
/// merged without a branch, from both ends at once: each step waits for the one before, and steps at the
/// two ends do not wait for each other.
///
/// SAFETY: both rows are valid for reads at `of_a` and `of_b`, and their coordinates ascend strictly. The
/// sum is valid for writes from `row` on, for as many elements as both rows have, and overlaps neither.
unsafe fn merged<T: Kept, I: Index + Ord>(
    a: &Row<T, I>,
    b: &Row<T, I>,
    sum: &mut Sum<T, I>,
    of_a: Range<isize>,
    of_b: Range<isize>,
    mut row: isize,
) -> isize {
    let (mut p, mut q) = (of_a.start, of_b.start);
    // The ends of the entries that are left.
    let (mut s, mut t) = (of_a.end, of_b.end);
    // SAFETY: as said above: from `row` on, all entries that are left fit.
    unsafe {
        while p < s && q < t {
            let ((j, x), (k, y)) = (a.at(p), b.at(q));
            if j != k {
                break;
            }
            sum.set(row, j, x + y);
            (p, q, row) = (p + 1, q + 1, row + 1);
        }
        // The part `last..end` of the sum is merged from the end.
        let end = row + (s - p) + (t - q);
        let mut last = end;
        // Two entries of each row are left: the two ends take different entries.
        while p + 2 <= s && q + 2 <= t {
            first_of_both(a, b, sum, &mut p, &mut q, row);
            row += 1;
            let ((j, x), (k, y)) = (a.at(s - 1), b.at(t - 1));
            let (of_a, of_b) = (j >= k, k >= j);
            last -= 1;
            sum.set(last, j.max(k), x.kept(of_a) + y.kept(of_b));
            s -= isize::from(of_a);
            t -= isize::from(of_b);
        }
        let row = in_turn::<false, _, _>(a, b, sum, p..s, q..t, row);
        sum.moved(last..end, row)
    }
}

/// Writes the entry with the least coordinate of `a[p..]` and `b[q..]`.
#[inline(always)]
unsafe fn first_of_both<T: Kept, I: Index + Ord>(
    a: &Row<T, I>,
    b: &Row<T, I>,
    sum: &mut Sum<T, I>,
    p: &mut isize,
    q: &mut isize,
    row: isize,
) {
    // SAFETY: as of `merged`, where neither is empty.
    unsafe {
        let ((j, x), (k, y)) = (a.at(*p), b.at(*q));
        let (of_a, of_b) = (j <= k, k <= j);
        sum.set(row, j.min(k), x.kept(of_a) + y.kept(of_b));
        *p += isize::from(of_a);
        *q += isize::from(of_b);
    }
}
