//! Two steps that are shorter than one.

use super::pieces::cut;
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
    let is_direct = |from: &Format, to: &Bound| -> Result<bool, Error> {
        let is_sorted = in_order(from, to.format()) == to.format().tail();
        Ok(is_sorted || is_transposed(from, n, to) || cut(from, n, to)?.is_some())
    };
    if from.rank() != 2 || !tensor.view().is_whole() || is_direct(from, bound)? {
        return Ok(None);
    }
    for name in ["CSR", "CSC"] {
        let between = Format::resolve(name, Some(2))?;
        if between != *bound.format()
            && is_transposed(from, n, &between.bind(tensor.shape())?)
            && is_direct(&between, bound)?
        {
            return Ok(Some(between));
        }
    }
    Ok(None)
}
