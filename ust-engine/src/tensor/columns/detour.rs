//! Two steps that are shorter than one.

use super::pieces::{cut, stores_fill};
use super::read::{in_order, is_transposed};
use crate::error::Error;
use crate::format::{Bound, Format};
use crate::tensor::Tensor;

/// A format to pass through on the way to another: where that is reached from it without a general
/// sort, and it from the tensor's own, but not the one from the other. Diagonals become rows, and
/// rows columns or blocks.
///
/// # Errors
/// As for the conversion itself.
pub(in crate::tensor) fn detour(tensor: &Tensor, bound: &Bound) -> Result<Option<Format>, Error> {
    let (from, n) = (tensor.format(), tensor.nse());
    let is_list = |from: &Format, to: &Bound| {
        let levels = to.format().level_count();
        in_order(from, to.format()) == levels || is_transposed(from, n, to)
    };
    let is_direct = |from: &Format, to: &Bound| -> Result<bool, Error> {
        Ok(is_list(from, to) || cut(from, n, to)?.is_some())
    };
    if from.rank() != 2 || !tensor.view().is_whole() || is_direct(from, bound)? {
        return Ok(None);
    }
    let in_blocks = bound.format().tail() < bound.format().level_count();
    if in_blocks && !tensor.has_padding() && stores_fill(tensor, tensor.fill()) {
        return Ok(None);
    }
    for name in ["CSR", "CSC"] {
        // Level types may be missing, and extents too large: then the way is the plain one.
        let Ok(between) = Format::resolve(name, Some(2)) else { continue };
        if between != *from
            && between != *bound.format()
            && between.bind(tensor.shape()).is_ok_and(|to| is_list(from, &to))
            && is_direct(&between, bound)?
        {
            return Ok(Some(between));
        }
    }
    Ok(None)
}
