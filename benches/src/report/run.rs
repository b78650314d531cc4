//! What there is to know of a run besides its times: the machine, the date, versions, how much was measured.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use ust::gpu::cuda::Info;

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
    let mut run = here();
    run["bandwidths"] = json!(bandwidths);
    run["rounds"] = json!(effort.rounds);
    run["versions"] = json!(found);
    run["contenders"] = json!(about);
    run
}

/// The same of a device. `bandwidth` has the bytes a second that a copy moves there.
pub(crate) fn of_gpu(info: &Info, is_virtual: bool, rounds: usize, bandwidth: f64) -> Value {
    let mut run = here();
    run["device"] = json!(info.name);
    run["virtual"] = json!(is_virtual);
    let (major, minor) = (info.driver / 1000, info.driver % 1000 / 10);
    let about = format!("{}, {}, driver {major}.{minor}", info.name, info.architecture());
    run["machine"]["processor"] = json!(about);
    run["machine"]["cores"] = Value::Null;
    run["machine"]["memory"] = json!(info.memory);
    run["bandwidths"] = json!([[0, bandwidth]]);
    run["rounds"] = json!(rounds);
    run
}

/// What any run has.
fn here() -> Value {
    json!({
        "date": now(),
        "machine": machine(),
        "ust": env!("CARGO_PKG_VERSION"),
        "commit": option_env!("COMMIT"),
        "compiler": option_env!("VERSION_OF_RUSTC"),
        "optimised": !cfg!(debug_assertions),
    })
}
