//! A look at some rows, which tells what the others may be like.

use crate::kernels::vector::Index;

/// Rows that are looked at.
pub(super) const LOOKS: isize = 64;

/// So many rows, spread over `lo..hi`, which has more than those.
pub(super) fn some_rows(lo: isize, hi: isize) -> impl Iterator<Item = isize> {
    (0..LOOKS).map(move |look| lo + (hi - lo) * look / LOOKS)
}

/// The columns of the first entries of a row, `MOST` at most.
///
/// SAFETY: `pos` is valid for reads at `row` and the next, ascending there, and `crd` between the
/// numbers that these hold.
#[inline(always)]
pub(super) unsafe fn columns<const MOST: isize, P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    row: isize,
) -> impl Iterator<Item = isize> {
    // SAFETY: as said above.
    unsafe {
        let (from, to) = ((*pos.offset(row)).get(), (*pos.offset(row + 1)).get());
        (from..to.min(from + MOST)).map(move |p| (*crd.offset(p)).get())
    }
}
