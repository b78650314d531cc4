//! Cuts the outermost loop of a plan into parts with equally many stored elements.

use super::access::Access;
use super::order::Order;
use crate::error::Error;
use crate::provider::plan::Cut;
use crate::storage::{Outline, Tensor};
use crate::walk::balance::{Along, Cutter};
use crate::walk::nest::Reach;

/// Splits the outermost loop of a stage.
#[derive(Clone, Debug)]
pub(crate) struct Splitter {
    cutter: Cutter,
    cut: Cut,
    /// The accesses whose stored elements are counted.
    counted: Vec<usize>,
}

impl Splitter {
    /// Prepares the code that cuts the outermost loop of a stage. `None` if its levels cannot be cut.
    ///
    /// # Errors
    /// As [`Cutter::new`].
    pub(crate) fn new(
        cut: Cut,
        order: &Order,
        accesses: &[Access],
        tensors: &[Outline],
    ) -> Result<Option<Self>, Error> {
        let Some(step) = order.steps.first() else { return Ok(None) };
        let walked = || step.walkers.iter().map(|w| w.0).filter(|&at| !accesses[at].full);
        let (along, counted): (Along, Vec<usize>) = match cut {
            Cut::Cursor(at) => (Along::Cursor, vec![at]),
            Cut::Index(_) | Cut::Level(_) => (Along::Coordinates, walked().collect()),
            Cut::Merge { every, .. } => (Along::Merge { every }, walked().collect()),
        };
        let tensors: Vec<&Outline> = counted.iter().map(|&at| &tensors[at]).collect();
        let cutter = Cutter::new(along, &tensors, Reach::Inside)?;
        Ok(cutter.map(|cutter| Self { cutter, cut, counted }))
    }

    /// Whether parts are ranges of coordinates, which can be cut further at any coordinate.
    pub(crate) fn is_by_coordinate(&self) -> bool {
        !matches!(self.cut, Cut::Cursor(_))
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
        let coordinates = match self.cut {
            Cut::Index(v) => (0, extents[v] as i64),
            Cut::Level(at) | Cut::Merge { operand: at, .. } => {
                let level = &tensors[at].bound().levels()[0];
                (level.lower, level.size as i64)
            }
            Cut::Cursor(_) => (0, 0),
        };
        let tensors: Vec<&Tensor> = self.counted.iter().map(|&at| tensors[at]).collect();
        let bounds = self.cutter.cut(&tensors, coordinates, count)?;
        Ok(bounds.windows(2).map(|pair| (pair[0], pair[1])).collect())
    }
}
