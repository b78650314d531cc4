//! Sums of all elements before each.

use ust_level_api::IndexKind;

use super::{Column, Indices, Misfit, NONE, Primitives, Result, TILE, Text, Word, types};
use crate::prelude::Sections;

pub(super) const TEXT: Text = Text {
    sections: Sections::INTEGERS,
    body: concat!(include_str!("block.cuh"), "\n", include_str!("scan.cuh")),
};

impl Primitives {
    /// The sum of all counts before each, and, behind them, of all: `n` counts give `n + 1` sums, which are
    /// the `pos` array of segments of these lengths. Sums that `kind` cannot hold are noted in `misfit`, by
    /// the first one's number.
    ///
    /// It moves `n` times two counts and a sum.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn scan(&self, counts: Column<'_>, kind: IndexKind, misfit: &Misfit) -> Result<Indices> {
        self.scan_noting(counts, kind, (&misfit.0).into())
    }

    /// The same. Nothing has to be noted where every sum is known to fit.
    pub(super) fn scan_noting(
        &self,
        counts: Column<'_>,
        kind: IndexKind,
        misfit: Word<'_>,
    ) -> Result<Indices> {
        let n = counts.length;
        let sums = Indices::room(self, kind, n + 1)?;
        let head = || types([("From", &counts.ty()), ("To", &kind.to_string())]);
        let (piece, blocks) = self.pieces(n, TILE);
        let [n, piece] = [n, piece].map(Word::from);
        let (from, to) = (counts.memory.into(), sums.memory().into());
        if blocks == 1 {
            self.run((TEXT, head(), "scan_write"), 1, &[from, n, piece, NONE, to, misfit])?;
            return Ok(sums);
        }
        let pieces = self.stream().alloc(blocks as usize * 8)?;
        let offsets = self.stream().alloc((blocks as usize + 1) * 8)?;
        let [pieces, offsets] = [&pieces, &offsets].map(Word::from);
        self.run((TEXT, head(), "scan_sums"), blocks, &[from, n, piece, pieces])?;
        let arguments = [pieces, u64::from(blocks).into(), offsets, misfit];
        self.run((TEXT, head(), "scan_offsets"), 1, &arguments)?;
        let arguments = [from, n, piece, offsets, to, misfit];
        self.run((TEXT, head(), "scan_write"), blocks, &arguments)?;
        Ok(sums)
    }
}
