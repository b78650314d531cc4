//! What a tensor looks like.

use std::collections::HashMap;

use rayon::prelude::*;
use ust_engine::coo::Coo;
use ust_engine::error::Error;
use ust_engine::tensor::Tensor;
use ust_format::{Format, IndexExpr};
use ust_level_api::ir::parallel;
use ust_level_api::stats::{Blocks, Diagonals, Spread, TensorStats};

use super::distinct::distinct;

/// Extents of blocks that are looked at.
pub(super) const BLOCKS: [(usize, usize); 10] =
    [(2, 2), (3, 3), (4, 4), (8, 8), (16, 16), (1, 4), (2, 4), (4, 2), (1, 8), (8, 1)];
/// Sizes of groups along the last dimension that are looked at.
const GROUPS: [i64; 3] = [2, 4, 8];

/// Looks at a tensor: how its entries are spread over rows, diagonals, blocks and groups.
///
/// ```
/// use ust::{Tensor, advise};
///
/// let a = Tensor::from_coo(&ust::generate::generate("banded(100, diagonals=3)")?, "CSR")?;
/// let stats = advise::stats(&a)?;
/// assert_eq!((stats.entries, stats.dims[0].min, stats.dims[0].max), (298, 2, 3));
/// let diagonals = stats.diagonals.unwrap();
/// assert_eq!((diagonals.count, diagonals.fill, diagonals.band), (3, 1.0, (-1, 1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cost: O(entries), and sorting them where they are not stored row by row.
///
/// # Errors
/// As [`Tensor::convert`].
pub fn stats(tensor: &Tensor) -> Result<TensorStats, Error> {
    Ok(look(tensor)?.0)
}

/// The same, with the entries that were looked at: by rows, each place once.
pub(super) fn look(tensor: &Tensor) -> Result<(TensorStats, Coo), Error> {
    let rank = tensor.rank();
    let all = match tensor.format().is_unique() {
        true => None,
        false => Some(tensor.to_coo()?.len()),
    };
    let coo = match rank {
        0 => tensor.to_coo()?,
        _ => tensor.convert(&Format::resolve("COO", Some(rank))?)?.to_coo()?,
    };
    let entries = coo.len();
    let mut lists: Vec<Vec<IndexExpr>> =
        (1..rank).map(|dims| (0..dims).map(IndexExpr::Var).collect()).collect();
    let blocks = blocks(rank);
    lists.extend(blocks.iter().map(|extents| block_of(extents)));
    let counts = distinct(&coo.crd, &lists);
    let (leading, in_blocks) = counts.split_at(rank.saturating_sub(1));
    let filled = |(extents, &count): (Vec<usize>, &f64)| {
        let elements = count * extents.iter().product::<usize>() as f64;
        let fill = if elements > 0.0 { (entries as f64 / elements).min(1.0) } else { 0.0 };
        Blocks { extents, count: count.round() as u64, fill }
    };
    let counted = |(column, &extent): (&Vec<i64>, &usize)| spread(column, extent);
    let (runs, span) = lines(&coo.crd);
    let prefixes = leading.iter().map(|&count| count.round() as u64).chain([entries as u64]);
    let stats = TensorStats {
        shape: tensor.shape().to_vec(),
        entries: entries as u64,
        duplicates: all.map_or(0, |all| all.saturating_sub(entries) as u64),
        value_bytes: tensor.dtype().bytes(),
        dims: parallel::map_items(coo.crd.iter().zip(tensor.shape()), |_, dim| counted(dim)),
        prefixes: prefixes.take(rank).collect(),
        runs,
        span,
        groups: GROUPS.iter().map(|&m| (m as u64, most_in_group(&coo.crd, m))).collect(),
        blocks: blocks.into_iter().zip(in_blocks).map(filled).collect(),
        diagonals: (rank == 2).then(|| diagonals(&coo)),
    };
    Ok((stats, coo))
}

/// The blocks that are looked at: of the last two dimensions, or of all three.
fn blocks(rank: usize) -> Vec<Vec<usize>> {
    match rank {
        0 | 1 => Vec::new(),
        3 => [2, 4].map(|side| vec![side; 3]).to_vec(),
        _ => {
            let front = vec![1; rank - 2];
            BLOCKS.iter().map(|&(m, n)| [&front[..], &[m, n]].concat()).collect()
        }
    }
}

fn block_of(extents: &[usize]) -> Vec<IndexExpr> {
    let part = |(dim, &extent): (usize, &usize)| match extent {
        1 => IndexExpr::Var(dim),
        _ => IndexExpr::FloorDiv(
            Box::new(IndexExpr::Var(dim)),
            Box::new(IndexExpr::Const(extent as i64)),
        ),
    };
    extents.iter().enumerate().map(part).collect()
}

/// How many entries stand at each coordinate: as a list where that is no waste.
pub(super) enum Counts {
    List { lower: i64, counts: Vec<u32> },
    Map(HashMap<i64, u32>),
}

impl Counts {
    fn new(lower: i64, size: u128, entries: usize) -> Self {
        match usize::try_from(size) {
            Ok(size) if size <= 8 * entries + (1 << 16) => {
                Self::List { lower, counts: vec![0; size] }
            }
            _ => Self::Map(HashMap::new()),
        }
    }

    pub(super) fn of(
        lower: i64,
        size: u128,
        len: usize,
        coordinates: impl Iterator<Item = i64>,
    ) -> Self {
        let mut all = Self::new(lower, size, len);
        match &mut all {
            Self::List { lower, counts } => {
                coordinates.for_each(|c| counts[(c - *lower) as usize] += 1);
            }
            Self::Map(map) => coordinates.for_each(|c| *map.entry(c).or_default() += 1),
        }
        all
    }

    /// Coordinates with entries, and how many.
    pub(super) fn used(&self) -> Box<dyn Iterator<Item = (i64, u32)> + '_> {
        match self {
            Self::List { lower, counts } => {
                let all = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                Box::new(all.map(move |(at, &count)| (lower + at as i64, count)))
            }
            Self::Map(map) => Box::new(map.iter().map(|(&c, &count)| (c, count))),
        }
    }
}

fn spread(column: &[i64], extent: usize) -> Spread {
    if extent == 0 {
        return Spread::default();
    }
    let counts = Counts::of(0, extent as u128, column.len(), column.iter().copied());
    let mean = column.len() as f64 / extent as f64;
    let (mut used, mut min, mut max, mut squares) = (0, u64::MAX, 0, 0.0);
    for (_, count) in counts.used() {
        used += 1;
        (min, max) = (min.min(count.into()), max.max(count.into()));
        squares += (f64::from(count) - mean).powi(2);
    }
    let empty = extent as u64 - used;
    let variance = (squares + empty as f64 * mean * mean) / extent as f64;
    let skew = if mean > 0.0 { variance.sqrt() / mean } else { 0.0 };
    Spread { min: if empty > 0 { 0 } else { min }, mean, max, empty, skew }
}

/// Runs of neighbouring coordinates along the last dimension, and how many coordinates rows span. Entries stand
/// by rows.
pub(super) fn lines(columns: &[Vec<i64>]) -> (u64, u64) {
    let Some((last, leading)) = columns.split_last() else { return (0, 0) };
    let each = |at: usize| {
        let before = at.checked_sub(1);
        match before.filter(|&b| leading.iter().all(|column| column[b] == column[at])) {
            None => (1, 1),
            Some(before) => {
                let step = last[at] - last[before];
                (u64::from(step > 1), step as u64)
            }
        }
    };
    let sum = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
    parallel::entered(|| (0..last.len()).into_par_iter().map(each).reduce(|| (0, 0), sum))
}

/// The most entries in an aligned group of `m` along the last dimension. Entries stand by rows.
fn most_in_group(columns: &[Vec<i64>], m: i64) -> u64 {
    let Some((last, leading)) = columns.split_last() else { return 0 };
    let alike = |a: usize, b: usize| {
        last[a] / m == last[b] / m && leading.iter().all(|column| column[a] == column[b])
    };
    let group = |first: usize| match first > 0 && alike(first - 1, first) {
        true => 0,
        false => (first..last.len()).take_while(|&at| alike(first, at)).count(),
    };
    let most = parallel::entered(|| (0..last.len()).into_par_iter().map(group).max());
    most.unwrap_or(0) as u64
}

fn diagonals(coo: &Coo) -> Diagonals {
    let [rows, columns] = [coo.shape[0] as i64, coo.shape[1] as i64];
    let pairs = || coo.crd[0].iter().zip(&coo.crd[1]).map(|(&i, &j)| (i, j));
    let size = (rows as u128 + columns as u128).saturating_sub(1);
    let along = || Counts::of(1 - rows.max(1), size, coo.len(), pairs().map(|(i, j)| j - i));
    let against = || Counts::of(0, size, coo.len(), pairs().map(|(i, j)| i + j));
    let (along, against) = parallel::entered(|| rayon::join(along, against));
    let length = |offset: i64| rows.min(columns - offset) - (-offset).max(0);
    let offsets = || along.used().map(|(offset, _)| offset);
    let elements: f64 = offsets().map(|offset| length(offset) as f64).sum();
    // The entries below the diagonal mirrored are those above it: told by sums of hashes.
    let hash = |i: i64, j: i64| {
        let z = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (j as u64).rotate_left(32);
        let z = (z ^ (z >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z ^ (z >> 29)
    };
    let balance = pairs().fold(0_u64, |sum, (i, j)| match i.cmp(&j) {
        std::cmp::Ordering::Less => sum.wrapping_add(hash(i, j)),
        std::cmp::Ordering::Equal => sum,
        std::cmp::Ordering::Greater => sum.wrapping_sub(hash(j, i)),
    });
    Diagonals {
        count: offsets().count() as u64,
        fill: if elements > 0.0 { coo.len() as f64 / elements } else { 0.0 },
        anti_count: against.used().count() as u64,
        band: (offsets().min().unwrap_or(0), offsets().max().unwrap_or(0)),
        symmetric: rows == columns && balance == 0,
    }
}
