//! Tensors that store every element.

use ust_level_api::{Description, Scalar};

use super::assemble::{levels, stored_values};
use super::read::block_of;
use crate::error::Error;
use crate::format::Bound;
use crate::lower::cells::cells;
use crate::tensor::Tensor;

/// A tensor in another format, all of whose levels are full. `None` where values cannot be written
/// to their places as they come.
pub(in crate::tensor) fn in_cells(
    tensor: &Tensor,
    bound: &Bound,
    fill: Scalar,
    memory_limit: u64,
) -> Result<Option<Tensor>, Error> {
    let (from, to) = (tensor.format(), bound.format());
    // Padding has places of its own below levels that are unique, and have one for each coordinate.
    let apart =
        |level: &Description| level.props.unique && (level.props.full || !level.props.padded);
    let known = !tensor.has_padding() || from.descriptions().iter().all(apart);
    let full = to.tail() == 0 && to.level_count() > 0;
    if !full || !known || !from.is_unique() || !fill.same(&tensor.fill()) {
        return Ok(None);
    }
    let block = block_of(bound)?;
    let made = levels(bound, Vec::new(), tensor.nse(), true, memory_limit)?;
    let length = stored_values(bound, &made, block, fill.dtype(), memory_limit)?;
    let Some(values) = cells(tensor, bound, length, fill)? else { return Ok(None) };
    Ok(Some(Tensor::trusted(bound.clone(), made.arrays, values, fill, true)))
}
