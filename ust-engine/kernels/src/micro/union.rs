//! Rows of coordinates, two of which are merged into one, and what stands at them is added.

use std::ops::Range;

use ust_ir::{Dtype, IndexKind};

use super::row_sample::in_step;
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

/// A number that is taken or left without a branch.
trait Kept: Real {
    /// The number, or 0.
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

/// All bits or none, of which the compiler does not know that these are the only two numbers: it would
/// make a branch of them, and which of two coordinates is the lesser cannot be foreseen.
#[inline(always)]
fn opaque(keep: bool) -> u64 {
    let mask = u64::from(keep).wrapping_neg();
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut mask = mask;
        // SAFETY: it is no instruction.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) mask,
                options(pure, nomem, nostack, preserves_flags));
        }
        mask
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    std::hint::black_box(mask)
}

/// A row: its coordinates, and what stands at them.
struct Row<T, I> {
    crd: *const I,
    values: *const T,
}

impl<T: Kept, I: Index + Ord> Row<T, I> {
    /// SAFETY of these: as of [`merged`].
    #[inline(always)]
    unsafe fn at(&self, p: isize) -> (I, T) {
        // SAFETY: as said above.
        unsafe { (*self.crd.offset(p), *self.values.offset(p)) }
    }
}

/// Where the sum goes.
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

    /// Appends a part of a row. Gives where it ends.
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

    /// Moves a part to `at`, which is not behind it. Gives where it ends.
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

/// SAFETY: `a_pos` and `b_pos` are valid for reads at `lo..=hi`; `a_crd`, `a`, `b_crd`, `b` for reads
/// at each row of these, where coordinates ascend, each once; `crd` and `out` for writes below `room`,
/// `starts` for `hi - lo` writes if it is not null, and `row` for a read and a write. What is written
/// overlaps nothing else.
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
    // SAFETY: as said above; a row is written where there is room for all of it.
    unsafe {
        let of = |pos: *const P, i: isize| {
            let begin = (*pos.offset(i)).get();
            begin..(*pos.offset(i + 1)).get().max(begin)
        };
        let foreseen = in_step([a_pos, b_pos], [a_crd, b_crd], lo, hi);
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
            at = if foreseen {
                in_turn::<true, _, _>(&a, &b, &mut sum, p, q, at)
            } else if most < SHORT {
                in_turn::<false, _, _>(&a, &b, &mut sum, p, q, at)
            } else {
                merged(&a, &b, &mut sum, p, q, at)
            };
        }
        *row = at;
    }
    hi
}

/// Rows of fewer elements together are merged from the front alone.
const SHORT: isize = 16;

/// Adds a row of each and appends the sum, where it is `FORESEEN` which of the two comes next by a branch
/// for each of them. Gives where it ends. SAFETY: as of [`merged`].
#[inline(always)]
unsafe fn in_turn<const FORESEEN: bool, T: Kept, I: Index + Ord>(
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
            } else if !FORESEEN {
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

/// The same. Coordinates that both rows have are met by a branch, which is foreseen where rows are alike.
/// From the first that they do not both have, they are merged without a branch, from both ends at a
/// time, as each step waits for the one before.
///
/// SAFETY: rows are valid for reads at these places, where coordinates ascend, each once; the sum for
/// writes from `row` on, for as many elements as both have together, and it overlaps nothing else.
unsafe fn merged<T: Kept, I: Index + Ord>(
    a: &Row<T, I>,
    b: &Row<T, I>,
    sum: &mut Sum<T, I>,
    of_a: Range<isize>,
    of_b: Range<isize>,
    mut row: isize,
) -> isize {
    let (mut p, mut q) = (of_a.start, of_b.start);
    // What is left ends here.
    let (mut s, mut t) = (of_a.end, of_b.end);
    // SAFETY: as said above: from `row` on there is room for everything that is left.
    unsafe {
        while p < s && q < t {
            let ((j, x), (k, y)) = (a.at(p), b.at(q));
            if j != k {
                break;
            }
            sum.set(row, j, x + y);
            (p, q, row) = (p + 1, q + 1, row + 1);
        }
        // Where the part that is merged from the end begins.
        let end = row + (s - p) + (t - q);
        let mut last = end;
        // What is taken from one end is not what is taken from the other.
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

/// Sets the least coordinate of what is left.
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
