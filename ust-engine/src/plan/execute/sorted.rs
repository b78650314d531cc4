//! Operands with sorted dimensions. Loops run over places: each sorted dimension gets an index variable of its own, and
//! the order says which coordinate belongs to which place. An order is an operand of the loops, too: a matrix with an
//! entry at each coordinate and its place.

use super::Prepared;
use super::numbered::Number;
use super::operands::meant;
use crate::expr::operator::Operator;
use crate::expr::term::{Index, Term};
use crate::plan::divide::only_used;
use crate::plan::stage::{Source, Stage, StageAccess};
use crate::storage::Tensor;
use ust_level_api::Dtype;

impl Prepared {
    /// The stage with places in place of coordinates, where loops can run on an operand with sorted dimensions as it is:
    /// the sum is linear in it. Other such operands are converted. The second one puts rows of the result, which the
    /// first computes by places, where they belong; `next` is the number of the first.
    pub(super) fn sorted(
        &mut self,
        mut stage: Stage,
        operands: &[&Tensor],
        next: usize,
    ) -> (Stage, Option<Stage>) {
        for at in 0..stage.accesses.len() {
            let Some(operand) = self.sorts(&stage, at, operands) else { continue };
            stage.accesses[at].by_places = true;
            let view = operands[operand].view();
            let mut last = None;
            for (dim, _) in view.orders() {
                let coordinate = stage.accesses[at].dims[dim];
                let place = self.place(operands, operand, dim);
                stage.accesses[at].dims[dim] = place;
                let order =
                    StageAccess::new(Source::Order { operand, dim }, vec![coordinate, place]);
                let elsewhere = stage.accesses.iter().any(|one| one.dims.contains(&coordinate))
                    || stage.body.coordinates().contains(&coordinate);
                let in_result = stage.result.contains(&coordinate);
                match (elsewhere, in_result) {
                    // Nothing but this operand has the coordinate, which is summed over: all places are.
                    (false, false) => replace(&mut stage, coordinate, place),
                    // The result alone has it: rows are computed by places, and then moved.
                    (false, true) if last.is_none() => {
                        last = Some((order, stage.result.clone()));
                        replace(&mut stage, coordinate, place);
                    }
                    _ => stage = with_order(stage, order, place),
                }
            }
            if let Some((order, result)) = last {
                let rows = StageAccess::new(Source::Stage(next), stage.result.clone());
                let place = order.dims[1];
                let moves = Stage {
                    accesses: vec![rows],
                    body: Term::Element(0),
                    reduce: Some((Operator::Add, Vec::new())),
                    result,
                    visits_more: false,
                    any_fill: false,
                    ..stage.clone()
                };
                return (stage, Some(with_order(moves, order, place)));
            }
        }
        (stage, None)
    }

    /// The operand of an access whose sorted dimensions loops can run over by places.
    fn sorts(&self, stage: &Stage, at: usize, operands: &[&Tensor]) -> Option<usize> {
        let one = &stage.accesses[at];
        let Source::Operand(operand) = one.source else { return None };
        let tensor = operands[operand];
        let fill = meant(&self.assignment, operand, tensor);
        let distinct = one.dims.iter().enumerate().all(|(at, v)| !one.dims[..at].contains(v));
        let fits = tensor.format().has_sorted()
            && tensor.view().shows_all()
            && !one.full
            && !one.by_places
            && !one.as_tree
            && distinct
            && tensor.dtype() != Dtype::Bool
            && fill.same(&fill.dtype().zero())
            && tensor.fill().same(&tensor.dtype().zero())
            && stage.is_linear_in(at);
        fits.then_some(operand)
    }

    /// A new index variable for the places of a dimension.
    fn place(&mut self, operands: &[&Tensor], operand: usize, dim: usize) -> usize {
        let index = self.assignment.indices.len();
        let (name, extent) =
            (format!("place_{}", self.numbers.len()), operands[operand].shape()[dim]);
        self.assignment.indices.push(Index { name, extent });
        self.numbers.push(Number { index, operand, axis: dim });
        index
    }
}

/// The stage with a term that is zero but where an order has an entry, summed over the places.
fn with_order(mut stage: Stage, order: StageAccess, place: usize) -> Stage {
    let at = stage.accesses.len();
    stage.accesses.push(order);
    let (dtype, body) = (stage.dtype, stage.body);
    let zero = Term::Const(dtype.zero());
    stage.body =
        Term::Call { op: Operator::Where, args: vec![Term::Present(at), body, zero], dtype };
    if let Some((_, summed)) = &mut stage.reduce {
        summed.push(place);
    }
    only_used(stage)
}

/// Replaces an index variable in what is summed over, and in the result.
fn replace(stage: &mut Stage, old: usize, new: usize) {
    let summed = stage.reduce.iter_mut().flat_map(|(_, summed)| summed);
    summed.chain(&mut stage.result).filter(|v| **v == old).for_each(|v| *v = new);
}
