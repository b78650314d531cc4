//! Unsorted coordinates and values: files and generators produce them, and tensors are built from them.

use ust_level_api::IndexColumn;

use crate::error::Error;
use crate::storage::Values;

/// Entries of a tensor: a column of coordinates for each dimension, and a column of values.
///
/// Entries may be in any order, and may have duplicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Coo {
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// For each dimension, the coordinate of each entry.
    pub crd: Vec<Vec<i64>>,
    /// The value of each entry.
    pub values: Values,
}

/// As [`Coo`], with columns as narrow as the shape allows: the result of reading a file.
#[derive(Debug)]
pub struct Columns {
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// For each dimension, the coordinate of each entry.
    pub crd: Vec<IndexColumn>,
    /// The value of each entry.
    pub values: Values,
}

impl Columns {
    /// As [`Coo::check`]. Parallel. Cost: one pass over the columns.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let n = self.values.len();
        let mut fits = self.crd.len() == self.shape.len() && self.crd.iter().all(|c| c.len() == n);
        for (column, &extent) in self.crd.iter().zip(&self.shape) {
            let extremes = column.extremes().map_err(Error::Device)?;
            fits &= extremes.is_none_or(|(lo, hi)| 0 <= lo && (hi as u64) < extent as u64);
        }
        match fits {
            true => Ok(()),
            false => {
                let crd = self.crd.iter().map(IndexColumn::to_vec).collect();
                let (shape, values) = (self.shape.clone(), self.values.clone());
                Coo { shape, crd, values }.check()
            }
        }
    }
}

impl From<Columns> for Coo {
    fn from(columns: Columns) -> Self {
        let Columns { shape, crd, values } = columns;
        Self { shape, crd: crd.into_iter().map(IndexColumn::into_vec).collect(), values }
    }
}

impl Coo {
    /// Entries with the given shape, checked. Columns of `i64` are taken as they are, others are copied.
    ///
    /// # Errors
    /// As [`Coo::check`].
    pub fn new<C: Coordinate>(
        shape: impl Into<Vec<usize>>,
        crd: Vec<Vec<C>>,
        values: impl Into<Values>,
    ) -> Result<Self, Error> {
        let (shape, values) = (shape.into(), values.into());
        let coo = Self { shape, crd: crd.into_iter().map(C::into_column).collect(), values };
        coo.check()?;
        Ok(coo)
    }

    /// Entries with the smallest shape that contains them.
    ///
    /// # Errors
    /// As [`Coo::check`]; a negative coordinate is out of bounds.
    pub fn inferred<C: Coordinate>(
        crd: Vec<Vec<C>>,
        values: impl Into<Values>,
    ) -> Result<Self, Error> {
        let crd: Vec<Vec<i64>> = crd.into_iter().map(C::into_column).collect();
        let shape: Vec<usize> = crd
            .iter()
            .map(|c| c.iter().max().map_or(0, |&max| usize::try_from(max).map_or(0, |m| m + 1)))
            .collect();
        Self::new(shape, crd, values)
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The coordinates of one entry.
    #[must_use]
    pub fn coordinates(&self, at: usize) -> Vec<usize> {
        self.crd.iter().map(|c| c[at] as usize).collect()
    }

    /// Checks that the number and the lengths of the columns match the shape and the values, and
    /// that coordinates lie inside the shape. Fields are public, so each consumer checks them.
    ///
    /// # Errors
    /// [`Error::Columns`] when the number of columns is not the rank, or a column is not as long as
    /// the values. [`Error::OutOfBounds`] for the first coordinate outside the shape.
    pub fn check(&self) -> Result<(), Error> {
        let n = self.values.len();
        if self.crd.len() != self.shape.len() || self.crd.iter().any(|c| c.len() != n) {
            return Err(Error::Columns {
                rank: self.shape.len(),
                values: n,
                columns: self.crd.iter().map(Vec::len).collect(),
            });
        }
        for (dim, (column, &extent)) in self.crd.iter().zip(&self.shape).enumerate() {
            let last = (extent as u64).min(1 << 63).wrapping_sub(1) as i64;
            // The result is negative where some coordinate is negative or too large. The loop has
            // no branch.
            if column.iter().fold(0, |bad, &c| bad | c | last.wrapping_sub(c)) >= 0 {
                continue;
            }
            let outside = |c: i64| c < 0 || c as u64 >= extent as u64;
            if let Some(entry) = column.iter().position(|&c| outside(c)) {
                return Err(Error::OutOfBounds { entry, dim, coordinate: column[entry], extent });
            }
        }
        Ok(())
    }
}

/// Integers that can be coordinates.
pub trait Coordinate: Copy {
    /// A column of them. What is beyond `i64` becomes its largest number, which lies outside of every shape.
    fn into_column(column: Vec<Self>) -> Vec<i64>;
}

impl Coordinate for i64 {
    fn into_column(column: Vec<Self>) -> Vec<i64> {
        column
    }
}

macro_rules! coordinates {
    ($($ty:ty),*) => {$(
        impl Coordinate for $ty {
            fn into_column(column: Vec<Self>) -> Vec<i64> {
                column.into_iter().map(|at| i64::try_from(at).unwrap_or(i64::MAX)).collect()
            }
        }
    )*};
}
coordinates!(u8, u16, u32, u64, usize, i8, i16, i32, isize);

/// Checks that coordinates are those of an element.
///
/// # Errors
/// [`Error::Shape`] when their number is not the rank, and [`Error::Coordinate`] when one lies outside the shape.
pub(crate) fn check_coordinates(shape: &[usize], coordinates: &[usize]) -> Result<(), Error> {
    if coordinates.len() != shape.len() {
        return Err(Error::Shape {
            found: coordinates.to_vec(),
            expected: format!("{} coordinates, one for each dimension", shape.len()),
        });
    }
    match coordinates.iter().zip(shape).position(|(c, n)| c >= n) {
        None => Ok(()),
        Some(dim) => {
            Err(Error::Coordinate { dim, coordinate: coordinates[dim], extent: shape[dim] })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inferred_shape_is_the_smallest_that_holds_the_entries() {
        let shape = |crd: Vec<i64>| {
            let ones = vec![1.0; crd.len()];
            Coo::inferred(vec![crd], ones).map(|coo| coo.shape)
        };
        assert_eq!(shape(vec![3, 0]).unwrap(), [4]);
        assert_eq!(shape(vec![]).unwrap(), [0]);
        assert_eq!(shape(vec![i64::MAX]).unwrap(), [1 << 63]);
        assert!(matches!(shape(vec![2, -1]), Err(Error::OutOfBounds { entry: 1, .. })));
        assert!(matches!(shape(vec![i64::MIN]), Err(Error::OutOfBounds { .. })));
    }

    #[test]
    fn columns_of_different_lengths_are_refused() {
        let bad = Coo::new(vec![2, 2], vec![vec![0], vec![0, 1]], vec![1.0]);
        assert!(matches!(bad, Err(Error::Columns { rank: 2, values: 1, .. })));
    }
}
