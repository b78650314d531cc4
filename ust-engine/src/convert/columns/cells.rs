//! Tensors whose values have places that are known before: every element is stored, or whole blocks
//! are, few enough for a table.

use ust_format::{Bound, Format, LevelDomain};
use ust_level_api::column::column_kind;
use ust_level_api::{Buffer, Description, IndexColumn, IndexKind, Scalar};

use super::assemble::{Stored, levels, stored_values};
use super::group::lookup_range;
use super::read::block_of;
use crate::error::Error;
use crate::storage::Tensor;
use crate::walk::cells::{Blocks, cells, keys};

/// Whether all values of tensors of one format are entries, and the other has a place for each element.
pub(super) fn have_cells(from: &Format, to: &Format) -> bool {
    let all = from.is_unique() && from.tail() == from.level_count();
    to.tail() == 0 && all && !from.descriptions().iter().any(pads)
}

/// Whether a level stores padding: where it is full, what stands below it may.
fn pads(level: &Description) -> bool {
    level.props.padded && !level.props.full
}

/// How a tensor gets into a format whose levels are all full, or whose last ones are.
pub(in crate::convert) struct Cells {
    /// Where levels stand above blocks: how many keys those have.
    range: Option<usize>,
    /// Whether the tensor stores padding.
    padded: bool,
}

impl Cells {
    /// `None` where values cannot be written to their places as they come.
    pub(in crate::convert) fn of(tensor: &Tensor, bound: &Bound, fill: Scalar) -> Option<Self> {
        let (from, to) = (tensor.format(), bound.format());
        // Padding has places of its own below levels that are unique, and have one for each coordinate.
        let apart = |level: &Description| level.props.unique && !pads(level);
        let padded = tensor.has_padding();
        let known = to.tail() > 0 || !padded || from.descriptions().iter().all(apart);
        let full = to.tail() < to.level_count();
        if !full || !known || !from.is_unique() || !fill.same(&tensor.fill()) {
            return None;
        }
        let range = match to.tail() {
            0 => None,
            // Half as many keys as elsewhere: each has a place of eight bytes.
            tail => Some(lookup_range(&bound.levels()[..tail], tensor.nse() / 2)?),
        };
        Some(Self { range, padded })
    }

    /// Whether blocks are marked first.
    pub(in crate::convert) fn is_marked(&self) -> bool {
        self.range.is_some()
    }

    /// The tensor in the other format. `None` where one value can stand for several elements.
    ///
    /// # Errors
    /// As [`Tensor::convert`].
    pub(in crate::convert) fn fill(
        &self,
        tensor: &Tensor,
        bound: &Bound,
        memory_limit: u64,
    ) -> Result<Option<Tensor>, Error> {
        let Some(range) = self.range else {
            let made = levels(bound, Vec::new(), tensor.nse(), true, memory_limit)?;
            return filled(tensor, bound, made, None, memory_limit)
                .map(|found| found.map(|(tensor, _)| tensor));
        };
        let domains = &bound.levels()[..bound.format().tail()];
        // Values that equal the fill value are no entries there: where one is met after all, again.
        for guarded in [self.padded, true] {
            let Some(keys) = keys(tensor, bound, range, guarded)? else { return Ok(None) };
            let made = levels(bound, columns(domains, &keys), keys.len(), true, memory_limit)?;
            let found = filled(tensor, bound, made, Some((range, &keys)), memory_limit)?;
            let Some((tensor, left)) = found else { return Ok(None) };
            if guarded || !left {
                return Ok(Some(tensor));
            }
        }
        unreachable!("the second time, nothing is left out that has a block")
    }
}

/// Keys taken apart: the coordinates at each level.
fn columns(domains: &[LevelDomain], keys: &[usize]) -> Vec<IndexColumn> {
    let mut above = 1;
    let mut columns: Vec<IndexColumn> = Vec::with_capacity(domains.len());
    for domain in domains.iter().rev() {
        let size = domain.size.max(1) as usize;
        let crd = |key: &usize| domain.lower + (key / above % size) as i64;
        let last = domain.lower.saturating_add_unsigned(domain.size.saturating_sub(1));
        columns.push(match column_kind(domain.lower, last) {
            IndexKind::U32 => keys.iter().map(|key| crd(key) as u32).collect::<Buffer<_>>().into(),
            IndexKind::I32 => keys.iter().map(|key| crd(key) as i32).collect::<Buffer<_>>().into(),
            _ => keys.iter().map(crd).collect::<Buffer<_>>().into(),
        });
        above *= size;
    }
    columns.reverse();
    columns
}

/// The tensor whose levels were made, and whether values were left out. Of blocks, `keys` are those of
/// the levels above, below the number given.
fn filled(
    tensor: &Tensor,
    bound: &Bound,
    made: Stored,
    keys: Option<(usize, &[usize])>,
    memory_limit: u64,
) -> Result<Option<(Tensor, bool)>, Error> {
    let fill = tensor.fill();
    let block = block_of(bound)?;
    let length = stored_values(bound, &made, block, fill.dtype(), memory_limit)?;
    let blocks = keys.map(|(range, keys)| {
        let mut starts = Buffer::<i64>::zeroed(range);
        let places = starts.make_mut();
        for (at, &key) in keys.iter().enumerate() {
            places[key] = made.position.at(at) * block as i64;
        }
        Blocks { starts: starts.into(), count: made.positions }
    });
    let found = cells(tensor, bound, length, fill, blocks.as_ref())?;
    Ok(found.map(|(values, left)| {
        (Tensor::trusted(bound.clone(), made.arrays, values, fill, true), left)
    }))
}
