//! What the assembly of levels does with columns, besides segments.

use ust_cuda::Memory;
use ust_level_api::IndexKind;

use super::{Column, Indices, Misfit, Primitives, Result, Text, refusal, types};
use crate::prelude::Sections;

pub(super) const TEXT: Text = Text {
    sections: Sections::TYPES,
    body: concat!(include_str!("grid.cuh"), "\n", include_str!("assemble.cuh")),
};

impl Primitives {
    /// For each entry, `parent * size + (crd - lower)`: its position in a full level. Positions that the kind does
    /// not have are cut off.
    ///
    /// It moves both columns and the positions once.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] for columns of different lengths;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn full_positions(
        &self,
        parent: Column<'_>,
        crd: Column<'_>,
        (size, lower): (i64, i64),
        kind: IndexKind,
    ) -> Result<Indices> {
        let n = parent.length;
        if crd.length != n {
            return Err(refusal("columns of different lengths"));
        }
        let to = Indices::room(self, kind, n)?;
        if n > 0 {
            let named =
                [("From", &parent.ty()), ("Coordinate", &crd.ty()), ("To", &kind.to_string())];
            let head = types(named.map(|(name, ty)| (name, ty.as_str())));
            let (columns, numbers) = ([parent.memory.into(), crd.memory.into()], [size, lower]);
            let [parent, crd] = columns;
            let [size, lower] = numbers.map(Into::into);
            let arguments = [parent, crd, n.into(), size, lower, to.memory().into()];
            self.run((TEXT, head, "full_positions"), self.spread(n), &arguments)?;
        }
        Ok(to)
    }

    /// Of bounds, the pairs of neighbours, side by side: `bounds[0], bounds[1], bounds[1], bounds[2], ...`
    ///
    /// It moves each bound once and each pair once.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn pairs(&self, bounds: Column<'_>) -> Result<Indices> {
        let n = bounds.length.saturating_sub(1).checked_mul(2);
        let n = n.ok_or_else(|| refusal("too many bounds"))?;
        let to = Indices::room(self, bounds.kind, n)?;
        if n > 0 {
            let head = types([("From", &bounds.ty()), ("To", &bounds.ty())]);
            let arguments = [bounds.memory.into(), n.into(), to.memory().into()];
            self.run((TEXT, head, "pairs"), self.spread(n), &arguments)?;
        }
        Ok(to)
    }

    /// The children of each parent in a group of `size` coordinates, ascending: those that there are, which ascend,
    /// and the lowest free ones from 0 on beside them. The first parent with more children than `size` is noted in
    /// `misfit`, and has no group. Returns the coordinates of all groups, and for each child its position among them.
    ///
    /// It moves each bound, each child and each position once, and the groups once.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] if the kind does not have all positions;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn groups(
        &self,
        offsets: Column<'_>,
        crd: Column<'_>,
        size: usize,
        kind: IndexKind,
        misfit: &Misfit,
    ) -> Result<(Indices, Indices)> {
        let parents = offsets.length.saturating_sub(1);
        let all = parents.checked_mul(size).ok_or_else(|| refusal("too many groups"))?;
        super::copy::holds_below(kind, all)?;
        let (to, places) =
            (Indices::room(self, kind, all)?, Indices::room(self, kind, crd.length)?);
        if parents > 0 {
            let named =
                [("From", &offsets.ty()), ("Coordinate", &crd.ty()), ("To", &kind.to_string())];
            let head = types(named.map(|(name, ty)| (name, ty.as_str())));
            let arguments = [
                offsets.memory.into(),
                crd.memory.into(),
                parents.into(),
                size.into(),
                to.memory().into(),
                places.memory().into(),
                (&misfit.0).into(),
            ];
            self.run((TEXT, head, "groups"), self.spread(parents), &arguments)?;
        }
        Ok((to, places))
    }

    /// Indices of two bits, four to a byte, the first in the lowest bits. Of others, the two lowest bits are kept.
    ///
    /// It moves each index and each byte once.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn pack_two_bits(&self, from: Column<'_>) -> Result<Memory> {
        let n = from.length;
        let to = self.stream().alloc(n.div_ceil(4))?;
        if n > 0 {
            let head = types([("From", &from.ty())]);
            let arguments = [from.memory.into(), n.into(), (&to).into()];
            self.run((TEXT, head, "pack_two_bits"), self.spread(n.div_ceil(4)), &arguments)?;
        }
        Ok(to)
    }

    /// Whether coordinates ascend under each parent. It moves both columns once, and waits.
    ///
    /// # Errors
    ///
    /// [`ust_cuda::CudaError::Argument`] for columns of different lengths;
    /// [`ust_cuda::CudaError::OutOfMemory`], or those of compiler and driver.
    pub fn ascends(&self, parent: Column<'_>, crd: Column<'_>) -> Result<bool> {
        let n = parent.length;
        if crd.length != n {
            return Err(refusal("columns of different lengths"));
        }
        if n == 0 {
            return Ok(true);
        }
        let misfit = self.misfit()?;
        let head = types([("From", &parent.ty()), ("Coordinate", &crd.ty())]);
        let arguments = [parent.memory.into(), crd.memory.into(), n.into(), (&misfit.0).into()];
        self.run((TEXT, head, "descents"), self.spread(n), &arguments)?;
        Ok(misfit.first(self.stream())?.is_none())
    }
}
