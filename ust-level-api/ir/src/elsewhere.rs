//! Elements that are elsewhere, such as in the memory of a device, and what is done to columns there.

use std::any::Any;
use std::fmt;

use crate::buffer::FetchError;
use crate::scalar::{bf16, f16};
use crate::{Buffer, IndexArray, IndexColumn, IndexKind};

/// A place other than the memory of this process that has the elements of a [buffer](crate::Buffer::elsewhere).
///
/// Assembly of levels asks the place of a column to do its work there. Each method returns `None` if the place
/// cannot do it, or if the columns break its rules: then elements are fetched, and the work is done here, which
/// also tells what is wrong. Columns that follow a rule are nowhere, and the others may be at other places.
pub trait Elsewhere: Any + fmt::Debug + Send + Sync {
    /// The least and the greatest number of a column that is not empty.
    fn extremes(&self, column: &IndexColumn) -> Option<(i64, i64)> {
        let _ = column;
        None
    }

    /// A column as an array of this kind, which has all its numbers.
    fn stored(&self, column: &IndexColumn, kind: IndexKind) -> Option<IndexArray> {
        let _ = (column, kind);
        None
    }

    /// The children of each parent, laid side by side. Of entries: their parents, which ascend and are less than
    /// `parents`, and their coordinates. `merges`: whether neighbours with the same parent and coordinate are one
    /// child.
    fn segments(
        &self,
        parents: u64,
        parent: &IndexColumn,
        crd: &IndexColumn,
        merges: bool,
    ) -> Option<Segments> {
        let _ = (parents, parent, crd, merges);
        None
    }

    /// For each entry, `parent * size + (crd - lower)`, which is less than `positions`.
    fn full(
        &self,
        parent: &IndexColumn,
        crd: &IndexColumn,
        [size, lower, positions]: [i64; 3],
    ) -> Option<IndexColumn> {
        let _ = (parent, crd, size, lower, positions);
        None
    }

    /// Of bounds, the pairs of neighbours: `bounds[0], bounds[1], bounds[1], bounds[2], ...`
    fn pairs(&self, bounds: &IndexColumn) -> Option<IndexColumn> {
        let _ = bounds;
        None
    }

    /// Numbers of single precision, rounded to the nearest of half precision.
    fn halves(&self, values: &Buffer<f32>, to: Half) -> Option<Halves> {
        let _ = (values, to);
        None
    }

    /// The children of each of `parents` parents in a group of `n` coordinates, ascending: those that there are,
    /// and the lowest free ones from 0 on beside them. None if a parent has more than `n`. The result: the
    /// coordinates of all groups, and the position of each entry among them.
    fn groups(&self, children: &Segments, parents: u64, n: u64) -> Option<[IndexColumn; 2]> {
        let _ = (children, parents, n);
        None
    }
}

/// A dtype of half precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// IEEE 754 binary16.
    F16,
    /// The upper half of an `f32`.
    Bf16,
}

/// Numbers of half precision.
#[derive(Clone, Debug)]
pub enum Halves {
    /// Of [`Half::F16`].
    F16(Buffer<f16>),
    /// Of [`Half::Bf16`].
    Bf16(Buffer<bf16>),
}

/// The children of each parent, laid side by side in the order of the parents.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {
    /// For each parent, and once more at the end, where its children begin: `parents + 1` offsets.
    pub offsets: IndexColumn,
    /// For each child, its coordinate.
    pub crd: IndexColumn,
    /// For each entry, the child that it became.
    pub child: IndexColumn,
}

impl Segments {
    /// Fetches columns that are elsewhere. No look at them panics afterwards.
    ///
    /// # Errors
    /// Why they cannot be fetched. It may be tried again.
    pub fn fetch(&self) -> Result<(), FetchError> {
        [&self.offsets, &self.crd, &self.child].into_iter().try_for_each(IndexColumn::fetch)
    }
}
