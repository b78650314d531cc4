//! Columns of entries in the terms of a format: level coordinates, offsets within blocks, values.

use ust_format::{Bound, Format, IndexExpr, LevelDomain};
use ust_kernels::moving::partition::shift_for_few;
use ust_level_api::check::MAX_POSITIONS;
use ust_level_api::column::{column_kind, expanded};
use ust_level_api::{IndexArray, IndexColumn, IndexKind};

use super::Table;
use super::expr::{Source, evaluate};
use crate::error::Error;
use crate::storage::coo::{Columns, Coo};
use crate::storage::{Tensor, Values};
use crate::tuning::{BUCKETS_MIN_BYTES, COUNTING_SORT_MIN_ENTRIES};
use crate::walk::access::Unpacked;
use crate::walk::bounds::Affine;
use crate::walk::scatter::{Key, Scattered, is_wide, scatter};
use crate::walk::sweep::{sweep, sweep_dim};
use crate::walk::unpack::{Wanted, What};

impl Table {
    /// The entries of coordinate lists. Parallel. Cost: O(entries).
    pub(in crate::convert) fn of_coo(coo: &Coo, bound: &Bound) -> Result<Self, Error> {
        let columns: Vec<Source<'_>> = coo.crd.iter().map(|column| Source::Wide(column)).collect();
        Self::of_sources(&columns, &coo.values, bound)
    }

    /// As [`Table::of_coo`]. Where a level stores a dimension itself, its column is shared. `distinct` says whether
    /// all entries are known to have different coordinates.
    pub(in crate::convert) fn of_columns(
        columns: &Columns,
        distinct: bool,
        bound: &Bound,
    ) -> Result<Self, Error> {
        let sources: Vec<Source<'_>> = columns.crd.iter().map(Source::Column).collect();
        Ok(Self { distinct, ..Self::of_sources(&sources, &columns.values, bound)? })
    }

    fn of_sources(columns: &[Source<'_>], values: &Values, bound: &Bound) -> Result<Self, Error> {
        let block = block_of(bound)?;
        let evaluated = |expr: &IndexExpr, domain: LevelDomain| {
            evaluate(expr, columns, values.len(), domain)
                .ok_or_else(|| Error::TooLarge("a level coordinate does not fit 64 bits".into()))
        };
        let levels = bound.format().levels().iter().zip(bound.levels());
        let levels = levels
            .take(bound.format().tail())
            .map(|(level, &domain)| evaluated(&level.expr, domain))
            .collect::<Result<_, _>>()?;
        let offset = match block {
            1 => IndexColumn::Same(0, values.len()),
            size => evaluated(&offset_expr(bound), LevelDomain { lower: 0, size })?,
        };
        let values = values.clone();
        Ok(Self { levels, offset, block, values, places: None, distinct: false, sorted: 0 })
    }
}

impl Table {
    /// The entries of a tensor. Parallel. Cost: O(nse).
    pub(in crate::convert) fn of_tensor(tensor: &Tensor, bound: &Bound) -> Result<Self, Error> {
        let block = block_of(bound)?;
        let mut wanted = level_columns(bound);
        // Without levels above the block, only the column of offsets tells the number of entries.
        if block != 1 || wanted.is_empty() {
            wanted.push(offset_column(bound, block));
        }
        let Unpacked { columns: mut levels, values, places } = tensor.unpack_entries(wanted)?;
        let offset = match levels.len() > bound.format().tail() {
            true => levels.pop().expect("one more than the levels"),
            false => IndexColumn::Same(0, levels[0].len()),
        };
        let distinct = tensor.format().is_unique();
        let whole = tensor.view().is_whole();
        let sorted = if whole { levels_in_order(tensor.format(), bound.format()) } else { 0 };
        if sorted < levels.len() {
            // A sort reads columns at arbitrary entries.
            for level in &mut levels {
                if let IndexColumn::Runs(starts) = level {
                    *level = expanded(starts).into();
                }
            }
        }
        Ok(Self { levels, offset, block, values, places, distinct, sorted })
    }

    /// Entries sorted by a key, which is the coordinate of the first level.
    fn by_key(made: Scattered, domain: LevelDomain) -> Self {
        let keys = match domain.lower {
            0 => IndexColumn::Runs(made.starts),
            lower => {
                let runs = IndexColumn::Runs(made.starts);
                let most = lower.saturating_add_unsigned(domain.size);
                IndexColumn::blocks(runs.len(), (lower, most), &|first, out| {
                    runs.read(first, out);
                    out.iter_mut().for_each(|crd| *crd += lower);
                })
            }
        };
        let mut table = Self::sorted(made.columns, made.values, keys.len());
        table.levels.insert(0, keys);
        table
    }

    /// Entries in the order of all levels, given the columns of the levels below the first.
    fn sorted(levels: Vec<IndexColumn>, values: Values, n: usize) -> Self {
        let (offset, sorted) = (IndexColumn::Same(0, n), levels.len() + 1);
        Self { levels, offset, block: 1, values, places: None, distinct: true, sorted }
    }
}

/// A sort by the first level of the target, which brings entries into the order of all its levels: see
/// [`sorts_by_first_level`]. Example: CSR to CSC.
pub(in crate::convert) enum FirstLevel {
    /// A walk for each coordinate, one coordinate after another: see [`sweep`].
    Swept,
    /// A counting sort: see [`scatter`]. With `buckets`, the counting sort moves entries to buckets of
    /// several coordinates, and each bucket is sorted afterwards.
    Counted { buckets: bool },
}

impl FirstLevel {
    /// `None` where a sort by the first level is not known to be enough. Cost: that of a sample.
    ///
    /// # Errors
    /// As [`is_wide`].
    pub(in crate::convert) fn of(tensor: &Tensor, bound: &Bound) -> Result<Option<Self>, Error> {
        let n = tensor.nse();
        if !tensor.view().is_whole() || !sorts_by_first_level(tensor.format(), n, bound) {
            return Ok(None);
        }
        let key = first_key(bound);
        if sweep_dim(tensor, key).is_some() {
            return Ok(Some(Self::Swept));
        }
        let buckets = key.domain.lower == 0
            && n * tensor.dtype().bytes() >= BUCKETS_MIN_BYTES
            && tensor.dtype().bytes() <= 8
            && is_wide(tensor, key)?;
        Ok(Some(Self::Counted { buckets }))
    }

    /// The entries, sorted. `None` where one stored value can stand for several entries.
    ///
    /// # Errors
    /// [`Error::Run`] for arrays that break their level's rules.
    pub(in crate::convert) fn table(
        &self,
        tensor: &Tensor,
        bound: &Bound,
    ) -> Result<Option<Table>, Error> {
        let key = first_key(bound);
        let (n, domain) = (tensor.nse(), key.domain);
        let mut columns: Vec<_> = bound.format().levels()[1..]
            .iter()
            .zip(&bound.levels()[1..])
            .map(|(level, domain)| (level.expr.clone(), kind(domain)))
            .collect();
        let buckets = match self {
            Self::Swept => {
                let made = sweep(tensor, key, &columns)?;
                return Ok(made.map(|made| Table::by_key(made, domain)));
            }
            Self::Counted { buckets } => *buckets,
        };
        let keep = tensor.has_padding().then(|| IndexArray::from(tensor.entry_mask()));
        if !buckets {
            let made = scatter(tensor, key, &columns, keep.as_ref())?;
            return Ok(made.map(|made| Table::by_key(made, domain)));
        }
        let shift = shift_for_few(n, domain.size);
        let expr = key.expr.clone().over(1 << shift);
        let few = LevelDomain { lower: 0, size: domain.size.div_ceil(1 << shift) };
        columns.push((key.expr.clone(), IndexKind::U32));
        let bucket = Key { expr: &expr, domain: few };
        let Some(made) = scatter(tensor, bucket, &columns, keep.as_ref())? else {
            return Ok(None);
        };
        let mut columns = made.columns;
        let Some(IndexColumn::U32(keys)) = columns.pop() else {
            unreachable!("the last column is the one of the keys, of 32 bits")
        };
        let mut table = Table::sorted(columns, made.values, keys.len());
        table.sort_buckets(&keys, shift, &made.starts[1..], domain.size);
        Ok(Some(table))
    }
}

/// The sort key: the coordinate at the first level.
fn first_key(bound: &Bound) -> Key<'_> {
    Key { expr: &bound.format().levels()[0].expr, domain: bound.levels()[0] }
}

/// Whether a stable sort by the first level of the target brings `n` entries of a source format
/// into the order of all target levels, and a counting sort is worth its cost. Example: CSR to CSC.
pub(super) fn sorts_by_first_level(from: &Format, n: usize, bound: &Bound) -> bool {
    let to = bound.format();
    let Some(domain) = bound.levels().first() else { return false };
    let few = |count: u64| u32::try_from(count).is_ok();
    let fits = to.tail() == to.level_count()
        && few(n as u64)
        && few(domain.size)
        && domain.size <= 2 * n as u64
        && n >= COUNTING_SORT_MIN_ENTRIES;
    fits && is_sorted_by_first_level(from, to)
}

/// Whether a stable sort by the first level of the target brings the entries of a source format into the order of all
/// target levels above the trailing full levels, and they are in no such order before.
pub(in crate::convert) fn is_sorted_by_first_level(from: &Format, to: &Format) -> bool {
    if !from.is_unique() || !from.is_ordered() || to.tail() == 0 {
        return false;
    }
    let own: Vec<&IndexExpr> = from.levels().iter().map(|level| &level.expr).collect();
    let levels = to.levels()[..to.tail()].iter();
    let wanted: Vec<&IndexExpr> = levels.map(|level| &level.expr).collect();
    !own.starts_with(&wanted[..1]) && is_sorted_below_first(&own, &wanted, from.rank())
}

/// Whether entries with the same value of the first target expression are in the order of the other
/// target expressions, where all entries are in the order of the source expressions.
///
/// Goes through the source expressions, and matches each with the next target expression. A source
/// expression is passed over where it is constant among these entries. Example:
/// from `(i / 2, j, i % 2)` to `(j, i)`, `j` is constant, and `i / 2` and `i % 2` together order by `i`.
fn is_sorted_below_first(source: &[&IndexExpr], target: &[&IndexExpr], rank: usize) -> bool {
    // Expressions that are constant among the entries, or ordered already.
    let mut known: Vec<&IndexExpr> = vec![target[0]];
    let mut next = target[1..].iter().copied();
    let mut wanted = next.next();
    // After a quotient of the wanted expression, the remainder that must follow.
    let mut remainder: Option<IndexExpr> = None;
    for &expr in source {
        let Some(want) = wanted else { break };
        let fixed = |v: usize| known.contains(&&IndexExpr::Var(v));
        if known.contains(&expr) || expr.vars().into_iter().all(fixed) {
            continue;
        }
        if let Some(rest) = &remainder {
            if rest != expr {
                return false;
            }
            remainder = None;
            known.push(want);
            wanted = next.next();
            continue;
        }
        if let Some(rest) = remainder_of_quotient(expr, want) {
            remainder = Some(rest);
            continue;
        }
        // Whether the expression grows with the variable, and its other variables are constant.
        let grows_with = |v: usize| {
            Affine::of(expr, rank).is_some_and(|sum| {
                let mut others =
                    sum.factors.iter().enumerate().filter(|(d, f)| *d != v && **f != 0);
                sum.factors[v] > 0 && others.all(|(d, _)| fixed(d))
            })
        };
        if expr != want && !matches!(want, IndexExpr::Var(v) if grows_with(*v)) {
            return false;
        }
        known.push(want);
        wanted = next.next();
    }
    wanted.is_none()
}

/// The remainder `of % c`, where `expr` is the quotient `of / c` with a positive constant `c`; else
/// `None`.
pub(super) fn remainder_of_quotient(expr: &IndexExpr, of: &IndexExpr) -> Option<IndexExpr> {
    let IndexExpr::FloorDiv(whole, by) = expr else { return None };
    let sized = matches!(**by, IndexExpr::Const(size) if size > 0);
    (sized && **whole == *of).then(|| IndexExpr::Mod(whole.clone(), by.clone()))
}

/// The number of leading target levels in whose order the entries of a source format are known to be.
pub(in crate::convert) fn levels_in_order(from: &Format, to: &Format) -> usize {
    // Where a coordinate is stored twice, the coordinates below it start again from the lowest.
    if !from.is_unique() || !from.is_ordered() {
        return 0;
    }
    let mut levels = from.levels().iter().map(|level| &level.expr);
    let wanted: Vec<&IndexExpr> = to.levels()[..to.tail()].iter().map(|l| &l.expr).collect();
    let mut known = 0;
    while let (Some(own), Some(&want)) = (levels.next(), wanted.get(known)) {
        if own == want {
            known += 1;
            continue;
        }
        // A quotient followed by its remainder gives the same order as the expression itself.
        if let Some(remainder) = remainder_of_quotient(own, want) {
            if levels.next() != Some(&remainder) {
                return known;
            }
            known += 1;
            continue;
        }
        let Some(remainder) = remainder_of_quotient(want, own) else { return known };
        known += 1;
        if wanted.get(known) != Some(&&remainder) {
            return known;
        }
        known += 1;
    }
    // All source levels are matched: each entry is alone under the matched coordinates.
    if levels.next().is_none() { wanted.len() } else { known }
}

/// The narrowest column that holds a level's coordinates.
pub(in crate::convert) fn kind(domain: &LevelDomain) -> IndexKind {
    let last = domain.lower.saturating_add_unsigned(domain.size.saturating_sub(1));
    column_kind(domain.lower, last)
}

/// The columns of coordinates at each level above the trailing full levels.
pub(super) fn level_columns(bound: &Bound) -> Vec<Wanted> {
    let levels = bound.format().levels().iter().zip(bound.levels());
    levels
        .take(bound.format().tail())
        .map(|(level, domain)| Wanted { what: What::Expr(level.expr.clone()), kind: kind(domain) })
        .collect()
}

/// The offset within the trailing dense block, which has `block` values.
pub(super) fn offset_column(bound: &Bound, block: u64) -> Wanted {
    let kind = kind(&LevelDomain { lower: 0, size: block });
    Wanted { what: What::Expr(offset_expr(bound)), kind }
}

/// Number of values in a trailing dense block.
///
/// # Errors
/// [`Error::TooLarge`] where they are more than can be addressed.
pub(in crate::convert) fn block_of(bound: &Bound) -> Result<u64, Error> {
    bound.levels()[bound.format().tail()..].iter().try_fold(1_u64, |block, domain| {
        block
            .checked_mul(domain.size)
            .filter(|&b| b <= MAX_POSITIONS)
            .ok_or_else(|| super::assemble::too_large("the trailing full levels", bound))
    })
}

/// The offset within the trailing dense block, as an expression over dimensions.
pub(in crate::convert) fn offset_expr(bound: &Bound) -> IndexExpr {
    let tail = bound.format().tail();
    let levels = bound.format().levels()[tail..].iter().zip(&bound.levels()[tail..]);
    let mut offset: Option<IndexExpr> = None;
    for (level, domain) in levels {
        let crd = match domain.lower {
            0 => level.expr.clone(),
            lower => {
                IndexExpr::Sub(Box::new(level.expr.clone()), Box::new(IndexExpr::Const(lower)))
            }
        };
        offset = Some(match offset {
            None => crd,
            Some(above) => {
                let size = IndexExpr::Const(domain.size as i64);
                let above = IndexExpr::Mul(Box::new(above), Box::new(size));
                IndexExpr::Add(Box::new(above), Box::new(crd))
            }
        });
    }
    offset.unwrap_or(IndexExpr::Const(0))
}
