//! A block-sparse matrix (BSR, BSC) times a vector or a dense matrix: the sums of a row of blocks stay in
//! registers.
//!
//! | module | which products |
//! |---|---|
//! | this one | with a vector, by plain loops that the compiler vectorises |
//! | `wide` | with a vector, for row-major blocks of whole vectors: each holds whole rows, or a part of a row |
//! | `mixed` | with a vector, for other small blocks: a vector may hold parts of several rows or columns |
//! | `spread` | of the transpose with a vector |
//! | `panels` | with a dense matrix |
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_variables))]

mod mixed;
mod panels;
mod spread;
mod wide;

use std::ops::Range;

use super::tuning::{BLOCK_MIN_DISTANCE, PREFETCH_DISTANCE};
use super::vector::{InstructionSet, Number, instruction_set, prefetch_elements};

/// The order of the values in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row by row.
    Rows,
    /// Column by column.
    Columns,
}

/// A matrix of dense blocks, in compressed rows of blocks.
#[derive(Clone, Copy, Debug)]
pub struct Blocks<'a, T> {
    /// The first block of each row of blocks, then the number of blocks.
    pub pos: &'a [u32],
    /// The column of blocks that each block stands in.
    pub crd: &'a [u32],
    /// Block after block.
    pub values: &'a [T],
    /// Rows and columns of a block.
    pub size: [usize; 2],
    /// The order of the values in a block.
    pub order: Order,
}

/// The kernel for a block size, and its instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Wide(InstructionSet),
    Mixed(InstructionSet),
    Plain(InstructionSet),
}

impl Way {
    /// The kernel for blocks of this size, on a machine with the instruction set `set`.
    fn of<T: Number>(set: InstructionSet, size: [usize; 2], order: Order) -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if set == InstructionSet::Avx512 && wide::suits::<T::Avx512>(size, order) {
                return Self::Wide(set);
            }
            if set != InstructionSet::Portable && wide::suits::<T::Avx2>(size, order) {
                return Self::Wide(InstructionSet::Avx2);
            }
            if set == InstructionSet::Avx512 && mixed::suits::<T::Avx512>(size) {
                return Self::Mixed(set);
            }
            if set != InstructionSet::Portable && mixed::suits::<T::Avx2>(size) {
                return Self::Mixed(InstructionSet::Avx2);
            }
        }
        Self::Plain(set)
    }
}

/// Columns of a block, at most, in plain loops: each number is a constant, so that loops are unrolled.
const NARROW: usize = 8;
/// Independent sums of a row.
const LANES: usize = 4;

/// Whether there is a kernel for blocks of this size. For other sizes, compiled loops are as fast.
pub fn suits<T: Number>(size: [usize; 2], order: Order) -> bool {
    match Way::of::<T>(instruction_set(), size, order) {
        Way::Wide(_) | Way::Mixed(_) => true,
        // Longer columns would be read in pieces, to no gain.
        Way::Plain(_) => {
            (1..=NARROW).contains(&size[1]) && (order == Order::Rows || size[0] <= NARROW)
        }
    }
}

/// Whether there is a kernel for the transpose of blocks of this size.
pub fn spreads(size: [usize; 2], order: Order) -> bool {
    spread::suits(size, order)
}

/// A function compiled for an instruction set.
#[cfg(target_arch = "x86_64")]
macro_rules! compiled {
    ($name:ident, $features:literal, $way:ident, $vector:ident) => {
        #[target_feature(enable = $features)]
        fn $name<T: Number>(blocks: &Blocks<'_, T>, rows: Range<usize>, x: &[T], y: &mut [T]) {
            // SAFETY: the machine has the instructions.
            unsafe { $way::times::<T::$vector>(blocks, rows, x, y) }
        }
    };
}
#[cfg(target_arch = "x86_64")]
compiled!(wide_avx512, "avx512f,avx2,fma", wide, Avx512);
#[cfg(target_arch = "x86_64")]
compiled!(wide_avx2, "avx2,fma", wide, Avx2);
#[cfg(target_arch = "x86_64")]
compiled!(mixed_avx512, "avx512f,avx2,fma", mixed, Avx512);
#[cfg(target_arch = "x86_64")]
compiled!(mixed_avx2, "avx2,fma", mixed, Avx2);

impl<T> Blocks<'_, T> {
    /// The strides of a block: from row to row, and from column to column.
    fn strides(&self) -> [usize; 2] {
        match self.order {
            Order::Rows => [self.size[1], 1],
            Order::Columns => [1, self.size[0]],
        }
    }

    /// The numbers of the blocks in a row of blocks.
    fn places(&self, row: usize) -> Range<usize> {
        self.pos[row] as usize..self.pos[row + 1] as usize
    }

    /// The prefetch distance in blocks.
    fn ahead(&self) -> usize {
        let [rows, columns] = self.size;
        (PREFETCH_DISTANCE / (rows * columns * size_of::<T>())).max(BLOCK_MIN_DISTANCE)
    }
}

impl<T: Number> Blocks<'_, T> {
    /// Adds the products of `rows` of blocks with `x` to `y`, whose first element belongs to the first of
    /// these rows.
    pub fn times(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        self.times_at(instruction_set(), rows, x, y);
    }

    fn times_at(&self, set: InstructionSet, rows: Range<usize>, x: &[T], y: &mut [T]) {
        match Way::of::<T>(set, self.size, self.order) {
            // SAFETY, of all: the machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            Way::Wide(InstructionSet::Avx512) => unsafe { wide_avx512(self, rows, x, y) },
            #[cfg(target_arch = "x86_64")]
            Way::Wide(_) => unsafe { wide_avx2(self, rows, x, y) },
            #[cfg(target_arch = "x86_64")]
            Way::Mixed(InstructionSet::Avx512) => unsafe { mixed_avx512(self, rows, x, y) },
            #[cfg(target_arch = "x86_64")]
            Way::Mixed(_) => unsafe { mixed_avx2(self, rows, x, y) },
            #[cfg(target_arch = "x86_64")]
            Way::Plain(InstructionSet::Avx2 | InstructionSet::Avx512) => unsafe {
                self.times_avx2(rows, x, y);
            },
            _ => self.times_plain(rows, x, y),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn times_avx2(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        self.times_plain(rows, x, y);
    }

    #[inline(always)]
    fn times_plain(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        // Up to `NARROW`.
        match self.size[1] {
            1 => self.rows::<1>(rows, x, y),
            2 => self.rows::<2>(rows, x, y),
            3 => self.rows::<3>(rows, x, y),
            4 => self.rows::<4>(rows, x, y),
            5 => self.rows::<5>(rows, x, y),
            6 => self.rows::<6>(rows, x, y),
            7 => self.rows::<7>(rows, x, y),
            8 => self.rows::<8>(rows, x, y),
            width => unreachable!("blocks of {width} columns are refused"),
        }
    }

    /// Blocks of `C` columns.
    #[inline(always)]
    fn rows<const C: usize>(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        for (row, y) in rows.zip(y.chunks_mut(self.size[0])) {
            let mut first = 0;
            while first < y.len() {
                let y = &mut y[first..];
                first += match y.len() {
                    1 => self.group::<1, C>(row, first, x, y),
                    2 => self.group::<2, C>(row, first, x, y),
                    3 => self.group::<3, C>(row, first, x, y),
                    _ => self.group::<4, C>(row, first, x, y),
                };
            }
        }
    }

    /// Adds the sums of `N` rows of a row of blocks, from row `first` of each block on, to `y`. Gives `N`.
    #[inline(always)]
    fn group<const N: usize, const C: usize>(
        &self,
        row: usize,
        first: usize,
        x: &[T],
        y: &mut [T],
    ) -> usize {
        let sums = match self.order {
            Order::Rows => self.by_rows::<N, C>(row, first, x),
            Order::Columns => self.by_columns::<N, C>(row, first, x),
        };
        y.iter_mut().zip(sums).for_each(|(y, sum)| *y = *y + sum);
        N
    }

    /// The sums of `N` rows, of row-major blocks.
    #[inline(always)]
    fn by_rows<const N: usize, const C: usize>(&self, row: usize, first: usize, x: &[T]) -> [T; N] {
        let area = self.size[0] * C;
        let mut sums = [[T::ZERO; LANES]; N];
        for p in self.pos[row] as usize..self.pos[row + 1] as usize {
            let x = &x[self.crd[p] as usize * C..];
            let Some(x) = x.first_chunk::<C>() else {
                let cut = self.cut::<N>(p, first, x);
                sums.iter_mut().zip(cut).for_each(|(sums, cut)| sums[0] = sums[0] + cut);
                continue;
            };
            let block = &self.values[p * area + first * C..][..N * C];
            for (k, sums) in sums.iter_mut().enumerate() {
                for at in 0..C {
                    sums[at % LANES] = sums[at % LANES] + block[k * C + at] * x[at];
                }
            }
        }
        sums.map(|sums| (sums[0] + sums[1]) + (sums[2] + sums[3]))
    }

    /// The sums of `N` rows, of column-major blocks.
    #[inline(always)]
    fn by_columns<const N: usize, const C: usize>(
        &self,
        row: usize,
        first: usize,
        x: &[T],
    ) -> [T; N] {
        let height = self.size[0];
        let area = height * C;
        let mut sums = [[T::ZERO; N]; LANES];
        for p in self.pos[row] as usize..self.pos[row + 1] as usize {
            let x = &x[self.crd[p] as usize * C..];
            let Some(x) = x.first_chunk::<C>() else {
                let cut = self.cut::<N>(p, first, x);
                sums[0].iter_mut().zip(cut).for_each(|(sum, cut)| *sum = *sum + cut);
                continue;
            };
            let block = &self.values[p * area..][..area];
            for at in 0..C {
                let column = &block[at * height + first..][..N];
                let sums = &mut sums[at % LANES];
                for k in 0..N {
                    sums[k] = sums[k] + column[k] * x[at];
                }
            }
        }
        let [a, b, c, d] = sums;
        std::array::from_fn(|k| (a[k] + b[k]) + (c[k] + d[k]))
    }

    /// The sums of `N` rows of one block that reaches beyond the end of `x`.
    #[cold]
    #[inline(never)]
    fn cut<const N: usize>(&self, p: usize, first: usize, x: &[T]) -> [T; N] {
        let [height, width] = self.size;
        let block = &self.values[p * height * width..][..height * width];
        std::array::from_fn(|k| {
            let row = first + k;
            let products = x.iter().take(width).enumerate().map(|(at, &x)| match self.order {
                Order::Rows => block[row * width + at] * x,
                Order::Columns => block[at * height + row] * x,
            });
            products.fold(T::ZERO, |sum, next| sum + next)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::panel::Dense;
    use crate::vector::instruction_sets;

    #[test]
    fn blocks_of_any_size_times_a_vector() {
        times_a_vector(Order::Rows);
        times_a_vector(Order::Columns);
    }

    /// Blocks of any size times a dense matrix, and the transpose times a dense matrix or a vector. Blocks
    /// at the border are cut.
    #[test]
    fn blocks_add_to_a_dense_matrix() {
        let sizes = [1, 2, 3, 4, 5, 7, 8, 16, 20];
        let sizes = sizes.into_iter().flat_map(|rows| sizes.map(|columns| [rows, columns]));
        for (size @ [rows, columns], order) in
            sizes.flat_map(|size| [(size, Order::Rows), (size, Order::Columns)])
        {
            let (pos, crd) = ([0, 2, 2, 4], [0, 2, 1, 2]);
            let shape = [3 * rows - rows / 2, 3 * columns - columns / 2];
            let values: Vec<f64> =
                (0..4 * rows * columns).map(|at| (at % 13) as f64 - 4.0).collect();
            let blocks = Blocks { pos: &pos, crd: &crd, values: &values, size, order };
            let [down, right] = blocks.strides();
            let mut entries = Vec::new();
            for row in 0..3 {
                for p in blocks.places(row) {
                    for (i, j) in (0..rows * columns).map(|at| (at / columns, at % columns)) {
                        let value = values[p * rows * columns + i * down + j * right];
                        entries.push((row * rows + i, crd[p] as usize * columns + j, value));
                    }
                }
            }
            entries.retain(|&(i, j, _)| i < shape[0] && j < shape[1]);
            let widths = [1, 3, 37];
            for (width, set) in
                widths.into_iter().flat_map(|w| instruction_sets().into_iter().map(move |l| (w, l)))
            {
                for transposed in [false, true] {
                    let [own, taken] = if transposed { [shape[1], shape[0]] } else { shape };
                    let b: Vec<f64> = (0..taken * width).map(|at| (at % 7) as f64 + 1.0).collect();
                    let mut expected = vec![0.5; own * width];
                    for &(i, j, value) in &entries {
                        let (to, from) = if transposed { (j, i) } else { (i, j) };
                        for k in 0..width {
                            expected[to * width + k] += value * b[from * width + k];
                        }
                    }
                    let mut c = vec![0.5; own * width];
                    let dense = Dense { values: &b, width };
                    if transposed {
                        blocks.spread_dense_at(set, 0..2, dense, &mut c);
                        blocks.spread_dense_at(set, 2..3, dense, &mut c);
                    } else {
                        let (above, below) = c.split_at_mut(rows.min(own) * width);
                        blocks.times_dense_at(set, 0..1, dense, above);
                        blocks.times_dense_at(set, 1..3, dense, below);
                    }
                    // Small integers and a half: sums are exact in any order.
                    assert_eq!(c, expected, "{size:?} {order:?} {width} {set:?} {transposed}");
                    if transposed && width == 1 && spreads(size, order) {
                        let mut y = vec![0.5; own];
                        blocks.spread_at(set, 0..3, &b, &mut y);
                        assert_eq!(y, expected, "{size:?} {order:?} {set:?}, a vector");
                    }
                }
            }
        }
    }

    fn times_a_vector(order: Order) {
        let heights = [1, 2, 3, 4, 6, 8, 9, 16, 20];
        let widths = (1..=NARROW).chain([16]);
        let sizes = widths.flat_map(|width| heights.map(|height| [height, width]));
        let sizes = sizes.filter(|&size| suits::<f64>(size, order));
        for [rows, columns] in sizes {
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
                        let at = match order {
                            Order::Rows => i * columns + j,
                            Order::Columns => j * rows + i,
                        };
                        let (y, x_at) = (row * rows + i, crd[p] as usize * columns + j);
                        if y < shape[0] && x_at < shape[1] {
                            expected[y] += values[p * rows * columns + at] * x[x_at];
                        }
                    }
                }
            }
            let size = [rows, columns];
            let blocks = Blocks { pos: &pos, crd: &crd, values: &values, size, order };
            let mut y = vec![0.5; shape[0]];
            let cut = rows.min(shape[0]);
            let (above, below) = y.split_at_mut(cut);
            blocks.times(0..1, &x, above);
            blocks.times(1..3, &x, below);
            // Small integers and a half: sums are exact in any order.
            assert_eq!(y, expected, "{size:?} {order:?}");
            let of_wide = |at: &InstructionSet| columns <= NARROW || *at == instruction_set();
            for set in instruction_sets().into_iter().filter(of_wide) {
                y.fill(0.5);
                blocks.times_at(set, 0..3, &x, &mut y);
                assert_eq!(y, expected, "{size:?} {order:?} {set:?}");
                let single = |numbers: &[f64]| numbers.iter().map(|&x| x as f32).collect();
                let (values, x): (Vec<_>, Vec<_>) = (single(&values), single(&x));
                let blocks = Blocks { pos: &pos, crd: &crd, values: &values, size, order };
                let mut y = vec![0.5; shape[0]];
                blocks.times_at(set, 0..3, &x, &mut y);
                assert_eq!(y, single(&expected), "{size:?} {order:?} {set:?}, single");
            }
        }
    }
}
