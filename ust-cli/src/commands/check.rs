//! `ust run --check`: the result compared with that of the oracle.

use ust::ops::oracle;
use ust::{Backend, Scalar, Tensor};

use super::run::{Operands, einsum_of};
use crate::args::Run;
use crate::failure::Failure;

/// Evaluations of the innermost expression that a plain evaluation may take.
const SMALL: u64 = 10_000_000;

/// Compares a result with a plain evaluation over every coordinate where that is small, else with
/// the interpreter's.
pub(super) fn check(
    args: &Run,
    operands: &Operands,
    result: &Tensor,
    updates: bool,
) -> Result<(), Failure> {
    let call = einsum_of(args, operands);
    let expected = match (updates, oracle::cost(&call)?) {
        (false, cost) if cost <= SMALL => oracle::evaluate(&call)?,
        _ => {
            let call = call.backend(Backend::INTERPRETER);
            match &operands.old {
                None => call.run()?,
                Some(old) => {
                    let mut target = old.clone();
                    call.update(&mut target)?;
                    target
                }
            }
        }
    };
    let (found, expected) = (result.to_coo()?, expected);
    for at in 0..found.len() {
        let coordinates: Vec<usize> = found.coordinates(at).into_iter().collect();
        let (got, wanted) = (result.get(&coordinates)?, expected.get(&coordinates)?);
        if !oracle::close(got, wanted) {
            return Err(differs(&coordinates, got, wanted));
        }
    }
    let expected_coo = expected.to_coo()?;
    for at in 0..expected_coo.len() {
        let coordinates: Vec<usize> = expected_coo.coordinates(at).into_iter().collect();
        let (got, wanted) = (result.get(&coordinates)?, expected.get(&coordinates)?);
        if !oracle::close(got, wanted) {
            return Err(differs(&coordinates, got, wanted));
        }
    }
    Ok(())
}

fn differs(coordinates: &[usize], got: Scalar, wanted: Scalar) -> Failure {
    Failure::failed(format!(
        "the check failed: at {coordinates:?} the result is {got}, and the oracle says {wanted}"
    ))
}
