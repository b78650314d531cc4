//! What there is to know of a run besides its times: the machine, the date, versions, how much was measured.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::machine::{machine, now};
use crate::matrix::Matrix;
use crate::matrix::contender::{Surroundings, contenders, versions};

/// The run that the program makes now. `bandwidths` has the bytes a second that memory gives to so many threads.
pub(crate) fn of_matrix(
    args: &Matrix,
    around: &Surroundings,
    bandwidths: &[(usize, f64)],
) -> Value {
    let effort = args.effort();
    let found = versions(&args.contender, around);
    let about: BTreeMap<_, _> =
        contenders(&args.contender).into_iter().map(|who| (who.name, who.about)).collect();
    json!({
        "date": now(),
        "machine": machine(),
        "bandwidths": bandwidths,
        "rounds": effort.rounds,
        "ust": env!("CARGO_PKG_VERSION"),
        "commit": option_env!("COMMIT"),
        "compiler": option_env!("VERSION_OF_RUSTC"),
        "optimised": !cfg!(debug_assertions),
        "versions": found,
        "contenders": about,
    })
}
