//! Stages with one operand whose loops do not walk its levels.
//!
//! * A copy is a conversion.
//! * `abs(A(i,j))` stores what `A` stores, with other values. It shares the levels of `A`.
//! * `sum(A(i,j))` combines all stored values.
//!
//! The loops of the last two run over the array of values, as over a vector.

use ust_format::Format;
use ust_level_api::Scalar;

use super::access::shares_positions;
use super::choose::{Given, Planned, choose};
use super::frame::Sizes;
use super::run::{Compiled, Inputs};
use super::simplify::simplify;
use super::stage::{Stage, StageAccess};
use crate::error::Error;
use crate::expr::control::Run;
use crate::expr::term::Term;
use crate::provider::Backend;
use crate::storage::{Tensor, Values};

/// The result of loops over the values of an operand.
#[derive(Clone, Debug)]
pub(super) struct Along {
    /// The operand's format.
    pub(super) format: Format,
    /// Whether the result is a scalar. Else it is a tensor of that format.
    pub(super) scalar: bool,
}

/// Replaces the plan of a stage over a tensor's levels by loops over its values. `None` if the stage
/// needs the levels.
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
    let ([one], false) = (&stage.accesses[..], stage.visits_more) else { return Ok(None) };
    let stored = tensor.format();
    if one.full || stored.is_full() || !is_plain(&stage.body) {
        return Ok(None);
    }
    // The loops of a sum over levels read the one value.
    if tensor.is_iso() && stage.reduce.is_some() {
        return Ok(None);
    }
    let (scalar, rest) = match &stage.reduce {
        None if one.dims == stage.result
            && planned.format == *stored
            && stored.is_unique()
            && stage.body != Term::Element(0)
            && planned.fill.same(&stage.dtype.zero()) =>
        {
            (false, planned.fill)
        }
        Some((_, over))
            if stage.result.is_empty()
                && over.len() == one.dims.len()
                && one.dims.iter().all(|v| over.contains(v))
                && (stored.is_unique() || stage.is_linear_in(0))
                && !shares_positions(stored) =>
        {
            (true, planned.rest)
        }
        _ => return Ok(None),
    };
    // The loops visit padding, too: it must give the unstored value, or not change the sum.
    let same = matches!(simplify(&stage.body, &|_| Some(tensor.fill())), Term::Const(value)
        if value.cast(rest.dtype()).is_ok_and(|value| value.same(&rest)));
    let Some(dense) = Format::resolve("Dense", Some(1)).ok().filter(|_| same) else {
        return Ok(None);
    };
    let vector = values_of(tensor, tensor.values().clone(), &dense)?;
    let accesses = vec![StageAccess::new(one.source, vec![0])];
    let (result, format) = match scalar {
        true => (Vec::new(), planned.format.clone()),
        false => (vec![0], dense),
    };
    let reduce = stage.reduce.as_ref().map(|(op, _)| (op.clone(), vec![0]));
    let stage = Stage { accesses, result, reduce, ..stage.clone() };
    let over_values = choose(&Given {
        stage: &stage,
        tensors: &[vector.outline().with_iso(false)],
        lasting: vec![false],
        limit: 0,
        names: vec!["A".to_owned()],
        fills: vec![tensor.fill()],
        strict,
        onto: false,
        leads: None,
        indices: &["p".to_owned()],
        extents: &[tensor.nse()],
        format: Some(format),
        zero: stage.dtype.zero(),
    })?;
    let mut made = Compiled::new(over_values, &stage, &[&vector], backend, strict)?;
    let along = Along { format: stored.clone(), scalar };
    if let Some(instead) = &mut made.instead {
        instead.along = Some(along.clone());
    }
    made.along = Some(along);
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

/// The values of a tensor as a dense vector, without a copy.
fn values_of(tensor: &Tensor, values: Values, dense: &Format) -> Result<Tensor, Error> {
    let bound = dense.bind(&[tensor.nse()])?;
    Ok(Tensor::from_full(&bound, values, tensor.fill()).keeping_values_of(tensor))
}

impl Compiled {
    /// The format of the result.
    pub(super) fn format(&self) -> &Format {
        match &self.along {
            Some(Along { format, scalar: false }) => format,
            _ => &self.planned.format,
        }
    }

    /// The format in which the loops collect the result.
    pub(super) fn collected_in(&self) -> &Format {
        match &self.along {
            Some(Along { format, scalar: false }) => format,
            _ => &self.planned.sink.format,
        }
    }

    /// Runs over the values of a tensor. The result is a tensor that shares its levels, or a scalar.
    ///
    /// # Errors
    /// As [`Compiled::run`].
    pub(super) fn run_along(
        &self,
        along: &Along,
        tensor: &Tensor,
        how: Run,
    ) -> Result<Tensor, Error> {
        let values = tensor.clean_values()?;
        if let (Some(value), false) = (values.iso_value(), along.scalar) {
            return self.run_once(tensor, value, how);
        }
        let vector = values_of(tensor, values, &self.planned.formats[0])?;
        let dims: &[usize] = if along.scalar { &[] } else { &[0] };
        let sizes = Sizes::new(&[tensor.nse()], dims, &self.planned.sink.format)?;
        let made = self.collected_on(Inputs::new(&[&vector]), &sizes, how)?;
        match along.scalar {
            true => Ok(made),
            false => tensor.with_clean_values(made.values().clone()),
        }
    }

    /// As [`Compiled::run_along`], for a result that shares the levels of a tensor with one value for all elements: so
    /// has the result.
    fn run_once(&self, tensor: &Tensor, value: Scalar, how: Run) -> Result<Tensor, Error> {
        let bound = self.planned.formats[0].bind(&[1])?;
        let vector = Tensor::from_full(&bound, Values::filled(value, 1), tensor.fill());
        let sizes = Sizes::new(&[1], &[0], &self.planned.sink.format)?;
        let made = self.collected_on(Inputs::new(&[&vector]), &sizes, how)?;
        made.fetch()?;
        let value = made.values().get(0).expect("one value");
        tensor.with_clean_values(Values::iso(value, tensor.nse()))
    }
}
