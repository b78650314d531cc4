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

/// What a command of cargo prints.
pub(crate) fn output(args: &[&str]) -> Result<String, String> {
    let shown = format!("cargo {}", args.join(" "));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(args)
        .current_dir(root())
        .output()
        .map_err(|e| format!("`{shown}` did not start: {e}"))?;
    match output.status.success() {
        true => String::from_utf8(output.stdout).map_err(|e| format!("`{shown}`: {e}")),
        false => Err(format!("`{shown}` failed: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The packages of the workspace, as `cargo metadata` tells of them.
pub(crate) fn metadata() -> Result<Vec<Value>, String> {
    let text = output(&["metadata", "--no-deps", "--format-version", "1"])?;
    let all: Value =
        serde_json::from_str(&text).map_err(|e| format!("what `cargo metadata` prints: {e}"))?;
    all["packages"].as_array().cloned().ok_or("`cargo metadata` lists no packages".to_owned())
}

/// A package of the workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
    /// Packages of the workspace that it depends on, tests left out.
    pub(crate) uses: Vec<String>,
}

impl Package {
    /// Whether a package is that of a level type.
    pub(crate) fn is_level(name: &str) -> bool {
        name.starts_with("ust-level-") && name != "ust-level-api"
    }
}

/// The packages of the workspace.
pub(crate) fn packages() -> Result<Vec<Package>, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let package = |package: &Value| {
        let used = package["dependencies"].as_array().into_iter().flatten();
        let own = used.filter(|used| !used["path"].is_null() && used["kind"] != "dev");
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        Package {
            name: text(&package["name"]),
            folder: manifest.parent().unwrap_or(&manifest).to_owned(),
            uses: own.map(|used| text(&used["name"])).collect(),
        }
    };
    Ok(metadata()?.iter().map(package).collect())
}
