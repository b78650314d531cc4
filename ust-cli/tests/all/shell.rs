//! The program among others: pipes, completions, pages of the manual, colours.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::common::{parse, ust, ust_in};

/// Runs `ust` with bytes on standard input. Gives the exit code, and what it wrote.
fn fed(folder: &Path, args: &[&str], bytes: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ust"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that refuses its arguments reads nothing.
    let _ = child.stdin.take().unwrap().write_all(bytes);
    let ran = child.wait_with_output().unwrap();
    (ran.status.code(), ran.stdout, String::from_utf8(ran.stderr).unwrap())
}

const TENSOR: &[u8] = b"1 2 5\n3 1 7\n3 4 2.5\n";

#[test]
fn a_tensor_passes_through_pipes_as_every_kind_of_file() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["mtx", "mtx.gz", "tns", "tns.gz", "npy", "npz", "ust.npz"] {
        let args = ["convert", "-", "-", "--from", "tns", "--to", kind];
        let (code, written, said) = fed(folder.path(), &args, TENSOR);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{kind}");
        let args = ["show", "-", "--from", kind, "--format", "CSR", "--json"];
        let (code, shown, said) = fed(folder.path(), &args, &written);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{kind}");
        let shown = parse(&String::from_utf8(shown).unwrap());
        assert_eq!(shown["values"], serde_json::json!([5, 7, 2.5]), "{kind}");
        assert_eq!(shown["levels"][1]["crd"], serde_json::json!([1, 0, 3]), "{kind}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn expressions_take_and_give_tensors_through_pipes() {
    let here = std::env::temp_dir();
    let run = ["run", "y(i) = A(i,j) * x(j)", "A=-", "x=gen:ones(4)", "--from", "tns"];
    let (code, written, said) =
        fed(&here, &[&run[..], &["--out", "-", "--to", "tns"]].concat(), TENSOR);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    assert_eq!(String::from_utf8(written).unwrap(), "# shape 3\n1 5.0\n3 9.5\n");
    let info = fed(&here, &["info", "-", "--from", "tns", "--json"], TENSOR).1;
    assert_eq!(parse(&String::from_utf8(info).unwrap())["nnz"], 3);
}

#[test]
fn what_is_wrong_in_a_pipe_is_told_of_standard_input() {
    let here = std::env::temp_dir();
    for (args, input, parts) in [
        (&["info", "-"][..], &b""[..], &["`-` is standard input", "--from mtx"][..]),
        (&["info", "-", "--from", "csv"], b"", &["the kinds are mtx"]),
        (&["info", "-", "--from", "tns"], b"1 x 5\n", &["standard input:1:3"]),
        (
            &["run", "y(i) = A(i,j) * B(i,j)", "A=-", "B=-", "--from", "tns"],
            TENSOR,
            &["is read once"],
        ),
        (&["convert", "-", "-", "--from", "tns"], TENSOR, &["`-` is standard output", "--to mtx"]),
        (
            &["convert", "-", "a.mtx", "--from", "tns", "--to", "tns"],
            TENSOR,
            &["--to is the kind of `-`"],
        ),
    ] {
        let (code, written, said) = fed(&here, args, input);
        assert_eq!((code, written), (Some(2), Vec::new()), "{args:?}: {said}");
        for part in parts {
            assert!(said.contains(part), "{args:?} does not say {part:?}: {said}");
        }
    }
    let (code, written, said) =
        fed(&here, &["convert", "-", "-", "--from", "tns", "--to", "mtx", "--json"], TENSOR);
    assert_eq!(code, Some(2), "{said}");
    assert!(parse(&String::from_utf8(written).unwrap())["error"].is_object());
    // A tensor of rank 3 is no matrix, and then nothing is written.
    let (code, written, said) =
        fed(&here, &["convert", "-", "-", "--from", "tns", "--to", "mtx"], b"1 1 1 5\n");
    assert_eq!((code, written), (Some(2), Vec::new()));
    assert!(said.contains("standard output: Matrix Market holds matrices"), "{said}");
}

#[test]
fn every_shell_gets_completions_that_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = ust(&["completions", shell]).done();
        for word in ["advise", "convert", "--color", "memory-limit"] {
            assert!(text.contains(word.trim_start_matches('-')), "{shell} {word}");
        }
    }
    assert_eq!(ust(&["completions", "csh"]).code, Some(2));
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let page = ust(&["man", "info"]).done();
    assert!(page.contains(".TH") && page.contains("ust\\-info") && page.contains("json"), "{page}");
    assert!(ust(&["man"]).done().contains("ust\\-advise"));
    let folder = tempfile::tempdir().unwrap();
    let said = ust_in(folder.path(), &["man", "--out", "pages"]).done();
    let pages = std::fs::read_dir(folder.path().join("pages")).unwrap().count();
    assert_eq!(said, format!("wrote {pages} pages into pages\n"));
    for name in ["ust.1", "ust-info.1", "ust-advise.1", "ust-completions.1"] {
        assert!(folder.path().join("pages").join(name).exists(), "{name}");
    }
    let ran = ust(&["man", "nosuch"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no command `nosuch`"), "{}", ran.stderr);
}

#[test]
fn colours_are_where_they_are_asked_for() {
    let tensor = "gen:poisson2d(2)";
    let always = ust(&["show", tensor, "--color", "always"]).done();
    assert!(always.contains("\u{1b}["));
    for args in [&["--color", "never", "show", tensor][..], &["show", tensor]] {
        assert!(!ust(args).done().contains('\u{1b}'), "{args:?}");
    }
    for (name, args, colored) in [
        ("CLICOLOR_FORCE", &["show", tensor][..], true),
        ("CLICOLOR_FORCE", &["show", tensor, "--color", "never"], false),
        ("NO_COLOR", &["show", tensor, "--color", "always"], true),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ust"));
        let out = command.args(args).env(name, "1").output().unwrap().stdout;
        assert_eq!(out.contains(&0x1b), colored, "{name} {args:?}");
    }
    assert!(ust(&["--color", "always", "nosuch"]).stderr.contains("\u{1b}["));
}

#[test]
fn an_element_is_traced_through_the_levels() {
    let text = ust(&["show", "gen:poisson2d(3)", "--format", "CSR", "--trace", "1,2"]).done();
    for part in
        ["A[1, 2] = -1", "level 0   i = 1, position 1", "level 1   j = 2, position 5", "values[5]"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let absent = ust(&["show", "gen:poisson2d(3)", "--trace", "(2, 0)"]).done();
    assert!(absent.contains("A[2, 0] is not stored: it is the fill value 0"), "{absent}");
    for (format, ends) in [
        ("CSR", "(level 0 has i = 2, level 1 does not have j = 0 there)"),
        ("CSC", "(level 0 has j = 0, level 1 does not have i = 2 there)"),
        ("DIA", "(level 0 does not have j - i = -2 there)"),
        ("JDS", "it is the fill value 0\n"),
    ] {
        let args = ["show", "gen:poisson2d(3)", "--format", format, "--trace", "2,0"];
        let text = ust(&args).done();
        assert!(text.contains(ends), "{format}: {text}");
        let svg = ust(&[&args[..], &["--out", "-"]].concat()).done();
        assert!(svg.contains(ends.trim_end()), "{format}");
    }
    let svg = ust(&["show", "gen:poisson2d(3)", "--trace", "1,2", "--out", "-"]).done();
    assert!(
        svg.starts_with("<svg") && svg.contains("A[1, 2] = -1") && svg.contains("class=\"way\"")
    );
    for element in ["9,0", "1", "1,2,3"] {
        let ran = ust(&["show", "gen:poisson2d(3)", "--trace", element]);
        assert_eq!(ran.code, Some(2), "{element}");
        assert!(ran.stderr.contains("9 x 9 has no element"), "{}", ran.stderr);
    }
}
