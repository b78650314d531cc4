//! Splits a tensor by the rules of a composition.

use ust_format::{Composition, IndexExpr, Measure, Rule};
use ust_level_api::{Buffer, IndexColumn};

use super::columns::{entries_of, picked, tensor_of};
use super::elements::elements;
use super::{Composed, expect_zero};
use crate::convert::tally::{Tally, evaluated, tally};
use crate::error::Error;
use crate::storage::Tensor;
use crate::storage::coo::Columns;

/// See [`Composed::split`].
pub(super) fn split(tensor: &Tensor, composition: &Composition) -> Result<Composed, Error> {
    if composition.rank() != tensor.rank() {
        let expected = format!("`{composition}` has {} dimensions", composition.rank());
        return Err(Error::Shape { found: tensor.shape().to_vec(), expected });
    }
    expect_zero(tensor)?;
    if let Some(format) = composition.only() {
        return Ok(tensor.convert(format)?.into());
    }
    let mut rest = entries_of(tensor)?;
    let mut parts = Vec::with_capacity(composition.parts().len());
    for (format, rule) in composition.parts() {
        let Some(rule) = rule else {
            parts.push(tensor_of(&rest, format)?);
            continue;
        };
        let takes = takes(rule, &rest)?;
        let places = |wanted: bool| -> Vec<u32> {
            let each = takes.iter().enumerate().filter(|(_, taken)| **taken == wanted);
            each.map(|(at, _)| at as u32).collect()
        };
        parts.push(tensor_of(&picked(&rest, &places(true)), format)?);
        rest = picked(&rest, &places(false));
    }
    Ok(Composed(parts.into()))
}

/// For each entry, whether it meets the rule.
fn takes(rule: &Rule, entries: &Columns) -> Result<Vec<bool>, Error> {
    let len = entries.values.len();
    let holds = |measure: f64| rule.compare.holds(measure, rule.number);
    let values = |exprs: &[IndexExpr]| -> Result<Vec<IndexColumn>, Error> {
        exprs.iter().map(|expr| evaluated(expr, &entries.crd, len)).collect()
    };
    let of_numbers =
        |numbers: Buffer<u32>| numbers.iter().map(|&number| holds(f64::from(number))).collect();
    match &rule.measure {
        Measure::Number(counter) => {
            let columns: Vec<IndexColumn> =
                counter.of.iter().map(|&dim| entries.crd[dim].clone()).collect();
            Ok(of_numbers(tally(&columns, len, Tally::Number)?))
        }
        Measure::Count(exprs) => Ok(of_numbers(tally(&values(exprs)?, len, Tally::Count)?)),
        Measure::Fill(exprs) => {
            let counts = tally(&values(exprs)?, len, Tally::Count)?;
            let elements = elements(exprs, entries)?;
            Ok(counts.iter().zip(&elements).map(|(&n, all)| holds(f64::from(n) / all)).collect())
        }
    }
}
