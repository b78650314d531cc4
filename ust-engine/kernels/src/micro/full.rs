//! Full rows of which entries go to the next free place of their columns: some columns first, for all
//! rows, then the next. As they stand, entries would go to as many lines as there are columns.

use super::row_sample::{LOOKS, sampled_rows};
use super::scatter::{Moving, Number};
use crate::vector::{Index, LINE, NEAR, prefetch_lines};

/// Columns whose open lines the first cache holds.
const FEW: isize = 256;

/// Entries of a row in some columns that are worth the way there.
const MANY: isize = 16;

/// Rows after which one is read, that are asked for ahead.
const AHEAD: usize = 4;

/// How many columns are to be done at a time, so that a row has enough entries there, as far as some rows
/// tell, where values have so many bytes. `None` where lines of all columns stay near, or rows are not
/// full enough.
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
    if hi - lo < LOOKS {
        return None;
    }
    let [mut span, mut entries] = [0_isize; 2];
    for row in sampled_rows(lo, hi) {
        // SAFETY: as said above; a row that is looked at is below `hi`.
        unsafe {
            let (from, to) = ((*pos.offset(row)).get(), (*pos.offset(row + 1)).get());
            if from < to {
                let [first, last] = [from, to - 1].map(|p| (*crd.offset(p)).get());
                span = span.saturating_add(last.saturating_sub(first).saturating_add(1).max(0));
                entries += to - from;
            }
        }
    }
    // Lines that stay open from row to row: two of a column, or all that it has, which is about as much as
    // a row has.
    let column = (bytes + size_of::<I>()) * entries as usize / LOOKS as usize;
    let open = (span / LOOKS) as usize * column.min(2 * LINE);
    let mut widths = [FEW / 4, FEW / 2, FEW].into_iter();
    widths.find(|width| entries * width >= span.saturating_mul(MANY) && 2 * open >= NEAR)
}

impl<T: Copy, I: Index + Number> Moving<T, I> {
    /// Moves the entries of some rows, so many columns after the others.
    ///
    /// SAFETY: as of [`Moving::all`].
    pub(super) unsafe fn by_columns(&self, [lo, hi]: [isize; 2], width: isize) {
        // SAFETY: as said above; what is asked for ahead need not be valid.
        unsafe {
            let pos = |i: isize| (*self.pos.offset(i)).get();
            // No more than were counted, whatever a level type says of its rows.
            let last = pos(hi);
            let mut cursors: Vec<isize> = (lo..hi).map(pos).collect();
            let mut left = last - pos(lo);
            let mut beyond = 0_isize;
            while left > 0 {
                let before = left;
                beyond = beyond.saturating_add(width);
                for (at, i) in (lo..hi).enumerate() {
                    // What is read of the rows to come is elsewhere each time.
                    if let Some(&soon) = cursors.get(at + AHEAD) {
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
                // Columns that rows have little of: the rest as it stands.
                if before - left < hi - lo {
                    beyond = isize::MAX;
                }
            }
        }
    }

    /// Asks for twice as many entries from one on as are worth the way there.
    #[inline(always)]
    fn prefetch_entries(&self, p: isize) {
        let n = 2 * MANY as usize;
        prefetch_lines(self.crd.wrapping_offset(p), n * size_of::<I>());
        prefetch_lines(self.from.wrapping_offset(p), n * size_of::<T>());
    }
}
