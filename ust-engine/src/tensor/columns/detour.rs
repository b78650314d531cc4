//! Two steps that are shorter than one.

use super::pieces::{cut, stores_fill};
use super::read::{in_order, is_transposed, remainder_below};
use super::whole::{alike, reversed};
use crate::error::Error;
use crate::format::{Bound, Format};
use crate::tensor::Tensor;

/// A format to pass through on the way to another: where that is reached from it without a general
/// sort, and it from the tensor's own, but not the one from the other. Diagonals become rows, and
/// rows columns or blocks. Blocks are moved whole before they are taken apart, and after they are
/// made.
///
/// # Errors
/// As for the conversion itself.
pub(in crate::tensor) fn detour(tensor: &Tensor, bound: &Bound) -> Result<Option<Format>, Error> {
    let (from, to, n) = (tensor.format(), bound.format(), tensor.nse());
    if from.rank() != 2 || !tensor.view().is_whole() {
        return Ok(None);
    }
    let is_plain = |from: &Format, to: &Bound| -> Result<bool, Error> {
        let levels = to.format().level_count();
        Ok(in_order(from, to.format()) == levels
            || alike(from, to.format()).is_some()
            || cut(from, n, to)?.is_some())
    };
    let is_direct = |from: &Format, to: &Bound| -> Result<bool, Error> {
        Ok(is_transposed(from, n, to) || is_plain(from, to)?)
    };
    if is_plain(from, bound)? {
        return Ok(None);
    }
    let makes_blocks = to.tail() < to.level_count();
    if makes_blocks && !tensor.has_padding() && stores_fill(tensor, tensor.fill()) {
        return Ok(None);
    }
    let straight = is_direct(from, bound)?;
    let is_near = |from: &Format, to: &Bound| -> Result<bool, Error> {
        Ok(is_banded(from, to.format()) || is_plain(from, to)?)
    };
    let is_way = |between: &Format| *between != *from && *between != *to;
    if !is_banded(from, to) {
        let theirs = if straight { None } else { reversed(to) };
        for between in theirs.into_iter().chain(reversed(from)).filter(is_way) {
            if let Ok(there) = between.bind(tensor.shape())
                && is_near(from, &there)?
                && is_near(&between, bound)?
            {
                return Ok(Some(between));
            }
        }
    }
    if straight {
        return Ok(None);
    }
    // Level types may be missing, and extents too large: then the way is the plain one.
    let rows = ["CSR", "CSC"].into_iter().filter_map(|name| Format::resolve(name, Some(2)).ok());
    for between in rows.filter(is_way) {
        if let Ok(there) = between.bind(tensor.shape())
            && is_direct(from, &there)?
            && is_direct(&between, bound)?
        {
            return Ok(Some(between));
        }
    }
    Ok(None)
}

/// Whether entries have to be sorted within bands of rows only: the first level is that of the other
/// format, or one of both a quotient of the other.
fn is_banded(from: &Format, to: &Format) -> bool {
    let [from, to] = [from, to].map(|format| format.levels().first().map(|level| &level.expr));
    let (Some(from), Some(to)) = (from, to) else { return false };
    from == to || remainder_below(from, to).is_some() || remainder_below(to, from).is_some()
}
