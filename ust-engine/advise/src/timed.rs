//! A kernel, and how it is timed.

use std::time::Instant;

use ust_engine::ops::{Kernel, OpError};
use ust_engine::tensor::{Tensor, Values};

use super::operation::Operation;

/// A measurement is repeated until it takes so long: shorter than the turns that a system gives to others, so that some
/// measurements meet none of them.
pub(super) const BATCH: f64 = 0.0003;
/// Measurements that tell how long one takes.
const FIRST: usize = 3;

/// A kernel for a tensor, with what measurements have to know.
pub(super) struct Timed {
    kernel: Kernel,
    /// How often it is run for one measurement.
    batch: u32,
    /// Whether its result is stored in full.
    full: bool,
}

impl Timed {
    /// Prepares the operation and warms up. Gives the seconds that it takes, too. `room` is memory for results that are
    /// stored in full: of one operation, all formats share it.
    pub(super) fn new(
        operation: &Operation,
        tensor: &Tensor,
        room: &mut Option<Values>,
    ) -> Result<(Self, f64), OpError> {
        let kernel = operation.prepare(tensor)?;
        let own = operation.room(&kernel, tensor)?;
        let full = own.is_some();
        *room = room.take().or(own);
        let mut timed = Self { kernel, batch: 1, full };
        let mut once = f64::INFINITY;
        for _ in 0..FIRST {
            once = once.min(timed.seconds(operation, tensor, room)?);
        }
        timed.batch = (BATCH / once.max(1e-7)).clamp(1.0, 10_000.0) as u32;
        Ok((timed, once))
    }

    /// Seconds for the operation, of a batch of runs.
    pub(super) fn seconds(
        &self,
        operation: &Operation,
        tensor: &Tensor,
        room: &mut Option<Values>,
    ) -> Result<f64, OpError> {
        let room = if self.full { room } else { &mut None };
        // What was measured last has taken the place of this tensor in the caches.
        operation.run(&self.kernel, tensor, room)?;
        let start = Instant::now();
        for _ in 0..self.batch {
            operation.run(&self.kernel, tensor, room)?;
        }
        Ok(start.elapsed().as_secs_f64() / f64::from(self.batch))
    }
}
