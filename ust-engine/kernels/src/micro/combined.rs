//! Rows that are added, times a number each, to a dense row that knows its places.

use ust_ir::{Dtype, IndexKind};

use crate::vector::{Index, Real, prefetch};

pub(super) fn address(kind: IndexKind, mark: IndexKind, dtype: Dtype) -> Option<usize> {
    use IndexKind::{I32, I64, U32, U64};
    macro_rules! both {
        ($index:ty, $mark:ty) => {
            match dtype {
                Dtype::F32 => combined::<f32, $index, $mark> as *const () as usize,
                Dtype::F64 => combined::<f64, $index, $mark> as *const () as usize,
                _ => return None,
            }
        };
    }
    Some(match (kind, mark) {
        (U32, U32) => both!(u32, u32),
        (U32, I64) => both!(u32, i64),
        (I32, I64) => both!(i32, i64),
        (U64 | I64, I64) => both!(i64, i64),
        _ => return None,
    })
}

/// What the row that touched a place last is called.
trait Mark: Copy + PartialEq {
    /// As the loops write it down.
    fn of(stamp: i64) -> Self;
}

impl Mark for u32 {
    fn of(stamp: i64) -> Self {
        stamp as u32
    }
}

impl Mark for i64 {
    fn of(stamp: i64) -> Self {
        stamp
    }
}

/// How many rows ahead of their use coordinates and numbers are asked for; where these begin, twice as
/// far.
const AHEAD: isize = 8;

/// SAFETY: `crd` and `a` are valid for reads at `lo..hi`, `crd` at `lo..end` as well, which is no
/// less; `pos` is valid for reads at `0..=rows`, and each `crd[q]` in `lo..hi` is below `rows`;
/// `columns` and `b` are valid for reads at `pos[crd[q]]..pos[crd[q] + 1]`, `sums` and `mark` for
/// reads and writes at each of these columns, which are below `places`; `list` for writes below
/// `places`, of which `touched` hold the places whose mark is `stamp`. What is written overlaps
/// nothing else.
///
/// Gives how many places are touched afterwards. No product is fused with its sum.
#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn combined<T: Real, I: Index, M: Mark>(
    pos: *const I,
    crd: *const I,
    a: *const T,
    columns: *const I,
    b: *const T,
    sums: *mut T,
    mark: *mut M,
    list: *mut i64,
    lo: isize,
    hi: isize,
    end: isize,
    rows: isize,
    stamp: i64,
    touched: isize,
    places: isize,
) -> isize {
    let stamp = M::of(stamp);
    let mut touched = touched;
    // SAFETY: as said above; what is asked for need not be valid.
    unsafe {
        // What stands behind may be no coordinate: a gap that nobody looks at.
        let row = |q: isize| {
            let row = if q < end { (*crd.offset(q)).get() } else { -1 };
            (0..rows).contains(&row).then_some(row)
        };
        for q in lo..hi {
            if let Some(row) = row(q + 2 * AHEAD) {
                prefetch(pos.offset(row));
            }
            if let Some(row) = row(q + AHEAD) {
                let first = (*pos.offset(row)).get();
                prefetch(columns.wrapping_offset(first));
                prefetch(b.wrapping_offset(first));
            }
            let row = (*crd.offset(q)).get();
            let factor = *a.offset(q);
            let (first, last) = ((*pos.offset(row)).get(), (*pos.offset(row + 1)).get());
            let add = |p: isize| {
                let place = (*columns.offset(p)).get();
                let to = sums.offset(place);
                *to = *to + factor * *b.offset(p);
                place
            };
            let mut p = first;
            if touched == places {
                while p + 4 <= last {
                    for k in 0..4 {
                        add(p + k);
                    }
                    p += 4;
                }
                while p < last {
                    add(p);
                    p += 1;
                }
                continue;
            }
            while p < last {
                let place = add(p);
                // A branch, since patterns repeat themselves: it is foreseen, and nothing waits for it.
                let seen = mark.offset(place);
                if *seen != stamp {
                    *seen = stamp;
                    *list.offset(touched) = place as i64;
                    touched += 1;
                }
                p += 1;
            }
        }
    }
    touched
}
