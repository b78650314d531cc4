//! Nobody but its own crate names a level type.
//!
//! Looks for the quoted name of a level type in the code of every crate that must not know it.
//! Format text in tests, in examples and in the one table of named formats is exempt: it is data.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run;

/// The folders of the crates that work with any level type.
const GENERIC: [&str; 6] =
    ["ust-level-api", "ust-engine", "ust-macros", "conformance", "ust-cli", "benches"];
/// Where format text is data.
const DATA: [&str; 1] = ["ust-engine/format/src/named.rs"];

/// Fails with a list of the places found.
pub(crate) fn check() -> Result<(), String> {
    println!("== level types are named in their own crates alone");
    let root = run::root();
    let names = names(&root)?;
    let mut found = Vec::new();
    for folder in GENERIC {
        for file in sources(&root.join(folder)) {
            let shown = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().into_owned();
            if DATA.contains(&shown.as_str()) || shown.contains("/tests") {
                continue;
            }
            let text = fs::read_to_string(&file).map_err(|e| format!("{shown}: {e}"))?;
            for (at, line) in code_lines(&text) {
                if names.iter().any(|name| line.contains(&format!("\"{name}\""))) {
                    found.push(format!("{shown}:{at}: {}", line.trim()));
                }
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(format!("level types are named outside their crates:\n{}", found.join("\n")))
}

/// The registered names, read from the level crates' own registrations.
fn names(root: &Path) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for file in sources(&root.join("levels")) {
        let text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
        for registration in text.split("LevelFactory {").skip(1) {
            let name = registration.trim_start().strip_prefix("name: \"");
            names.extend(name.and_then(|rest| rest.split('"').next()).map(ToOwned::to_owned));
        }
    }
    match names.len() {
        0 => Err("no level type is registered under levels/".to_owned()),
        _ => Ok(names),
    }
}

/// Lines of code: comments and unit tests left out.
pub(crate) fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line))
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Rust files of a folder and its folders.
pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            all.push(path);
        }
    }
    all.sort();
    all
}
