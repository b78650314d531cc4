//! Results of one operand without loops over its levels: copies, which are conversions, and what
//! stores the same with other values, such as `abs(A(i,j))`: the loops run over the values alone, and
//! levels are shared.

use super::choose::{Given, Planned, choose};
use super::frame::Sizes;
use super::run::{Compiled, stop};
use super::simplify::simplify;
use super::stage::{Stage, StageUse};
use crate::error::Error;
use crate::format::Format;
use crate::ops::control::Run;
use crate::ops::term::Term;
use crate::pool::within;
use crate::provider::Backend;
use crate::tensor::{Tensor, Values};

/// The loops over the values of a stage that was planned over the tensor's levels; `None` where the
/// result does not store the same.
///
/// # Errors
/// As [`choose`] and [`Compiled::new`].
pub(super) fn along(
    stage: &Stage,
    tensor: &Tensor,
    planned: &Planned,
    backend: Backend,
    strict: bool,
) -> Result<Option<Compiled>, Error> {
    let ([one], None, false) = (&stage.uses[..], &stage.reduce, stage.visits_more) else {
        return Ok(None);
    };
    let format = &planned.format;
    let stays = !one.full
        && one.dims == stage.result
        && format == tensor.format()
        && format.is_unique()
        && format.tail() > 0
        && stage.body != Term::Element(0)
        && is_plain(&stage.body);
    // Padding becomes what is not stored.
    let zero = stage.dtype.zero();
    let rest = simplify(&stage.body, &|_| Some(tensor.fill()));
    let keeps = planned.fill.same(&zero) && matches!(rest, Term::Const(v) if v.same(&zero));
    let Some(dense) = Format::resolve("Dense", Some(1)).ok().filter(|_| stays && keeps) else {
        return Ok(None);
    };
    let vector = values_of(tensor, &dense)?;
    let uses = vec![StageUse::new(one.source, vec![0])];
    let stage = Stage { uses, result: vec![0], ..stage.clone() };
    let (over_values, tensors) = choose(&Given {
        stage: &stage,
        tensors: &[&vector],
        names: vec!["A".to_owned()],
        fills: vec![tensor.fill()],
        indices: &["p".to_owned()],
        extents: &[tensor.nse()],
        format: Some(dense),
    })?;
    let tensors: Vec<&Tensor> = tensors.iter().collect();
    let mut made = Compiled::new(over_values, &stage, &tensors, backend, strict)?;
    made.along = Some(format.clone());
    Ok(Some(made))
}

/// Whether a term is made of elements, constants and functions of them.
fn is_plain(term: &Term) -> bool {
    match term {
        Term::Const(_) | Term::Element(_) => true,
        Term::Call { args, .. } => args.iter().all(is_plain),
        _ => false,
    }
}

/// The values of a tensor as a vector that is stored in full, without a copy.
fn values_of(tensor: &Tensor, dense: &Format) -> Result<Tensor, Error> {
    let bound = dense.bind(&[tensor.nse()])?;
    Ok(Tensor::from_full(&bound, tensor.values().clone(), tensor.fill()))
}

impl Compiled {
    /// The format of the result.
    pub(super) fn format(&self) -> &Format {
        self.along.as_ref().unwrap_or(&self.planned.format)
    }

    /// The format that results are collected in.
    pub(super) fn collected_in(&self) -> &Format {
        self.along.as_ref().unwrap_or(&self.planned.sink.format)
    }

    /// The result of a stage that copies its operand.
    ///
    /// # Errors
    /// As [`Tensor::convert`].
    pub(crate) fn copied(
        &self,
        tensor: &Tensor,
        order: &[usize],
        how: Run<'_>,
    ) -> Result<Tensor, Error> {
        stop(how)?;
        let tensor = tensor.permute(order)?;
        within(how.threads, tensor.nse(), || tensor.convert_within(&self.planned.format, how.limit))
    }

    /// Runs over the values of a tensor, and gives one that shares its levels.
    ///
    /// # Errors
    /// As [`Compiled::run`].
    pub(super) fn run_along(&self, tensor: &Tensor, how: Run<'_>) -> Result<Tensor, Error> {
        let vector = values_of(tensor, &self.planned.sink.format)?;
        let sizes = Sizes::new(&[tensor.nse()], &[0], &self.planned.sink.format)?;
        let values: Values = self.in_full(&[&vector], &sizes, how)?.values().clone();
        tensor.with_values(values)
    }
}
