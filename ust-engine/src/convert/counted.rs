//! Tensors in formats that count entries, such as ELL, or sort a dimension by its numbers of entries: what their levels
//! store of one entry depends on all.

use std::cmp::Reverse;

use ust_format::{Counter, Format, Sorted};
use ust_kernels::pool::together;
use ust_level_api::ir::cancel::{PIECE, pieces, poll};
use ust_level_api::{IndexArray, IndexColumn, IndexKind, Scalar};

use super::build::{BuildOptions, Duplicates};
use super::columns::Table;
use super::tally::{Tally, tally};
use crate::error::Error;
use crate::storage::coo::Coo;
use crate::storage::order::places_in;
use crate::storage::{StoredElement, Tensor};

/// A tensor with these entries, which counters number in the order of all dimensions. Duplicates are summed first,
/// unless they stay apart.
///
/// Cost: a sort, and a pass over the entries for each counter and each sorted dimension.
///
/// # Errors
/// As [`Tensor::from_coo_with`].
pub(super) fn counted(
    coo: &Coo,
    format: &Format,
    fill: Scalar,
    options: &BuildOptions,
) -> Result<Tensor, Error> {
    let duplicates = match options.duplicates {
        Duplicates::AsFormat if !format.counters().is_empty() => Duplicates::Sum,
        other => other,
    };
    let how = BuildOptions { duplicates, fill: Some(fill), ..options.clone() };
    let kept_apart = matches!(duplicates, Duplicates::AsFormat) && !format.is_unique();
    let mut coo = match (kept_apart, format.has_padding()) {
        (false, _) => in_order(coo, format, &how)?,
        (true, true) => without(coo.clone(), fill),
        (true, false) => coo.clone(),
    };
    let columns: Vec<(Vec<i64>, usize)> =
        format.counters().iter().map(|counter| numbers(&coo, counter)).collect::<Result<_, _>>()?;
    let counts: Vec<usize> = columns.iter().map(|(_, count)| *count).collect();
    let mut orders = Vec::new();
    for (dim, spec) in format.dims().iter().enumerate() {
        if let Some(sorted) = spec.sorted {
            let order = longest_first(&coo.crd[dim], coo.shape[dim], sorted);
            let places = places_in(&order);
            for column in coo.crd[dim].chunks_mut(PIECE) {
                poll();
                column.iter_mut().for_each(|at| *at = places[*at as usize]);
            }
            orders.push(stored(&order, format, &spec.name)?);
        }
    }
    let bound = format.unsorted().bind_counted(&coo.shape, &counts)?;
    coo.crd.extend(columns.into_iter().map(|(column, _)| column));
    let made = together(coo.len(), || Table::of_coo(&coo, &bound)?.build(&bound, fill, &how))?;
    if format.has_sorted() { made.in_order(format, orders) } else { Ok(made) }
}

/// The entries that differ from a value.
pub(super) fn without(coo: Coo, fill: Scalar) -> Coo {
    let kept = crate::with_values!(&coo.values, values => others_than(values, fill));
    if kept.len() == coo.len() {
        return coo;
    }
    let picked = |column: &Vec<i64>| {
        let mut picked = Vec::with_capacity(kept.len());
        for piece in pieces(kept.len()) {
            picked.extend(kept[piece].iter().map(|&at| column[at as usize]));
        }
        picked
    };
    let crd = coo.crd.iter().map(picked).collect();
    Coo { shape: coo.shape.clone(), crd, values: coo.values.gather(&kept) }
}

/// The places of the values that differ from one.
fn others_than<T: StoredElement>(values: &[T], fill: Scalar) -> Vec<u64> {
    let Some(fill) = T::from_scalar(fill) else { return (0..values.len() as u64).collect() };
    let mut kept = Vec::with_capacity(values.len());
    for piece in pieces(values.len()) {
        let places = piece.start as u64..piece.end as u64;
        let each = places.zip(&values[piece]);
        kept.extend(each.filter(|(_, value)| !fill.same(**value)).map(|(place, _)| place));
    }
    kept
}

/// The entries in the order of all dimensions, without those that equal the fill value where that is padding.
fn in_order(coo: &Coo, format: &Format, how: &BuildOptions) -> Result<Coo, Error> {
    let tree = Format::tree(format.rank())?;
    let sorted = Tensor::from_coo_with(coo, &tree, how)?;
    let (fill, coo) = (sorted.fill(), sorted.to_coo()?);
    // What equals the fill value is not stored apart from padding.
    Ok(if format.has_padding() { without(coo, fill) } else { coo })
}

/// The coordinates of a dimension in descending order of their numbers of entries, window by window, as a
/// [sorted](Sorted) dimension stores them. Those with as many entries stay in order. `column` has the coordinate of each
/// entry, inside the extent.
///
/// # Panics
/// If a coordinate is outside the extent.
#[must_use]
pub fn longest_first(column: &[i64], extent: usize, sorted: Sorted) -> Vec<i64> {
    let mut counts = vec![0_u64; extent];
    for piece in pieces(column.len()) {
        column[piece].iter().for_each(|&at| counts[at as usize] += 1);
    }
    let mut order: Vec<i64> = (0..extent as i64).collect();
    let window = sorted.window.and_then(|window| usize::try_from(window).ok());
    for part in order.chunks_mut(window.unwrap_or(extent).max(1)) {
        part.sort_by_key(|&at| Reverse(counts[at as usize]));
    }
    order
}

/// What the order of a sorted dimension is stored as. `None` if the format's coordinates are too narrow.
#[must_use]
pub fn order_kind(format: &Format, extent: usize) -> Option<IndexKind> {
    let fits = |kind: IndexKind| extent as u128 <= 1 << kind.bits();
    let kind = match format.crd_width() {
        8 => IndexKind::U8,
        16 => IndexKind::U16,
        0 | 32 if fits(IndexKind::U32) => IndexKind::U32,
        0 | 64 => IndexKind::U64,
        _ => return None,
    };
    fits(kind).then_some(kind)
}

/// The array of an order, in the width of the format's coordinates.
fn stored(order: &[i64], format: &Format, name: &str) -> Result<IndexArray, Error> {
    let kind = order_kind(format, order.len());
    kind.and_then(|kind| IndexArray::from(order.to_vec()).in_kind(kind)).ok_or_else(|| {
        let width = format.crd_width();
        let text = "too narrow for the order of the sorted dimension";
        Error::Unsupported(format!("crdWidth = {width}: {text} `{name}`"))
    })
}

/// The number of each entry among those with the same coordinates in some dimensions, and how many numbers there are.
fn numbers(coo: &Coo, counter: &Counter) -> Result<(Vec<i64>, usize), Error> {
    let columns: Vec<IndexColumn> =
        counter.of.iter().map(|&dim| coo.crd[dim].as_slice().into()).collect();
    let numbers = tally(&columns, coo.len(), Tally::Number)?;
    let count = numbers.iter().max().map_or(0, |&most| most as usize + 1);
    Ok((numbers.into_iter().map(i64::from).collect(), count))
}
