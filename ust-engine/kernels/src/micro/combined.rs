//! A sparse matrix times a sparse one, a row of the result at a time (Gustavson): multiples of rows of the
//! second matrix are added to a dense row, and its nonzero columns are listed.

use ust_ir::{Dtype, IndexKind};

use crate::tuning::COMBINED_DISTANCE;
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

/// The type of a mark: for each column, the stamp of the result row that last had an entry there.
trait Mark: Copy + PartialEq {
    /// The mark that a stamp is stored as.
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

/// For example, for row `i` of `A B`: `lo..hi` are the entries of row `i` of `A`, `crd` their columns, and
/// `pos`, `columns`, `b` the rows of `B`. Gives the length of `list`. No product is fused with its sum.
///
/// SAFETY: `a` is valid for reads at `lo..hi`, `crd` at `lo..end`, where `end` is at least `hi`. `pos` is
/// valid for reads at `0..=rows`, and each `crd[q]` in `lo..hi` is below `rows`. `columns` and `b` are valid
/// for reads at `pos[crd[q]]..pos[crd[q] + 1]`. These columns are below `places`; `sums` and `mark` are
/// valid for reads and writes there. `list` is valid for `places` writes; its first `touched` elements are
/// the columns whose mark is `stamp`. What is written overlaps nothing else.
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
    // SAFETY: as said above; any address may be prefetched.
    unsafe {
        // Elements of `crd` from `hi` on are unchecked: they may lie in a gap between rows.
        let row = |q: isize| {
            let row = if q < end { (*crd.offset(q)).get() } else { -1 };
            (0..rows).contains(&row).then_some(row)
        };
        for q in lo..hi {
            if let Some(row) = row(q + 2 * COMBINED_DISTANCE) {
                prefetch(pos.offset(row));
            }
            if let Some(row) = row(q + COMBINED_DISTANCE) {
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
                // A branch: columns repeat from row to row, so it is predicted, and nothing waits for it.
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
