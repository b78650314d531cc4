//! Tensors in formats that count entries, such as ELL.

use ust_format::{Counter, Format};
use ust_kernels::pool::together;
use ust_level_api::{IndexColumn, Scalar};

use super::build::{BuildOptions, Duplicates};
use super::columns::Table;
use super::tally::{Tally, tally};
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::coo::Coo;

/// A tensor with these entries, which are numbered in the order of all dimensions. Duplicates are summed.
///
/// Cost: a sort, and a pass over the entries for each counter.
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
        Duplicates::AsFormat => Duplicates::Sum,
        other => other,
    };
    let how = BuildOptions { duplicates, fill: Some(fill), ..options.clone() };
    let tree = Format::resolve("CSF", Some(format.rank()))?;
    let mut sorted = Tensor::from_coo_with(coo, &tree, &how)?;
    if format.has_padding() {
        // What equals the fill value is not stored apart from padding.
        sorted = sorted.eliminate_zeros()?;
    }
    let mut coo = sorted.to_coo()?;
    let columns: Vec<(Vec<i64>, usize)> =
        format.counters().iter().map(|counter| numbers(&coo, counter)).collect::<Result<_, _>>()?;
    let counts: Vec<usize> = columns.iter().map(|(_, count)| *count).collect();
    let bound = format.bind_counted(&coo.shape, &counts)?;
    coo.crd.extend(columns.into_iter().map(|(column, _)| column));
    together(coo.len(), || Table::of_coo(&coo, &bound)?.build(&bound, fill, &how))
}

/// The number of each entry among those with the same coordinates in some dimensions, and how many numbers there are.
fn numbers(coo: &Coo, counter: &Counter) -> Result<(Vec<i64>, usize), Error> {
    let columns: Vec<IndexColumn> =
        counter.of.iter().map(|&dim| coo.crd[dim].as_slice().into()).collect();
    let numbers = tally(&columns, coo.len(), Tally::Number)?;
    let count = numbers.iter().max().map_or(0, |&most| most as usize + 1);
    Ok((numbers.into_iter().map(i64::from).collect(), count))
}
