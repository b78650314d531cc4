//! What reports say of this build: the commit, the compiler, and the versions of the crates that are contenders.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates whose versions are told, as `VERSION_OF_FAER`.
const CRATES: [&str; 3] = ["faer", "nalgebra-sparse", "sprs"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let lock =
        folder.ancestors().map(|folder| folder.join("Cargo.lock")).find(|path| path.exists());
    if let Some(lock) = lock {
        println!("cargo::rerun-if-changed={}", lock.display());
        let text = std::fs::read_to_string(lock).unwrap_or_default();
        for name in CRATES {
            if let Some(version) = locked(&text, name) {
                let variable = name.to_uppercase().replace('-', "_");
                println!("cargo::rustc-env=VERSION_OF_{variable}={version}");
            }
        }
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    if let Some(text) = output(Path::new(&rustc), &["--version"]) {
        println!("cargo::rustc-env=VERSION_OF_RUSTC={text}");
    }
    // Each commit writes a line there. Without Git nothing is known, and nothing is said.
    let git = |arguments: &[&str]| output(Path::new("git"), arguments);
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git(&["rev-parse", "--short=10", "HEAD"]) {
        println!("cargo::rustc-env=COMMIT={commit}");
    }
}

/// The version of a package in the text of a lock file.
fn locked<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = text.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    after.split('"').next()
}

fn output(program: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
