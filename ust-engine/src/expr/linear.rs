//! Expressions that are linear in an operand: those of a sum are the sum of those of its terms.

use super::operator::Operator;
use super::operator::typing::holds;
use super::term::{Assignment, Term};
use ust_level_api::Dtype;

impl Assignment {
    /// Whether the result for a sum of tensors without common elements is the sum of the results for each, up to
    /// rounding: the tensor stands in each term once, is multiplied, divided and summed, and unstored elements are zero.
    /// Not in other semirings than that of sums and products, nor for truth values.
    #[must_use]
    pub fn is_linear_in(&self, name: &str) -> bool {
        let operands = || (0..self.operands.len()).filter(|&at| self.operands[at].name == name);
        let masks = self
            .mask
            .as_ref()
            .is_some_and(|mask| operands().any(|operand| self.uses[mask.at].operand == operand));
        let sums = matches!(self.update, None | Some(Operator::Add));
        let (Some(operand), 1) = (operands().next(), operands().count()) else { return false };
        let input = &self.operands[operand];
        !masks
            && sums
            && self.result.dtype != Dtype::Bool
            && input.fill.same(&input.dtype.zero())
            && self.is_linear(&self.body, operand)
    }

    fn is_linear(&self, term: &Term, operand: usize) -> bool {
        let has = |term: &Term| term.uses().iter().any(|&at| self.uses[at].operand == operand);
        match term {
            Term::Element(at) => self.uses[*at].operand == operand,
            Term::Reduce { op: Operator::Add, body, .. } => {
                self.dtype(body) != Dtype::Bool && self.is_linear(body, operand)
            }
            Term::Call { op: Operator::Add | Operator::Sub, args, dtype } => {
                *dtype != Dtype::Bool && args.iter().all(|arg| self.is_linear(arg, operand))
            }
            Term::Call { op: Operator::Cast, args, dtype } => {
                // Of an element, one part has it, and the others have zero.
                let exact = matches!(args[..], [Term::Element(_)]);
                let from = self.dtype(&args[0]);
                let keeps = exact || (from != Dtype::Bool && holds(from, *dtype));
                *dtype != Dtype::Bool && keeps && self.is_linear(&args[0], operand)
            }
            Term::Call { op, args, dtype } => {
                let mut inside = args.iter().enumerate().filter(|(_, arg)| has(arg));
                let (Some((at, arg)), None) = (inside.next(), inside.next()) else { return false };
                let linear = match op {
                    // Zero divided by zero is not zero.
                    Operator::Div => {
                        at == 0
                            && matches!(args[1], Term::Const(by) if !by.same(&by.dtype().zero()))
                    }
                    Operator::And => false,
                    op => op.is_linear_in(at),
                };
                linear && *dtype != Dtype::Bool && self.is_linear(arg, operand)
            }
            _ => false,
        }
    }
}
