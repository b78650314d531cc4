//! `convert`: copies of an operand, by a conversion instead of loops.

use ust_level_api::inventory;
use ust_level_api::ir::interp::{Memory, Param};

use super::{Executable, Offer, Plan, Provider, Registration};
use crate::error::Error;
use crate::tuning::CONVERSION_TIME;

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
            true => Offer::Time { run: CONVERSION_TIME * plan.estimate, compile: 0.0 },
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

/// A marker: the caller has the tensors, and converts the operand itself.
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
