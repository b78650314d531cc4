//! A format bound to a shape: the coordinates of each level.

use std::sync::Arc;

use ust_level_api::Site;

use super::error::FormatError;
use super::form::{Atom, Form};
use super::inverse::Limit;
use super::model::Format;
use super::print::Printed;
use super::spec::Counter;

/// The coordinates of a level, `lower .. lower + size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LevelDomain {
    /// The smallest coordinate: negative for a difference such as `j - i`.
    pub lower: i64,
    /// The number of coordinates.
    pub size: u64,
}

/// A format together with a shape that suits it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound(Arc<Parts>);

#[derive(Debug, PartialEq)]
struct Parts {
    format: Format,
    shape: Vec<usize>,
    extents: Vec<usize>,
    levels: Vec<LevelDomain>,
}

impl Bound {
    /// The format.
    #[must_use]
    pub fn format(&self) -> &Format {
        &self.0.format
    }

    /// The shape; for a sliced format that of the base tensor.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.0.shape
    }

    /// The shape, and then for each counter the number of its values.
    #[must_use]
    pub fn extents(&self) -> &[usize] {
        &self.0.extents
    }

    /// For each counter, the number of its values.
    #[must_use]
    pub fn counts(&self) -> &[usize] {
        &self.0.extents[self.0.shape.len()..]
    }

    /// The coordinates of every level.
    #[must_use]
    pub fn levels(&self) -> &[LevelDomain] {
        &self.0.levels
    }

    /// Number of items of the batch that the level is below; 1 without one.
    #[must_use]
    pub fn items(&self, level: usize) -> u64 {
        let above = &self.0.levels[..self.0.format.batches().min(level)];
        above.iter().fold(1, |items, level| items.saturating_mul(level.size))
    }

    /// The [`Site`] of level `level`, for assembly and checks.
    ///
    /// # Panics
    /// If there is no such level.
    #[must_use]
    pub fn site(&self, level: usize) -> Site {
        let LevelDomain { lower, size } = self.0.levels[level];
        Site {
            size,
            lower,
            pos_width: self.0.format.pos_width(),
            crd_width: self.0.format.crd_width(),
            items: self.items(level),
            ..Site::default()
        }
    }
}

impl Format {
    /// Binds the format to a shape; for a sliced format, to the shape of the base tensor. Counters get as many values
    /// as entries of this shape can need. Cost: O(size of the format).
    ///
    /// # Errors
    /// If the rank of the shape differs, a slice reaches beyond the shape, a linearised level
    /// cannot be inverted for these extents, or a level's coordinates do not fit in 64 bits.
    pub fn bind(&self, shape: &[usize]) -> Result<Bound, FormatError> {
        let most = |counter: &Counter| {
            let others = shape.iter().enumerate().filter(|(dim, _)| !counter.of.contains(dim));
            others.fold(1_usize, |all, (_, &extent)| all.saturating_mul(extent))
        };
        let counts: Vec<usize> = self.counters().iter().map(most).collect();
        self.bind_counted(shape, &counts)
    }

    /// As [`Format::bind`], with the number of values of each counter.
    ///
    /// # Errors
    /// As [`Format::bind`].
    ///
    /// # Panics
    /// If `counts` are not as many as there are counters.
    pub fn bind_counted(&self, shape: &[usize], counts: &[usize]) -> Result<Bound, FormatError> {
        assert_eq!(counts.len(), self.counters().len(), "a number for each counter");
        if shape.len() != self.rank() {
            let message = format!(
                "the format has {} dimensions, the shape {shape:?} has {}",
                self.rank(),
                shape.len()
            );
            let printed = Printed::ust(self);
            return Err(FormatError::new(&printed.text, printed.all_dims, message));
        }
        let at_dim = |dim: usize, message: String| {
            let printed = Printed::ust(self);
            FormatError::new(&printed.text, printed.dims[dim].clone(), message)
        };
        let mut extents = Vec::with_capacity(self.axes());
        for (dim, (&extent, spec)) in shape.iter().zip(self.dims()).enumerate() {
            let name = &spec.name;
            let extent = i64::try_from(extent).map_err(|_| {
                at_dim(dim, format!("dimension `{name}` of extent {extent} is too large"))
            })?;
            if let Some(last) = spec.slice.and_then(|s| {
                let steps = s.size?.checked_sub(1)?.checked_mul(s.stride?)?;
                s.offset?.checked_add(steps)
            }) && last >= extent.unsigned_abs()
            {
                let message =
                    format!("the slice of `{name}` ends at {last}, beyond its extent {extent}");
                return Err(at_dim(dim, message));
            }
            extents.push(extent);
        }
        extents.extend(counts.iter().map(|&count| i64::try_from(count).unwrap_or(i64::MAX)));
        let at_level = |level: usize, message: String| {
            let printed = Printed::ust(self);
            FormatError::new(&printed.text, printed.levels[level].clone(), message)
        };
        for &Limit { dim, extent: limit, level } in self.limits() {
            if extents[dim] > limit {
                let message = format!(
                    "dimension `{}` has extent {}, but this level can only be inverted up to {limit}",
                    self.axis_name(dim),
                    extents[dim]
                );
                return Err(at_level(level, message).with_help(
                    "make the factor beside the next dimension at least as large as the extent",
                ));
            }
        }
        let levels = (0..self.level_count()).map(|level| {
            self.domain(self.form(level), &extents).and_then(domain_of).ok_or_else(|| {
                at_level(
                    level,
                    format!("this level's coordinates do not fit in 64 bits at shape {shape:?}"),
                )
            })
        });
        Ok(Bound(Arc::new(Parts {
            levels: levels.collect::<Result<_, _>>()?,
            format: self.clone(),
            shape: shape.to_vec(),
            extents: shape.iter().chain(counts).copied().collect(),
        })))
    }

    /// The smallest and largest value of a form. `Some(None)`: it has no values, because an extent
    /// is zero. `None`: overflow.
    fn domain(&self, form: &Form, extents: &[i64]) -> Option<Option<(i128, i128)>> {
        let split = self.splits().iter().find(|split| split.form == *form);
        let (mut lo, mut hi) = (i128::from(form.constant), i128::from(form.constant));
        let mut empty = false;
        for (atom, &coefficient) in &form.terms {
            let natural = match atom {
                Atom::Var(dim) => (extents[*dim] > 0).then(|| (0, i128::from(extents[*dim]) - 1)),
                Atom::Digit { modulus: Some(modulus), .. } => Some((0, i128::from(*modulus) - 1)),
                Atom::Digit { base, divisor, modulus: None } => {
                    let divisor = i128::from(*divisor);
                    self.domain(base, extents)?
                        .map(|(lo, hi)| (lo.div_euclid(divisor), hi.div_euclid(divisor)))
                }
            };
            let Some(mut range) = natural else {
                empty = true;
                continue;
            };
            // In a linearised level, a part takes every value up to the coefficient of the next
            // part.
            if let Some(&size) = split.and_then(|split| split.sizes.get(atom))
                && !matches!(atom, Atom::Digit { modulus: Some(_), .. })
            {
                range.1 = range.1.max(i128::from(size) - 1);
            }
            let coefficient = i128::from(coefficient);
            let ends = (range.0.checked_mul(coefficient)?, range.1.checked_mul(coefficient)?);
            lo = lo.checked_add(ends.0.min(ends.1))?;
            hi = hi.checked_add(ends.0.max(ends.1))?;
        }
        Some((!empty).then_some((lo, hi)))
    }
}

/// The domain of a range of values; `None` if it does not fit in 64 bits.
fn domain_of(range: Option<(i128, i128)>) -> Option<LevelDomain> {
    let Some((lo, hi)) = range else { return Some(LevelDomain { lower: 0, size: 0 }) };
    let size = hi.checked_sub(lo)?.checked_add(1)?;
    if size > i128::from(i64::MAX) || hi >= i128::from(i64::MAX) {
        return None;
    }
    Some(LevelDomain { lower: i64::try_from(lo).ok()?, size: u64::try_from(size).ok()? })
}
