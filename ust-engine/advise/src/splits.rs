//! Sums of parts in different formats: proposed from what a matrix looks like, and measured beside the best format.
//!
//! * Diagonals that are full enough, and the rest.
//! * The first entries of each row, and the rest: as many as a third of the rows have (Bell and Garland, "Implementing
//!   Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors", 2009).
//! * Blocks that are full enough, and the rest.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use ust_engine::Error;
use ust_engine::ops::OpError;
use ust_engine::tensor::{Tensor, Values};
use ust_engine::{Composed, Coo};
use ust_format::Composition;
use ust_level_api::stats::TensorStats;

use super::operation::Operation;
use super::stats::look;

/// A diagonal is worth storing as such from this share of its elements on, a block from this one on.
const FULL_DIAGONAL: f64 = 0.6;
const FULL_BLOCK: f64 = 0.5;
/// Blocks of one size are proposed if on the average this share of their elements is stored, or more but not all.
const SOME_BLOCKS: (f64, f64) = (0.15, 0.9);
/// A part is worth it from this share of the entries on.
const PART: f64 = 0.2;
/// Rows of the rest are told by their numbers if there are fewer than this share of all.
const FEW_ROWS: f64 = 0.3;
/// The share of the rows that have an entry of the first part (Bell and Garland), and the fewest rows.
const ROWS_SHARE: usize = 3;
const ROWS_LEAST: usize = 4096;
/// Seconds for which a split is measured, and a share of the budget, and rounds, at least and at most.
const SECONDS: f64 = 0.3;
const SHARE: f64 = 0.05;
const ROUNDS: (usize, usize) = (5, 30);
/// Measuring ends after so many times the seconds that it takes where nobody else is on the machine.
const CROWDED: f64 = 4.0;

/// A sum of parts in different formats, measured.
#[derive(Clone, Debug)]
pub struct Split {
    /// The composition: what to write after `--format`.
    pub text: String,
    /// Bytes of all parts.
    pub bytes: usize,
    /// Stored values of all parts, padding included.
    pub stored: usize,
    /// Seconds to split the tensor.
    pub split_seconds: f64,
    /// Seconds for the operation.
    pub seconds: f64,
    /// The share of the seconds of the best single format, which was measured in turns with it.
    pub relative: f64,
}

/// The texts of compositions that may suit a matrix, the most promising first. None for other tensors, and where it is
/// not known that a part would have much of the entries.
///
/// ```
/// use ust::{Tensor, advise, generate::generate};
///
/// let a = Tensor::from_coo(&generate("gen:rmat(scale=13, edges=60000, seed=1)")?, "CSR")?;
/// let texts = advise::compositions(&a)?;
/// assert!(texts.iter().all(|text| text.parse::<ust::format::Composition>().is_ok()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cost: as [`stats`](super::stats()).
///
/// # Errors
/// As [`Tensor::convert`].
pub fn compositions(tensor: &Tensor) -> Result<Vec<String>, Error> {
    let (stats, coo) = look(tensor)?;
    Ok(proposed(&stats, &coo))
}

/// Compositions that may suit a matrix with these entries, which are sorted.
pub(super) fn proposed(stats: &TensorStats, coo: &Coo) -> Vec<String> {
    let ([rows, _], [of_row, of_column]) = (&stats.shape[..], &coo.crd[..]) else {
        return Vec::new();
    };
    let (entries, mut texts) = (coo.len() as f64, Vec::new());
    let few = |rest: usize| (rest as f64) < FEW_ROWS * *rows as f64;
    // Diagonals.
    let mut diagonals: HashMap<i64, usize> = HashMap::new();
    for (i, j) in of_row.iter().zip(of_column) {
        *diagonals.entry(j - i).or_default() += 1;
    }
    let length = |offset: i64| {
        let (rows, columns) = (stats.shape[0] as i64, stats.shape[1] as i64);
        (rows.min(columns - offset) - 0.max(-offset)).max(1) as f64
    };
    let full = diagonals.iter().filter(|(at, n)| **n as f64 / length(**at) >= FULL_DIAGONAL);
    let on_full: usize = full.map(|(_, n)| n).sum();
    let rest = coo.len() - on_full;
    if on_full as f64 >= PART * entries && rest > 0 {
        let last: &[&str] = if few(rest) { &["COO", "DCSR"] } else { &["CSR"] };
        let split = |last: &&str| format!("DIA where fill(j - i) >= {FULL_DIAGONAL} + {last}");
        texts.extend(last.iter().map(split));
    }
    // Rows.
    let mut lengths: Vec<usize> = of_row.chunk_by(|a, b| a == b).map(<[i64]>::len).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let enough = (rows / ROWS_SHARE).max(ROWS_LEAST).min(*rows).max(1);
    if let Some(&k) = lengths.get(enough - 1)
        && k < lengths[0]
    {
        let last = if lengths.iter().filter(|&&n| n > k).count() as f64 <= FEW_ROWS * *rows as f64 {
            "DCSR"
        } else {
            "CSR"
        };
        texts.extend([format!("ELL where #i < {k} + COO"), format!("ELL where #i < {k} + {last}")]);
    }
    // Blocks.
    let some = stats.blocks.iter().filter(|blocks| {
        blocks.fill >= SOME_BLOCKS.0 && blocks.fill < SOME_BLOCKS.1 && !blocks.extents.contains(&1)
    });
    for blocks in some {
        if let [m, n] = blocks.extents[..] {
            texts.push(format!("BSR({m}, {n}) where fill(i / {m}, j / {n}) >= {FULL_BLOCK} + CSR"));
        }
    }
    texts
}

/// Splits a tensor as said, and measures it in turns with its best single format. `None` if one part has next to all.
pub(super) fn measured(
    text: &str,
    source: &Tensor,
    best: &Tensor,
    operation: &Operation,
    budget: Duration,
) -> Result<Option<Split>, OpError> {
    let composition = Composition::resolve(text, Some(source.rank()))
        .map_err(|error| OpError::from(ust_engine::Error::from(error)))?;
    let start = Instant::now();
    let composed = operation.within(|| Composed::split(source, &composition))?;
    let split_seconds = start.elapsed().as_secs_f64();
    let first = composed.parts()[0].nnz() as f64;
    let all = composed.nnz() as f64;
    if first < PART * all || first == all {
        return Ok(None);
    }
    let (kernel, one) = (operation.prepare(&composed)?, operation.prepare(best)?);
    let mut room = operation.room(&one, best)?;
    let once = |room: &mut Option<Values>| -> Result<f64, OpError> {
        let start = Instant::now();
        operation.run_composed(&kernel, &composed, room)?;
        Ok(start.elapsed().as_secs_f64())
    };
    let warm = once(&mut room)?;
    let time = SECONDS.min(SHARE * budget.as_secs_f64());
    let rounds = ((time / warm.max(1e-6)) as usize).clamp(ROUNDS.0, ROUNDS.1);
    let (mut own, mut other) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for round in 0..rounds {
        // Others on the machine take most of the time there is.
        if round >= ROUNDS.0 && began.elapsed().as_secs_f64() > CROWDED * time {
            break;
        }
        // What was measured last has taken the place of this one in the caches.
        operation.run(&one, best, &mut room)?;
        let start = Instant::now();
        operation.run(&one, best, &mut room)?;
        other.push(start.elapsed().as_secs_f64());
        once(&mut room)?;
        own.push(once(&mut room)?);
    }
    let low = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 4]
    };
    let (seconds, other) = (low(&mut own), low(&mut other));
    Ok(Some(Split {
        text: composition.to_string(),
        bytes: composed.bytes(),
        stored: composed.nse(),
        split_seconds,
        seconds,
        relative: seconds / other,
    }))
}
