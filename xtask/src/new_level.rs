//! A crate for a new level type: everything is there but what only its author knows.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::run;

/// Files of a crate in this workspace, and what stands in them.
const INSIDE: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("../template/inside/Cargo.toml")),
    ("src/lib.rs", include_str!("../template/lib.rs")),
    ("tests/conformance.rs", include_str!("../template/conformance.rs")),
];
/// The same of a crate anywhere else.
const OUTSIDE: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("../template/outside/Cargo.toml")),
    ("src/lib.rs", include_str!("../template/lib.rs")),
    ("tests/conformance.rs", include_str!("../template/conformance.rs")),
    ("examples/ust.rs", include_str!("../template/outside/ust.rs")),
    ("examples/bench.rs", include_str!("../template/outside/bench.rs")),
];
/// The place of a crate in this workspace, in the workspace's manifest.
const MEMBERS: &str = "    \"levels/";

/// Writes a crate for the level type `name`: into the folder `outside`, or into `levels/` and the workspace.
pub(crate) fn write(name: &str, outside: Option<&Path>) -> Result<(), String> {
    is_name(name)?;
    let root = run::root();
    let folder = match outside {
        Some(folder) => folder.to_owned(),
        None => root.join("levels").join(name),
    };
    let shown = folder.display().to_string();
    let at = |error: io::Error| format!("{shown}: {error}");
    fs::create_dir_all(&folder).map_err(at)?;
    let folder = fs::canonicalize(&folder).map_err(at)?;
    if fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some()) {
        return Err(format!("{} is not empty", folder.display()));
    }
    let (files, package) = match outside {
        Some(_) => (&OUTSIDE[..], format!("{name}_level")),
        None => (&INSIDE[..], format!("ust-level-{}", name.replace('_', "-"))),
    };
    let test = if outside.is_some() { "conforms" } else { crate::OF_ITSELF };
    // Longer words first: none is part of another then.
    let words = [
        ("ROOT", way(&folder, &root)),
        ("CRATE", package.clone()),
        ("NAME", name.to_owned()),
        ("TYPE", type_name(name)),
        ("TEST", test.to_owned()),
    ];
    for (file, text) in files {
        let path = folder.join(file);
        let words = words.iter().map(|(word, by)| match file.ends_with(".rs") {
            true => (word, by.replace('-', "_")),
            false => (word, by.clone()),
        });
        let text = words.fold((*text).to_owned(), |text, (word, by)| text.replace(word, &by));
        let parent = path.parent().unwrap_or(&folder);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        written.map_err(|e| format!("{}: {e}", path.display()))?;
    }
    println!("the level type `{name}` is to be written in {}", folder.join("src/lib.rs").display());
    match outside {
        Some(_) => {
            // The versions that this workspace is tested with; cargo takes out what is not needed.
            fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).map_err(at)?;
            println!("`cargo test` there says what comes first");
        }
        None => {
            join_workspace(name, &root)?;
            println!("`cargo test -p {package}` says what comes first; to make it a standard one,");
            println!("name it where `ust` and `ust-macros` name the others");
        }
    }
    println!("the guide: {}", root.join("examples/README.md").display());
    Ok(())
}

/// Whether format text and code can have this name.
fn is_name(name: &str) -> Result<(), String> {
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let goes_on = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    // No type can be called `Self`.
    match begins && name.chars().all(goes_on) && name != "self" {
        true => Ok(()),
        false => Err(format!(
            "`{name}` is no name of a level type: small letters, digits and `_`, a letter first"
        )),
    }
}

/// The name of the type: `run_length` is `RunLength`.
fn type_name(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    };
    name.split('_').map(word).collect()
}

/// How the root of the workspace is called from a folder: by steps up if the folder lies in it.
fn way(folder: &Path, root: &Path) -> String {
    match folder.strip_prefix(root) {
        Ok(below) => below.components().map(|_| "..").collect::<Vec<_>>().join("/"),
        Err(_) => root.to_string_lossy().replace('\\', "/"),
    }
}

/// Adds the crate to the members of the workspace, behind the other level crates.
fn join_workspace(name: &str, root: &Path) -> Result<(), String> {
    let manifest: PathBuf = root.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|e| e.to_string())?;
    let mut lines: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    let last = lines.iter().rposition(|line| line.starts_with(MEMBERS));
    let last = last.ok_or("the workspace has no level crate to stand beside")?;
    lines.insert(last + 1, format!("{MEMBERS}{name}\","));
    fs::write(&manifest, lines.join("\n") + "\n").map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_format_text_and_code_can_have() {
        for (name, is_fine) in [
            ("ragged", true),
            ("block2_4", true),
            ("", false),
            ("2d", false),
            ("Ragged", false),
            ("../x", false),
            ("a-b", false),
            ("self", false),
        ] {
            assert_eq!(is_name(name).is_ok(), is_fine, "{name}");
        }
        assert_eq!((type_name("run_length"), type_name("x__y")), ("RunLength".into(), "XY".into()));
    }

    #[test]
    fn the_workspace_is_called_by_steps_up_from_within_and_by_its_path_from_elsewhere() {
        let root = Path::new("/a/ust");
        assert_eq!(way(Path::new("/a/ust/examples/x"), root), "../..");
        assert_eq!(way(Path::new("/tmp/x"), root), "/a/ust");
    }
}
