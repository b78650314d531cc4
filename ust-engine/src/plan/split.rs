//! Cuts the outermost loop of a plan into parts with equally many stored elements.

use super::access::Access;
use super::emit::Split;
use super::order::Order;
use crate::error::Error;
use crate::storage::{Outline, Tensor};
use crate::walk::balance::{Along, Cutter};
use crate::walk::nest::Reach;

/// Splits the outermost loop of a stage.
#[derive(Clone, Debug)]
pub(crate) struct Splitter {
    cutter: Cutter,
    split: Split,
    /// The accesses whose stored elements are counted.
    counted: Vec<usize>,
}

impl Splitter {
    /// Prepares the code that cuts the outermost loop of a stage. `None` if it cannot be cut.
    ///
    /// # Errors
    /// As [`Cutter::new`].
    pub(crate) fn new(
        split: Split,
        order: &Order,
        accesses: &[Access],
        tensors: &[Outline],
    ) -> Result<Option<Self>, Error> {
        let Some(step) = order.steps.first() else { return Ok(None) };
        let walked = || step.walkers.iter().map(|w| w.0).filter(|&at| !accesses[at].full);
        let (along, counted): (Along, Vec<usize>) = match split {
            Split::No(_) => return Ok(None),
            Split::Cursor { at } => (Along::Cursor, vec![at]),
            Split::Index(_) | Split::Level(_) => (Along::Coordinates, walked().collect()),
            Split::Merge { every, .. } => (Along::Merge { every }, walked().collect()),
        };
        let tensors: Vec<&Outline> = counted.iter().map(|&at| &tensors[at]).collect();
        let cutter = Cutter::new(along, &tensors, Reach::Inside)?;
        Ok(cutter.map(|cutter| Self { cutter, split, counted }))
    }

    /// Whether parts are ranges of coordinates, which can be cut further at any coordinate.
    pub(crate) fn is_by_coordinate(&self) -> bool {
        !matches!(self.split, Split::No(_) | Split::Cursor { .. })
    }

    /// Cuts the outermost loop into `count` parts with about equally many stored elements. Each part begins
    /// at the end of the previous one. Parts may be empty.
    ///
    /// # Errors
    /// As [`Cutter::cut`].
    pub(crate) fn parts(
        &self,
        tensors: &[&Tensor],
        extents: &[usize],
        count: usize,
    ) -> Result<Vec<(i64, i64)>, Error> {
        let extent = match self.split {
            Split::Index(v) => extents[v] as i64,
            Split::Level(at) | Split::Merge { at, .. } => {
                tensors[at].bound().levels()[0].size as i64
            }
            Split::No(_) | Split::Cursor { .. } => 0,
        };
        let tensors: Vec<&Tensor> = self.counted.iter().map(|&at| tensors[at]).collect();
        let bounds = self.cutter.cut(&tensors, extent, count)?;
        Ok(bounds.windows(2).map(|pair| (pair[0], pair[1])).collect())
    }
}
