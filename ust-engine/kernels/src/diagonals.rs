//! A matrix of diagonals (DIA) times a vector or a dense matrix, some diagonals at a time.

use std::array::from_fn;
use std::ops::Range;

use super::panel::{self, Columns, Dense, Rows, add_to};
use super::vector::{
    InstructionSet, Number, Task, Vector, instruction_set, perform, prefetch_ahead_l2,
};

/// The dimension that indexes the numbers of a diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// By row.
    Rows,
    /// By column.
    Columns,
}

impl Along {
    /// The dimension in the transpose.
    pub fn other(self) -> Self {
        match self {
            Self::Rows => Self::Columns,
            Self::Columns => Self::Rows,
        }
    }
}

/// A matrix of diagonals, each with a number for every row, or every column.
#[derive(Clone, Copy, Debug)]
pub struct Diagonals<'a, T> {
    /// Column minus row, for each diagonal.
    pub offsets: &'a [i32],
    /// Diagonal after diagonal.
    pub values: &'a [T],
    /// The dimension that indexes the numbers of a diagonal.
    pub along: Along,
    /// Rows of the matrix.
    pub rows: usize,
}

/// Diagonals `which` in the strip of rows that `y` holds, from row `first` on.
struct Strip<'a, T> {
    matrix: Diagonals<'a, T>,
    which: Range<usize>,
    first: usize,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Number> Task<T> for Strip<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Lane = T>>(self) {
        let Self { matrix, which, first, x, y } = self;
        // SAFETY: as the trait says.
        unsafe { matrix.strip::<V>(which, first, x, y) }
    }
}

/// Diagonals `from..to`, from row `first` on.
#[derive(Clone, Copy)]
struct Below<'a, T> {
    matrix: Diagonals<'a, T>,
    from: usize,
    to: usize,
    first: usize,
    columns: usize,
}

impl<T: Number> Rows<T> for Below<'_, T> {
    #[inline(always)]
    unsafe fn add<V: Vector<Lane = T>, const R: usize, const W: usize, const CUT: bool>(
        self,
        row: usize,
        b: &Columns<'_, T>,
        sums: &mut [[V; W]; R],
    ) {
        let Self { matrix, from, to, first, columns } = self;
        let row = first + row;
        let (stride, along_rows) = match matrix.along {
            Along::Rows => (matrix.rows, true),
            Along::Columns => (columns, false),
        };
        for p in from..to {
            let column = row as isize + matrix.offsets[p] as isize;
            // SAFETY: as the caller says; a diagonal has a number at each row and column of the matrix.
            unsafe {
                let at = |column: isize, row| {
                    p * stride + if along_rows { row } else { column as usize }
                };
                if column >= 0 && column as usize + R <= columns {
                    let a = matrix.values.as_ptr().add(at(column, row));
                    for (r, sums) in sums.iter_mut().enumerate() {
                        add_to(sums, *a.add(r), &b.row::<V, W, CUT>(column as usize + r));
                    }
                    continue;
                }
                for (r, sums) in sums.iter_mut().enumerate() {
                    let column = column + r as isize;
                    if (0..columns as isize).contains(&column) {
                        let a = *matrix.values.as_ptr().add(at(column, row + r));
                        add_to(sums, a, &b.row::<V, W, CUT>(column as usize));
                    }
                }
            }
        }
    }
}

/// A part of a diagonal, and the elements of the vector that it multiplies.
type Pair<'a, T> = (&'a [T], &'a [T]);

impl<T: Number> Diagonals<'_, T> {
    /// Adds the products of diagonals `which` with `x` to `y`, which holds rows from `first` on. `y` is read
    /// and written several times: fastest if the first cache holds it.
    pub fn times(&self, which: Range<usize>, first: usize, x: &[T], y: &mut [T]) {
        self.times_at(instruction_set(), which, first, x, y);
    }

    fn times_at(
        &self,
        set: InstructionSet,
        which: Range<usize>,
        first: usize,
        x: &[T],
        y: &mut [T],
    ) {
        perform(set, Strip { matrix: *self, which, first, x, y });
    }

    /// Adds the products of diagonals `which` with `b` to `c`, which holds rows from `first` on.
    pub fn times_dense(&self, which: Range<usize>, first: usize, b: Dense<'_, T>, c: &mut [T]) {
        self.times_dense_at(instruction_set(), which, first, b, c);
    }

    fn times_dense_at(
        &self,
        set: InstructionSet,
        which: Range<usize>,
        first: usize,
        b: Dense<'_, T>,
        c: &mut [T],
    ) {
        let (from, to) = (which.start, which.end);
        let each = if self.along == Along::Rows { self.rows } else { b.rows() };
        assert!(to * each <= self.values.len(), "there are all diagonals");
        let below = c.len().checked_div(b.width).unwrap_or(0);
        assert!(first + below <= self.rows, "there are all rows");
        panel::times(set, Below { matrix: *self, from, to, first, columns: b.rows() }, b, c);
    }

    /// # Safety
    /// As of [`Vector`], here and below.
    #[inline(always)]
    unsafe fn strip<V: Vector<Lane = T>>(
        &self,
        which: Range<usize>,
        first: usize,
        x: &[T],
        y: &mut [T],
    ) {
        let strip = first..first + y.len();
        let mut next = which.start;
        while next < which.end {
            // With several diagonals at once, the result is loaded and stored less often. SAFETY: as the
            // caller says.
            next += unsafe {
                match which.end - next {
                    1 => self.together::<V, 1>(next, &strip, x, y),
                    2 => self.together::<V, 2>(next, &strip, x, y),
                    3 => self.together::<V, 3>(next, &strip, x, y),
                    5 => self.together::<V, 5>(next, &strip, x, y),
                    9.. => self.together::<V, 9>(next, &strip, x, y),
                    _ => self.together::<V, 4>(next, &strip, x, y),
                }
            };
        }
    }

    /// Adds the products of `N` diagonals from `p` on to a strip of rows: all diagonals at once in the rows
    /// that all of them cross, one after the other in the other rows. Returns `N`.
    #[inline(always)]
    unsafe fn together<V: Vector<Lane = T>, const N: usize>(
        &self,
        p: usize,
        strip: &Range<usize>,
        x: &[T],
        y: &mut [T],
    ) -> usize {
        let each: [Range<usize>; N] = from_fn(|d| self.rows_of(p + d, strip, x.len()));
        let lo = each.iter().map(|rows| rows.start).max().unwrap_or(strip.start);
        let hi = each.iter().map(|rows| rows.end).min().unwrap_or(strip.end).max(lo);
        let of = |d: usize, rows: Range<usize>| self.segment(p + d, rows, x);
        let within = |rows: Range<usize>| rows.start - strip.start..rows.end - strip.start;
        // SAFETY, of all: as the caller says.
        for (d, rows) in each.iter().enumerate() {
            let rows = rows.start..rows.end.min(lo);
            unsafe { segment::<V, 1>([of(d, rows.clone())], &mut y[within(rows)]) };
        }
        unsafe { segment::<V, N>(from_fn(|d| of(d, lo..hi)), &mut y[within(lo..hi)]) };
        for (d, rows) in each.iter().enumerate() {
            let start = rows.start.max(hi);
            let rows = start..rows.end.max(start);
            unsafe { segment::<V, 1>([of(d, rows.clone())], &mut y[within(rows)]) };
        }
        N
    }

    /// The rows of a strip where diagonal `p` has a number.
    fn rows_of(&self, p: usize, strip: &Range<usize>, columns: usize) -> Range<usize> {
        let offset = self.offsets[p] as isize;
        let start = offset.min(0).unsigned_abs().clamp(strip.start, strip.end);
        start..columns.saturating_add_signed(-offset).clamp(start, strip.end)
    }

    /// The part of diagonal `p` in `rows`, and the elements of `x` that it multiplies.
    fn segment<'b>(&'b self, p: usize, rows: Range<usize>, x: &'b [T]) -> Pair<'b, T> {
        if rows.is_empty() {
            return (&[], &[]);
        }
        let column = (rows.start as isize + self.offsets[p] as isize) as usize;
        let begin = match self.along {
            Along::Rows => p * self.rows + rows.start,
            Along::Columns => p * x.len() + column,
        };
        (&self.values[begin..begin + rows.len()], &x[column..column + rows.len()])
    }
}

/// `y[k] += a[k] * x[k]` for each of `N` pairs of `a` and `x`, in their order.
///
/// # Safety
/// As of [`Vector`].
#[inline(always)]
unsafe fn segment<V: Vector, const N: usize>(parts: [Pair<'_, V::Lane>; N], y: &mut [V::Lane]) {
    let n = y.len();
    assert!(parts.iter().all(|(a, x)| a.len() == n && x.len() == n), "one for each");
    let parts = parts.map(|(a, x)| (a.as_ptr(), x.as_ptr()));
    let y = y.as_mut_ptr();
    let mut k = 0;
    // SAFETY: every index is below `n`.
    unsafe {
        while k + V::N <= n {
            let mut sum = V::load(y.add(k));
            for (a, x) in parts {
                prefetch_ahead_l2(a.add(k));
                sum = sum.plus::<true>(V::load(a.add(k)), V::load(x.add(k)));
            }
            sum.store(y.add(k));
            k += V::N;
        }
        while k < n {
            for (a, x) in parts {
                *y.add(k) = *y.add(k) + *a.add(k) * *x.add(k);
            }
            k += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::instruction_sets;

    #[test]
    fn diagonals_of_any_shape_times_a_vector() {
        for [rows, columns] in [[1, 1], [5, 9], [9, 5], [40, 1], [1, 40], [3000, 2000]] {
            let all = -(rows as i32 - 1)..columns as i32;
            let offsets: Vec<i32> = all.step_by((rows + columns) / 12 + 1).collect();
            for along in [Along::Rows, Along::Columns] {
                let extent = if along == Along::Rows { rows } else { columns };
                let values: Vec<f64> =
                    (0..offsets.len() * extent).map(|at| (at % 13) as f64 - 4.0).collect();
                let x: Vec<f64> = (0..columns).map(|at| (at % 7) as f64 + 1.0).collect();
                let mut expected = vec![0.5; rows];
                for (p, &offset) in offsets.iter().enumerate() {
                    for (i, y) in expected.iter_mut().enumerate() {
                        let Some(j) = i.checked_add_signed(offset as isize) else { continue };
                        let at = if along == Along::Rows { i } else { j };
                        *y += x.get(j).map_or(0.0, |x| values[p * extent + at] * x);
                    }
                }
                let matrix = Diagonals { offsets: &offsets, values: &values, along, rows };
                for set in instruction_sets() {
                    let mut y = vec![0.5; rows];
                    matrix.times_at(set, 0..1, 0, &x, &mut y);
                    let (above, below) = y.split_at_mut(rows / 3);
                    matrix.times_at(set, 1..offsets.len(), 0, &x, above);
                    matrix.times_at(set, 1..offsets.len(), rows / 3, &x, below);
                    // Small integers and a half: sums are exact in any order.
                    assert_eq!(y, expected, "{rows} x {columns}, {along:?}, {set:?}");
                    // The same vector in each column, but for the sign.
                    for width in [1, 5, 35] {
                        let sign = |k: usize| if k.is_multiple_of(3) { -1.0 } else { 1.0 };
                        let of = |x: f64| (0..width).map(move |k| sign(k) * x);
                        let values: Vec<f64> = x.iter().flat_map(|&x| of(x)).collect();
                        let b = Dense { values: &values, width };
                        let mut c = vec![0.0; rows * width];
                        let (above, below) = c.split_at_mut(rows / 3 * width);
                        matrix.times_dense_at(set, 0..offsets.len(), 0, b, above);
                        matrix.times_dense_at(set, 0..offsets.len(), rows / 3, b, below);
                        let expected = expected.iter().flat_map(|y| of(y - 0.5));
                        assert!(c.iter().copied().eq(expected), "{rows} x {columns} x {width}");
                    }
                }
            }
        }
    }
}
