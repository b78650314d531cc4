//! The guide to level types shows a whole crate: what it shows of a file, joined, is that file.
//!
//! A block of the guide belongs to a file if the line before it names the file: `<!-- src/lib.rs -->`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::invariants::sources;
use crate::run;

const GUIDE: &str = "examples/README.md";
const CRATE: &str = "examples/third_party";

/// Compares the crate with what the guide shows, or writes it.
pub(crate) fn check(write: bool) -> Result<(), String> {
    let root = run::root();
    let read =
        |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let guide = read(&root.join(GUIDE))?;
    let shown = files(&guide)?;
    let folder = root.join(CRATE);
    for (file, text) in &shown {
        let path = folder.join(file);
        if write {
            let parent = path.parent().unwrap_or(&folder);
            let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
            written.map_err(|e| format!("{}: {e}", path.display()))?;
        }
        differ(&read(&path)?, text).map_or(Ok(()), |line| {
            Err(format!(
                "{CRATE}/{file} is not what {GUIDE} shows, from line {line} on; mend the guide, and \
                 `cargo xtask guide --write` writes the file"
            ))
        })?;
    }
    let hidden = sources(&folder.join("src")).into_iter().find(|path| {
        let file = path.strip_prefix(&folder).unwrap_or(path).to_string_lossy().replace('\\', "/");
        !shown.contains_key(&*file)
    });
    hidden.map_or(Ok(()), |path| Err(format!("{GUIDE} does not show {}", path.display())))
}

/// The files that a guide shows: their blocks, with an empty line between two.
fn files(guide: &str) -> Result<BTreeMap<&str, String>, String> {
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    let mut lines = guide.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let name = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        let Some(name) = name else { continue };
        if !lines.next().is_some_and(|(_, line)| line.starts_with("```")) {
            return Err(format!("{GUIDE}:{}: no block follows", at + 1));
        }
        let text = found.entry(name).or_default();
        if !text.is_empty() {
            text.push('\n');
        }
        for (_, line) in lines.by_ref().take_while(|(_, line)| *line != "```") {
            *text += line;
            text.push('\n');
        }
    }
    match found.is_empty() {
        true => Err(format!("{GUIDE} shows no file")),
        false => Ok(found),
    }
}

/// The first line in which two texts differ, from 1.
fn differ(a: &str, b: &str) -> Option<usize> {
    let same = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
    (a != b).then_some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_shows_the_crate() {
        check(false).unwrap();
    }

    #[test]
    fn blocks_of_a_file_are_joined() {
        let guide = "<!-- a -->\n```rust\n1\n\n2\n```\ntext\n```rust\nno\n```\n<!-- b -->\n```\n3\n```\n\
                     <!-- a -->\n```\n4\n```\n";
        let found = files(guide).unwrap();
        assert_eq!(found, BTreeMap::from([("a", "1\n\n2\n\n4\n".into()), ("b", "3\n".into())]));
        assert!(files("<!-- a -->\n\n").is_err() && files("text").is_err());
    }

    #[test]
    fn the_first_difference_is_told() {
        assert_eq!((differ("a\nb\n", "a\nb\n"), differ("a\nb\n", "a\nc\n")), (None, Some(2)));
        assert_eq!(differ("a\n", "a\nb\n"), Some(2));
    }
}
