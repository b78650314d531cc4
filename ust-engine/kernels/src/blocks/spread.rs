//! The transpose of a block-sparse matrix times a vector: each block adds to an element for each of its
//! columns.

use std::ops::Range;

use super::{Blocks, Order};
use crate::tuning::{BLOCK_SPREAD_DISTANCE, BLOCK_SPREAD_NEAR_BYTES};
use crate::vector::{InstructionSet, Number, Task, Vector, instruction_set, perform, prefetch};

/// Whether the contiguous rows or columns of a block have a length that loops are unrolled for.
pub(super) fn suits(size: [usize; 2], order: Order) -> bool {
    matches!(length(size, order), 1..=8 | 16)
}

/// The length of a contiguous row or column of a block.
fn length([height, width]: [usize; 2], order: Order) -> usize {
    if order == Order::Rows { width } else { height }
}

/// Rows of blocks, the vector, and the whole result.
struct Spread<'a, T> {
    blocks: Blocks<'a, T>,
    rows: Range<usize>,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Number> Task<T> for Spread<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Lane = T>>(self) {
        match length(self.blocks.size, self.blocks.order) {
            1 => self.all::<1>(),
            2 => self.all::<2>(),
            3 => self.all::<3>(),
            4 => self.all::<4>(),
            5 => self.all::<5>(),
            6 => self.all::<6>(),
            7 => self.all::<7>(),
            8 => self.all::<8>(),
            16 => self.all::<16>(),
            length => unreachable!("{length} numbers one after another are refused"),
        }
    }
}

impl<T: Number> Spread<'_, T> {
    /// The products of blocks whose contiguous rows or columns have `N` numbers.
    #[inline(always)]
    fn all<const N: usize>(self) {
        let Self { blocks, rows, x, y } = self;
        let [height, width] = blocks.size;
        let area = height * width;
        let far = size_of_val(y) > BLOCK_SPREAD_NEAR_BYTES;
        for row in rows {
            let x = &x[row * height..];
            let places = blocks.places(row);
            let later = blocks.crd.get(places.start + BLOCK_SPREAD_DISTANCE..);
            let mut later = later.unwrap_or_default().iter();
            let values = blocks.values[places.start * area..places.end * area].chunks_exact(area);
            for (block, &crd) in values.zip(&blocks.crd[places]) {
                if far && let Some(&crd) = later.next() {
                    prefetch(y.as_ptr().wrapping_add(crd as usize * width));
                }
                let y = &mut y[crd as usize * width..];
                if x.len() < height || y.len() < width {
                    cut(&blocks, block, x, y);
                    continue;
                }
                let (x, y) = (&x[..height], &mut y[..width]);
                let block = block.as_chunks::<N>().0;
                match blocks.order {
                    Order::Rows => {
                        let y: &mut [T; N] = y.try_into().expect("as wide as a block");
                        let mut sums = *y;
                        for (a, &x) in block.iter().zip(x) {
                            for (sum, &a) in sums.iter_mut().zip(a) {
                                *sum = *sum + a * x;
                            }
                        }
                        *y = sums;
                    }
                    Order::Columns => {
                        let x: &[T; N] = x.try_into().expect("as high as a block");
                        for (y, a) in y.iter_mut().zip(block) {
                            let products = a.iter().zip(x).map(|(&a, &x)| a * x);
                            *y = *y + products.reduce(|a, b| a + b).unwrap_or(T::ZERO);
                        }
                    }
                }
            }
        }
    }
}

/// Adds the products of a block that reaches beyond the end of `x` or `y`.
#[cold]
#[inline(never)]
fn cut<T: Number>(blocks: &Blocks<'_, T>, block: &[T], x: &[T], y: &mut [T]) {
    let [height, width] = blocks.size;
    let (x, last) = (&x[..height.min(x.len())], width.min(y.len()));
    let y = &mut y[..last];
    match blocks.order {
        Order::Rows => {
            for (a, &x) in block.chunks(width).zip(x) {
                y.iter_mut().zip(a).for_each(|(y, &a)| *y = *y + a * x);
            }
        }
        Order::Columns => {
            for (y, a) in y.iter_mut().zip(block.chunks(height)) {
                let products = a.iter().zip(x).map(|(&a, &x)| a * x);
                *y = products.fold(*y, |sum, product| sum + product);
            }
        }
    }
}

impl<T: Number> Blocks<'_, T> {
    /// Adds the products of `rows` of blocks, transposed, with their elements of `x` to `y`, the whole result.
    pub fn spread(&self, rows: Range<usize>, x: &[T], y: &mut [T]) {
        self.spread_at(instruction_set(), rows, x, y);
    }

    pub(super) fn spread_at(&self, set: InstructionSet, rows: Range<usize>, x: &[T], y: &mut [T]) {
        perform(set, Spread { blocks: *self, rows, x, y });
    }
}
