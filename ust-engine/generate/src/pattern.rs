//! Positions that follow a rule: `banded`, `pruned24`, `steps`, `ones`, `uniform`, `normal`.

use rayon::prelude::*;
use ust_engine::coo::Coo;
use ust_level_api::assemble::fill;

use super::args::{Args, cells};
use super::build::{by_rows, from_cells};
use super::error::GenerateError;
use super::stream::{Purpose, Stream};

/// Full diagonals around the main one, with uniform values.
pub(super) fn banded(args: &Args<'_>) -> Result<Coo, GenerateError> {
    let shape = args.square("shape", 2)?;
    let (rows, columns) = (shape[0] as u64, shape[1] as u64);
    let diagonals = args.number("diagonals");
    if diagonals == 0 {
        return Err(args.wrong("diagonals", "at least 1".to_owned()));
    }
    let (below, above) = ((diagonals - 1) / 2, diagonals / 2);
    let empty = rows == 0 || columns == 0;
    if !empty && (below >= rows || above >= columns) {
        let most = (2 * rows).min(2 * columns - 1);
        let rule = format!("at most {most} fit into {rows} x {columns}, centred");
        return Err(args.wrong("diagonals", rule));
    }
    let last_row = rows.min(columns.saturating_add(below));
    let entries = if empty { 0 } else { band_entries(rows, columns, below, above) };
    args.plausible("diagonals", Some(entries), 2)?;

    let columns_of = |row: usize| {
        let row = row as u64;
        row.saturating_sub(below)..columns.min(row.saturating_add(above + 1))
    };
    let [i, j] = by_rows(
        if empty { 0 } else { last_row as usize },
        |row| columns_of(row).count(),
        |row, out| {
            for (to, column) in out.iter_mut().zip(columns_of(row)) {
                *to = column as i64;
            }
        },
    );
    let values = Stream::new(args.number("seed"), Purpose::Values);
    let values = fill(i.len(), |n| values.uniform(n as u64));
    Ok(Coo { shape, crd: vec![i, j], values: values.into() })
}

/// The lengths of all diagonals of a band together.
fn band_entries(rows: u64, columns: u64, below: u64, above: u64) -> u128 {
    // How many cells lie on the diagonals 0, 1, ..., last of a rows x columns matrix.
    let side = |rows: u64, columns: u64, last: u64| -> u128 {
        let (rows, columns, last) = (u128::from(rows), u128::from(columns), u128::from(last));
        let count = last + 1;
        // The first diagonals are `rows` long, while there are columns; then each is one shorter.
        let full = count.min((columns + 1).saturating_sub(rows));
        let (first, short) = (columns.saturating_sub(full), count - full);
        rows * full + short * first - short * short.saturating_sub(1) / 2
    };
    side(rows, columns, above) + side(columns, rows, below) - u128::from(rows.min(columns))
}

/// A normal tensor of which each group of four along the last dimension keeps its two largest.
pub(super) fn pruned24(args: &Args<'_>) -> Result<Coo, GenerateError> {
    const GROUP: usize = 4;
    const KEPT: usize = 2;
    let shape = args.extents("shape")?;
    let length = *shape.last().expect("at least one extent");
    let kept = length / GROUP * KEPT + (length % GROUP).min(KEPT);
    // Where no group keeps anything, there are no columns, and the rows need not be gone through.
    let rows = if kept == 0 { Some(0) } else { cells(&shape[..shape.len() - 1]) };
    args.plausible("shape", rows.and_then(|rows| rows.checked_mul(kept as u128)), shape.len())?;
    let rows = rows.expect("no more rows than entries") as usize;

    let values = Stream::new(args.number("seed"), Purpose::Values);
    let row = |row: usize| {
        let cell = move |column: usize| (row * length + column) as u64;
        (0..length).step_by(GROUP).flat_map(move |start| {
            let mut group: Vec<(u64, f64)> = (start..length.min(start + GROUP))
                .map(|column| (cell(column), values.normal(cell(column))))
                .collect();
            // Stable, so that of equal magnitudes the first stays.
            group.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
            group.truncate(KEPT);
            group.sort_by_key(|&(cell, _)| cell);
            group
        })
    };
    let entries: Vec<(u64, f64)> = (0..rows).into_par_iter().flat_map_iter(row).collect();
    Ok(from_cells(shape, entries.len(), |n| entries[n].0, |n| entries[n].1))
}

/// A whole number in every cell, the same in cells side by side.
pub(super) fn steps(args: &Args<'_>) -> Result<Coo, GenerateError> {
    let shape = args.extents("shape")?;
    let run = args.number("run");
    if run == 0 {
        return Err(args.wrong("run", "at least 1".to_owned()));
    }
    let len = args.plausible("shape", cells(&shape), shape.len())?;
    let seed = args.number("seed");
    let (positions, levels) =
        (Stream::new(seed, Purpose::Positions), Stream::new(seed, Purpose::Values));
    let length = shape.last().map_or(1, |&length| length.max(1));
    let mut values = vec![0.0; len];
    values.par_chunks_mut(length).enumerate().for_each(|(row, values)| {
        let mut level = 0.0;
        for (column, value) in values.iter_mut().enumerate() {
            let cell = (row * length + column) as u64;
            if column == 0 || positions.below(cell, run) == 0 {
                level = (1 + levels.below(cell, 255)) as f64;
            }
            *value = level;
        }
    });
    Ok(from_cells(shape, len, |n| n as u64, |n| values[n]))
}

/// One in every cell.
pub(super) fn ones(args: &Args<'_>) -> Result<Coo, GenerateError> {
    dense(args, |_| 1.0)
}

/// A uniform number in every cell.
pub(super) fn uniform(args: &Args<'_>) -> Result<Coo, GenerateError> {
    let values = Stream::new(args.number("seed"), Purpose::Values);
    dense(args, |cell| values.uniform(cell))
}

/// A normal number in every cell.
pub(super) fn normal(args: &Args<'_>) -> Result<Coo, GenerateError> {
    let values = Stream::new(args.number("seed"), Purpose::Values);
    dense(args, |cell| values.normal(cell))
}

fn dense(args: &Args<'_>, value: impl Fn(u64) -> f64 + Sync) -> Result<Coo, GenerateError> {
    let shape = args.extents("shape")?;
    let len = args.plausible("shape", cells(&shape), shape.len())?;
    Ok(from_cells(shape, len, |n| n as u64, |n| value(n as u64)))
}
