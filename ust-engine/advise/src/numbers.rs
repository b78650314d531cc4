//! The numbers that counters give to entries.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use ust_format::{Bound, Format, FormatError};

use super::distinct::{Hashed, mix};

/// The numbers that entries have among those with the same coordinates in some dimensions.
pub(super) struct Numbers {
    of: Vec<usize>,
    /// For each entry, in the order of the entries, whatever it is: estimates do not depend on it.
    column: Vec<i64>,
    /// How many numbers there are.
    count: usize,
}

/// The numbers of all counters of some formats.
pub(super) struct Counted(Vec<Numbers>);

impl Counted {
    pub(super) fn new<'a>(crd: &[Vec<i64>], formats: impl Iterator<Item = &'a Format>) -> Self {
        let mut all: Vec<Numbers> = Vec::new();
        for counter in formats.flat_map(Format::counters) {
            if all.iter().all(|known| known.of != counter.of) {
                all.push(Numbers::new(crd, counter.of.clone()));
            }
        }
        Self(all)
    }

    /// The columns of dimensions, and then those of counters.
    pub(super) fn columns<'a>(&'a self, crd: &'a [Vec<i64>]) -> Vec<&'a [i64]> {
        let counters = self.0.iter().map(|numbers| &numbers.column[..]);
        crd.iter().map(Vec::as_slice).chain(counters).collect()
    }

    fn place(&self, of: &[usize]) -> Option<usize> {
        self.0.iter().position(|numbers| numbers.of == of)
    }

    /// For each dimension and each counter of a format, which of the columns it is.
    pub(super) fn places(&self, format: &Format) -> Vec<usize> {
        let rank = format.rank();
        let counters = format.counters().iter();
        let counters = counters.map(|counter| rank + self.place(&counter.of).unwrap_or(0));
        (0..rank).chain(counters).collect()
    }

    /// The format bound to a shape, with as many numbers as there are.
    pub(super) fn bind(&self, format: &Format, shape: &[usize]) -> Result<Bound, FormatError> {
        let counters = format.counters().iter();
        let count = |of: &[usize]| self.place(of).map_or(0, |at| self.0[at].count);
        let counts: Vec<usize> = counters.map(|counter| count(&counter.of)).collect();
        format.bind_counted(shape, &counts)
    }
}

impl Numbers {
    fn new(crd: &[Vec<i64>], of: Vec<usize>) -> Self {
        let mut next: HashMap<u64, i64, BuildHasherDefault<Hashed>> = HashMap::default();
        let len = crd.first().map_or(0, Vec::len);
        let number = |at: usize| {
            let key = of.iter().fold(0, |key, &dim| mix(key, crd[dim][at]));
            let next = next.entry(key).or_default();
            *next += 1;
            *next - 1
        };
        let column: Vec<i64> = (0..len).map(number).collect();
        let count = column.iter().max().map_or(0, |&most| most as usize + 1);
        Self { of, column, count }
    }
}
