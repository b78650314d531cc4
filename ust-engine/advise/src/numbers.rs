//! The numbers that counters give to entries, and their places in sorted dimensions.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use ust_engine::coo::Coo;
use ust_engine::tensor::{longest_first, places_in};
use ust_format::{Bound, Format, FormatError, Sorted};

use super::distinct::{Hashed, mix};

/// The numbers that entries have among those with the same coordinates in some dimensions.
pub(super) struct Numbers {
    of: Vec<usize>,
    /// For each entry, in the order of the entries, whatever it is: estimates do not depend on it.
    column: Vec<i64>,
    /// How many numbers there are.
    count: usize,
}

/// The places of entries in a sorted dimension.
struct Places {
    dim: usize,
    sorted: Sorted,
    /// For each entry.
    column: Vec<i64>,
}

/// The numbers of all counters of some formats, and the places in their sorted dimensions.
pub(super) struct Counted {
    numbers: Vec<Numbers>,
    places: Vec<Places>,
}

impl Counted {
    pub(super) fn new<'a>(coo: &Coo, formats: impl Iterator<Item = &'a Format>) -> Self {
        let mut all = Self { numbers: Vec::new(), places: Vec::new() };
        for format in formats {
            for counter in format.counters() {
                if all.place(&counter.of).is_none() {
                    all.numbers.push(Numbers::new(&coo.crd, counter.of.clone()));
                }
            }
            for (dim, spec) in format.dims().iter().enumerate() {
                if let Some(sorted) = spec.sorted
                    && all.sorted(dim, sorted).is_none()
                {
                    let mut counts = vec![0; coo.shape[dim]];
                    coo.crd[dim].iter().for_each(|&at| counts[at as usize] += 1);
                    let places = places_in(&longest_first(&counts, sorted));
                    let column = coo.crd[dim].iter().map(|&at| places[at as usize]).collect();
                    all.places.push(Places { dim, sorted, column });
                }
            }
        }
        all
    }

    /// The columns of dimensions, then those of counters, and then those of sorted dimensions.
    pub(super) fn columns<'a>(&'a self, crd: &'a [Vec<i64>]) -> Vec<&'a [i64]> {
        let counters = self.numbers.iter().map(|numbers| &numbers.column[..]);
        let places = self.places.iter().map(|places| &places.column[..]);
        crd.iter().map(Vec::as_slice).chain(counters).chain(places).collect()
    }

    fn place(&self, of: &[usize]) -> Option<usize> {
        self.numbers.iter().position(|numbers| numbers.of == of)
    }

    fn sorted(&self, dim: usize, sorted: Sorted) -> Option<usize> {
        self.places.iter().position(|places| (places.dim, places.sorted) == (dim, sorted))
    }

    /// For each dimension and each counter of a format, which of the columns it is.
    pub(super) fn places(&self, format: &Format) -> Vec<usize> {
        let rank = format.rank();
        let counters = format.counters().iter();
        let counters = counters.map(|counter| rank + self.place(&counter.of).unwrap_or(0));
        let behind = rank + self.numbers.len();
        let dims = format.dims().iter().enumerate().map(|(dim, spec)| {
            let sorted = spec.sorted.and_then(|sorted| self.sorted(dim, sorted));
            sorted.map_or(dim, |at| behind + at)
        });
        dims.chain(counters).collect()
    }

    /// The format bound to a shape, with as many numbers as there are.
    pub(super) fn bind(&self, format: &Format, shape: &[usize]) -> Result<Bound, FormatError> {
        let counters = format.counters().iter();
        let count = |of: &[usize]| self.place(of).map_or(0, |at| self.numbers[at].count);
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
