//! `convert`: copies of an operand, by a conversion instead of loops.

use ust_kernels::pool::within;
use ust_level_api::inventory;

use super::{Call, Cuts, Executable, Offer, Plan, Provider, Registration};
use crate::error::Error;
use crate::storage::Tensor;
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
        let order = plan.result.indices.iter().map(|v| {
            let of_operand = plan.operands.first()?.indices;
            of_operand.iter().position(|own| own == v)
        });
        match order.collect() {
            Some(order) if plan.copies => Ok(Box::new(Conversion { order })),
            _ => Err(Error::Unsupported("it copies a tensor as it is".to_owned())),
        }
    }
}

/// A conversion.
#[derive(Debug)]
struct Conversion {
    /// For each dimension of the result, that of the operand.
    order: Vec<usize>,
}

impl Conversion {
    fn convert(&self, call: &Call<'_>) -> Result<Tensor, Error> {
        if call.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let tensor = call.operands()[0].permute(&self.order)?;
        within(call.threads(), tensor.nse(), || {
            tensor.convert_within(call.format(), call.memory_limit())
        })
    }
}

impl Executable for Conversion {
    fn call(&self, call: &Call<'_>) -> Option<Result<Tensor, Error>> {
        Some(self.convert(call))
    }

    fn takes_given(&self) -> bool {
        true
    }

    fn cuts(&self) -> Cuts {
        Cuts::Never
    }

    fn describe(&self) -> String {
        "no loops: the result is the operand, stored as it is asked for".to_owned()
    }
}
