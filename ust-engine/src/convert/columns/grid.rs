//! Blocks made from stored rows: a matrix that stores the first entry of each row and the column of
//! each entry, such as CSR, is converted to BSR without columns of coordinates.

use ust_format::{Bound, Format, IndexExpr};
use ust_level_api::{Buffer, IndexColumn, IndexKind};

use super::group::BlockTable;
use super::pieces::{Piece, Source};
use crate::error::Error;
use crate::storage::Tensor;
use crate::walk::pieces::cuts;
use crate::walk::stored::stored;
use crate::walk::unpack::{Wanted, What};

/// The stored rows of a matrix, and the size of the blocks that they are put into.
pub(super) struct Grid {
    /// The first entry of each row, and the number of entries at the end.
    starts: Buffer<u32>,
    /// The column of each entry.
    crd: Buffer<u32>,
    /// Number of rows, and of columns, of a block.
    size: [u32; 2],
    /// The distance between two rows of a block in memory, and between two columns.
    steps: [u32; 2],
    /// The first row of each piece, and the number of rows at the end.
    cuts: Vec<i64>,
}

impl Grid {
    /// The rows of a tensor, cut into pieces of about `entries` entries. `None` where the tensor
    /// does not store rows in this way, or the target is no format of blocks of rows and columns.
    pub(super) fn of(tensor: &Tensor, bound: &Bound, entries: usize) -> Option<Self> {
        let exprs = |format: &Format| -> Vec<IndexExpr> {
            format.levels().iter().map(|level| level.expr.clone()).collect()
        };
        let (from, to) = (exprs(tensor.format()), exprs(bound.format()));
        let ([row, column], [row_block, column_block, inner @ ..]) = (&from[..], &to[..]) else {
            return None;
        };
        if bound.format().tail() != 2 {
            return None;
        }
        let size = [quotient(row_block, row)?, quotient(column_block, column)?];
        let within = [(row, size[0]), (column, size[1])].map(|(var, size)| remainder(var, size));
        let steps = match inner {
            [a, b] if [a, b] == [&within[0], &within[1]] => [size[1], 1],
            [a, b] if [a, b] == [&within[1], &within[0]] => [1, size[0]],
            _ => return None,
        };
        let wanted =
            [row, column].map(|var| Wanted { what: What::Expr(var.clone()), kind: IndexKind::U32 });
        let mut columns = stored(tensor, &wanted);
        let (Some(IndexColumn::U32(crd)), Some(IndexColumn::Runs(starts))) =
            (columns.pop()?, columns.pop()?)
        else {
            return None;
        };
        let rows = starts.len().checked_sub(1)? as i64;
        let cuts = cuts([0, rows], tensor.nse() / entries, size[0].into());
        Some(Self { starts, crd, size, steps, cuts })
    }
}

/// The divisor `c`, where the expression is `var / c`.
fn quotient(expr: &IndexExpr, var: &IndexExpr) -> Option<u32> {
    match (expr, var) {
        (IndexExpr::FloorDiv(of, by), IndexExpr::Var(_)) if **of == *var => match **by {
            IndexExpr::Const(by) => u32::try_from(by).ok().filter(|&by| by > 0),
            _ => None,
        },
        _ => None,
    }
}

fn remainder(var: &IndexExpr, by: u32) -> IndexExpr {
    IndexExpr::Mod(Box::new(var.clone()), Box::new(IndexExpr::Const(by.into())))
}

impl Source for Grid {
    fn len(&self) -> usize {
        self.cuts.len() - 1
    }

    fn values(&self, at: usize) -> Result<usize, Error> {
        let [first, end] = [at, at + 1].map(|at| self.starts[self.cuts[at] as usize] as usize);
        Ok(end - first)
    }

    fn grouped(
        &self,
        at: usize,
        _: usize,
        of: &mut [u32],
        table: &mut BlockTable,
    ) -> Result<Piece, Error> {
        let &Self { size: [_, width], steps: [_, step], .. } = self;
        let [shift, step_shift] = [width, step].map(u32::trailing_zeros);
        // The common case. Shifts save divisions, which would take as long as everything else.
        Ok(match width.is_power_of_two() && step.is_power_of_two() {
            true => {
                self.piece(at, of, table, |crd| (crd >> shift, (crd & (width - 1)) << step_shift))
            }
            false => self.piece(at, of, table, |crd| (crd / width, crd % width * step)),
        })
    }
}

impl Grid {
    /// The blocks of a piece. `split` gives, for a column, its column of blocks and its offset in
    /// the first row of a block.
    fn piece(
        &self,
        at: usize,
        of: &mut [u32],
        table: &mut BlockTable,
        split: impl Fn(u32) -> (u32, u32),
    ) -> Piece {
        let &Self { size: [height, width], steps, .. } = self;
        let (area, height) = (height * width, height as usize);
        let [first, end] = [at, at + 1].map(|at| self.cuts[at] as usize);
        let starts = &self.starts[first..=end];
        let base = starts[0] as usize;
        let crd = &self.crd[base..base + of.len()];
        // The first block of each row of blocks, and the column of each block.
        let (mut rows, mut columns) = (vec![0], Vec::new());
        for starts in block_rows(starts, height) {
            let entry = |row: usize| starts[row] as usize - base;
            let all = &crd[entry(0)..entry(starts.len() - 1)];
            table.number(all.iter().map(|&crd| split(crd).0), area, &mut columns);
            rows.push(columns.len() as u32);
            for row in 0..starts.len() - 1 {
                let (entries, first) = (entry(row)..entry(row + 1), row as u32 * steps[0]);
                for (of, &crd) in of[entries.clone()].iter_mut().zip(&crd[entries]) {
                    let (key, column) = split(crd);
                    *of = table.block(key) + first + column;
                }
            }
        }
        let blocks = columns.len();
        let levels = vec![IndexColumn::Runs(rows.into()), columns.into()];
        Piece { levels, blocks, entries: of.len() }
    }
}

/// For each row of blocks, the first entry of each of its rows, and the end of the last.
fn block_rows(starts: &[u32], height: usize) -> impl Iterator<Item = &[u32]> {
    let rows = starts.len() - 1;
    (0..rows).step_by(height).map(move |row| &starts[row..=rows.min(row + height)])
}
