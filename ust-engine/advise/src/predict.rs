//! Bytes and time of a format, estimated from how many different coordinates there are.
//!
//! Bytes: each level says what room it takes ([`LevelType::footprint`]), given how many coordinates
//! it stores; those are counted for all candidates in one pass. Time: the larger of what memory and
//! what the loops take, with the costs of a usual machine. It says what is worth measuring.
//!
//! [`LevelType::footprint`]: ust_level_api::LevelType::footprint

use std::collections::HashMap;

use ust_engine::coo::Coo;
use ust_engine::tensor::order_kind;
use ust_format::{Bound, Format, FormatError, IndexExpr};
use ust_level_api::{ArraySpec, Population, Role, Site};

use super::distinct::distinct;
use super::numbers::Counted;
use super::stats::lines;

/// What a tensor would take in a format: estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prediction {
    /// Values stored, padding included.
    pub stored: f64,
    /// Bytes of values and level arrays.
    pub bytes: f64,
    /// Seconds for the operation.
    pub seconds: f64,
}

/// What the operation does with each value, and what does it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Multiplications for each stored value.
    pub(super) work: f64,
    /// Bytes of the other operands and the result.
    pub(super) other_bytes: f64,
    pub(super) threads: f64,
}

/// Bytes a second that one thread reads from memory, and all together.
const BANDWIDTH: (f64, f64) = (25e9, 50e9);
/// Up to so many bytes, so many a second that each thread reads: from caches.
const CACHES: [(f64, f64); 2] = [(1e6, 200e9), (16e6, 80e9)];
/// Seconds for a value that stands in a block, and for one with a coordinate of its own.
const IN_BLOCK: f64 = 0.03e-9;
const ELEMENT: f64 = 0.2e-9;
/// Seconds to begin a block.
const BLOCK: f64 = 1e-9;
/// Seconds for each further column of the other operand.
const COLUMN: f64 = 0.05e-9;
/// Seconds to begin a segment.
const SEGMENT: f64 = 0.7e-9;

/// The sizes of a format's levels for a tensor.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    pub(super) levels: Vec<LevelSize>,
    pub(super) stored: f64,
    pub(super) bytes: f64,
    /// Whether it ends in values with a coordinate of their own.
    elements: bool,
    /// Positions of the level above the last that has segments, and of the last that is not full.
    segments: f64,
    blocks: f64,
}

/// A level's, as far as widths depend on it.
#[derive(Clone, Debug)]
pub(super) struct LevelSize {
    pub(super) site: Site,
    pub(super) positions: f64,
    /// Whether it stores positions.
    pub(super) has_pos: bool,
    /// The fewest bits of a coordinate, where it stores coordinates.
    pub(super) crd_bits: Option<u32>,
}

/// Bytes of a stored value.
#[derive(Clone, Copy)]
pub(super) struct ValueBytes {
    pub(super) each: usize,
    /// Whether one value stands for all, where no padding is stored.
    pub(super) iso: bool,
}

impl ValueBytes {
    /// In a format.
    pub(super) fn of(self, format: &Format) -> usize {
        if self.iso && !format.has_padding() { 0 } else { self.each }
    }
}

/// How many coordinates the levels of some formats store.
pub(super) struct Census {
    counted: Counted,
    entries: f64,
    counts: HashMap<Vec<IndexExpr>, f64>,
    /// Runs of neighbouring coordinates along the last dimension, and the coordinates that rows span.
    lines: (u64, u64),
}

impl Census {
    /// Counts for all the formats in one pass.
    pub(super) fn new<'a>(coo: &Coo, formats: impl Iterator<Item = &'a Format> + Clone) -> Self {
        let counted = Counted::new(coo, formats.clone());
        let mut lists: Vec<Vec<IndexExpr>> = Vec::new();
        for format in formats {
            for level in 0..format.level_count() {
                if let Some(list) = to_count(format, level, &counted)
                    && !lists.contains(&list)
                {
                    lists.push(list);
                }
            }
        }
        let found = distinct(&counted.columns(&coo.crd), &lists);
        let counts = lists.into_iter().zip(found).collect();
        Self { entries: coo.len() as f64, counts, lines: lines(&coo.crd), counted }
    }

    /// The format bound to the shape of the tensor.
    pub(super) fn bind(&self, format: &Format, shape: &[usize]) -> Result<Bound, FormatError> {
        self.counted.bind(format, shape)
    }

    pub(super) fn sizes(&self, bound: &Bound, values: ValueBytes) -> Sizes {
        let format = bound.format();
        let (mut parents, mut bytes, mut segments, mut blocks) = (1.0, 0.0, 1.0, 1.0);
        let mut levels = Vec::new();
        for (level, description) in format.descriptions().iter().enumerate() {
            let site = bound.site(level);
            let stored = match to_count(format, level, &self.counted) {
                Some(list) => self.counts.get(&list).copied().unwrap_or(self.entries),
                None => self.entries,
            };
            let (runs, span) = match ends_rows(format, level) {
                // Numbers count up from 0.
                _ if counts(format, level) || counts_down(format, level) => {
                    (f64::min(parents, stored), stored)
                }
                true => (self.lines.0 as f64, self.lines.1 as f64),
                false => (stored, parents * site.size as f64),
            };
            let population = Population { parents, stored, runs, span };
            let room = format.levels()[level].ty.footprint(&site, &population);
            let arrays = &description.arrays;
            if !description.props.full {
                blocks = room.positions;
                // Of one length, where no array says how long they are: the loop over them is unrolled.
                if arrays.iter().any(ArraySpec::bounds_children) {
                    segments = parents;
                }
            }
            parents = room.positions;
            bytes += room.bytes;
            let crd = arrays.iter().filter(|array| array.role == Role::Coordinate);
            levels.push(LevelSize {
                site,
                positions: room.positions,
                has_pos: arrays.iter().any(|array| array.role == Role::Position),
                crd_bits: crd.map(|array| array.min_bits).max(),
            });
        }
        let sorted = format.dims().iter().zip(bound.shape());
        let orders: usize = sorted
            .filter(|(dim, _)| dim.sorted.is_some())
            .map(|(_, &extent)| order_kind(format, extent).map_or(0, |kind| kind.bytes(extent)))
            .sum();
        let bytes = bytes + orders as f64 + parents * values.of(format) as f64;
        let elements = format.tail() == format.level_count();
        Sizes { levels, stored: parents, bytes, elements, segments, blocks }
    }
}

impl Sizes {
    pub(super) fn predict(&self, load: &Load) -> Prediction {
        let (each, begun) = match self.elements {
            true => (ELEMENT, 0.0),
            false => (IN_BLOCK, self.blocks * BLOCK),
        };
        let each = each + (load.work - 1.0) * COLUMN;
        let loops = (self.stored * each + self.segments * SEGMENT + begun) / load.threads;
        let moved = self.bytes + load.other_bytes;
        let rate = match CACHES.iter().find(|(most, _)| moved <= *most) {
            Some((_, rate)) => rate * load.threads,
            None => (BANDWIDTH.0 * load.threads).min(BANDWIDTH.1),
        };
        let memory = moved / rate;
        Prediction { stored: self.stored, bytes: self.bytes, seconds: memory.max(loops) }
    }
}

/// Whether a level stores a counter.
fn counts(format: &Format, level: usize) -> bool {
    matches!(format.levels()[level].expr, IndexExpr::Var(axis) if axis >= format.rank())
}

/// Whether a level stores the places of a dimension that is sorted as a whole, below numbers of entries alone: for each
/// number, those that have so many entries, which are the first.
fn counts_down(format: &Format, level: usize) -> bool {
    let IndexExpr::Var(dim) = format.levels()[level].expr else { return false };
    let Some(spec) = format.dims().get(dim) else { return false };
    let numbers = |above: usize| match format.levels()[above].expr {
        IndexExpr::Var(axis) => {
            axis.checked_sub(format.rank()).map(|at| &format.counters()[at].of[..])
        }
        _ => None,
    };
    spec.sorted.is_some_and(|sorted| sorted.window.is_none())
        && level == 1
        && numbers(0) == Some(&[dim][..])
}

/// Whether a level stores the last dimension, and those above store all others.
fn ends_rows(format: &Format, level: usize) -> bool {
    let is_stored = |dim: usize, upto: usize| {
        format.levels()[..upto].iter().any(|level| level.expr == IndexExpr::Var(dim))
    };
    let last = format.rank().checked_sub(1);
    last.is_some_and(|last| {
        format.levels()[level].expr == IndexExpr::Var(last)
            && (0..last).all(|dim| is_stored(dim, level))
    })
}

/// The expressions whose tuples a level stores, where those have to be counted: not where the level
/// is full, stores what its parent stores, or stores every entry.
fn to_count(format: &Format, level: usize, counted: &Counted) -> Option<Vec<IndexExpr>> {
    let props = format.descriptions()[level].props;
    if props.full || props.branchless || !props.unique {
        return None;
    }
    let places = counted.places(format);
    let list: Vec<IndexExpr> =
        format.levels()[..=level].iter().map(|level| level.expr.renamed(&places)).collect();
    let whole = (0..format.rank()).all(|dim| list.contains(&IndexExpr::Var(dim)));
    (!whole).then_some(list)
}
