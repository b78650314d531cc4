//! The programs in `examples/` know the level type, and do what the guide says.

use std::env::consts::EXE_SUFFIX;
use std::process::Command;

/// What a program prints. `cargo test` builds those in `examples/` as well, into a folder beside that of tests.
fn printed(program: &str, arguments: &[&str]) -> String {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().with_file_name("examples");
    let path = folder.join(format!("{program}{EXE_SUFFIX}"));
    let output = Command::new(&path).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The words of a command; quotes hold words together.
fn words(command: &str) -> Vec<&str> {
    let parts = command.split('"').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect()
}

/// The commands of the guide that begin so, and the lines that they print.
fn shown(beginning: &str) -> Vec<(Vec<&'static str>, Vec<&'static str>)> {
    let guide = include_str!("../../README.md");
    let blocks = guide.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let commands = blocks.filter_map(|block| {
        let mut lines = block.lines();
        let command = lines.next()?.strip_prefix("$ ")?.strip_prefix(beginning)?;
        Some((words(command), lines.collect()))
    });
    commands.collect()
}

#[test]
fn the_program_ust_lists_the_level_type() {
    assert!(printed("ust", &["levels"]).contains("\nragged: "));
}

#[test]
fn the_program_ust_prints_what_the_guide_shows() {
    let commands = shown("cargo run --example ust --");
    assert!(!commands.is_empty());
    for (arguments, lines) in commands {
        let text = printed("ust", &arguments);
        let found: Vec<&str> = text.lines().map(str::trim_end).collect();
        assert_eq!(found, lines, "{arguments:?}");
    }
}

#[test]
fn the_benchmarks_have_rows_of_the_level_type() {
    let commands = shown("cargo run --release --example bench --");
    assert!(!commands.is_empty());
    for (arguments, _) in commands {
        let few = ["--rounds", "1", "--seconds", "0.01"];
        let text = printed("bench", &[&arguments[..], &few].concat());
        let is_row = |line: &&str| line.contains(": ragged)") && line.contains(" ust ");
        assert!(text.lines().any(|line| is_row(&line)), "{text}");
    }
}

#[test]
fn the_benchmarks_time_it_unasked_where_it_competes() {
    let few = ["--rounds", "1", "--seconds", "0.01", "--contender", "ust"];
    let line = ["matrix", "--op", "spmv", "--input", "random(40x40, nnz=800)"];
    let text = printed("bench", &[&line[..], &few].concat());
    assert!(text.contains(": ragged)"), "{text}");
}
