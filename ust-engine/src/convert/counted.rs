//! Tensors in formats that count entries, such as ELL, or sort a dimension by its numbers of entries: what their levels
//! store of one entry depends on all.

use std::cmp::Reverse;

use ust_format::{Bound, Counter, Format, Sorted};
use ust_level_api::column::IndexRead;
use ust_level_api::ir::cancel::{pieces, poll};
use ust_level_api::{IndexArray, IndexColumn, IndexKind, Scalar, with_column};

use super::build::{BuildOptions, Duplicates};
use super::columns::Table;
use super::tally::{Tally, tally};
use crate::error::Error;
use crate::storage::coo::{Columns, Coo};
use crate::storage::order::places_in;
use crate::storage::{StoredElement, Tensor};

/// A tensor with the entries that `read` gives in the terms of a format with a level for each dimension. Counters number
/// them in the order of all dimensions. Duplicates are summed first, unless they stay apart.
///
/// Cost: a sort, and a pass over the entries for each counter and each sorted dimension.
///
/// # Errors
/// As [`Tensor::from_coo_with`].
pub(super) fn counted(
    shape: &[usize],
    read: impl FnOnce(&Bound) -> Result<Table, Error>,
    format: &Format,
    fill: Scalar,
    options: &BuildOptions,
) -> Result<Tensor, Error> {
    let duplicates = match options.duplicates {
        Duplicates::AsFormat if !format.counters().is_empty() => Duplicates::Sum,
        other => other,
    };
    let kept_apart = matches!(duplicates, Duplicates::AsFormat) && !format.is_unique();
    // What equals the fill value is not stored apart from padding.
    let padding = format.has_padding().then_some(fill);
    let tree = Format::tree(shape.len())?.bind(shape)?;
    let mut table = read(&tree)?;
    if kept_apart || table.is_distinct() {
        table.drop_padding(padding);
    }
    if !kept_apart {
        table.arrange(&tree, padding, duplicates)?;
    }
    let distinct = table.is_distinct();
    let (mut crd, values) = table.into_columns();
    let len = values.len();
    let numbers: Vec<(IndexColumn, usize)> = format
        .counters()
        .iter()
        .map(|counter| numbers(&crd, len, counter))
        .collect::<Result<_, _>>()?;
    let counts: Vec<usize> = numbers.iter().map(|(_, count)| *count).collect();
    let mut orders = Vec::new();
    for (dim, spec) in format.dims().iter().enumerate() {
        if let Some(sorted) = spec.sorted {
            let order = longest_first(&entries_of_each(&crd[dim], shape[dim]), sorted);
            let places = places_in(&order);
            let last = shape[dim].saturating_sub(1) as i64;
            crd[dim] = IndexColumn::blocks(len, (0, last), &|first, out| {
                poll();
                crd[dim].read(first, out);
                out.iter_mut().for_each(|at| *at = places[*at as usize]);
            });
            orders.push(stored(&order, format, &spec.name)?);
        }
    }
    let bound = format.unsorted().bind_counted(shape, &counts)?;
    crd.extend(numbers.into_iter().map(|(numbers, _)| numbers));
    let columns = Columns { shape: shape.to_vec(), crd, values };
    let how = BuildOptions { duplicates, fill: Some(fill), ..options.clone() };
    let made =
        Table::of_columns(&columns, distinct, &bound)?.build_of_kept(&bound, fill, None, &how)?;
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

/// The coordinates of a dimension in descending order of their numbers of entries, window by window, as a
/// [sorted](Sorted) dimension stores them. Those with as many entries stay in order. `counts` has the number of entries
/// of each coordinate.
#[must_use]
pub fn longest_first(counts: &[u64], sorted: Sorted) -> Vec<i64> {
    let mut order: Vec<i64> = (0..counts.len() as i64).collect();
    let window = sorted.window.and_then(|window| usize::try_from(window).ok());
    for part in order.chunks_mut(window.unwrap_or(counts.len()).max(1)) {
        part.sort_by_key(|&at| Reverse(counts[at as usize]));
    }
    order
}

/// The number of entries of each coordinate of a dimension.
fn entries_of_each(column: &IndexColumn, extent: usize) -> Vec<u64> {
    let mut counts = vec![0; extent];
    if let IndexColumn::Runs(starts) = column {
        let runs = starts.windows(2).map(|ends| u64::from(ends[1] - ends[0]));
        counts.iter_mut().zip(runs).for_each(|(count, run)| *count = run);
        return counts;
    }
    with_column!(column, read => {
        for piece in pieces(column.len()) {
            piece.for_each(|at| counts[read.at(at) as usize] += 1);
        }
    });
    counts
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
fn numbers(
    crd: &[IndexColumn],
    len: usize,
    counter: &Counter,
) -> Result<(IndexColumn, usize), Error> {
    let columns: Vec<IndexColumn> = counter.of.iter().map(|&dim| crd[dim].clone()).collect();
    let numbers = IndexColumn::from(tally(&columns, len, Tally::Number)?);
    let most = numbers.extremes().map_err(Error::Device)?;
    Ok((numbers, most.map_or(0, |(_, most)| most as usize + 1)))
}
