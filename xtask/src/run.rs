//! Running cargo, and saying what is run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace").to_owned()
}

/// Runs cargo in the workspace.
pub(crate) fn cargo(args: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
    cargo_in(&root(), args, variables)
}

/// Runs cargo in a folder.
pub(crate) fn cargo_in(
    folder: &Path,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Result<(), String> {
    let shown = format!("cargo {}", args.join(" "));
    println!("== {shown}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let start = Instant::now();
    let status = Command::new(cargo)
        .args(args)
        .envs(variables.iter().copied())
        .current_dir(folder)
        .status()
        .map_err(|e| format!("`{shown}` did not start: {e}"))?;
    println!("== {:.0} s", start.elapsed().as_secs_f64());
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed ({status})")) }
}
