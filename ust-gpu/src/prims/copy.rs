//! Elements moved to other places, and indices made and changed.

use ust_cuda::Memory;
use ust_level_api::IndexKind;

use super::{Column, Indices, Misfit, Primitives, Result, Text, bytes, has, moved, refusal, types};
use crate::prelude::Sections;

pub(super) const TEXT: Text = Text {
    sections: Sections::TYPES,
    body: concat!(include_str!("grid.cuh"), "\n", include_str!("copy.cuh")),
};

impl Primitives {
    /// The elements at `places`, one after another: `to[i] = from[places[i]]`, of 1, 2, 4, 8 or 16 bytes. A
    /// place that `from` does not have is noted in `misfit`, and its element is not set.
    ///
    /// It moves each place, and each element twice; elements from places all over the memory take more.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] for elements of another width;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn gather(
        &self,
        from: &Memory,
        width: usize,
        places: Column<'_>,
        misfit: &Misfit,
    ) -> Result<Memory> {
        let head = types([("Element", moved(width)?), ("Place", &places.ty())]);
        let n = places.length;
        let to = self.stream().alloc(bytes(n, width)?)?;
        if n > 0 {
            let length = (from.len() / width).into();
            let (places, misfit) = (places.memory.into(), (&misfit.0).into());
            let arguments = [from.into(), length, places, n.into(), (&to).into(), misfit];
            self.run((TEXT, head, "gather"), self.spread(n), &arguments)?;
        }
        Ok(to)
    }

    /// Writes elements of 1, 2, 4, 8 or 16 bytes to their places: `to[places[i]] = from[i]`. Places are
    /// different, or nobody says what stands there. A place that `to` does not have is noted in `misfit`.
    ///
    /// It moves as much as [`Primitives::gather`].
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if there are fewer elements than places, or elements of another
    /// width; those of compiler and driver.
    pub fn scatter(
        &self,
        from: &Memory,
        width: usize,
        places: Column<'_>,
        to: &Memory,
        misfit: &Misfit,
    ) -> Result<()> {
        let head = types([("Element", moved(width)?), ("Place", &places.ty())]);
        let n = places.length;
        has(from, n, width)?;
        if n == 0 {
            return Ok(());
        }
        let length = (to.len() / width).into();
        let arguments =
            [from.into(), places.memory.into(), n.into(), to.into(), length, (&misfit.0).into()];
        self.run((TEXT, head, "scatter"), self.spread(n), &arguments)
    }

    /// Indices as another kind. The first that the kind does not have is noted in `misfit`.
    ///
    /// It moves each index once in both kinds.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn convert(&self, from: Column<'_>, kind: IndexKind, misfit: &Misfit) -> Result<Indices> {
        let n = from.length;
        let to = Indices::room(self, kind, n)?;
        if n > 0 {
            let head = types([("From", &from.ty()), ("To", &kind.to_string())]);
            let arguments = [from.memory.into(), n.into(), to.memory().into(), (&misfit.0).into()];
            self.run((TEXT, head, "convert"), self.spread(n), &arguments)?;
        }
        Ok(to)
    }

    /// The numbers from 0 on, `length` of them.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if the kind does not have all;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn iota(&self, length: usize, kind: IndexKind) -> Result<Indices> {
        holds_below(kind, length)?;
        let to = Indices::room(self, kind, length)?;
        if length > 0 {
            let head = types([("To", &kind.to_string())]);
            let arguments = [to.memory().into(), length.into()];
            self.run((TEXT, head, "iota"), self.spread(length), &arguments)?;
        }
        Ok(to)
    }

    /// For each of `count` blocks of `block` elements one after another, and for each of their elements: the number
    /// of the block, and the place in it.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if the kind does not have all;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn split(&self, count: usize, block: usize, kind: IndexKind) -> Result<[Indices; 2]> {
        let length = bytes(count, block)?;
        holds_below(kind, count.max(block))?;
        let room = || Indices::room(self, kind, length);
        let (blocks, offsets) = (room()?, room()?);
        if length > 0 {
            let head = types([("To", &kind.to_string())]);
            let to = [blocks.memory().into(), offsets.memory().into()];
            let arguments = [to[0], to[1], length.into(), block.into()];
            self.run((TEXT, head, "split"), self.spread(length), &arguments)?;
        }
        Ok([blocks, offsets])
    }

    /// Sets all of a memory to a pattern of 1, 2, 4, 8 or 16 bytes, again and again.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] for patterns of another width, and memory of another length than
    /// some patterns; those of compiler and driver.
    pub fn fill(&self, memory: &Memory, pattern: &[u8]) -> Result<()> {
        let (length, width) = (memory.len(), pattern.len());
        if width <= 4 {
            return self.stream().fill(memory, 0, length, pattern);
        }
        let word =
            |from| pattern.get(from..from + 8)?.first_chunk().map(|&b| u64::from_ne_bytes(b));
        let (Some(even), Some(odd), true) =
            (word(0), word(width - 8), matches!(width, 8 | 16) && length.is_multiple_of(width))
        else {
            return Err(refusal(format!("a pattern of {width} bytes, for {length} bytes")));
        };
        if length == 0 {
            return Ok(());
        }
        let words = length / 8;
        let arguments = [memory.into(), words.into(), even.into(), odd.into()];
        self.run((TEXT, types([]), "fill"), self.spread(words), &arguments)
    }
}

/// Whether a kind has all numbers below a length.
pub(super) fn holds_below(kind: IndexKind, length: usize) -> Result<()> {
    match i64::try_from(length).is_ok_and(|length| length <= kind.range().1.saturating_add(1)) {
        true => Ok(()),
        false => Err(refusal(format!("{length} numbers from 0 on as {kind}"))),
    }
}

/// The kind of the numbers of so many entries: as narrow as the other primitives like it.
pub(super) fn numbers(length: usize) -> IndexKind {
    match holds_below(IndexKind::U32, length) {
        Ok(()) => IndexKind::U32,
        Err(_) => IndexKind::U64,
    }
}
