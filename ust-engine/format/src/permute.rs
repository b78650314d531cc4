//! The same storage, with dimensions in another order.

use super::canonical::Canonical;
use super::form::{Atom, Form};
use super::inverse::{Limit, Split};
use super::model::{Format, Inner};
use super::spec::{Counter, DimSpec, LevelSpec};

impl Format {
    /// The format of the same storage after a permutation of dimensions, in which dimension `d` is
    /// the former dimension `order[d]`. Levels and widths stay as they are, and names of dimensions
    /// stay at their places. For CSR that is CSC, and vice versa. `None` unless `order` names each
    /// dimension once.
    ///
    /// ```
    /// use ust::Format;
    ///
    /// let csr: Format = "CSR".parse()?;
    /// assert_eq!(csr.permuted(&[1, 0]), Some("CSC".parse()?));
    /// assert_eq!(csr.permuted(&[0, 0]), None);
    /// # Ok::<(), ust::format::FormatError>(())
    /// ```
    #[must_use]
    pub fn permuted(&self, order: &[usize]) -> Option<Self> {
        let mut places = places(order, self.rank())?;
        if places.iter().enumerate().all(|(dim, &place)| dim == place) {
            return Some(self.clone());
        }
        let inner = self.inner();
        let counters = inner.counters.iter().map(|counter| {
            let mut of: Vec<usize> = counter.of.iter().map(|&dim| places[dim]).collect();
            of.sort_unstable();
            Counter { of }
        });
        let counters = counters.collect();
        places.extend(self.rank()..self.axes());
        let dims = inner.dims.iter().zip(order);
        let levels = inner.levels.iter().map(|level| {
            let expr = level.expr.renamed(&places);
            LevelSpec { name: level.name.clone(), expr, ty: level.ty.clone() }
        });
        let levels: Vec<LevelSpec> = levels.collect();
        let canonical = Canonical::new(&[]);
        let canonical = levels.iter().zip(&inner.canonical).map(|(level, form)| {
            // Renaming variables keeps the size of the form, which was not too large.
            canonical.of(&level.expr).unwrap_or_else(|_| form.renamed(&places))
        });
        let limits = inner.limits.iter().map(|limit| Limit { dim: places[limit.dim], ..*limit });
        let splits = inner.splits.iter().map(|split| Split {
            form: split.form.renamed(&places),
            sizes: split.sizes.iter().map(|(atom, &n)| (atom.renamed(&places), n)).collect(),
        });
        Some(Self::from_inner(Inner {
            dims: dims
                .map(|(dim, &of)| DimSpec { name: dim.name.clone(), ..inner.dims[of].clone() })
                .collect(),
            forms: inner.forms.iter().map(|form| form.renamed(&places)).collect(),
            canonical: canonical.collect(),
            counters,
            inverse: (order.iter().copied().chain(self.rank()..self.axes()))
                .map(|of| inner.inverse[of].clone())
                .collect(),
            limits: limits.collect(),
            splits: splits.collect(),
            levels,
            ..inner.clone()
        }))
    }
}

/// The new place of each dimension. `None` unless `order` names each dimension once.
fn places(order: &[usize], rank: usize) -> Option<Vec<usize>> {
    let mut places = vec![usize::MAX; rank];
    for (place, &dim) in order.iter().enumerate() {
        let free = places.get_mut(dim).filter(|place| **place == usize::MAX)?;
        *free = place;
    }
    (order.len() == rank).then_some(places)
}

impl Form {
    /// The form with `vars[v]` in place of variable `v`.
    fn renamed(&self, vars: &[usize]) -> Self {
        let terms = self.terms.iter().map(|(atom, &c)| (atom.renamed(vars), c));
        Self { terms: terms.collect(), constant: self.constant }
    }
}

impl Atom {
    fn renamed(&self, vars: &[usize]) -> Self {
        match self {
            Self::Var(var) => Self::Var(vars[*var]),
            Self::Digit { base, divisor, modulus } => Self::Digit {
                base: Box::new(base.renamed(vars)),
                divisor: *divisor,
                modulus: *modulus,
            },
        }
    }
}
