//! Running cargo, and saying what is run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

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

/// A package of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    /// Packages of the workspace that it depends on, tests left out.
    pub(crate) uses: Vec<String>,
}

/// The packages of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root())
        .output()
        .map_err(|e| format!("`cargo metadata` did not start: {e}"))?;
    let all: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("what `cargo metadata` prints: {e}"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let package = |package: &Value| Package {
        name: text(&package["name"]),
        uses: list(&package["dependencies"])
            .iter()
            .filter(|used| !used["path"].is_null() && used["kind"] != "dev")
            .map(|used| text(&used["name"]))
            .collect(),
    };
    Ok(list(&all["packages"]).iter().map(package).collect())
}
