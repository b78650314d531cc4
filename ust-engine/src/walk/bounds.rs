//! The interval of valid coordinates of a level, given the coordinates of the levels above.
//!
//! The inverse map gives each dimension as an expression over level coordinates. Where the
//! expression is a sum of multiples, `0 <= dimension < extent` is solved for the coordinate of the
//! level. The interval is exact for the last level that the dimension depends on. For a level
//! above, the interval contains each coordinate that is valid with some coordinates of the levels
//! below. Example: of a matrix in DIA with `d = i - j`, the row `i` of diagonal `d` lies in
//! `max(0, d) .. min(rows, columns + d)`.
//!
//! Where the expression is no sum of multiples (linearised dimensions), the interval is not
//! narrowed, and [`Bounds::needs_guard`] is true: the walk tests the dimension when its last level
//! is reached.

use ust_format::{Format, IndexExpr};
use ust_level_api::ir::{BinOp, Expr};
use ust_level_api::walk::Interval;

/// A sum of multiples of variables and a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The factor of each variable.
    pub factors: Vec<i64>,
    /// The constant term.
    pub constant: i64,
}

impl Affine {
    /// The expression as a sum of multiples of `count` variables; `None` for another expression.
    #[must_use]
    pub fn of(expr: &IndexExpr, count: usize) -> Option<Self> {
        match expr {
            IndexExpr::Const(value) => Some(Self { factors: vec![0; count], constant: *value }),
            IndexExpr::Var(at) => {
                let mut factors = vec![0; count];
                factors[*at] = 1;
                Some(Self { factors, constant: 0 })
            }
            IndexExpr::Add(a, b) => Self::of(a, count)?.plus(&Self::of(b, count)?, 1),
            IndexExpr::Sub(a, b) => Self::of(a, count)?.plus(&Self::of(b, count)?, -1),
            IndexExpr::Mul(a, b) => {
                let (a, b) = (Self::of(a, count)?, Self::of(b, count)?);
                let zero = Self { factors: vec![0; count], constant: 0 };
                match (a.factors == zero.factors, b.factors == zero.factors) {
                    (true, _) => zero.plus(&b, a.constant),
                    (_, true) => zero.plus(&a, b.constant),
                    _ => None,
                }
            }
            IndexExpr::FloorDiv(..) | IndexExpr::Mod(..) => None,
        }
    }

    fn plus(&self, other: &Self, times: i64) -> Option<Self> {
        let add = |a: i64, b: i64| a.checked_add(b.checked_mul(times)?);
        let factors = self.factors.iter().zip(&other.factors).map(|(&a, &b)| add(a, b));
        Some(Self {
            factors: factors.collect::<Option<_>>()?,
            constant: add(self.constant, other.constant)?,
        })
    }
}

/// The sizes that bounds depend on, as IR.
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Extent of each dimension of the whole tensor, and then the number of values of each counter.
    pub extents: Vec<Expr>,
    /// Number of coordinates of each level.
    pub sizes: Vec<Expr>,
    /// Lowest coordinate of each level.
    pub lowers: Vec<Expr>,
    /// The [sizes of items](super::operand::ItemSize), if there is a batch.
    pub items: Vec<Expr>,
}

/// The inverse map of a format, prepared for bounds.
#[derive(Clone, Debug)]
pub struct Bounds {
    inverse: Vec<IndexExpr>,
    affine: Vec<Option<Affine>>,
    /// For each dimension, the last level that it depends on.
    completed_by: Vec<usize>,
}

impl Bounds {
    /// Prepares the inverse map of a format.
    #[must_use]
    pub fn new(format: &Format) -> Self {
        let levels = format.level_count();
        let inverse = format.inverse().to_vec();
        let affine = inverse.iter().map(|e| Affine::of(e, levels)).collect();
        let completed_by =
            inverse.iter().map(|e| e.vars().into_iter().next_back().unwrap_or(0)).collect();
        Self { inverse, affine, completed_by }
    }

    /// The dimensions whose last level is this one: their coordinates are known from here on.
    pub fn completed_at(&self, level: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.inverse.len()).filter(move |&dim| self.completed_by[dim] == level)
    }

    /// Whether a dimension must be tested, because [`Bounds::interval`] does not narrow its levels.
    #[must_use]
    pub fn needs_guard(&self, dim: usize) -> bool {
        self.affine[dim].is_none()
    }

    /// The interval of a level's coordinate, given the coordinates of the levels above.
    #[must_use]
    pub fn interval(&self, level: usize, above: &[Expr], sizes: &Sizes) -> Interval {
        let lower = sizes.lowers[level].clone();
        let mut lo = lower.clone();
        let mut hi = lower + sizes.sizes[level].clone();
        for (dim, affine) in self.affine.iter().enumerate() {
            let Some(affine) = affine else { continue };
            let factor = affine.factors[level];
            // A level that stores the dimension itself has the extent as its size.
            let plain = self.inverse[dim] == IndexExpr::Var(level);
            if factor == 0 || plain {
                continue;
            }
            let (least, most) = rest(affine, level, above, sizes);
            let extent = sizes.extents[dim].clone();
            // least <= dimension - factor * x <= most: some value of the levels below satisfies
            // 0 <= dimension < extent.
            if factor > 0 {
                if !never_negative(affine, sizes) {
                    lo = lo.max(ceil_div(Expr::Int(0) - most, factor));
                }
                hi = hi.min(ceil_div(extent - least, factor));
            } else {
                lo = lo.max(ceil_div(least - (extent - 1), -factor));
                hi = hi.min(most.floor_div(-factor) + 1);
            }
        }
        Interval { lo, hi }
    }
}

impl Bounds {
    /// Whether every coordinate of a level is inside the shape, given the coordinates of the levels
    /// above: constant where that is certain or never known, else a condition. Asked of the dimensions
    /// that the level completes.
    pub(crate) fn is_whole(&self, level: usize, above: &[Expr], sizes: &Sizes) -> Expr {
        if self.completed_at(level).any(|dim| self.needs_guard(dim)) {
            return Expr::Bool(false);
        }
        let first = sizes.lowers[level].clone();
        let end = first.clone() + sizes.sizes[level].clone();
        let Interval { lo, hi } = self.interval(level, above, sizes);
        let begins = if lo == first { Expr::Bool(true) } else { lo.le(first) };
        let ends = match hi {
            hi if hi == end => Expr::Bool(true),
            Expr::Binary(BinOp::Min, a, b) if *a == end => end.le(*b),
            hi => end.le(hi),
        };
        begins.and(ends)
    }

    /// The factor of each level's coordinate in a dimension. `None` where the dimension is no sum
    /// of multiples.
    pub(crate) fn factors(&self, dim: usize) -> Option<&[i64]> {
        self.affine[dim].as_ref().map(|affine| &affine.factors[..])
    }

    /// The interval of a level's coordinate where the coordinate of a dimension lies in an
    /// interval, given the coordinates of the levels above. `None` where the dimension does not
    /// depend on the level, or is no sum of multiples.
    pub(crate) fn at(
        &self,
        (dim, at): (usize, &Interval),
        level: usize,
        above: &[Expr],
        sizes: &Sizes,
    ) -> Option<Interval> {
        let affine = self.affine[dim].as_ref()?;
        let (least, most) = rest(affine, level, above, sizes);
        let first = at.lo.clone();
        let last = if at.is_one() { first.clone() } else { at.hi.clone() - 1 };
        match affine.factors[level] {
            0 => None,
            factor @ 1.. => Some(Interval {
                lo: ceil_div(first - most, factor),
                hi: (last - least).floor_div(factor) + 1,
            }),
            factor => Some(Interval {
                lo: ceil_div(least - last, -factor),
                hi: (most - first).floor_div(-factor) + 1,
            }),
        }
    }
}

/// The least and the greatest value of a dimension without the term of this level.
fn rest(affine: &Affine, level: usize, above: &[Expr], sizes: &Sizes) -> (Expr, Expr) {
    let mut known = Expr::Int(affine.constant);
    for (at, &factor) in affine.factors.iter().enumerate().take(level) {
        if factor != 0 {
            known = known + above[at].clone() * factor;
        }
    }
    let (mut least, mut most) = (known.clone(), known);
    for (at, &factor) in affine.factors.iter().enumerate().skip(level + 1) {
        if factor != 0 {
            let first = sizes.lowers[at].clone() * factor;
            let span = (sizes.sizes[at].clone() - 1) * factor;
            let (low, high) = if factor > 0 {
                (first.clone(), first + span)
            } else {
                (first.clone() + span, first)
            };
            least = least + low;
            most = most + high;
        }
    }
    (least, most)
}

/// Whether a dimension is nonnegative for all coordinates in the levels.
fn never_negative(affine: &Affine, sizes: &Sizes) -> bool {
    let levels = affine.factors.iter().zip(&sizes.lowers);
    let mut natural =
        levels.map(|(&factor, lower)| factor == 0 || (factor > 0 && *lower == Expr::Int(0)));
    affine.constant >= 0 && natural.all(|one| one)
}

/// The quotient by a positive number, rounded up.
fn ceil_div(a: Expr, by: i64) -> Expr {
    if by == 1 { a } else { (a + (by - 1)).floor_div(by) }
}
