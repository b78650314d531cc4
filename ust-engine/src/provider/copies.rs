//! `convert`: copies, without loops.

use ust_level_api::inventory;
use ust_level_api::ir::interp::{Memory, Param};

use super::{Executable, Offer, Plan, Provider, Registration};
use crate::error::Error;

/// Of the time that loops take which collect the entries, and build the result of them.
const SHARE: f64 = 0.4;

struct Convert;

inventory::submit!(Registration(&Convert));

impl Provider for Convert {
    fn name(&self) -> &'static str {
        "convert"
    }

    fn summary(&self) -> &'static str {
        "an operand converted, where it is the result"
    }

    fn offer(&self, plan: &Plan<'_>) -> Offer {
        match plan.copies {
            true => Offer::Time(SHARE * plan.estimate),
            false => Offer::Refused("it copies a tensor as it is".to_owned()),
        }
    }

    fn compile(&self, plan: &Plan<'_>) -> Result<Box<dyn Executable>, Error> {
        match plan.copies {
            true => Ok(Box::new(Conversion)),
            false => Err(Error::Unsupported("it copies a tensor as it is".to_owned())),
        }
    }
}

/// What is done is known to those who have the tensors.
#[derive(Debug)]
struct Conversion;

impl Executable for Conversion {
    fn run(&self, _: &[Param], _: &mut [Memory<'_>]) -> Result<(), Error> {
        Err(Error::Unsupported("a conversion runs on tensors, not on their arrays".to_owned()))
    }

    fn converts(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        "no loops: the result is the operand, stored as it is asked for".to_owned()
    }
}
