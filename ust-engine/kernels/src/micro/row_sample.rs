//! Properties of a sparse matrix, estimated from a sample of its rows.

use crate::tuning::{
    GATHER_MIN_ROW, GATHER_SPAN_BYTES, NEIGHBOUR_BYTES, SAMPLE_MIN_ENTRIES, SAMPLED_ENTRIES,
    SAMPLED_ROWS, UNION_PERIODS, UNION_SAMPLE_MIN_ROWS, UNION_SAMPLED_RUN,
};
use crate::vector::Index;

/// A sample of [`SAMPLED_ROWS`] rows, spread evenly over `lo..hi`, which has at least as many.
pub(super) fn sampled_rows(lo: isize, hi: isize) -> impl Iterator<Item = isize> + Clone {
    (0..SAMPLED_ROWS).map(move |sample| lo + (hi - lo) * sample / SAMPLED_ROWS)
}

/// The columns of the first `MOST` entries of a row, or fewer.
///
/// SAFETY: `pos` is valid for reads at `row` and `row + 1`, and ascending there, and `crd` for reads at
/// `pos[row]..pos[row + 1]`.
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

/// Whether the matrix consists of dense blocks, judged from a sample: most entries stand in runs of four
/// adjacent columns, and many rows have the same columns as the next row. False for small matrices.
///
/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there, and `crd` for reads at
/// `pos[lo]..pos[hi]`.
pub(super) unsafe fn in_blocks<P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    lo: isize,
    hi: isize,
) -> bool {
    // SAFETY: as said above; a sampled row and the next are below `hi`.
    unsafe {
        let entries = (*pos.offset(hi)).get().saturating_sub((*pos.offset(lo)).get());
        if entries < SAMPLE_MIN_ENTRIES || hi - lo <= SAMPLED_ROWS {
            return false;
        }
        let row = |at| columns::<SAMPLED_ENTRIES, _, _>(pos, crd, at);
        let [mut sampled, mut fours, mut rows, mut alike] = [0; 4];
        for at in sampled_rows(lo, hi - 1) {
            let (mut run, mut last) = (0, 0);
            for column in row(at) {
                run = if (1..4).contains(&run) && column == last + 1 { run + 1 } else { 1 };
                (sampled, fours, last) = (sampled + 1, fours + i32::from(run == 4), column);
            }
            if row(at).next().is_some() {
                (rows, alike) = (rows + 1, alike + i32::from(row(at).eq(row(at + 1))));
            }
        }
        fours > 0 && 16 * fours >= 3 * sampled && 3 * alike >= rows
    }
}

/// Whether the merge of two sparse matrices repeats itself, judged from a sample: row `i` of both takes the
/// same steps as row `i + k`, for a small `k`. Then the branch predictor knows the steps.
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
    if hi - lo < UNION_SAMPLE_MIN_ROWS {
        return false;
    }
    // SAFETY: as said above; a sampled row and the rows a period later are below `hi`.
    unsafe {
        let a = |row| columns::<SAMPLED_ENTRIES, _, _>(a_pos, a_crd, row);
        let b = |row| columns::<SAMPLED_ENTRIES, _, _>(b_pos, b_crd, row);
        let alike = |row, later| {
            let firsts = a(later).next().zip(a(row).next());
            let by = firsts.map_or(0, |(next, own)| next.wrapping_sub(own));
            a(row).map(|column| column.wrapping_add(by)).eq(a(later))
                && b(row).map(|column| column.wrapping_add(by)).eq(b(later))
        };
        let rows =
            sampled_rows(lo, hi - UNION_SAMPLED_RUN - UNION_PERIODS[UNION_PERIODS.len() - 1]);
        let rows = rows
            .step_by(UNION_SAMPLED_RUN as usize)
            .flat_map(|first| first..first + UNION_SAMPLED_RUN);
        UNION_PERIODS.into_iter().any(|period| {
            let same = rows.clone().filter(|&row| alike(row, row + period));
            8 * same.count() as isize >= 5 * SAMPLED_ROWS
        })
    }
}

/// Whether row lengths modulo eight vary so much that the branch predictor cannot learn them, judged from a
/// sample.
///
/// SAFETY: `pos` is valid for reads at `lo..=hi`, and ascending there.
pub(super) unsafe fn uneven<P: Index>(pos: *const P, lo: isize, hi: isize) -> bool {
    // SAFETY: as said above; a sampled row and the next are below `hi`.
    unsafe {
        let pos = |at: isize| (*pos.offset(at)).get();
        if hi - lo <= SAMPLED_ROWS {
            return false;
        }
        let length = |at: isize| pos(at + 1).saturating_sub(pos(at)) % 8;
        let changes = sampled_rows(lo, hi - 1).filter(|&at| length(at) != length(at + 1)).count();
        2 * changes as isize > SAMPLED_ROWS
    }
}

/// Whether rows access elements of a vector, of `bytes` each, mostly in the last cache, judged from a
/// sample: rows are not short, they span [`GATHER_SPAN_BYTES`], and their columns are [`scattered_span`].
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
        if entries < SAMPLE_MIN_ENTRIES || entries / GATHER_MIN_ROW < hi - lo {
            return false;
        }
        let span = scattered_span(pos, crd, bytes, lo, hi);
        span.is_some_and(|span| GATHER_SPAN_BYTES.contains(&span))
    }
}

/// The bytes between the first and the last vector element, of `bytes` each, that sampled rows access.
/// `None` unless most accesses are isolated: neither the entry before nor an entry of the next row accesses
/// a neighbour of the element.
///
/// SAFETY: as of [`in_blocks`].
unsafe fn scattered_span<P: Index, I: Index>(
    pos: *const P,
    crd: *const I,
    bytes: usize,
    lo: isize,
    hi: isize,
) -> Option<isize> {
    let near = NEIGHBOUR_BYTES / bytes as isize;
    if hi - lo <= SAMPLED_ROWS {
        return None;
    }
    // SAFETY: a sampled row and the next are below `hi`, and their entries are read.
    unsafe {
        let row = |at| columns::<SAMPLED_ENTRIES, _, _>(pos, crd, at);
        let (mut least, mut most, mut sampled, mut isolated) = (isize::MAX, 0, 0, 0);
        for at in sampled_rows(lo, hi - 1) {
            let mut last = None;
            for column in row(at) {
                (least, most, sampled) = (least.min(column), most.max(column), sampled + 1);
                let close = |other: isize| (column - other).abs() <= near;
                isolated += isize::from(!last.is_some_and(close) && !row(at + 1).any(close));
                last = Some(column);
            }
        }
        let span = most.saturating_sub(least).saturating_mul(bytes as isize);
        (2 * isolated > sampled).then_some(span)
    }
}
