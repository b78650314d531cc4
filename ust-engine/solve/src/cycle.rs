//! What the iterative methods share: a method runs in cycles, and each begins with the residual of a product.
//!
//! Methods update their residual, which drifts away from that of the solution by rounding. So a claim to have
//! converged is checked, and the method starts afresh where it was wrong.

use std::ops::ControlFlow;

use crate::error::SolveError;
use crate::number::{Number, norm, subtract_from};
use crate::operator::Operator;
use crate::options::{Breakdown, Options, Solution, Stop};

/// Why a cycle ended.
pub(crate) enum End {
    /// The residual, as the method updates it, is small enough; or the iterations are used up, or the caller's
    /// function stopped the method: see [`Progress::count`].
    Counted,
    /// The method starts afresh regularly.
    Full,
    /// The method cannot go on from here.
    Broken(Breakdown),
}

/// The iterations so far.
pub(crate) struct Progress {
    /// The residual that is small enough.
    pub(crate) threshold: f64,
    pub(crate) iterations: usize,
    max_iterations: usize,
    pub(crate) history: Vec<f64>,
    pub(crate) stopped: bool,
}

impl Progress {
    pub(crate) fn new(max_iterations: usize) -> Self {
        Self { threshold: 0.0, iterations: 0, max_iterations, history: Vec::new(), stopped: false }
    }

    /// Notes the residual of the start, or else an iteration. Breaks with the end of the cycle, if it was the last.
    pub(crate) fn count<T>(
        &mut self,
        options: &mut Options<'_, T>,
        residual: f64,
    ) -> ControlFlow<End> {
        let watch = options.watch.as_mut().filter(|_| !self.history.is_empty());
        self.iterations += usize::from(!self.history.is_empty());
        self.history.push(residual);
        let go_on = watch.map(|watch| watch(self.iterations, residual));
        self.stopped = matches!(go_on, Some(ControlFlow::Break(())));
        if !residual.is_finite() {
            return ControlFlow::Break(End::Broken(Breakdown::NotFinite));
        }
        match self.stopped || residual <= self.threshold || self.used_up() {
            true => ControlFlow::Break(End::Counted),
            false => ControlFlow::Continue(()),
        }
    }

    /// Why a method without cycles stops at its end, with this residual.
    pub(crate) fn stop(&self, end: &End, residual: f64) -> Stop {
        match end {
            End::Broken(Breakdown::NotFinite) => Stop::Breakdown(Breakdown::NotFinite),
            _ if residual <= self.threshold => Stop::Converged,
            End::Broken(why) => Stop::Breakdown(*why),
            _ if self.stopped => Stop::Stopped,
            _ => Stop::MaxIterations,
        }
    }

    pub(crate) fn used_up(&self) -> bool {
        self.iterations >= self.max_iterations
    }
}

/// Runs cycles of a method until the residual of a product is small enough. A cycle takes the solution so far and its
/// residual, whose norm is not zero, and improves the solution. It may use the residual as it likes.
pub(crate) fn run<T: Number>(
    a: &dyn Operator<T>,
    b: &[T],
    mut options: Options<'_, T>,
    mut cycle: impl FnMut(
        &mut [T],
        &mut [T],
        &mut Options<'_, T>,
        &mut Progress,
    ) -> Result<End, SolveError>,
) -> Result<Solution<T>, SolveError> {
    options.check(b.len())?;
    let size = norm(b);
    let threshold = (options.relative * size).max(options.absolute);
    let mut progress = Progress { threshold, ..Progress::new(options.max_iterations) };
    let given = options.start.filter(|_| size != 0.0);
    let mut x = given.map_or_else(|| vec![T::zero(); b.len()], <[T]>::to_vec);
    let mut r = b.to_vec();
    let (mut before, mut end) = (f64::INFINITY, End::Full);
    let (residual, stop) = loop {
        if given.is_some() || progress.iterations > 0 {
            a.apply(&x, &mut r)?;
            subtract_from(&mut r, b);
        }
        let residual = norm(&r);
        if progress.history.is_empty() {
            progress.history.push(residual);
        }
        let improved = residual <= 0.5 * before;
        let stop = match end {
            _ if residual <= threshold => Some(Stop::Converged),
            _ if progress.stopped => Some(Stop::Stopped),
            _ if !residual.is_finite() => Some(Stop::Breakdown(Breakdown::NotFinite)),
            End::Broken(Breakdown::Orthogonal) if improved && !progress.used_up() => None,
            End::Broken(why) => Some(Stop::Breakdown(why)),
            _ if progress.used_up() => Some(Stop::MaxIterations),
            End::Counted if !improved => Some(Stop::Breakdown(Breakdown::Stagnation)),
            // The next cycle would not get further either.
            End::Full if residual >= before => Some(Stop::Breakdown(Breakdown::Stagnation)),
            End::Counted | End::Full => None,
        };
        if let Some(stop) = stop {
            break (residual, stop);
        }
        before = residual;
        end = cycle(&mut x, &mut r, &mut options, &mut progress)?;
    };
    let Progress { iterations, history, .. } = progress;
    Ok(Solution { x, iterations, residual, history, stop })
}
