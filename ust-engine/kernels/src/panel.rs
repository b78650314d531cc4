//! A matrix times a dense one. A panel of the result, up to four rows by four vectors, stays in registers
//! while products with rows of the dense matrix are added to it.

use super::tuning::{NEAR_BYTES, PANEL_BYTES};
use super::vector::{
    InstructionSet, LINE, Number, Real, Task, Vector, instruction_set, perform, prefetch_lines,
};

/// A dense matrix, row-major.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a, T> {
    /// Row after row.
    pub values: &'a [T],
    /// Columns.
    pub width: usize,
}

impl<T> Dense<'_, T> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether its rows are to be prefetched, where they are accessed in no order.
    pub(super) fn is_far(&self) -> bool {
        size_of_val(self.values) > NEAR_BYTES
    }
}

/// Some columns of a dense matrix: whole vectors, the last of which may be cut.
#[derive(Clone, Copy)]
pub(super) struct Columns<'a, T> {
    of: Dense<'a, T>,
    first: usize,
    /// Numbers in a vector that is cut.
    cut: usize,
}

impl<T: Real> Columns<'_, T> {
    /// # Safety
    /// As of [`Vector`]; the matrix has the row, and the columns.
    #[inline(always)]
    pub(super) unsafe fn row<V: Vector<Lane = T>, const W: usize, const CUT: bool>(
        &self,
        row: usize,
    ) -> [V; W] {
        // SAFETY: as the caller says.
        unsafe {
            let from = self.of.values.as_ptr().add(row * self.of.width + self.first);
            std::array::from_fn(|k| V::nth::<W, CUT>(from, k, self.cut))
        }
    }

    /// Prefetches the part of a row that [`row`](Self::row) loads.
    #[inline(always)]
    pub(super) fn prefetch<V: Vector<Lane = T>, const W: usize>(&self, row: usize) {
        let at = row.wrapping_mul(self.of.width).wrapping_add(self.first);
        prefetch_lines(self.of.values.as_ptr().wrapping_add(at), W * size_of::<V>());
    }
}

/// Loads `W` vectors. Where `CUT`, the last of them has `cut` numbers.
///
/// A loop, not [`std::array::from_fn`], whose closures are instantiated once more for each panel.
///
/// # Safety
/// As of [`Vector`]; `from` is valid for reads of all these numbers.
#[inline(always)]
unsafe fn vectors<V: Vector, const W: usize, const CUT: bool>(
    from: *const V::Lane,
    cut: usize,
) -> [V; W] {
    // SAFETY: as the caller says.
    unsafe {
        let mut row = [V::splat(V::Lane::ZERO); W];
        for (k, vector) in row.iter_mut().enumerate() {
            *vector = V::nth::<W, CUT>(from, k, cut);
        }
        row
    }
}

/// Rows of any format that multiply a dense matrix.
pub(super) trait Rows<T: Number>: Copy {
    /// Whether two or three rows are often all there are, as in a block: these get panels of their own.
    const SHORT: bool = false;

    /// Adds the products of `R` rows from `row` on with the columns `b` of the dense matrix.
    ///
    /// # Safety
    /// As of [`Vector`]; there are `R` rows from `row` on, and `b` has `W` vectors, the last of them cut
    /// where `CUT`.
    unsafe fn add<V: Vector<Lane = T>, const R: usize, const W: usize, const CUT: bool>(
        self,
        row: usize,
        b: &Columns<'_, T>,
        sums: &mut [[V; W]; R],
    );
}

/// Adds the products of the first rows with `b` to `c`: as many rows as `c` has.
pub(super) fn times<T: Number>(
    set: InstructionSet,
    rows: impl Rows<T>,
    b: Dense<'_, T>,
    c: &mut [T],
) {
    perform(set, Times { rows, b, c });
}

struct Times<'a, M, T> {
    rows: M,
    b: Dense<'a, T>,
    c: &'a mut [T],
}

impl<T: Number, M: Rows<T>> Task<T> for Times<'_, M, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Lane = T>>(self) {
        // SAFETY: as the trait says.
        unsafe { all::<V, M>(self.rows, self.b, self.c) }
    }
}

/// As [`times`], with vectors `V`.
///
/// # Safety
/// As of [`Vector`], here and below.
#[inline(always)]
pub(super) unsafe fn all<V: Vector<Lane: Number>, M: Rows<V::Lane>>(
    rows: M,
    b: Dense<'_, V::Lane>,
    c: &mut [V::Lane],
) {
    let count = c.len().checked_div(b.width).unwrap_or(0);
    let mut row = 0;
    while row < count {
        let c = &mut c[row * b.width..];
        // SAFETY: as the caller says; so many rows are left.
        row += unsafe {
            match count - row {
                4.. => some::<V, M, 4>(rows, row, b, c),
                // A constant condition: what it excludes is not compiled, here and below.
                left if const { M::SHORT } && left > 1 => match left {
                    2 => some::<V, M, 2>(rows, row, b, c),
                    _ => some::<V, M, 3>(rows, row, b, c),
                },
                _ => some::<V, M, 1>(rows, row, b, c),
            }
        };
    }
}

/// Adds the products of `R` rows from `row` on to `c`, whose first row is that of `row`. Gives `R`.
#[inline(always)]
unsafe fn some<V: Vector<Lane: Number>, M: Rows<V::Lane>, const R: usize>(
    rows: M,
    row: usize,
    b: Dense<'_, V::Lane>,
    c: &mut [V::Lane],
) -> usize {
    let mut first = 0;
    while first < b.width {
        let rest = b.width - first;
        let cut = (rest - 1) % V::N + 1;
        let columns = Columns { of: b, first, cut };
        let c = c[first..].as_mut_ptr();
        // SAFETY: as the caller says; so many columns are left.
        first += unsafe {
            // Machines with wide vectors have twice as many registers.
            if const { size_of::<V>() >= LINE } && rest > 3 * V::N {
                match rest >= 4 * V::N {
                    true => panel::<V, M, R, 4, false>(rows, row, &columns, c),
                    false => panel::<V, M, R, 4, true>(rows, row, &columns, c),
                }
            } else if rest >= 2 * V::N {
                panel::<V, M, R, 2, false>(rows, row, &columns, c)
            } else if rest > V::N {
                panel::<V, M, R, 2, true>(rows, row, &columns, c)
            } else if rest == V::N {
                panel::<V, M, R, 1, false>(rows, row, &columns, c)
            } else {
                panel::<V, M, R, 1, true>(rows, row, &columns, c)
            }
        };
    }
    R
}

/// Adds the products of `R` rows with the columns `b`, `W` vectors, to `c`. Gives the number of columns.
///
/// # Safety
/// `c` is valid for reads and writes of these columns in `R` rows, as wide as those of the dense matrix.
#[inline(always)]
unsafe fn panel<
    V: Vector<Lane: Number>,
    M: Rows<V::Lane>,
    const R: usize,
    const W: usize,
    const CUT: bool,
>(
    rows: M,
    row: usize,
    b: &Columns<'_, V::Lane>,
    c: *mut V::Lane,
) -> usize {
    // SAFETY: as the caller says.
    unsafe {
        let mut sums = [[V::splat(V::Lane::ZERO); W]; R];
        for (r, sums) in sums.iter_mut().enumerate() {
            *sums = vectors::<V, W, CUT>(c.add(r * b.of.width), b.cut);
        }
        rows.add::<V, R, W, CUT>(row, b, &mut sums);
        for (r, sums) in sums.iter().enumerate() {
            for (k, sum) in sums.iter().enumerate() {
                sum.store_nth::<W, CUT>(c.add(r * b.of.width), k, b.cut);
            }
        }
    }
    if CUT { (W - 1) * V::N + b.cut } else { W * V::N }
}

/// Adds the products of one column of `R` rows, whose numbers are `stride` apart, with a row `b` of a dense
/// matrix.
///
/// # Safety
/// As of [`Vector`]; `a` is valid for reads of these numbers.
#[inline(always)]
pub(super) unsafe fn add_row<V: Vector, const R: usize, const W: usize>(
    sums: &mut [[V; W]; R],
    a: *const V::Lane,
    stride: usize,
    b: &[V; W],
) {
    for (r, sums) in sums.iter_mut().enumerate() {
        // SAFETY: as the caller says.
        unsafe { add_to(sums, *a.add(r * stride), b) };
    }
}

/// `sums[k] += a * b[k]` for each vector `k`.
///
/// # Safety
/// As of [`Vector`].
#[inline(always)]
pub(super) unsafe fn add_to<V: Vector, const W: usize>(sums: &mut [V; W], a: V::Lane, b: &[V; W]) {
    // SAFETY: as the caller says.
    unsafe {
        let a = V::splat(a);
        for (sum, &b) in sums.iter_mut().zip(b) {
            *sum = sum.plus::<true>(a, b);
        }
    }
}

/// Rows of a matrix, or of a block, that is stored in full.
#[derive(Clone, Copy, Debug)]
pub struct Full<'a, T> {
    /// From the first number of the first row on.
    pub values: &'a [T],
    /// The strides: from row to row, and from column to column.
    pub strides: [usize; 2],
    /// The row of the dense matrix that the first column multiplies.
    pub first: usize,
    /// Columns.
    pub columns: usize,
}

impl<T: Number> Rows<T> for Full<'_, T> {
    const SHORT: bool = true;

    #[inline(always)]
    unsafe fn add<V: Vector<Lane = T>, const R: usize, const W: usize, const CUT: bool>(
        self,
        row: usize,
        b: &Columns<'_, T>,
        sums: &mut [[V; W]; R],
    ) {
        let [down, right] = self.strides;
        for at in 0..self.columns {
            // SAFETY: as the caller says.
            unsafe {
                let a = self.values.as_ptr().add(row * down + at * right);
                add_row(sums, a, down, &b.row::<V, W, CUT>(self.first + at));
            }
        }
    }
}

impl<T: Number> Full<'_, T> {
    /// Adds the products of the first rows with `b` to `c`: as many rows as `c` has.
    pub fn times(&self, b: Dense<'_, T>, c: &mut [T]) {
        self.times_at(instruction_set(), b, c);
    }

    fn times_at(&self, set: InstructionSet, b: Dense<'_, T>, c: &mut [T]) {
        let Some(last) = (c.len().checked_div(b.width).unwrap_or(0)).checked_sub(1) else {
            return;
        };
        let ends = [last, self.columns.saturating_sub(1)];
        let end = ends[0] * self.strides[0] + ends[1] * self.strides[1];
        assert!(self.columns == 0 || end < self.values.len(), "there are all rows");
        assert!(self.first + self.columns <= b.rows(), "there is a row for each column");
        let together = (PANEL_BYTES / size_of::<T>()).checked_div(b.width).unwrap_or(0).max(1);
        for at in (0..self.columns).step_by(together) {
            let columns = together.min(self.columns - at);
            let values = &self.values[at * self.strides[1]..];
            times(set, Self { values, first: self.first + at, columns, ..*self }, b, c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::instruction_sets;

    #[test]
    fn matrices_of_any_shape_times_a_dense_one() {
        let shapes = [[0, 3], [3, 0], [1, 1], [4, 9], [11, 5], [2, 300]];
        for ([rows, columns], width) in shapes
            .into_iter()
            .flat_map(|shape| [0, 1, 2, 3, 7, 8, 19, 32, 77, 2000].map(|width| (shape, width)))
        {
            let number = |at: usize, of: usize| (at * 7 % of) as f64 - 3.0;
            let values: Vec<f64> = (0..rows * columns).map(|at| number(at, 13)).collect();
            let b: Vec<f64> = (0..columns * width).map(|at| number(at, 11)).collect();
            for strides in [[columns, 1], [1, rows]] {
                let mut expected = vec![0.5; rows * width];
                for (at, c) in expected.iter_mut().enumerate() {
                    let [i, k] = [at / width, at % width];
                    for j in 0..columns {
                        *c += values[i * strides[0] + j * strides[1]] * b[j * width + k];
                    }
                }
                let single = |numbers: &[f64]| numbers.iter().map(|&x| x as f32).collect();
                let (f32_values, f32_b): (Vec<f32>, Vec<f32>) = (single(&values), single(&b));
                for set in instruction_sets() {
                    let mut c = vec![0.5; rows * width];
                    let full = Full { values: &values, strides, first: 0, columns };
                    full.times_at(set, Dense { values: &b, width }, &mut c);
                    // Small integers and a half: sums are exact in any order.
                    assert_eq!(c, expected, "{rows} x {columns} x {width}, {set:?}");
                    let mut c = vec![0.5; rows * width];
                    let full = Full { values: &f32_values, strides, first: 0, columns };
                    full.times_at(set, Dense { values: &f32_b, width }, &mut c);
                    assert_eq!(
                        c,
                        single(&expected),
                        "{rows} x {columns} x {width}, {set:?}, single"
                    );
                }
            }
        }
    }
}
