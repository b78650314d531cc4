//! Blocks of a matrix, or of its transpose, times a dense matrix.

use std::ops::Range;

use super::Blocks;
use crate::panel::{self, Columns, Dense, Full, Rows, add_row};
use crate::tuning::BLOCK_PANEL_DISTANCE;
use crate::vector::{
    InstructionSet, Number, Task, Vector, instruction_set, perform, prefetch_elements,
};

/// A row of blocks: blocks `first..last`.
#[derive(Clone, Copy)]
struct Row<'a, T> {
    blocks: Blocks<'a, T>,
    first: usize,
    last: usize,
    /// Rows of the dense matrix.
    height: usize,
    /// Whether rows of the dense matrix are prefetched.
    prefetch: bool,
}

impl<T: Number> Rows<T> for Row<'_, T> {
    const SHORT: bool = true;

    #[inline(always)]
    unsafe fn add<V: Vector<Lane = T>, const R: usize, const W: usize, const CUT: bool>(
        self,
        row: usize,
        b: &Columns<'_, T>,
        sums: &mut [[V; W]; R],
    ) {
        let Blocks { crd, values, size: [height, width], .. } = self.blocks;
        let [down, right] = self.blocks.strides();
        for p in self.first..self.last {
            if self.prefetch
                && row == 0
                && let Some(&next) = crd.get(p + BLOCK_PANEL_DISTANCE)
            {
                (0..width).for_each(|at| b.prefetch::<V, W>(next as usize * width + at));
            }
            let first = crd[p] as usize * width;
            let a = &values[p * height * width..][..height * width];
            for at in 0..width.min(self.height.saturating_sub(first)) {
                // SAFETY: as the caller says; `R` rows from `row` on are in the block.
                unsafe {
                    let a = a.as_ptr().add(row * down + at * right);
                    add_row(sums, a, down, &b.row::<V, W, CUT>(first + at));
                }
            }
        }
    }
}

/// Rows of blocks, the dense matrix, and the rows `c` of the result, from the first of `rows` on.
struct Times<'a, T> {
    blocks: Blocks<'a, T>,
    rows: Range<usize>,
    b: Dense<'a, T>,
    c: &'a mut [T],
}

impl<T: Number> Task<T> for Times<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Lane = T>>(self) {
        let Self { blocks, rows, b, c } = self;
        for (row, c) in rows.zip(c.chunks_mut(blocks.size[0] * b.width)) {
            let Range { start: first, end: last } = blocks.places(row);
            let row = Row { blocks, first, last, height: b.rows(), prefetch: b.is_far() };
            // SAFETY: as the trait says; the result has no more rows than the blocks.
            unsafe { panel::all::<V, _>(row, b, c) };
        }
    }
}

/// The same for the transpose; `c` is the whole result.
struct Spread<'a, T>(Times<'a, T>);

impl<T: Number> Task<T> for Spread<'_, T> {
    #[inline(always)]
    unsafe fn run<V: Vector<Lane = T>>(self) {
        let Self(Times { blocks, rows, b, c }) = self;
        let [height, width] = blocks.size;
        let [down, right] = blocks.strides();
        let far = Dense { values: c, ..b }.is_far();
        for row in rows {
            let first = row * height;
            let columns = height.min(b.rows().saturating_sub(first));
            for p in blocks.places(row) {
                let later = blocks.crd.get(p + BLOCK_PANEL_DISTANCE);
                if let Some(&next) = later.filter(|_| far) {
                    prefetch_elements(c, next as usize * width * b.width, width * b.width);
                }
                let values = &blocks.values[p * height * width..][..height * width];
                let block = Full { values, strides: [right, down], first, columns };
                let c = &mut c[blocks.crd[p] as usize * width * b.width..];
                let rows = (c.len() / b.width).min(width);
                // SAFETY: as the trait says; the block has these rows.
                unsafe { panel::all::<V, _>(block, b, &mut c[..rows * b.width]) };
            }
        }
    }
}

impl<T: Number> Blocks<'_, T> {
    /// Adds the products of `rows` of blocks with `b` to `c`, whose first row belongs to the first of these.
    pub fn times_dense(&self, rows: Range<usize>, b: Dense<'_, T>, c: &mut [T]) {
        self.times_dense_at(instruction_set(), rows, b, c);
    }

    pub(super) fn times_dense_at(
        &self,
        set: InstructionSet,
        rows: Range<usize>,
        b: Dense<'_, T>,
        c: &mut [T],
    ) {
        if b.width > 0 {
            perform(set, Times { blocks: *self, rows, b, c });
        }
    }

    /// Adds the products of `rows` of blocks, transposed, with their rows of `b` to `c`, the whole result.
    pub fn spread_dense(&self, rows: Range<usize>, b: Dense<'_, T>, c: &mut [T]) {
        self.spread_dense_at(instruction_set(), rows, b, c);
    }

    pub(super) fn spread_dense_at(
        &self,
        set: InstructionSet,
        rows: Range<usize>,
        b: Dense<'_, T>,
        c: &mut [T],
    ) {
        if b.width > 0 {
            perform(set, Spread(Times { blocks: *self, rows, b, c }));
        }
    }
}
