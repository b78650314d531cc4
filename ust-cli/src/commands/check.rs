//! `ust run --check`: the result compared with that of the oracle.

use std::io::Write;

use ust::ops::oracle;
use ust::{Backend, Scalar, Tensor};

use super::operands::Operands;
use super::run::einsum_of;
use crate::args::Run;
use crate::failure::Failure;

/// Evaluations of the innermost expression that a plain evaluation may take.
const SMALL: u64 = 10_000_000;

/// Compares a result with a plain evaluation over every coordinate where that is small, else with
/// the interpreter's. Says where the result depends on what is stored: a zero of padding takes part in
/// it, and one that is not stored does not, as with 0 times infinity.
pub(super) fn check(
    args: &Run,
    operands: &Operands,
    result: &Tensor,
    updates: bool,
) -> Result<(), Failure> {
    let call = || einsum_of(args, operands);
    let is_small = !updates && oracle::cost(&call())? <= SMALL;
    let (expected, stored) = match (is_small, &operands.old) {
        (true, _) => (oracle::evaluate(&call())?, Some(oracle::evaluate_stored(&call())?)),
        (false, None) => (call().backend(Backend::INTERPRETER).run()?, None),
        (false, Some(old)) => {
            let mut target = old.clone();
            call().backend(Backend::INTERPRETER).update(&mut target)?;
            (target, None)
        }
    };
    let mut depends = Vec::new();
    let all = [result.to_coo()?, expected.to_coo()?];
    for (coo, at) in all.iter().flat_map(|coo| (0..coo.len()).map(move |at| (coo, at))) {
        let at = coo.coordinates(at);
        let (got, wanted) = (result.get(&at)?, expected.get(&at)?);
        let without = stored.as_ref().map(|stored| stored.get(&at)).transpose()?;
        match without.filter(|without| !oracle::close(*without, wanted)) {
            Some(without) => depends.push((at, wanted, without)),
            None if !oracle::close(got, wanted) => return Err(differs(&at, got, wanted)),
            None => {}
        }
    }
    depends.sort_by(|a, b| a.0.cmp(&b.0));
    depends.dedup_by(|a, b| a.0 == b.0);
    if let Some((at, with, without)) = depends.first() {
        // That nobody can read it changes nothing in the result.
        let _ = writeln!(
            std::io::stderr(),
            "note: {} elements of the result depend on which zeros are stored: at {at:?} it is \
             {without} where operands store nothing, and {with} where padding takes part",
            depends.len()
        );
    }
    Ok(())
}

fn differs(coordinates: &[usize], got: Scalar, wanted: Scalar) -> Failure {
    Failure::failed(format!(
        "the check failed: at {coordinates:?} the result is {got}, and the oracle says {wanted}"
    ))
}
