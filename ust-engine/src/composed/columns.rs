//! Entries of several tensors as columns.

use ust_format::Format;
use ust_level_api::column::{IndexWord, column_kind};
use ust_level_api::{Buffer, IndexColumn, IndexKind, with_dtype};

use crate::convert::build::BuildOptions;
use crate::error::Error;
use crate::storage::coo::Columns;
use crate::storage::values::gathered;
use crate::storage::{Tensor, Values};
use crate::walk::access::Unpacked;
use crate::walk::unpack::{Column, Wanted, What};

/// The format in which entries are sorted by coordinates and distinct. `None` for a tensor without dimensions.
pub(super) fn sorted_format(rank: usize) -> Result<Option<Format>, Error> {
    match rank {
        0 => Ok(None),
        rank => Ok(Some(Format::resolve("COO", Some(rank))?)),
    }
}

/// The entries of a tensor, sorted by coordinates, duplicates summed.
pub(super) fn entries_of(tensor: &Tensor) -> Result<Columns, Error> {
    let sorted = match sorted_format(tensor.rank())? {
        Some(format) => tensor.convert(&format)?,
        None => tensor.clone(),
    };
    let wanted = tensor.shape().iter().enumerate().map(|(dim, &extent)| {
        let kind = column_kind(0, extent.saturating_sub(1) as i64);
        Wanted { what: What::Of(Column::Dim(dim)), kind }
    });
    let Unpacked { columns, values, places } = sorted.unpack_entries(wanted.collect())?;
    let values = places.map_or(values.clone(), |places| gathered(&values, &places));
    Ok(Columns { shape: tensor.shape().to_vec(), crd: columns, values })
}

/// Entries that are sorted by coordinates, in a format. Conversions know shorter ways than the construction from entries.
pub(super) fn tensor_of(entries: &Columns, format: &Format) -> Result<Tensor, Error> {
    let options = BuildOptions::default();
    match sorted_format(entries.shape.len())? {
        Some(sorted) => Tensor::from_columns(entries, &sorted, &options)?.convert(format),
        None => Tensor::from_columns(entries, format, &options),
    }
}

/// The entries at some places.
pub(super) fn picked(from: &Columns, places: &[u32]) -> Columns {
    let of = |column: &IndexColumn| -> IndexColumn {
        match column {
            IndexColumn::U32(words) => words_at(words, places),
            IndexColumn::I32(words) => words_at(words, places),
            other => places.iter().map(|&at| other.at(at as usize)).collect::<Vec<i64>>().into(),
        }
    };
    let at: IndexColumn = places.to_vec().into();
    Columns {
        shape: from.shape.clone(),
        crd: from.crd.iter().map(of).collect(),
        values: gathered(&from.values, &at),
    }
}

fn words_at<T: IndexWord>(words: &Buffer<T>, places: &[u32]) -> IndexColumn {
    let words: &[T] = words;
    T::column(places.iter().map(|&at| words[at as usize]).collect::<Vec<T>>().into())
}

/// The entries of all, one after another. All have one shape and dtype.
pub(super) fn joined(each: &[Columns]) -> Result<Columns, Error> {
    let shape = each.first().map_or(Vec::new(), |first| first.shape.clone());
    let crd = shape.iter().enumerate().map(|(dim, &extent)| {
        let columns = each.iter().map(|one| &one.crd[dim]);
        match column_kind(0, extent.saturating_sub(1) as i64) {
            IndexKind::U32 => chained::<u32>(columns),
            _ => chained::<i64>(columns),
        }
    });
    let crd = crd.collect();
    let dtype = each.first().map_or(ust_level_api::Dtype::F64, |first| first.values.dtype());
    let values = with_dtype!(dtype, T => {
        let mut all: Vec<T> = Vec::new();
        for one in each {
            all.extend_from_slice(one.values.expanded().typed::<T>()?);
        }
        Values::from(all)
    });
    Ok(Columns { shape, crd, values })
}

fn chained<'a, T: IndexWord>(columns: impl Iterator<Item = &'a IndexColumn>) -> IndexColumn {
    let mut all: Vec<T> = Vec::new();
    let mut block = [0; 1024];
    for column in columns {
        for first in (0..column.len()).step_by(block.len()) {
            let some = &mut block[..(column.len() - first).min(1024)];
            column.read(first, some);
            all.extend(some.iter().map(|&crd| T::truncated(crd)));
        }
    }
    T::column(all.into())
}
