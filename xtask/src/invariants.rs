//! Nobody but its own crate names a level type, and the engine compares no name of a format.
//!
//! Looks for the quoted name of a level type in the code of every crate that must not know it, and for
//! the quoted name of a format in the engine and in level types, unless a format is made from it.
//! Format text in tests, in examples and in the one table of named formats is exempt: it is data.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run;

/// The folders of the crates that work with any level type.
const GENERIC: [&str; 8] = [
    "ust-level-api",
    "ust-plugin",
    "ust-engine",
    "ust-gpu",
    "ust-macros",
    "conformance",
    "ust-cli",
    "benches",
];
/// The folders of the code that must not choose by the name of a format.
const NAMELESS: [&str; 5] =
    ["ust-engine/src", "ust-engine/kernels", "ust-engine/jit", "ust-gpu", "levels"];
/// How a format is made from its name.
const MADE: &str = "Format::resolve(";
/// Where format text is data.
const DATA: [&str; 1] = ["ust-engine/format/src/named.rs"];

/// Fails with a list of the places found.
pub(crate) fn check() -> Result<(), String> {
    println!("== level types are named in their own crates alone");
    let root = run::root();
    let levels = names(&root)?;
    let mut found = Vec::new();
    for folder in GENERIC {
        find(&root, folder, &mut found, |line| {
            levels.iter().any(|(_, name)| names_level(line, name))
        })?;
    }
    for (own, _) in &levels {
        let others = || levels.iter().filter(|(folder, _)| folder != own);
        // An alias is a spelling of another system, which may begin with a name of another level type.
        find(&root, own, &mut found, |line| {
            !line.contains("Alias {") && others().any(|(_, name)| names_level(line, name))
        })?;
    }
    refuse("level types are named outside their crates", &found)?;
    println!("== no format is compared by its name");
    let formats = formats(&root)?;
    for folder in NAMELESS {
        find(&root, folder, &mut found, |line| {
            !line.contains(MADE) && formats.iter().any(|name| quotes(line, name))
        })?;
    }
    refuse("formats are named in code that must not choose by their names", &found)
}

fn refuse(what: &str, found: &[String]) -> Result<(), String> {
    match found {
        [] => Ok(()),
        found => Err(format!("{what}:\n{}", found.join("\n"))),
    }
}

fn quotes(line: &str, name: &str) -> bool {
    line.contains(&format!("\"{name}\""))
}

/// Whether a line has a name in quotes, other than as a key of JSON or as the name of something else.
fn names_level(line: &str, name: &str) -> bool {
    let quoted = format!("\"{name}\"");
    line.match_indices(&quoted).any(|(at, _)| {
        let (before, after) = (line[..at].trim_end(), &line[at + quoted.len()..]);
        let is_own = before.ends_with("name:") || before.contains("const NAME:");
        !is_own && !after.starts_with(':')
    })
}

/// Adds the lines of code in a folder that are not allowed.
fn find(
    root: &Path,
    folder: &str,
    found: &mut Vec<String>,
    is_wrong: impl Fn(&str) -> bool,
) -> Result<(), String> {
    for file in sources(&root.join(folder)) {
        let shown = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        if DATA.contains(&shown.as_str()) || shown.contains("/tests") {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(|e| format!("{shown}: {e}"))?;
        for (at, line) in code_lines(&text).filter(|(_, line)| is_wrong(line)) {
            found.push(format!("{shown}:{at}: {}", line.trim()));
        }
    }
    Ok(())
}

/// The names of formats, with examples and aliases, read from their table.
fn formats(root: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(root.join(DATA[0])).map_err(|e| e.to_string())?;
    let is_entry = |line: &&str| {
        let maker = line.trim().split_once("(\"").map(|(maker, _)| maker);
        maker.is_some_and(|maker| ["plain", "with", "family"].contains(&maker))
    };
    // Every second part of a line stands in quotes. Parameters are single letters, texts have blanks.
    let quoted = text.lines().filter(is_entry).flat_map(|line| line.split('"').skip(1).step_by(2));
    let is_name = |text: &&str| text.len() > 2 && !text.contains(' ');
    let names: Vec<String> = quoted.filter(is_name).map(ToOwned::to_owned).collect();
    match names.len() {
        0 => Err(format!("no format is named in {}", DATA[0])),
        _ => Ok(names),
    }
}

/// The registered names, read from the level crates' own registrations, each with the folder of its crate.
fn names(root: &Path) -> Result<Vec<(String, String)>, String> {
    let mut names = Vec::new();
    for file in sources(&root.join("levels")) {
        let shown = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        let folder = shown.split('/').take(2).collect::<Vec<_>>().join("/");
        let text = fs::read_to_string(&file).map_err(|e| e.to_string())?;
        for registration in text.split("LevelFactory {").skip(1) {
            let name = registration.trim_start().strip_prefix("name: \"");
            let name = name.and_then(|rest| rest.split('"').next());
            names.extend(name.map(|name| (folder.clone(), name.to_owned())));
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
