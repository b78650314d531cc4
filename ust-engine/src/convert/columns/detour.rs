//! Conversions through an intermediate format, where two simple steps take less time than one
//! general sort.

use ust_format::{Bound, Format};
use ust_level_api::Element;

use super::cells::have_cells;
use super::pieces::{cut, stores_fill};
use super::read::{levels_in_order, remainder_of_quotient, sorts_by_first_level};
use super::whole::{same_blocks, with_reversed_blocks};
use crate::error::Error;
use crate::storage::Tensor;
use crate::tuning::{PADDING_SAMPLED_VALUES, PIECES_MIN_ENTRIES};
use crate::with_values;

/// An intermediate format for a conversion that needs a general sort: neither the step to the
/// intermediate format nor the step from there needs one. `None` where the direct conversion needs
/// no general sort, or no such format is found.
///
/// Examples: DIA to CSC goes through CSR, BSR to CSC goes through BSC.
///
/// # Errors
/// As for the conversion itself.
pub(in crate::convert) fn detour(tensor: &Tensor, bound: &Bound) -> Result<Option<Format>, Error> {
    let (from, to, n) = (tensor.format(), bound.format(), tensor.nse());
    if from.rank() != 2 || !tensor.view().is_whole() {
        return Ok(None);
    }
    // Whether a conversion needs no sort of entries.
    let needs_no_sort = |from: &Format, to: &Bound| -> Result<bool, Error> {
        let levels = to.format().level_count();
        Ok(levels_in_order(from, to.format()) == levels
            || same_blocks(from, to.format()).is_some()
            || have_cells(from, to.format())
            || n >= PIECES_MIN_ENTRIES && cut(from, n, to)?.is_some())
    };
    // Whether a conversion needs one stable sort by the first level, at most.
    let needs_one_pass = |from: &Format, to: &Bound| -> Result<bool, Error> {
        Ok(sorts_by_first_level(from, n, to) || needs_no_sort(from, to)?)
    };
    if needs_no_sort(from, bound)? {
        return Ok(None);
    }
    let makes_blocks = to.tail() < to.level_count();
    if makes_blocks && !tensor.has_padding() && stores_fill(tensor, tensor.fill()) {
        return Ok(None);
    }
    // Whether a conversion sorts entries within bands of rows, at most.
    let sorts_within_bands = |from: &Format, to: &Bound| -> Result<bool, Error> {
        Ok(is_banded(from, to.format()) || needs_no_sort(from, to)?)
    };
    // The first candidate for which the first step satisfies one condition, and the second step
    // another.
    type Condition<'a> = &'a dyn Fn(&Format, &Bound) -> Result<bool, Error>;
    let first = |candidates: &mut dyn Iterator<Item = Format>,
                 steps: [Condition<'_>; 2]|
     -> Result<_, Error> {
        for between in candidates.filter(|between| between != from && between != to) {
            // The extents may be too large for the candidate.
            let Ok(there) = between.bind(tensor.shape()) else { continue };
            if steps[0](from, &there)? && steps[1](&between, bound)? {
                return Ok(Some(between));
            }
        }
        Ok(None)
    };
    let one_pass = needs_one_pass(from, bound)?;
    if !is_banded(from, to) {
        let reversed_target = if one_pass { None } else { with_reversed_blocks(to) };
        // Where one stable sort is enough, reversed blocks gain nothing if their first level is the
        // target's first level: the sort writes the entries of a row of blocks side by side anyway.
        let first_of = |format: &Format| format.levels().first().map(|level| level.expr.clone());
        let reversed_source = with_reversed_blocks(from)
            .filter(|reversed| !one_pass || first_of(reversed) != first_of(to));
        // Sorts within bands come second: such a step may need an intermediate format itself.
        for step in [&needs_no_sort as Condition<'_>, &sorts_within_bands] {
            let mut candidates = reversed_target.iter().chain(&reversed_source).cloned();
            let found = first(&mut candidates, [step; 2])?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    if one_pass && !tensor.has_padding() {
        return Ok(None);
    }
    // The tensor may store more padding than entries. The first step drops the padding, without a
    // sort where the direct conversion needs only one.
    let first_step: Condition<'_> = if one_pass { &needs_no_sort } else { &needs_one_pass };
    first(&mut csr_and_csc(), [first_step, &needs_one_pass])
}

/// CSR and CSC, as far as their level types are registered.
fn csr_and_csc() -> impl Iterator<Item = Format> {
    ["CSR", "CSC"].into_iter().filter_map(|name| Format::resolve(name, Some(2)).ok())
}

/// An intermediate format that drops the padding first, for a matrix with trailing dense blocks that is
/// converted to other blocks in about the same order, where a sample says that most values are padding.
pub(in crate::convert) fn without_padding(tensor: &Tensor, to: &Format) -> Option<Format> {
    let from = tensor.format();
    let suits = from.rank() == 2
        && from.tail() < from.level_count()
        && (1..to.level_count()).contains(&to.tail())
        && is_banded(from, to)
        && tensor.view().is_whole();
    let mostly_padding = suits
        && with_values!(tensor.values(), values => {
            let fill = Element::from_scalar(tensor.fill)?;
            let step = (values.len() / PADDING_SAMPLED_VALUES).max(1);
            let is_fill = |value: &&_| Element::same(**value, fill);
            let sample = values.iter().step_by(step);
            2 * sample.clone().filter(is_fill).count() > sample.count()
        });
    let mut formats = csr_and_csc();
    let is_in_order = |rows: &Format| levels_in_order(from, rows) == rows.level_count();
    if mostly_padding { formats.find(is_in_order) } else { None }
}

/// Whether a conversion moves entries within bands of rows only: the first levels of both formats
/// have the same expression, or one expression is a quotient of the other, such as `i / 4` and `i`.
fn is_banded(from: &Format, to: &Format) -> bool {
    let [from, to] = [from, to].map(|format| format.levels().first().map(|level| &level.expr));
    let (Some(from), Some(to)) = (from, to) else { return false };
    from == to
        || remainder_of_quotient(from, to).is_some()
        || remainder_of_quotient(to, from).is_some()
}
