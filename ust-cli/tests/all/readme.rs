//! What README.md shows: its commands run, they print what stands below them, and its picture is the
//! one that the program draws.

use std::path::{Path, PathBuf};

use super::common::ust_in;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A command, and the lines that follow it.
struct Shown {
    line: usize,
    command: String,
    output: Vec<String>,
}

/// The commands of the blocks that are marked as a console's.
fn shown(text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        match (inside, line.strip_prefix("$ ")) {
            (_, _) if line.starts_with("```") => inside = !inside && line == "```console",
            (false, _) => {}
            (true, Some(command)) => {
                let command = command.to_owned();
                all.push(Shown { line: at + 1, command, output: Vec::new() });
            }
            (true, None) => {
                all.last_mut().expect("a command stands first").output.push(line.to_owned());
            }
        }
    }
    for one in &mut all {
        // An empty line parts a command from the next one.
        while one.output.last().is_some_and(String::is_empty) {
            one.output.pop();
        }
    }
    all
}

/// The words of a command as a shell sees them: quotes hold words together, `#` begins a comment.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in command.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            '#' if !quoted && word.is_none() => break,
            _ => word.get_or_insert_default().push(c),
        }
    }
    assert!(!quoted, "a quote is open: {command}");
    words.extend(word);
    words
}

/// The arguments of `ust`, where a command runs it.
fn arguments(command: &str) -> Option<Vec<String>> {
    let words = words(command);
    let program = words.first().map(String::as_str);
    let after = match program {
        Some("ust") => 1,
        Some("cargo") if words.contains(&"ust-cli".to_owned()) => {
            words.iter().position(|word| word == "--")? + 1
        }
        Some("cargo") => return None,
        _ => panic!("neither `ust` nor `cargo`: {command}"),
    };
    Some(words[after..].to_vec())
}

#[test]
fn every_command_prints_what_the_readme_shows() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (mut run, mut compared) = (0, 0);
    for Shown { line, command, output } in shown(&text) {
        let Some(args) = arguments(&command) else { continue };
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        // The one command that README says to need the feature.
        if args[0] == "emit" && cfg!(not(feature = "gpu")) {
            continue;
        }
        let ran = ust_in(folder.path(), &args);
        run += 1;
        let at = format!("README.md:{line}: {command}\n{}{}", ran.stdout, ran.stderr);
        let refused = output.first().is_some_and(|line| line.starts_with("error:"));
        assert_eq!(ran.code, Some(if refused { 2 } else { 0 }), "{at}");
        if output.is_empty() {
            continue;
        }
        compared += 1;
        let printed = if refused { ran.stderr } else { ran.stdout };
        let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
        assert_eq!(printed, output, "{at}");
    }
    assert!(run >= 8 && compared >= 4, "commands are no longer found: {run}, {compared}");
}

#[test]
fn the_picture_is_what_the_first_command_draws() {
    let text = std::fs::read_to_string(root().join("README.md")).unwrap();
    let first = shown(&text).into_iter().find_map(|shown| arguments(&shown.command)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut args: Vec<&str> = first.iter().map(String::as_str).collect();
    args.extend(["--svg", "diagonals.svg"]);
    ust_in(folder.path(), &args).done();
    let drawn = std::fs::read_to_string(folder.path().join("diagonals.svg")).unwrap();
    let kept = std::fs::read_to_string(root().join("docs/diagonals.svg")).unwrap();
    assert!(
        drawn == kept,
        "docs/diagonals.svg differs: draw it again with `ust {}`",
        args.join(" ")
    );
}

#[test]
fn words_are_parted_as_by_a_shell() {
    assert_eq!(words("ust a=1 \"b c\" x=\"d e\" # f"), ["ust", "a=1", "b c", "x=d e"]);
    assert_eq!(words("ust \"\" a#b"), ["ust", "", "a#b"]);
}
