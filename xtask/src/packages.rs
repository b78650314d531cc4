//! Could every crate be published? What its manifest says, and which files would go along.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::run;

/// Fields of a manifest that a crate is published with.
const FIELDS: [&str; 7] =
    ["description", "license", "readme", "keywords", "categories", "authors", "rust_version"];
/// The texts of the licences.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];
/// Files of a package beside its sources.
const OTHERS: [&str; 6] = [
    ".cargo_vcs_info.json",
    "Cargo.lock",
    "Cargo.toml",
    "Cargo.toml.orig",
    "README.md",
    "build.rs",
];
/// Folders of a package, and what their files end in.
const FOLDERS: [(&str, &[&str]); 4] = [
    ("src/", &[".rs", ".h", ".cc", ".cuh", ".html", ".css", ".js"]),
    ("include/", &[".h"]),
    ("tests/", &[".rs", ".txt", ".h", ".c", ".cu"]),
    ("docs/", &[".md"]),
];

/// Packages every crate that is for publication, and fails with a list of what it lacks and of
/// files that do not belong to it.
pub(crate) fn check() -> Result<(), String> {
    println!("== every crate could be published");
    let packages = run::metadata()?;
    let (published, kept): (Vec<&Value>, Vec<&Value>) = packages.iter().partition(|p| is_public(p));
    let missing = LICENCES.iter().filter(|file| !run::root().join(file).is_file());
    let mut found: Vec<String> = missing.map(|file| format!("no file {file}")).collect();
    found.extend(published.iter().flat_map(|package| lacks(package, &kept)));
    for package in &published {
        found.extend(strays(name(package))?);
    }
    if !found.is_empty() {
        return Err(format!("not ready for publication:\n{}", found.join("\n")));
    }
    // Without a build: the workspace is built elsewhere. From packages, so that each must find the
    // others among those that are published.
    let mut args = vec!["package", "--workspace", "--no-verify", "--allow-dirty", "--offline"];
    args.push("--quiet");
    args.extend(kept.iter().flat_map(|package| ["--exclude", name(package)]));
    run::cargo(&args, &[])
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}

/// Whether a package may be published: `publish` is a list of registries, and empty for `false`.
fn is_public(package: &Value) -> bool {
    package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

/// What the manifest of a package lacks.
fn lacks(package: &Value, kept: &[&Value]) -> Vec<String> {
    let kept: BTreeSet<&str> = kept.iter().map(|package| name(package)).collect();
    let said = |field: &&&str| match &package[**field] {
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    let fields = FIELDS.iter().filter(|field| !said(field));
    let mut found: Vec<String> =
        fields.map(|field| format!("{}: no `{field}`", name(package))).collect();
    // Else `cargo run -p` does not know which one to run.
    let is_program = |target: &&Value| target["kind"] == json!(["bin"]);
    let programs = package["targets"].as_array().into_iter().flatten().filter(is_program).count();
    if programs > 1 && package["default_run"].is_null() {
        found.push(format!("{}: {programs} programs, and no `default-run`", name(package)));
    }
    for used in package["dependencies"].as_array().into_iter().flatten() {
        if used["path"].is_null() || used["kind"] == "dev" {
            continue;
        }
        let what = match (used["req"] == "*", kept.contains(name(used))) {
            (true, _) => "without a version",
            (false, true) => "which is not published",
            (false, false) => continue,
        };
        found.push(format!("{}: depends on {} {what}", name(package), name(used)));
    }
    found
}

/// Files that would go along with a package and do not belong to it.
fn strays(package: &str) -> Result<Vec<String>, String> {
    let list = run::output(&["package", "--list", "--allow-dirty", "--offline", "-p", package])?;
    let belongs = |file: &str| {
        OTHERS.contains(&file)
            || FOLDERS.iter().any(|(folder, ends)| {
                file.starts_with(folder) && ends.iter().any(|end| file.ends_with(end))
            })
    };
    let files: Vec<&str> = list.lines().map(str::trim).filter(|file| !file.is_empty()).collect();
    let readme = if files.contains(&"README.md") { None } else { Some("no README.md".to_owned()) };
    let strays = files.iter().filter(|file| !belongs(file)).map(|file| format!("packs {file}"));
    Ok(readme.into_iter().chain(strays).map(|what| format!("{package}: {what}")).collect())
}
