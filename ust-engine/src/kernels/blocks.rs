//! Blocks of a matrix times a vector: some rows of a block at a time, their sums in registers.
//!
//! The loops are plain; instruction sets differ in how wide the compiler makes them.

use std::ops::{Add, Mul, Range};

/// A matrix of dense blocks, in compressed rows of blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a, T> {
    pub(crate) pos: &'a [u32],
    pub(crate) crd: &'a [u32],
    pub(crate) values: &'a [T],
    /// Rows and columns of a block. Rows lie one after another.
    pub(crate) size: [usize; 2],
}

pub(crate) trait Number: Copy + Default + Add<Output = Self> + Mul<Output = Self> {}
impl Number for f32 {}
impl Number for f64 {}

/// Numbers that are summed side by side: blocks are best so wide, or some times that.
pub(crate) const LANES: usize = 4;
/// Rows that are summed side by side.
const ROWS: usize = 4;

impl<T: Number> Blocks<'_, T> {
    /// Adds the products of some rows of blocks with `x` to `y`, which begins with the first of
    /// them.
    pub(crate) fn times(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has the instructions.
            return unsafe { self.times_avx2(rows, x, y) };
        }
        self.times_plain(rows, x, y);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn times_avx2(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        self.times_plain(rows, x, y);
    }

    #[inline(always)]
    fn times_plain(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        match self.size[1] {
            4 => self.rows::<4>(rows, x, y),
            8 => self.rows::<8>(rows, x, y),
            16 => self.rows::<16>(rows, x, y),
            _ => self.rows::<0>(rows, x, y),
        }
    }

    /// Blocks of `C` columns, or of any number where that is 0.
    #[inline(always)]
    fn rows<const C: usize>(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        let height = self.size[0];
        for (row, y) in rows.zip(y.chunks_mut(height)) {
            let mut first = 0;
            while first + ROWS <= y.len() {
                let sums = self.group::<ROWS, C>(row, first, x);
                y[first..first + ROWS].iter_mut().zip(sums).for_each(|(y, sum)| *y = *y + sum);
                first += ROWS;
            }
            for (at, y) in y.iter_mut().enumerate().skip(first) {
                let [sum] = self.group::<1, C>(row, at, x);
                *y = *y + sum;
            }
        }
    }

    /// `N` rows of a row of blocks, from `first` within each block on.
    #[inline(always)]
    fn group<const N: usize, const C: usize>(&self, row: usize, first: usize, x: &[T]) -> [T; N] {
        let width = if C == 0 { self.size[1] } else { C };
        let area = self.size[0] * width;
        let mut sums = [[T::default(); LANES]; N];
        for p in self.pos[row] as usize..self.pos[row + 1] as usize {
            let x = &x[self.crd[p] as usize * width..];
            let block = &self.values[p * area + first * width..][..N * width];
            let x = &x[..width.min(x.len())];
            let whole = x.len() / LANES * LANES;
            for at in (0..whole).step_by(LANES) {
                let x: &[T; LANES] = x[at..at + LANES].try_into().expect("so many");
                for (k, sums) in sums.iter_mut().enumerate() {
                    let a = &block[k * width + at..][..LANES];
                    for lane in 0..LANES {
                        sums[lane] = sums[lane] + a[lane] * x[lane];
                    }
                }
            }
            for (at, &x) in x.iter().enumerate().skip(whole) {
                for (k, sums) in sums.iter_mut().enumerate() {
                    sums[at - whole] = sums[at - whole] + block[k * width + at] * x;
                }
            }
        }
        sums.map(|sums| (sums[0] + sums[1]) + (sums[2] + sums[3]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_any_size_times_a_vector() {
        for [rows, columns] in [[1, 1], [2, 3], [3, 5], [4, 4], [5, 4], [8, 8], [7, 16], [9, 2]] {
            // Three rows of blocks, the last cut by the border, as the last column is.
            let (pos, crd) = ([0, 2, 2, 4], [0, 2, 1, 2]);
            let shape = [3 * rows - rows / 2, 3 * columns - columns / 2];
            let values: Vec<f64> =
                (0..4 * rows * columns).map(|at| (at % 13) as f64 - 4.0).collect();
            let x: Vec<f64> = (0..shape[1]).map(|at| (at % 7) as f64 + 1.0).collect();
            let mut expected = vec![0.5; shape[0]];
            for row in 0..3 {
                for p in pos[row] as usize..pos[row + 1] as usize {
                    for (i, j) in (0..rows * columns).map(|at| (at / columns, at % columns)) {
                        let at = i * columns + j;
                        let (y, x_at) = (row * rows + i, crd[p] as usize * columns + j);
                        if y < shape[0] && x_at < shape[1] {
                            expected[y] += values[p * rows * columns + at] * x[x_at];
                        }
                    }
                }
            }
            let size = [rows, columns];
            let blocks = Blocks { pos: &pos, crd: &crd, values: &values, size };
            let mut y = vec![0.5; shape[0]];
            let cut = rows.min(shape[0]);
            let (above, below) = y.split_at_mut(cut);
            blocks.times(0..1, &x, above);
            blocks.times_plain(1..3, &x, below);
            // Small integers and a half: sums are exact in any order.
            assert_eq!(y, expected, "{size:?}");
        }
    }
}
