//! A look at some rows, which tells what the others may be like.

use crate::vector::Index;

/// Rows that are looked at.
pub(super) const LOOKS: isize = 64;

/// So many rows, spread over `lo..hi`, which has as many or more.
pub(super) fn sampled_rows(lo: isize, hi: isize) -> impl Iterator<Item = isize> + Clone {
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

/// Fewer entries than this are not looked at.
const FEW: isize = 1 << 18;

/// Entries of a row that are looked at.
const LOOK: isize = 16;

/// Entries that numbers are asked for ahead of their use where rows are those of blocks: the next rows of
/// blocks.
pub(super) const BLOCKS_AHEAD: usize = 256;

/// Whether rows are those of blocks, as far as some tell, where there are so many entries that it pays
/// to ask: most columns follow each other by fours, and many rows have those of the row before.
///
/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there, and `crd` for reads at
/// `pos[lo]..pos[hi]`.
pub(super) unsafe fn in_blocks<P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    lo: isize,
    hi: isize,
) -> bool {
    // SAFETY: as said above; a row that is looked at and the next are below `hi`.
    unsafe {
        let entries = (*pos.offset(hi)).get().saturating_sub((*pos.offset(lo)).get());
        if entries < FEW || hi - lo <= LOOKS {
            return false;
        }
        let row = |at| columns::<LOOK, _, _>(pos, crd, at);
        let [mut looked, mut fours, mut rows, mut alike] = [0; 4];
        for at in sampled_rows(lo, hi - 1) {
            let (mut run, mut last) = (0, 0);
            for column in row(at) {
                run = if (1..4).contains(&run) && column == last + 1 { run + 1 } else { 1 };
                (looked, fours, last) = (looked + 1, fours + i32::from(run == 4), column);
            }
            if row(at).next().is_some() {
                (rows, alike) = (rows + 1, alike + i32::from(row(at).eq(row(at + 1))));
            }
        }
        fours > 0 && 16 * fours >= 3 * looked && 3 * alike >= rows
    }
}

/// Rows of which fewer are not looked at: to look takes as long as to merge some of them.
const MERGED: isize = 16 * LOOKS;

/// Neighbours that are looked at.
const TOGETHER: isize = 8;

/// After so many rows, steps may be the same again.
const PERIODS: [isize; 6] = [1, 2, 3, 4, 6, 8];

/// Whether rows of two matrices are merged in the same steps as rows a few before, as far as some tell:
/// then a processor foresees these.
///
/// SAFETY: each `pos` is valid for reads at `lo..=hi`, and ascending there, and its `crd` for reads at
/// `pos[lo]..pos[hi]`.
#[inline(never)]
pub(super) unsafe fn in_step<P: Index, I: Index>(
    [a_pos, b_pos]: [*const P; 2],
    [a_crd, b_crd]: [*const I; 2],
    lo: isize,
    hi: isize,
) -> bool {
    if hi - lo < MERGED {
        return false;
    }
    // SAFETY: as said above; a row that is looked at and the next are below `hi`.
    unsafe {
        let a = |row| columns::<LOOK, _, _>(a_pos, a_crd, row);
        let b = |row| columns::<LOOK, _, _>(b_pos, b_crd, row);
        let alike = |row, later| {
            let firsts = a(later).next().zip(a(row).next());
            let by = firsts.map_or(0, |(next, own)| next.wrapping_sub(own));
            a(row).map(|column| column.wrapping_add(by)).eq(a(later))
                && b(row).map(|column| column.wrapping_add(by)).eq(b(later))
        };
        // Neighbours, which are close in memory.
        let rows = sampled_rows(lo, hi - TOGETHER - PERIODS[PERIODS.len() - 1]);
        let rows = rows.step_by(TOGETHER as usize).flat_map(|first| first..first + TOGETHER);
        PERIODS.into_iter().any(|after| {
            let are = rows.clone().filter(|&row| alike(row, row + after));
            8 * are.count() as isize >= 5 * LOOKS
        })
    }
}

/// Whether rows are of many lengths, modulo eight, so that nobody can tell from one how long the next is;
/// as far as some rows tell.
///
/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there.
pub(super) unsafe fn uneven<P: Index>(pos: *const P, lo: isize, hi: isize) -> bool {
    // SAFETY: as said above; a row that is looked at and the next are below `hi`.
    unsafe {
        let pos = |at: isize| (*pos.offset(at)).get();
        if hi - lo <= LOOKS {
            return false;
        }
        let length = |at: isize| pos(at + 1).saturating_sub(pos(at)) % 8;
        let others = sampled_rows(lo, hi - 1).filter(|&at| length(at) != length(at + 1)).count();
        2 * others as isize > LOOKS
    }
}

/// Entries of a row at least, on the average, that are worth being gathered.
const LONG: isize = 8;
/// Bytes that numbers are spread over which the second cache does not hold, and the last one does.
const SPREAD: std::ops::Range<isize> = 1 << 20..12 << 20;
/// Bytes that lie beside each other.
const NEAR: isize = 128;

/// Whether rows read numbers, of `bytes` each, far apart: in the last cache, at places that neither the
/// entry before is near to nor one of the next row. As far as some rows tell.
///
/// SAFETY: as of [`in_blocks`].
pub(super) unsafe fn far<P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    bytes: usize,
    lo: isize,
    hi: isize,
) -> bool {
    // SAFETY: as said above.
    unsafe {
        let entries = (*pos.offset(hi)).get().saturating_sub((*pos.offset(lo)).get());
        if entries < FEW || entries / LONG < hi - lo {
            return false;
        }
        let spread = apart(pos, crd, bytes, lo, hi);
        spread.is_some_and(|spread| SPREAD.contains(&spread))
    }
}

/// Over how many bytes rows are spread, where every other entry leads to numbers, of `bytes` each,
/// that neither the entry before is near to nor one of the next row.
///
/// SAFETY: as of [`in_blocks`].
unsafe fn apart<P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    bytes: usize,
    lo: isize,
    hi: isize,
) -> Option<isize> {
    let near = NEAR / bytes as isize;
    if hi - lo <= LOOKS {
        return None;
    }
    // SAFETY: a row that is looked at and the next are below `hi`, and entries are those of rows.
    unsafe {
        let row = |at| columns::<LOOK, _, _>(pos, crd, at);
        let (mut least, mut most, mut looked, mut apart) = (isize::MAX, 0, 0, 0);
        for at in sampled_rows(lo, hi - 1) {
            let mut last = None;
            for column in row(at) {
                (least, most, looked) = (least.min(column), most.max(column), looked + 1);
                let close = |other: isize| (column - other).abs() <= near;
                apart += isize::from(!last.is_some_and(close) && !row(at + 1).any(close));
                last = Some(column);
            }
        }
        let spread = most.saturating_sub(least).saturating_mul(bytes as isize);
        (2 * apart > looked).then_some(spread)
    }
}
