//! Operands in formats that count entries. Each counter gets an index variable of its own, which is summed over: of all
//! its values, one has the entry.

use super::Prepared;
use super::operands::meant;
use crate::expr::term::Index;
use crate::plan::stage::{Source, Stage};
use crate::storage::Tensor;
use ust_level_api::Dtype;

/// An index variable that stands for a counter of an operand, or for the places of a sorted dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// The index variable.
    pub(super) index: usize,
    pub(super) operand: usize,
    /// The number of the dimension; of a counter, behind all dimensions.
    pub(super) axis: usize,
}

impl Number {
    /// The number of its values.
    pub(super) fn count(self, operands: &[&Tensor]) -> usize {
        operands[self.operand].bound().extents()[self.axis]
    }
}

impl Prepared {
    /// The stage with index variables for the counters of an operand, if loops can run on it as it is: the sum is
    /// linear in it. Other such operands are converted.
    pub(super) fn numbered(&mut self, mut stage: Stage, operands: &[&Tensor]) -> Stage {
        let counting = |at: usize| {
            let one = &stage.accesses[at];
            let Source::Operand(operand) = one.source else { return None };
            let tensor = operands[operand];
            let fill = meant(&self.assignment, operand, tensor);
            let fits = !tensor.format().counters().is_empty()
                && (tensor.view().is_whole() || one.by_places)
                && one.dims.len() == tensor.rank()
                && !one.full
                && !one.as_tree
                && tensor.dtype() != Dtype::Bool
                && fill.same(&fill.dtype().zero())
                && tensor.fill().same(&tensor.dtype().zero())
                && stage.is_linear_in(at);
            fits.then_some((at, operand))
        };
        let found = (0..stage.accesses.len()).find_map(counting);
        let (Some((at, operand)), Some((_, summed))) = (found, &mut stage.reduce) else {
            return stage;
        };
        let bound = operands[operand].bound();
        for (counter, &extent) in bound.counts().iter().enumerate() {
            let index = self.assignment.indices.len();
            let name = format!("number_{}", self.numbers.len());
            self.assignment.indices.push(Index { name, extent });
            let axis = operands[operand].rank() + counter;
            self.numbers.push(Number { index, operand, axis });
            stage.accesses[at].dims.push(index);
            summed.push(index);
        }
        stage
    }
}
