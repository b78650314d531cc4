//! Nobody but its own crate knows a level type: the workspace builds without each of them.

use std::fs;
use std::path::Path;

use crate::run;

/// The crates that link the standard level types.
const LINKING: [&str; 2] = ["ust", "ust-macros"];

/// Copies the workspace, takes one level crate out of it and out of what links it, and builds the
/// rest; for one level crate, or for each.
pub(crate) fn check(only: Option<&str>) -> Result<(), String> {
    let root = run::root();
    let mut levels = Vec::new();
    for entry in fs::read_dir(root.join("levels")).map_err(|e| e.to_string())? {
        let entry = entry.map_err(|e| e.to_string())?;
        levels.push(entry.file_name().to_string_lossy().into_owned());
    }
    levels.sort();
    if let Some(only) = only {
        if !levels.iter().any(|level| level == only) {
            return Err(format!("no level crate `{only}`; there are {}", levels.join(", ")));
        }
        levels.retain(|level| level == only);
    }
    let copy = tempfile::tempdir().map_err(|e| e.to_string())?;
    // One target folder for all: only what depends on the facade is built again.
    let target = root.join("target").join("without");
    for level in levels {
        println!("== without levels/{level}");
        let folder = copy.path().join(&level);
        copy_sources(&root, &folder).map_err(|e| format!("copying the workspace: {e}"))?;
        remove(&folder, &level).map_err(|e| format!("removing levels/{level}: {e}"))?;
        let target = target.to_string_lossy();
        run::cargo_in(
            &folder,
            &["check", "--workspace", "--quiet", "--offline"],
            &[("CARGO_TARGET_DIR", &target)],
        )?;
    }
    Ok(())
}

fn copy_sources(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name.to_string_lossy().starts_with(".git") {
            continue;
        }
        let target = to.join(&name);
        match entry.file_type()?.is_dir() {
            true => copy_sources(&entry.path(), &target)?,
            false => drop(fs::copy(entry.path(), target)?),
        }
    }
    Ok(())
}

/// Removes a level crate: its folder, its lines in the workspace's manifest, and in [`LINKING`].
fn remove(root: &Path, level: &str) -> std::io::Result<()> {
    let package = format!("ust-level-{}", level.replace('_', "-"));
    let module = package.replace('-', "_");
    fs::remove_dir_all(root.join("levels").join(level))?;
    drop_lines(&root.join("Cargo.toml"), |line| {
        line.contains(&format!("\"levels/{level}\"")) || line.starts_with(&format!("{package} "))
    })?;
    for linking in LINKING.map(|name| root.join(name)) {
        drop_lines(&linking.join("Cargo.toml"), |line| line.starts_with(&format!("{package}.")))?;
        drop_lines(&linking.join("src/lib.rs"), |line| line.contains(&format!("use {module} ")))?;
    }
    Ok(())
}

fn drop_lines(file: &Path, unwanted: impl Fn(&str) -> bool) -> std::io::Result<()> {
    let text = fs::read_to_string(file)?;
    let kept: Vec<&str> = text.lines().filter(|line| !unwanted(line)).collect();
    fs::write(file, kept.join("\n") + "\n")
}
