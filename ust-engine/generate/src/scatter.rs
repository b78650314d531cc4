//! Random positions: `random`, `blocks`, `rmat`.

use rayon::prelude::*;
use ust_engine::coo::Coo;

use super::MAX_ENTRIES;
use super::args::{Args, cells};
use super::build::from_cells;
use super::error::{GenerateError, GenerateErrorKind as Kind};
use super::sample::choose;
use super::stream::{Purpose, Stream};

/// So many cells of a shape of any rank, chosen uniformly, with uniform values.
pub(super) fn random(args: &Args<'_>) -> Result<Coo, GenerateError> {
    let shape = args.extents("shape")?;
    let all = countable(args, &shape)?;
    let nnz = args.number("nnz");
    if u128::from(nnz) > all {
        return Err(args.wrong("nnz", format!("the shape has {all} cells")));
    }
    let nnz = args.plausible("nnz", Some(nnz.into()), shape.len())?;
    let seed = args.number("seed");
    let (positions, values) =
        (Stream::new(seed, Purpose::Positions), Stream::new(seed, Purpose::Values));
    let value = |n| values.uniform(n as u64);
    Ok(if all <= u128::from(u64::MAX) {
        let chosen: Vec<u64> = choose(&shape, all, nnz, positions);
        from_cells(shape, nnz, |n| chosen[n], value)
    } else {
        let chosen: Vec<u128> = choose(&shape, all, nnz, positions);
        from_cells(shape, nnz, |n| chosen[n], value)
    })
}

/// Full blocks on a grid of blocks, chosen uniformly, with uniform values.
pub(super) fn blocks(args: &Args<'_>) -> Result<Coo, GenerateError> {
    let shape = args.extents("shape")?;
    let block = args.extents("block")?;
    if block.len() != shape.len() {
        let expected = format!("one extent for each of the shape's {}", shape.len());
        let (parameter, found) = ("block", block.len());
        return Err(args.error(parameter, Kind::Extents { parameter, expected, found }));
    }
    if block.contains(&0) {
        let rule = "a block has at least one cell".to_owned();
        return Err(args.error("block", Kind::Value { parameter: "block", found: 0, rule }));
    }
    let all = countable(args, &shape)?;
    if all > u128::from(u64::MAX) {
        return Err(args.error("shape", Kind::TooLarge(format!("{all} cells, at most 2^64 - 1"))));
    }
    let nse = args.number("nse");
    let per_block = cells(&block).filter(|&size| size <= u128::from(MAX_ENTRIES));
    let grid: Vec<usize> = shape.iter().zip(&block).map(|(n, b)| n.div_ceil(*b)).collect();
    let grid_blocks = countable(args, &grid)?;
    let Some(per_block) = per_block.map(|size| size as u64) else {
        let why = format!("more than {MAX_ENTRIES} cells in one block");
        return Err(args.error("block", Kind::TooLarge(why)));
    };
    if !nse.is_multiple_of(per_block) {
        let rule = format!("not a multiple of the {per_block} values of a block");
        return Err(args.wrong("nse", rule));
    }
    if u128::from(nse / per_block) > grid_blocks {
        let most = grid_blocks * u128::from(per_block);
        let rule = format!("the grid of {grid_blocks} blocks has room for {most}");
        return Err(args.wrong("nse", rule));
    }
    args.plausible("nse", Some(nse.into()), shape.len() + 1)?;

    let seed = args.number("seed");
    let (positions, values) =
        (Stream::new(seed, Purpose::Positions), Stream::new(seed, Purpose::Values));
    let count = (nse / per_block) as usize;
    let chosen: Vec<u64> = choose(&grid, grid_blocks, count, positions);
    let mut entries: Vec<u64> = chosen
        .into_par_iter()
        .flat_map_iter(|at| {
            let (shape, block, grid) = (&shape, &block, &grid);
            (0..per_block).filter_map(move |within| cell_of(shape, block, grid, at, within))
        })
        .collect();
    entries.par_sort_unstable();
    Ok(from_cells(shape, entries.len(), |n| entries[n], |n| values.uniform(n as u64)))
}

/// The cell at place `within` of block `at`, unless it lies outside the shape.
fn cell_of(
    shape: &[usize],
    block: &[usize],
    grid: &[usize],
    mut at: u64,
    mut within: u64,
) -> Option<u64> {
    let (mut cell, mut stride) = (0, 1_u64);
    for ((&n, &b), &g) in shape.iter().zip(block).zip(grid).rev() {
        let (n, b, g) = (n as u64, b as u64, g as u64);
        // Below n + b, which is below 2^64.
        let coordinate = at % g * b + within % b;
        (at, within) = (at / g, within / b);
        if coordinate >= n {
            return None;
        }
        cell += coordinate * stride;
        stride = stride.wrapping_mul(n);
    }
    Some(cell)
}

/// The adjacency matrix of a graph with recursive communities and heavy-tailed degrees.
pub(super) fn rmat(args: &Args<'_>) -> Result<Coo, GenerateError> {
    const MAX_SCALE: u64 = 31;
    /// Where the first three of the four quadrants end: 0.57, 0.19, 0.19, 0.05.
    const ENDS: [f64; 3] = [0.57, 0.76, 0.95];
    let scale = args.number("scale");
    if scale > MAX_SCALE {
        return Err(args.wrong("scale", format!("at most {MAX_SCALE}")));
    }
    let edges = args.plausible("edges", Some(args.number("edges").into()), 2)?;
    let positions = Stream::new(args.number("seed"), Purpose::Positions);
    let edge = |n: usize| {
        let (mut row, mut column) = (0_u64, 0_u64);
        for level in 0..scale {
            let at = positions.uniform(n as u64 * scale + level);
            let quadrant = ENDS.iter().filter(|&&end| at >= end).count() as u64;
            row = row << 1 | quadrant >> 1;
            column = column << 1 | quadrant & 1;
        }
        row << scale | column
    };
    let mut entries: Vec<u64> = (0..edges).into_par_iter().map(edge).collect();
    entries.par_sort_unstable();
    entries.dedup();
    Ok(from_cells(vec![1 << scale; 2], entries.len(), |n| entries[n], |_| 1.0))
}

fn countable(args: &Args<'_>, shape: &[usize]) -> Result<u128, GenerateError> {
    cells(shape).ok_or_else(|| {
        args.error("shape", Kind::TooLarge("2^127 cells or more cannot be told apart".to_owned()))
    })
}
