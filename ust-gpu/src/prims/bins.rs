//! Numbers sorted by their size.

use std::num::NonZeroU64;

use ust_level_api::IndexKind;

use super::{Column, Indices, NONE, Primitives, Result, Text, refusal, types};
use crate::prelude::Sections;

pub(super) const TEXT: Text = Text {
    sections: Sections::TYPES,
    body: concat!(include_str!("grid.cuh"), "\n", include_str!("bins.cuh")),
};

/// Number of bins: there is one for each power of 2 up to `2^63`, and one for 0.
const BINS: usize = 65;

/// Numbers in bins. Bin 0 has those that are 0; bin `k + 1` those up to `2^k` that are larger than `2^(k - 1)`.
#[derive(Debug)]
pub struct Bins {
    /// The places of the numbers, bin by bin, as `i64`.
    pub order: Indices,
    /// Where each bin begins in `order`, and, behind them, where the last one ends.
    pub starts: Vec<usize>,
}

/// What numbers count as at least: the numbers beside them, divided by `divisor`, or `most` if that is less.
#[derive(Debug, Clone, Copy)]
pub struct Least<'a> {
    /// The numbers beside them.
    pub others: Column<'a>,
    /// What these are divided by.
    pub divisor: NonZeroU64,
    /// The largest number that anything counts as at least.
    pub most: u64,
}

impl Primitives {
    /// Numbers by their size. Negative ones count as 0. Each counts as at least what `least` says of it. It waits.
    ///
    /// It moves each number once, a byte for it three times, and its place of 8 bytes three times.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if `least` has another length;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn bins(&self, numbers: Column<'_>, least: Option<Least<'_>>) -> Result<Bins> {
        let n = numbers.length;
        if least.is_some_and(|least| least.others.length != n) {
            return Err(refusal("numbers beside others of another length"));
        }
        let bins = Indices::room(self, IndexKind::U8, n)?;
        if n > 0 {
            let beside = least.map_or("u8".to_owned(), |least| least.others.ty());
            let head = types([("From", &numbers.ty()), ("Element", &beside)]);
            let arguments = [
                numbers.memory.into(),
                n.into(),
                least.map_or(NONE, |least| least.others.memory.into()),
                least.map_or(1, |least| least.divisor.get()).into(),
                least.map_or(0, |least| least.most).into(),
                bins.memory().into(),
            ];
            self.run((TEXT, head, "bins"), self.spread(n), &arguments)?;
        }
        let places = self.iota(n, IndexKind::I64)?;
        let (sorted, order) = self.sort(bins.column(), 0..8, Some(places.column()))?;
        let starts = self.positions(sorted.column(), 0, BINS, IndexKind::I64)?;
        let mut found = vec![0_i64; BINS + 1];
        self.stream().read(starts.memory(), 0, bytemuck::cast_slice_mut(&mut found))?;
        Ok(Bins { order, starts: found.into_iter().map(|start| start as usize).collect() })
    }
}
