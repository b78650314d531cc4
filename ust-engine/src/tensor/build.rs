//! From coordinates to storage: map to levels, sort, merge duplicates, assemble level by level.

use rayon::prelude::*;
use ust_level_api::check::MAX_POSITIONS;
use ust_level_api::{Buffer, Crd, Entries, LevelError, Pos, Scalar, full};

use super::values::{StoredElement, Values};
use super::{Tensor, access};
use crate::coo::Coo;
use crate::error::Error;
use crate::format::{Bound, Format, IndexExpr};
use crate::with_values;

/// Memory that one tensor may take, unless [`BuildOptions::memory_limit`] says otherwise.
pub const MEMORY_LIMIT: u64 = 16 << 30;

/// What to do with several entries at the same coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// Keep them where the format is nonunique as a whole, else sum them.
    #[default]
    AsFormat,
    /// Sum them.
    Sum,
    /// Refuse them with [`Error::Duplicate`].
    Refuse,
}

/// How a tensor is built.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// What to do with several entries at the same coordinates.
    pub duplicates: Duplicates,
    /// What is not stored has this value; zero of the values' dtype by default.
    pub fill: Option<Scalar>,
    /// Bytes that the tensor may take: a dense format of a huge shape is refused, not tried.
    pub memory_limit: u64,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self { duplicates: Duplicates::AsFormat, fill: None, memory_limit: MEMORY_LIMIT }
    }
}

impl Tensor {
    /// A tensor with the given entries, in any order; duplicates as the format says.
    ///
    /// # Errors
    /// As [`Tensor::from_coo_with`].
    pub fn from_coo(coo: &Coo, format: &Format) -> Result<Self, Error> {
        Self::from_coo_with(coo, format, &BuildOptions::default())
    }

    /// A tensor with the given entries, in any order.
    ///
    /// Entries equal to the fill value are padding in a format that ends in a full or padded level;
    /// elsewhere they are stored like any other. Cost: O(n log n) for n unsorted entries, O(n) for
    /// entries in the format's own order; parallel.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] and [`Error::Columns`] for bad entries, [`Error::Format`] when shape
    /// and format do not match, [`Error::Duplicate`] where those are refused, [`Error::Level`] when
    /// a level cannot hold its entries or a width is too narrow, [`Error::TooLarge`] beyond the
    /// memory limit.
    pub fn from_coo_with(
        coo: &Coo,
        format: &Format,
        options: &BuildOptions,
    ) -> Result<Self, Error> {
        coo.check()?;
        if format.has_slices() {
            let text = "a sliced format shows part of a tensor that exists: build the tensor in \
                        the format without slices, then use `Tensor::slice`";
            return Err(Error::Unsupported(text.to_owned()));
        }
        let bound = format.bind(&coo.shape)?;
        let fill = fill_for(&coo.values, options.fill)?;
        let mut sorted = Sorted::new(coo, &bound)?;
        let merge = options.duplicates == Duplicates::Sum || format.is_unique();
        let values = match (sorted.has_duplicates(), options.duplicates) {
            (None, _) => coo.values.gather(&sorted.order),
            (Some(at), Duplicates::Refuse) => {
                let coordinates = coo.coordinates(sorted.order[at] as usize);
                return Err(Error::Duplicate { coordinates });
            }
            (Some(_), _) if merge => sorted.merge(&coo.values),
            (Some(_), _) => coo.values.gather(&sorted.order),
        };
        let values = match access::ends_in_padding(format) {
            true => sorted.drop_fill(values, fill),
            false => values,
        };
        sorted.assemble(&bound, &values, fill, options.memory_limit)
    }

    /// A tensor with nothing stored but padding.
    ///
    /// # Errors
    /// As [`Tensor::from_coo`].
    pub fn zeros(
        shape: &[usize],
        format: &Format,
        dtype: ust_level_api::Dtype,
    ) -> Result<Self, Error> {
        let values = Values::filled(dtype.zero(), 0);
        let coo = Coo::new(shape.to_vec(), vec![Vec::new(); shape.len()], values)?;
        Self::from_coo(&coo, format)
    }
}

fn fill_for(values: &Values, fill: Option<Scalar>) -> Result<Scalar, Error> {
    let Some(fill) = fill else { return Ok(values.dtype().zero()) };
    fill.cast(values.dtype()).map_err(|e| Error::Cast { value: e.value, at: 0, to: e.to })
}

/// How many values differ from a fill value.
pub(super) fn differing<T: StoredElement>(values: &Buffer<T>, fill: Scalar) -> usize {
    let fill = T::from_scalar(fill);
    values.iter().filter(|v| !fill.is_some_and(|f| f.same(**v))).count()
}

/// Entries in the order of a format's levels.
struct Sorted {
    /// For each level above the trailing full ones, the coordinate of each entry.
    levels: Vec<Vec<Crd>>,
    /// For each entry, its place within the block that the trailing full levels make.
    offset: Vec<Pos>,
    /// Number of places in that block.
    block: u64,
    /// For each entry, where it stood in the source.
    order: Vec<u64>,
}

impl Sorted {
    fn new(coo: &Coo, bound: &Bound) -> Result<Self, Error> {
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
        let mut offset = vec![0_u64; coo.len()];
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
        self.offset[a].cmp(&self.offset[b])
    }

    fn same(&self, a: usize, b: usize) -> bool {
        self.compare(a, b).is_eq()
    }

    /// Keeps the entries at the given places, in that order.
    fn permute(&mut self, order: Vec<u64>) {
        for column in &mut self.levels {
            *column = order.par_iter().map(|&at| column[at as usize]).collect();
        }
        self.offset = order.par_iter().map(|&at| self.offset[at as usize]).collect();
        self.order = order.into_par_iter().map(|at| self.order[at as usize]).collect();
    }

    /// The second of the first two entries at the same coordinates.
    fn has_duplicates(&self) -> Option<usize> {
        (1..self.order.len()).find(|&at| self.same(at - 1, at))
    }

    /// Sums entries at the same coordinates, in the order of the source.
    fn merge(&mut self, source: &Values) -> Values {
        let firsts: Vec<u64> = (0..self.order.len())
            .filter(|&at| at == 0 || !self.same(at - 1, at))
            .map(|at| at as u64)
            .collect();
        let order = std::mem::take(&mut self.order);
        let merged = with_values!(source, from => {
            let mut sums = Vec::with_capacity(firsts.len());
            for (group, &first) in firsts.iter().enumerate() {
                let end = firsts.get(group + 1).map_or(order.len(), |&next| next as usize);
                let members = order[first as usize..end].iter().map(|&at| from[at as usize]);
                sums.push(members.reduce(ust_level_api::Element::plus).expect("a first member"));
            }
            Values::from(sums)
        });
        self.order = order;
        self.permute(firsts);
        merged
    }

    /// Drops entries equal to the fill value: padding will stand for them.
    fn drop_fill(&mut self, values: Values, fill: Scalar) -> Values {
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

    /// Gathers entries into blocks: for each entry its block, and the first entry of each block.
    /// Entries with equal level coordinates share a block, except that a place taken twice opens
    /// another one.
    fn blocks(&self) -> (Vec<usize>, Vec<usize>) {
        let n = self.order.len();
        let mut heads = Vec::new();
        let mut block = Vec::with_capacity(n);
        let mut group = 0;
        let mut rank = 0;
        for at in 0..n {
            let joined = at > 0 && self.levels.iter().all(|column| column[at] == column[at - 1]);
            if !joined {
                group = heads.len();
                rank = 0;
            } else if self.offset[at] == self.offset[at - 1] {
                rank += 1;
            } else {
                rank = 0;
            }
            if group + rank == heads.len() {
                heads.push(at);
            }
            block.push(group + rank);
        }
        (block, heads)
    }

    fn assemble(
        self,
        bound: &Bound,
        values: &Values,
        fill: Scalar,
        memory_limit: u64,
    ) -> Result<Tensor, Error> {
        let tail = self.levels.len();
        // Without trailing full levels, every entry is a block of its own.
        let (block_of, heads) = match tail == bound.levels().len() {
            true => ((0..self.order.len()).collect(), (0..self.order.len()).collect()),
            false => self.blocks(),
        };
        let mut position: Vec<Pos> = vec![0; heads.len()];
        let mut positions: Pos = 1;
        let mut arrays = Vec::with_capacity(bound.levels().len());
        let plausible = |positions: u64, bytes: u64, what: &str| match positions
            .checked_mul(bytes)
            .filter(|&total| total <= memory_limit)
        {
            Some(_) => Ok(()),
            None => Err(too_large_for(what, positions, memory_limit)),
        };
        for (level, column) in self.levels.iter().enumerate() {
            plausible(positions, 8, "the positions")?;
            let crd: Vec<Crd> = heads.iter().map(|&at| column[at]).collect();
            let entries = Entries { parents: positions, parent: &position, crd: &crd };
            let site = bound.site(level);
            let made = bound.format().levels()[level]
                .ty
                .assemble(&site, &entries)
                .map_err(|source| level_error(bound, level, source))?;
            arrays.push(made.arrays);
            (position, positions) = (made.position, made.positions);
        }
        arrays.resize_with(bound.levels().len(), Default::default);
        let length = positions.checked_mul(self.block).filter(|&n| n <= MAX_POSITIONS);
        let length = length.ok_or_else(|| too_large("the stored values", bound))?;
        plausible(length, values.dtype().bytes() as u64, "the values")?;
        let stored = with_values!(values, from => {
            scatter(from, fill, length as usize, |at| {
                position[block_of[at]] * self.block + self.offset[at]
            })
        });
        Ok(Tensor::trusted(bound.clone(), arrays, stored, fill, true))
    }
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

/// An error of a level, with where it stands.
pub(super) fn level_error(bound: &Bound, level: usize, source: LevelError) -> Error {
    Error::Level { level, text: bound.format().level_text(level), source }
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
