//! Stored entries, one after another, with their types.

use std::iter::FusedIterator;

use ust_format::IndexExpr;
use ust_level_api::IndexColumn;
use ust_level_api::column::column_kind;

use crate::error::Error;
use crate::storage::{StoredElement, Tensor, Values};
use crate::walk::access::Unpacked;
use crate::walk::unpack::{Wanted, What};

/// Entries that are decoded at once.
const BLOCK: usize = 64;

impl Tensor {
    /// Every stored entry as its coordinates and its value, in the order of storage. Padding is left out; explicit
    /// zeros and duplicates are kept. `N` is the rank; it follows from the pattern that takes the coordinates.
    ///
    /// ```
    /// use ust::Tensor;
    /// let a = Tensor::from_dense(&ndarray::array![[1.0, 0.0], [2.0, 3.0]], "CSR")?;
    /// let mut sums = [0.0; 2];
    /// for ([i, j], value) in a.iter::<f64, _>()? {
    ///     sums[i] += value * (j + 1) as f64;
    /// }
    /// assert_eq!(sums, [1.0, 8.0]);
    /// assert_eq!(a.iter()?.last(), Some(([1, 1], 3.0)));
    /// # Ok::<(), ust::Error>(())
    /// ```
    ///
    /// Cost: some nanoseconds an entry, no allocation for one. Formats that store their coordinates, such as CSR, CSC
    /// and COO, are read where they are; of others, the iterator holds columns of coordinates.
    ///
    /// # Errors
    /// [`Error::Dtype`] when the values are of another type, [`Error::Shape`] when `N` is not the rank; as
    /// [`Tensor::to_coo`].
    pub fn iter<T: StoredElement, const N: usize>(&self) -> Result<Iter<T, N>, Error> {
        self.values().expect::<T>()?;
        if N != self.rank() {
            let expected = format!("{N} coordinates are asked for");
            return Err(Error::Shape { found: self.shape().to_vec(), expected });
        }
        let column = |(dim, &extent): (usize, &usize)| Wanted {
            what: What::Expr(IndexExpr::Var(dim)),
            kind: column_kind(0, (extent as i64).saturating_sub(1)),
        };
        let wanted = self.shape().iter().enumerate().map(column).collect();
        let Unpacked { columns, values, places } = self.unpack_entries(wanted)?;
        let len = places.as_ref().map_or(values.len(), IndexColumn::len);
        let Ok(columns) = columns.try_into() else { unreachable!("a column for each dimension") };
        let (block, first) = ([[0; BLOCK]; N], T::ZERO);
        Ok(Iter { columns, values, places, block, numbers: [first; BLOCK], at: 0, len })
    }

    /// Number of stored entries and padding: [`Tensor::nse`], as collections call it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nse()
    }

    /// Whether nothing is stored.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nse() == 0
    }

    /// The extent of the first dimension; 1 of a scalar.
    #[must_use]
    pub fn nrows(&self) -> usize {
        self.shape().first().copied().unwrap_or(1)
    }

    /// The extent of the second dimension; 1 of a vector.
    #[must_use]
    pub fn ncols(&self) -> usize {
        self.shape().get(1).copied().unwrap_or(1)
    }
}

/// An iterator over stored entries: see [`Tensor::iter`].
#[derive(Clone, Debug)]
pub struct Iter<T, const N: usize> {
    columns: [IndexColumn; N],
    values: Values,
    places: Option<IndexColumn>,
    /// The coordinates and the values of the entries from the last multiple of `BLOCK` on.
    block: [[i64; BLOCK]; N],
    numbers: [T; BLOCK],
    at: usize,
    len: usize,
}

impl<T: StoredElement, const N: usize> Iter<T, N> {
    /// Decodes the entries from here on.
    #[inline(never)]
    fn decode(&mut self) {
        let count = BLOCK.min(self.len - self.at);
        for (column, block) in self.columns.iter().zip(&mut self.block) {
            column.read(self.at, &mut block[..count]);
        }
        let out = &mut self.numbers[..count];
        let iso = self.values.iso_value().and_then(T::from_scalar);
        let values = || self.values.typed::<T>().expect("the type is checked before");
        match (iso, &self.places) {
            (Some(one), _) => out.fill(one),
            (None, None) => out.copy_from_slice(&values()[self.at..self.at + count]),
            (None, Some(places)) => {
                let mut at = [0; BLOCK];
                places.read(self.at, &mut at[..count]);
                let values = values();
                out.iter_mut().zip(&at).for_each(|(to, &at)| *to = values[at as usize]);
            }
        }
    }
}

impl<T: StoredElement, const N: usize> Iterator for Iter<T, N> {
    type Item = ([usize; N], T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.len {
            return None;
        }
        let at = self.at % BLOCK;
        if at == 0 {
            self.decode();
        }
        self.at += 1;
        Some((std::array::from_fn(|dim| self.block[dim][at] as usize), self.numbers[at]))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len - self.at, Some(self.len - self.at))
    }
}

impl<T: StoredElement, const N: usize> ExactSizeIterator for Iter<T, N> {}
impl<T: StoredElement, const N: usize> FusedIterator for Iter<T, N> {}
