//! Conversions that write values straight to their positions: the target stores every element, or
//! trailing dense blocks that are few enough for a table.

use ust_format::{Bound, Format, LevelDomain};
use ust_level_api::column::column_kind;
use ust_level_api::{Buffer, Description, IndexColumn, IndexKind, Scalar};

use super::assemble::{Stored, levels, stored_values};
use super::group::table_range;
use super::read::block_of;
use crate::error::Error;
use crate::storage::Tensor;
use crate::walk::cells::{Blocks, cells, keys};

/// Whether the source format stores entries only, and the target stores every element.
pub(super) fn have_cells(from: &Format, to: &Format) -> bool {
    let all = from.is_unique() && from.tail() == from.level_count();
    to.tail() == 0 && all && !from.descriptions().iter().any(pads)
}

/// Whether a level stores padding of its own. A full level does not: it has children for all
/// coordinates, and the levels below decide what is stored.
fn pads(level: &Description) -> bool {
    level.props.padded && !level.props.full
}

/// A conversion to a format whose levels are all full, or that has trailing dense blocks.
pub(in crate::convert) struct Cells {
    /// The number of keys of the levels above the blocks, where there are such levels.
    range: Option<usize>,
    /// Whether the tensor stores padding.
    padded: bool,
}

impl Cells {
    /// `None` where the positions of values cannot be computed from coordinates, or a table of
    /// blocks would be too large.
    pub(in crate::convert) fn of(tensor: &Tensor, bound: &Bound, fill: Scalar) -> Option<Self> {
        let (from, to) = (tensor.format(), bound.format());
        // Padding does not overwrite an entry: below unique levels without padding, it has other
        // coordinates.
        let keeps_entries = |level: &Description| level.props.unique && !pads(level);
        let padded = tensor.has_padding();
        let known = to.tail() > 0 || !padded || from.descriptions().iter().all(keeps_entries);
        let full = to.tail() < to.level_count();
        if !full || !known || !from.is_unique() || !fill.same(&tensor.fill()) {
            return None;
        }
        let range = match to.tail() {
            0 => None,
            // Half as many keys as for other tables: each takes eight bytes.
            tail => Some(table_range(&bound.levels()[..tail], tensor.nse() / 2)?),
        };
        Some(Self { range, padded })
    }

    /// Whether a first pass marks the blocks that are needed.
    pub(in crate::convert) fn is_marked(&self) -> bool {
        self.range.is_some()
    }

    /// The tensor in the target format. `None` where one stored value can stand for several elements.
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
            let made =
                levels(bound, Vec::new(), tensor.nse(), (true, None), (memory_limit, false))?;
            return filled(tensor, bound, made, None, memory_limit)
                .map(|found| found.map(|(tensor, _)| tensor));
        };
        let domains = &bound.levels()[..bound.format().tail()];
        // A value that equals the fill value is no entry in the target. The first attempt expects
        // none, unless the source has padding. Where it meets one, the second attempt does not mark
        // blocks for such values.
        for guarded in [self.padded, true] {
            let Some(keys) = keys(tensor, bound, range, guarded)? else { return Ok(None) };
            let made = levels(
                bound,
                columns(domains, &keys),
                keys.len(),
                (true, None),
                (memory_limit, false),
            )?;
            let found = filled(tensor, bound, made, Some((range, &keys)), memory_limit)?;
            let Some((tensor, left)) = found else { return Ok(None) };
            if guarded || !left {
                return Ok(Some(tensor));
            }
        }
        unreachable!("the second attempt returns its result")
    }
}

/// For each level, the coordinates that keys combine.
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

/// The tensor with the assembled levels, and whether values equal to the fill value were left out.
/// `keys` are the keys of its blocks, and the number that keys are below.
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
        let starts_of = starts.make_mut();
        for (at, &key) in keys.iter().enumerate() {
            starts_of[key] = made.position.at(at) * block as i64;
        }
        Blocks { starts: starts.into(), count: made.positions }
    });
    let found = cells(tensor, bound, length, fill, blocks.as_ref())?;
    let Some((values, left)) = found else { return Ok(None) };
    Ok(Some((Tensor::assembled(bound.clone(), made.arrays, values, fill, true)?, left)))
}
