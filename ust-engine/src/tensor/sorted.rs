//! Entries in the order of a format's levels: sorted, merged, assembled level by level.

use std::borrow::Cow;

use rayon::prelude::*;
use ust_level_api::check::MAX_POSITIONS;
use ust_level_api::{Buffer, Crd, Element, Entries, Pos, Scalar, Site, full};

use super::Tensor;
use super::build::level_error;
use super::values::{StoredElement, Values};
use crate::coo::Coo;
use crate::error::Error;
use crate::format::{Bound, IndexExpr};
use crate::with_values;

/// Entries in the order of a format's levels.
pub(super) struct Sorted {
    /// For each level above the trailing full ones, the coordinate of each entry.
    levels: Vec<Vec<Crd>>,
    /// For each entry, its place within the block that the trailing full levels make; nothing where
    /// that block has one place.
    offset: Vec<Pos>,
    /// Number of places in that block.
    block: u64,
    /// For each entry, where it stood in the source.
    pub(super) order: Vec<u64>,
}

impl Sorted {
    pub(super) fn new(coo: &Coo, bound: &Bound) -> Result<Self, Error> {
        let tail = bound.format().tail();
        let mut columns: Vec<Vec<Crd>> = bound
            .format()
            .levels()
            .iter()
            .map(|level| evaluate(&level.expr, coo))
            .collect::<Result<_, _>>()?;
        let domains = bound.levels();
        let mut block = 1_u64;
        for domain in &domains[tail..] {
            block = block
                .checked_mul(domain.size)
                .filter(|&b| b <= MAX_POSITIONS)
                .ok_or_else(|| too_large("the trailing full levels", bound))?;
        }
        let mut offset = vec![0_u64; if tail == domains.len() { 0 } else { coo.len() }];
        for (column, (level, domain)) in
            columns[tail..].iter().zip(domains.iter().enumerate().skip(tail))
        {
            let site = bound.site(level);
            debug_assert_eq!(site.size, domain.size);
            for (place, &crd) in offset.iter_mut().zip(column) {
                *place = full::position(&site, *place, crd);
            }
        }
        columns.truncate(tail);
        let mut sorted =
            Self { levels: columns, offset, block, order: (0..coo.len() as u64).collect() };
        sorted.sort(bound);
        Ok(sorted)
    }

    fn sort(&mut self, bound: &Bound) {
        let n = self.order.len();
        let keys = self.keys(bound);
        let order = match &keys {
            Some(keys) => {
                if keys.is_sorted() {
                    return;
                }
                let mut pairs: Vec<(u64, u64)> =
                    keys.par_iter().enumerate().map(|(at, &key)| (key, at as u64)).collect();
                // The place in the source decides among equals: sums have one order.
                pairs.par_sort_unstable();
                pairs.into_iter().map(|(_, at)| at).collect()
            }
            None => {
                let compare = |&a: &u64, &b: &u64| self.compare(a as usize, b as usize);
                let mut order: Vec<u64> = (0..n as u64).collect();
                if order.is_sorted_by(|a, b| compare(a, b).is_le()) {
                    return;
                }
                order.par_sort_by(compare);
                order
            }
        };
        self.permute(order);
    }

    /// One number for each entry that orders them, where the levels' sizes allow it.
    fn keys(&self, bound: &Bound) -> Option<Vec<u64>> {
        let tail = self.levels.len();
        let sizes: Vec<u64> = bound.levels()[..tail].iter().map(|l| l.size).collect();
        sizes.iter().try_fold(self.block, |all, &size| all.checked_mul(size.max(1)))?;
        let mut keys = vec![0_u64; self.order.len()];
        for (column, domain) in self.levels.iter().zip(bound.levels()) {
            keys.par_iter_mut().zip(column).for_each(|(key, &crd)| {
                *key = *key * domain.size + (crd - domain.lower) as u64;
            });
        }
        // Nothing to do where there are no offsets: the zip is empty.
        keys.par_iter_mut().zip(&self.offset).for_each(|(key, &offset)| {
            *key = *key * self.block + offset;
        });
        Some(keys)
    }

    fn compare(&self, a: usize, b: usize) -> std::cmp::Ordering {
        for column in &self.levels {
            let order = column[a].cmp(&column[b]);
            if order.is_ne() {
                return order;
            }
        }
        self.offset(a).cmp(&self.offset(b))
    }

    fn offset(&self, at: usize) -> Pos {
        self.offset.get(at).copied().unwrap_or(0)
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.compare(a, b).is_eq()
    }

    /// Keeps the entries at the given places, in that order.
    fn permute(&mut self, order: Vec<u64>) {
        for column in &mut self.levels {
            *column = order.par_iter().map(|&at| column[at as usize]).collect();
        }
        if !self.offset.is_empty() {
            self.offset = order.par_iter().map(|&at| self.offset[at as usize]).collect();
        }
        self.order = order.into_par_iter().map(|at| self.order[at as usize]).collect();
    }

    /// The second of the first two entries at the same coordinates.
    pub(super) fn has_duplicates(&self) -> Option<usize> {
        (1..self.order.len()).find(|&at| self.same(at - 1, at))
    }

    /// Sums entries at the same coordinates, in the order of the source.
    pub(super) fn merge(&mut self, source: &Coo) -> Result<Values, Error> {
        let firsts: Vec<u64> = (0..self.order.len())
            .filter(|&at| at == 0 || !self.same(at - 1, at))
            .map(|at| at as u64)
            .collect();
        let order = std::mem::take(&mut self.order);
        let merged = with_values!(&source.values, from => {
            let mut sums = Vec::with_capacity(firsts.len());
            for (group, &first) in firsts.iter().enumerate() {
                let end = firsts.get(group + 1).map_or(order.len(), |&next| next as usize);
                let (head, others) = (order[first as usize], &order[first as usize + 1..end]);
                let sum = others
                    .iter()
                    .try_fold(from[head as usize], |sum, &at| sum.checked_plus(from[at as usize]))
                    .ok_or_else(|| Error::Sum {
                        coordinates: source.coordinates(head as usize),
                        dtype: source.values.dtype(),
                    })?;
                sums.push(sum);
            }
            Values::from(sums)
        });
        self.order = order;
        self.permute(firsts);
        Ok(merged)
    }

    /// Drops entries equal to the fill value: padding will stand for them.
    pub(super) fn drop_fill(&mut self, values: Values, fill: Scalar) -> Values {
        fn wanted<T: StoredElement>(values: &Buffer<T>, fill: Scalar) -> Option<Vec<u64>> {
            let fill = T::from_scalar(fill)?;
            let kept: Vec<u64> =
                (0..values.len() as u64).filter(|&at| !fill.same(values[at as usize])).collect();
            (kept.len() < values.len()).then_some(kept)
        }
        let Some(kept) = with_values!(&values, b => wanted(b, fill)) else { return values };
        let values = values.gather(&kept);
        self.permute(kept);
        values
    }

    /// Gathers entries into blocks; `None` where every entry is a block of its own. Entries with
    /// equal level coordinates share a block, except that a place taken twice opens another one.
    fn blocks(&self) -> Option<Blocks> {
        if self.offset.is_empty() {
            return None;
        }
        let n = self.order.len();
        let mut first = Vec::new();
        let mut of = Vec::with_capacity(n);
        let mut group = 0;
        let mut rank = 0;
        for at in 0..n {
            let joined = at > 0 && self.levels.iter().all(|column| column[at] == column[at - 1]);
            if !joined {
                group = first.len();
                rank = 0;
            } else if self.offset[at] == self.offset[at - 1] {
                rank += 1;
            } else {
                rank = 0;
            }
            if group + rank == first.len() {
                first.push(at);
            }
            of.push(group + rank);
        }
        Some(Blocks { of, first })
    }

    pub(super) fn assemble(
        self,
        bound: &Bound,
        values: &Values,
        fill: Scalar,
        memory_limit: u64,
    ) -> Result<Tensor, Error> {
        let blocks = self.blocks();
        let count = blocks.as_ref().map_or(self.order.len(), |blocks| blocks.first.len());
        let mut position: Vec<Pos> = vec![0; count];
        let mut positions: Pos = 1;
        let mut arrays = Vec::with_capacity(bound.levels().len());
        let mut stored_bytes = 0;
        for (level, column) in self.levels.iter().enumerate() {
            // What a level keeps for each position, and what it needs meanwhile.
            let room = memory_limit.saturating_sub(stored_bytes) / 16;
            if positions > room {
                return Err(too_large_for("the positions", positions, memory_limit));
            }
            let crd: Cow<'_, [Crd]> = match &blocks {
                None => column.into(),
                Some(blocks) => blocks.first.iter().map(|&at| column[at]).collect(),
            };
            let entries = Entries { parents: positions, parent: &position, crd: &crd };
            let site = Site { max_positions: room, ..bound.site(level) };
            let made = bound.format().levels()[level]
                .ty
                .assemble(&site, &entries)
                .map_err(|source| level_error(bound, level, source))?;
            stored_bytes += made.arrays.bytes() as u64;
            arrays.push(made.arrays);
            (position, positions) = (made.position, made.positions);
        }
        arrays.resize_with(bound.levels().len(), Default::default);
        let length = positions.checked_mul(self.block).filter(|&n| n <= MAX_POSITIONS);
        let length = length.ok_or_else(|| too_large("the stored values", bound))?;
        let bytes = length.checked_mul(values.dtype().bytes() as u64);
        if bytes.is_none_or(|bytes| bytes > memory_limit.saturating_sub(stored_bytes)) {
            return Err(too_large_for("the values", length, memory_limit));
        }
        let stored = with_values!(values, from => {
            scatter(from, fill, length as usize, |at| match &blocks {
                None => position[at],
                Some(blocks) => position[blocks.of[at]] * self.block + self.offset[at],
            })
        });
        Ok(Tensor::trusted(bound.clone(), arrays, stored, fill, true))
    }
}

/// Entries gathered into the blocks that trailing full levels make.
struct Blocks {
    /// For each entry, its block.
    of: Vec<usize>,
    /// For each block, its first entry.
    first: Vec<usize>,
}

/// Writes each value to its place, and the fill value everywhere else.
fn scatter<T: StoredElement>(
    from: &Buffer<T>,
    fill: Scalar,
    length: usize,
    place: impl Fn(usize) -> Pos,
) -> Values {
    let mut stored = Values::filled(fill, length);
    let to = stored.typed_mut::<T>().expect("the fill value has the dtype of the values");
    for (at, &value) in from.iter().enumerate() {
        to[place(at) as usize] = value;
    }
    stored
}

/// A level expression of every entry.
fn evaluate(expr: &IndexExpr, coo: &Coo) -> Result<Vec<Crd>, Error> {
    if let IndexExpr::Var(dim) = expr {
        return Ok(coo.crd[*dim].clone());
    }
    (0..coo.len())
        .into_par_iter()
        .with_min_len(1 << 12)
        .map_init(
            || vec![0; coo.crd.len()],
            |dims, at| {
                for (dim, column) in dims.iter_mut().zip(&coo.crd) {
                    *dim = column[at];
                }
                expr.eval(dims)
            },
        )
        .collect::<Option<_>>()
        .ok_or_else(|| Error::TooLarge("a level coordinate does not fit 64 bits".to_owned()))
}

fn too_large(what: &str, bound: &Bound) -> Error {
    Error::TooLarge(format!(
        "{what} of shape {:?} in `{}` are more than can be addressed",
        bound.shape(),
        bound.format()
    ))
}

fn too_large_for(what: &str, count: u64, limit: u64) -> Error {
    Error::TooLarge(format!(
        "{what} would be {count} in number, beyond the memory limit of {limit} bytes: choose a \
         format that compresses this level, or raise `BuildOptions::memory_limit`"
    ))
}
