//! `meant`: a provider that runs what plans declare of their loops instead of the loops, in the interpreter, to
//! find out whether it is true.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use ust_engine::Error;
use ust_engine::provider::plan::Plan;
use ust_engine::provider::{Executable, Offer, Provider, Registration};
use ust_level_api::inventory;
use ust_level_api::ir::idiom::Idiom;
use ust_level_api::ir::interp::Program;

struct Meant;

inventory::submit!(Registration(&Meant));

/// Number of plans that were compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub plans: usize,
    /// Nests of loops that were replaced by what they are declared to be.
    pub nests: usize,
    /// Sums of sparse rows that were replaced.
    pub unions: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plans, nests, unions } = self;
        write!(
            f,
            "run as declared: {plans} plans, in which {nests} nests of loops and {unions} sums of rows \
             were replaced"
        )
    }
}

static TALLY: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

/// What was compiled so far in this process.
#[must_use]
pub fn tally() -> Tally {
    let [plans, nests, unions] = TALLY.each_ref().map(|count| count.load(Ordering::Relaxed));
    Tally { plans, nests, unions }
}

impl Provider for Meant {
    fn name(&self) -> &'static str {
        "meant"
    }

    fn summary(&self) -> &'static str {
        "the interpreter, on what plans declare of their loops; for tests"
    }

    fn offer(&self, _plan: &Plan<'_>) -> Offer {
        Offer::OnRequest("it tries what plans declare".to_owned())
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        let count =
            |is: fn(&Idiom) -> bool| plan.function.idioms.iter().filter(|&idiom| is(idiom)).count();
        let nests = count(|idiom| matches!(idiom, Idiom::Nest(nest) if nest.conditions.is_empty()));
        let unions = count(|idiom| matches!(idiom, Idiom::Union(_)));
        for (tally, more) in TALLY.iter().zip([1, nests, unions]) {
            tally.fetch_add(more, Ordering::Relaxed);
        }
        Ok(Box::new(Program::compile(&plan.function.meant())?))
    }
}
