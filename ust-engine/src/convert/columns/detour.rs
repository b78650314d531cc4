//! Two steps that are shorter than one.

use ust_format::{Bound, Format};
use ust_level_api::Element;

use super::cells::have_cells;
use super::pieces::{FEW, cut, stores_fill};
use super::read::{in_order, is_transposed, remainder_below};
use super::whole::{alike, reversed};
use crate::error::Error;
use crate::storage::Tensor;
use crate::with_values;

/// A format to pass through on the way to another: where that is reached from it without a general
/// sort, and it from the tensor's own, but not the one from the other. Diagonals become rows, and
/// rows columns or blocks. Blocks are moved whole before they are taken apart, and after they are
/// made.
///
/// # Errors
/// As for the conversion itself.
pub(in crate::convert) fn detour(tensor: &Tensor, bound: &Bound) -> Result<Option<Format>, Error> {
    let (from, to, n) = (tensor.format(), bound.format(), tensor.nse());
    if from.rank() != 2 || !tensor.view().is_whole() {
        return Ok(None);
    }
    let is_plain = |from: &Format, to: &Bound| -> Result<bool, Error> {
        let levels = to.format().level_count();
        Ok(in_order(from, to.format()) == levels
            || alike(from, to.format()).is_some()
            || have_cells(from, to.format())
            || n >= FEW && cut(from, n, to)?.is_some())
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
    let is_near = |from: &Format, to: &Bound| -> Result<bool, Error> {
        Ok(is_banded(from, to.format()) || is_plain(from, to)?)
    };
    // The first of some formats to which and from which a step is such.
    type Is<'a> = &'a dyn Fn(&Format, &Bound) -> Result<bool, Error>;
    let first = |ways: &mut dyn Iterator<Item = Format>, is: [Is<'_>; 2]| -> Result<_, Error> {
        for between in ways.filter(|between| between != from && between != to) {
            // Extents may be too large for it.
            let Ok(there) = between.bind(tensor.shape()) else { continue };
            if is[0](from, &there)? && is[1](&between, bound)? {
                return Ok(Some(between));
            }
        }
        Ok(None)
    };
    let straight = is_direct(from, bound)?;
    if !is_banded(from, to) {
        let theirs = if straight { None } else { reversed(to) };
        // Where one stable sort will do, another order of blocks is no gain if it begins with the level
        // that the other format begins with: a strip's entries go to one place, one after the other.
        let first_of = |format: &Format| format.levels().first().map(|level| level.expr.clone());
        let own = reversed(from).filter(|own| !straight || first_of(own) != first_of(to));
        // Steps that are short both come first: others may need a format between them.
        for is in [&is_plain as Is<'_>, &is_near] {
            let found = first(&mut theirs.iter().chain(&own).cloned(), [is; 2])?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    if straight && !tensor.has_padding() {
        return Ok(None);
    }
    // There may be more padding than entries, which are found in the order in which they stand first.
    let there: Is<'_> = if straight { &is_plain } else { &is_direct };
    first(&mut rows(), [there, &is_direct])
}

/// Formats that store rows, or columns. Level types may be missing: then the way is the plain one.
fn rows() -> impl Iterator<Item = Format> {
    ["CSR", "CSC"].into_iter().filter_map(|name| Format::resolve(name, Some(2)).ok())
}

/// Where a matrix whose last levels are stored in full goes into blocks, in about its own order, and most
/// of it is padding: the format of its entries, which are found first.
pub(in crate::convert) fn thinned(tensor: &Tensor, to: &Format) -> Option<Format> {
    let from = tensor.format();
    let suits = from.rank() == 2
        && from.tail() < from.level_count()
        && (1..to.level_count()).contains(&to.tail())
        && is_banded(from, to)
        && tensor.view().is_whole();
    let thin = suits
        && with_values!(&tensor.values, values => {
            let fill = Element::from_scalar(tensor.fill)?;
            let apart = (values.len() / SAMPLES).max(1);
            let is_fill = |value: &&_| Element::same(**value, fill);
            let seen = values.iter().step_by(apart);
            2 * seen.clone().filter(is_fill).count() > seen.count()
        });
    if thin { rows().find(|rows| in_order(from, rows) == rows.level_count()) } else { None }
}

/// So many values, or up to twice as many, are looked at to see whether most are padding.
const SAMPLES: usize = 256;

/// Whether entries have to be sorted within bands of rows only: the first level is that of the other
/// format, or one of both a quotient of the other.
fn is_banded(from: &Format, to: &Format) -> bool {
    let [from, to] = [from, to].map(|format| format.levels().first().map(|level| &level.expr));
    let (Some(from), Some(to)) = (from, to) else { return false };
    from == to || remainder_below(from, to).is_some() || remainder_below(to, from).is_some()
}
