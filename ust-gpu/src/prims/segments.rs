//! Positions to coordinates and back, and numbers about arrays of indices.

use std::ops::RangeInclusive;

use ust_level_api::IndexKind;

use super::copy::holds_below;
use super::{Column, Indices, Primitives, Result, TILE, Text, refusal, types};
use crate::prelude::Sections;

pub(super) const TEXT: Text = Text {
    sections: Sections::LANES,
    body: concat!(include_str!("grid.cuh"), "\n", include_str!("segments.cuh")),
};

/// What is known of the segments of a `pos` array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SegmentLengths {
    /// The length of the longest one; 0 if there is none.
    pub longest: u64,
    /// The length of all, divided by their number; 0 if there is none.
    pub mean: f64,
}

impl Primitives {
    /// The number of the segment of each of the positions `0..n`. `pos` begins with 0, ascends, and ends with `n`;
    /// otherwise segments are wrong.
    ///
    /// It moves each number once, and looks at `pos` a few times for each position, most of them in a cache.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if there are positions and no segments, or if the kind does not have the
    /// numbers; [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn expand(&self, pos: Column<'_>, n: usize, kind: IndexKind) -> Result<Indices> {
        let segments = segments(pos)?;
        holds_below(kind, segments)?;
        let to = Indices::room(self, kind, n)?;
        match (n, segments) {
            (0, _) => return Ok(to),
            (_, 0) => return Err(refusal(format!("{n} positions in no segment"))),
            _ => {}
        }
        let head = types([("From", &pos.ty()), ("To", &kind.to_string())]);
        let arguments = [pos.memory.into(), segments.into(), n.into(), to.memory().into()];
        let blocks = n.div_ceil(TILE).min(self.most_blocks) as u32;
        self.run((TEXT, head, "expand"), blocks, &arguments)?;
        Ok(to)
    }

    /// Where the entries of each coordinate begin, and, behind them, where the last ones end: the `pos` array,
    /// `segments + 1` long, of sorted coordinates in `lowest..lowest + segments`.
    ///
    /// It moves each position once, and looks at as many coordinates for it as their number has bits, most of
    /// them in a cache.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if the kind does not have all positions;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn positions(
        &self,
        sorted: Column<'_>,
        lowest: i64,
        segments: usize,
        kind: IndexKind,
    ) -> Result<Indices> {
        let n = sorted.length;
        holds_below(kind, n.saturating_add(1))?;
        let length = segments.checked_add(1).ok_or_else(|| refusal("too many segments"))?;
        let to = Indices::room(self, kind, length)?;
        let head = types([("From", &sorted.ty()), ("To", &kind.to_string())]);
        let (from, lowest) = (sorted.memory.into(), lowest.into());
        let arguments = [from, n.into(), lowest, segments.into(), to.memory().into()];
        self.run((TEXT, head, "positions"), self.spread(length), &arguments)?;
        Ok(to)
    }

    /// The longest and the mean segment of a `pos` array. It moves the array once, and waits.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] for an array of no positions; those of compiler and driver.
    pub fn segment_lengths(&self, pos: Column<'_>) -> Result<SegmentLengths> {
        let segments = segments(pos)?;
        if segments == 0 {
            return Ok(SegmentLengths { longest: 0, mean: 0.0 });
        }
        let [longest, all] = self.two_numbers(pos, segments, "lengths", [0, 0])?;
        Ok(SegmentLengths { longest: longest.cast_unsigned(), mean: all as f64 / segments as f64 })
    }

    /// The smallest and the largest index of a column; `None` if it has none. It moves the column once, and waits.
    ///
    /// # Errors
    ///
    /// Those of compiler and driver.
    pub fn extremes(&self, column: Column<'_>) -> Result<Option<RangeInclusive<i64>>> {
        if column.is_empty() {
            return Ok(None);
        }
        let none = [i64::MAX, i64::MIN];
        let [least, most] = self.two_numbers(column, column.length, "extremes", none)?;
        Ok(Some(least..=most))
    }

    /// Two numbers that a kernel finds, which are these before.
    fn two_numbers(
        &self,
        column: Column<'_>,
        n: usize,
        name: &'static str,
        before: [i64; 2],
    ) -> Result<[i64; 2]> {
        let found = self.stream().upload(bytemuck::cast_slice(&before))?;
        let arguments = [column.memory.into(), n.into(), (&found).into()];
        self.run((TEXT, types([("From", &column.ty())]), name), self.spread(n), &arguments)?;
        let mut numbers = [0; 2];
        self.stream().read(&found, 0, bytemuck::cast_slice_mut(&mut numbers))?;
        Ok(numbers)
    }
}

/// How many segments a `pos` array has.
fn segments(pos: Column<'_>) -> Result<usize> {
    pos.length.checked_sub(1).ok_or_else(|| refusal("a pos array without its first position"))
}
