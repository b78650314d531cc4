//! The scatter of a matrix whose rows are nearly full, as in a transposition: the first columns of all
//! rows, then the next columns, and so on. Row by row, entries would go to as many open lines as there are
//! columns, more than the first cache holds.

use super::row_sample::sampled_rows;
use super::scatter::{Moving, Number};
use crate::tuning::{NEAR_BYTES, OPEN_COLUMNS, SAMPLED_ROWS, VISIT_DISTANCE, VISIT_ENTRIES};
use crate::vector::{Index, LINE, prefetch_lines};

/// The number of columns to process at a time, so that rows have enough entries within them, judged from a
/// sample. Values have `bytes` bytes. `None` where the open lines of all columns stay in a near cache, or
/// rows are not full enough.
///
/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there, `crd` for reads at
/// `pos[lo]..pos[hi]`.
pub(super) unsafe fn width<I: Index>(
    pos: *const I,
    crd: *const I,
    bytes: usize,
    lo: isize,
    hi: isize,
) -> Option<isize> {
    if hi - lo < SAMPLED_ROWS {
        return None;
    }
    let [mut span, mut entries] = [0_isize; 2];
    for row in sampled_rows(lo, hi) {
        // SAFETY: as said above; a sampled row is below `hi`.
        unsafe {
            let (from, to) = ((*pos.offset(row)).get(), (*pos.offset(row + 1)).get());
            if from < to {
                let [first, last] = [from, to - 1].map(|p| (*crd.offset(p)).get());
                span = span.saturating_add(last.saturating_sub(first).saturating_add(1).max(0));
                entries += to - from;
            }
        }
    }
    // Bytes of the lines that stay open from row to row: two lines of each column, or the whole column,
    // which has about as many entries as a row.
    let column = (bytes + size_of::<I>()) * entries as usize / SAMPLED_ROWS as usize;
    let open = (span / SAMPLED_ROWS) as usize * column.min(2 * LINE);
    let mut widths = [OPEN_COLUMNS / 4, OPEN_COLUMNS / 2, OPEN_COLUMNS].into_iter();
    widths.find(|width| {
        entries * width >= span.saturating_mul(VISIT_ENTRIES) && 2 * open >= NEAR_BYTES
    })
}

impl<T: Copy, I: Index + Number> Moving<T, I> {
    /// Moves the entries of rows `lo..hi`, `width` columns at a time.
    ///
    /// SAFETY: as of [`Moving::all`].
    pub(super) unsafe fn by_columns(&self, [lo, hi]: [isize; 2], width: isize) {
        // SAFETY: as said above; any address may be prefetched.
        unsafe {
            let pos = |i: isize| (*self.pos.offset(i)).get();
            // No entry beyond the last one counted, even if `pos` does not ascend.
            let last = pos(hi);
            let mut cursors: Vec<isize> = (lo..hi).map(pos).collect();
            let mut left = last - pos(lo);
            let mut beyond = 0_isize;
            while left > 0 {
                let before = left;
                beyond = beyond.saturating_add(width);
                for (at, i) in (lo..hi).enumerate() {
                    // Each row is read at another address: no hardware prefetch.
                    if let Some(&soon) = cursors.get(at + VISIT_DISTANCE) {
                        self.prefetch_entries(soon);
                    }
                    let (mut p, end) = (cursors[at], pos(i + 1).min(last));
                    while p < end && (*self.crd.offset(p)).get() < beyond {
                        self.put(i, p);
                        p += 1;
                    }
                    left -= p - cursors[at];
                    cursors[at] = p;
                }
                // Rows have few entries in these columns: all that are left, row by row.
                if before - left < hi - lo {
                    beyond = isize::MAX;
                }
            }
        }
    }

    /// Prefetches the entries from `p` on, twice as many as make a visit pay.
    #[inline(always)]
    fn prefetch_entries(&self, p: isize) {
        let n = 2 * VISIT_ENTRIES as usize;
        prefetch_lines(self.crd.wrapping_offset(p), n * size_of::<I>());
        prefetch_lines(self.from.wrapping_offset(p), n * size_of::<T>());
    }
}
