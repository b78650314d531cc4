//! Arrows point down: which crates of the workspace, and which folders of the engine, use which.

use std::fs;

use crate::invariants::{code_lines, sources};
use crate::run::{self, Package};

/// Crates from below to above. A crate uses those in rows above its own; level crates, which name no
/// other, stand beside the second row.
const CRATES: [&[&str]; 9] = [
    &["ust-ir", "ust-cuda"],
    &["ust-level-api", "ust-kernels"],
    &["ust-format", "ust-jit", "ust-plugin"],
    &["ust-macros", "ust-engine"],
    &["ust-io", "ust-draw", "ust-advise", "ust-generate", "ust-solve", "ust-gpu"],
    &["ust"],
    &["ust-conformance"],
    &["ust-cli"],
    &["ust-benches"],
];
/// Folders and files of the engine from below to above.
const ENGINE: [&str; 13] = [
    "error",
    "storage",
    "walk",
    "check",
    "convert",
    "composed",
    "expr",
    "provider",
    "schedule",
    "plan",
    "einsum",
    "array",
    "neighbours",
];

/// Fails with a list of the arrows that point up.
pub(crate) fn check() -> Result<(), String> {
    println!("== crates and folders use those below them alone");
    let mut found = crates()?;
    found.extend(folders()?);
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!("arrows that point up:\n{}", found.join("\n"))),
    }
}

fn crates() -> Result<Vec<String>, String> {
    let row = |name: &str| CRATES.iter().position(|row| row.contains(&name));
    let mut found = Vec::new();
    for package in run::packages()? {
        let own = match Package::is_level(&package.name) {
            true => row("ust-format"),
            false => row(&package.name),
        };
        // Examples and the developer's commands stand on everything.
        let Some(own) = own else { continue };
        for used in &package.uses {
            let fine = match (row(used), Package::is_level(used)) {
                (Some(other), _) => other < own,
                (None, level) => !level || package.name == "ust" || package.name == "ust-macros",
            };
            if !fine {
                found.push(format!("{} uses {used}", package.name));
            }
        }
    }
    Ok(found)
}

fn folders() -> Result<Vec<String>, String> {
    let root = run::root();
    let mut found = Vec::new();
    for (own, folder) in ENGINE.iter().enumerate() {
        let at = root.join("ust-engine/src").join(folder);
        let files = match at.is_dir() {
            true => sources(&at),
            false => vec![at.with_extension("rs")],
        };
        for file in files {
            let shown = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned();
            let text = fs::read_to_string(&file).map_err(|e| format!("{shown}: {e}"))?;
            for (at, line) in code_lines(&text) {
                let above = &ENGINE[own + 1..];
                if above.iter().any(|other| line.contains(&format!("crate::{other}::"))) {
                    found.push(format!("{shown}:{at}: {}", line.trim()));
                }
            }
        }
    }
    Ok(found)
}
