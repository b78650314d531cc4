//! The command line: help, listings, exit codes, and what is said when something is wrong.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use super::common::{parse, ust, ust_in};

#[test]
fn everything_has_help() {
    let commands = ["levels", "formats", "format", "info", "show", "convert", "run", "emit"];
    for args in [&["--help"][..], &["help"], &["--version"], &["help", "generators"]] {
        assert!(!ust(args).done().is_empty(), "{args:?}");
    }
    let overview = ust(&["help"]).done();
    for command in commands {
        assert!(overview.contains(command), "{command}");
        let help = ust(&["help", command]).done();
        assert!(help.contains(&format!("Usage: ust {command}")), "{help}");
        assert!(ust(&[command, "--help"]).done().contains("--json"), "{command}");
    }
}

#[test]
fn the_help_on_generators_is_the_librarys() {
    assert_eq!(ust(&["help", "generators"]).done(), ust::generate::help());
}

#[test]
fn every_level_type_listed_can_be_written_in_a_format() {
    let listed = ust(&["levels", "--json"]).json();
    let levels = listed["levels"].as_array().unwrap();
    assert_eq!(levels.len(), ust::level_api::registry::factories().len());
    let text = ust(&["levels"]).done();
    for level in levels {
        let name = level["name"].as_str().unwrap();
        assert!(text.contains(&format!("{name}: ")), "{name}");
        for ty in level["types"].as_array().unwrap() {
            assert!(ty["properties"].is_array() && ty["arrays"].is_array(), "{ty}");
        }
        for known in level["aliases"].as_array().unwrap() {
            let known = known.as_str().unwrap();
            assert!(text.contains(known), "{known}");
        }
        let stores = match name {
            "block2_4" => "a remainder by 4",
            "range" => "a dimension within a sum or difference above",
            "batch" => "a dimension",
            _ => "any expression",
        };
        let told = &level["types"][0]["stores"];
        assert!(told == stores || name == "structured", "{name}: {told}");
    }
}

#[test]
fn every_named_format_listed_can_be_asked_for() {
    let listed = ust(&["formats", "--json"]).json();
    let formats = listed["formats"].as_array().unwrap();
    assert!(formats.iter().any(|format| format["name"] == "CSR"));
    let text = ust(&["formats"]).done();
    for format in formats {
        let example = format["example"].as_str().unwrap();
        assert!(text.contains(format["name"].as_str().unwrap()), "{example}");
        let explained = ust(&["format", example, "--json"]).json();
        // The canonical text is a fixed point.
        let canonical = explained["format"].as_str().unwrap();
        let again = ust(&["format", canonical, "--json"]).json();
        assert_eq!(explained, again, "{example}");
        let mlir = ust(&["format", explained["mlir"].as_str().unwrap(), "--json"]).json();
        assert_eq!(mlir["format"], explained["format"], "{example}");
    }
}

#[test]
fn a_format_is_explained() {
    let explained =
        ust(&["format", "(i,j)->(j-i:compressed,i:range), crdWidth=8", "--shape", "4x9", "--json"]);
    let explained = explained.json();
    assert_eq!(explained["format"], "(i, j) -> (j - i : compressed, i : range), crdWidth = 8");
    assert_eq!(explained["name"], "DIA-I");
    assert_eq!(explained["crdWidth"], 8);
    assert_eq!(explained["shape"], serde_json::json!([4, 9]));
    let level = &explained["levels"][0];
    assert_eq!((level["size"].as_u64(), level["lower"].as_i64()), (Some(12), Some(-3)));
    assert_eq!(level["expression"], "j - i");
    let sorted =
        ust(&["show", "gen:random(6x5, nnz=9, seed=3)", "--format", "JDS", "--json"]).json();
    assert_eq!(sorted["orders"]["i"], serde_json::json!([4, 2, 0, 1, 3, 5]));
    assert_eq!(sorted["levels"][2]["crd"].as_array().unwrap().len(), 9);
    assert_eq!(ust(&["format", "ELL", "--json"]).json()["levels"][0]["expression"], "#i");
    let text = ust(&["format", "BSR(2,3)", "--shape", "4x9"]).done();
    for part in ["i floordiv 2", "i = l0 * 2 + l2", "BSR(2, 3)", "4 x 9", "j / 3"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// Commands that fail, with the exit code and what standard error contains. `F` stands for a good
/// file, 3 x 4.
const FAILURES: &[(&[&str], i32, &[&str])] = &[
    (&[], 2, &["Usage: ust [OPTIONS] <COMMAND>"]),
    (&["shwo"], 2, &["unrecognized subcommand", "show"]),
    (&["help", "generator"], 2, &["no help about `generator`", "generators"]),
    (&["show"], 2, &["<TENSOR>"]),
    (&["show", "F", "--foo"], 2, &["--foo"]),
    (&["show", "F", "--shape", "3y4"], 2, &["`3y4` is not a size"]),
    (&["show", ""], 2, &["no file"]),
    (&["show", "absent.tns"], 2, &["absent.tns", "cannot read"]),
    (&["show", "file.doc"], 2, &["unknown extension", ".mtx"]),
    (&["show", "ones(3)"], 2, &["help: a generated tensor is written `gen:ones(3)`"]),
    (&["show", "gen:onse(3)"], 2, &["  gen:onse(3)\n      ^~~~\nhelp: did you mean `ones`?"]),
    (&["show", "gen:ones(3)", "--shape", "4"], 2, &["has the shape 3, not 4"]),
    (&["show", "gen:ones(99999x99999)"], 2, &["too large"]),
    (&["show", "F", "--format", "CSRR"], 2, &["  CSRR\n  ^~~~", "did you mean `CSR`?"]),
    (&["show", "F", "--format", "CSF(3)"], 2, &["dimensions"]),
    (&["show", "F", "--format", "(i, j) -> (i : dence, j : dense)"], 2, &["^~~~~", "`dense`"]),
    (&["show", "F", "--shape", "2x4"], 2, &["F.tns:2:1", "outside"]),
    (&["show", "F", "--format", "CSR, posWidth = 7"], 2, &["posWidth"]),
    (&["show", "gen:ones(300)", "--format", "SparseVector, crdWidth = 8"], 1, &["does not fit"]),
    (&["show", "gen:ones(4x4)", "--format", "2:4"], 1, &["at most 2 nonzeros"]),
    (&["show", "F", "--shape", "999999999999x4", "--format", "CSR"], 1, &["too large"]),
    (&["show", "F", "--svg", "absent/f.svg"], 1, &["absent/f.svg: cannot write"]),
    (&["format", "CSR", "--shape", "2x3x4"], 2, &["dimensions", "rank 3"]),
    (&["format", "(i, j) -> (i : dense)"], 2, &["^", "error: "]),
    (&["convert", "F", "out.doc"], 2, &["unknown extension"]),
    (&["convert", "F", "absent/out.tns"], 1, &["cannot"]),
    (&["convert", "F", "out.tns", "--dtype", "f99"], 2, &["unknown dtype `f99`"]),
    (&["convert", "F", "out.tns", "--dtype", "i32"], 1, &["2.5", "i32"]),
    (&["run", "y(i) = A(i,j) * x(j)", "A=F"], 2, &["the tensor `x` is not given"]),
    (&["run", "y(i) = A(i,j)", "A=F", "A=F"], 2, &["given twice"]),
    (&["run", "y(i) = A(i,j)", "F"], 2, &["write the tensor's name before it"]),
    (&["run", "y(i) = A(i,j)", "A=F", "B=F"], 2, &["has no tensor `B`", "help: it may be A"]),
    (&["run", "y(i) = A(i,j)", "y=F", "A=F"], 2, &["`y` is the result"]),
    (&["run", "y(i) = A(i,j)", "A=F", "--format", "Dense"], 2, &["which tensor is meant"]),
    (&["run", "y(i) = A(i,j)", "A=F", "--format", "B=CSR"], 2, &["has no tensor `B`"]),
    (&["run", "y(i) = A(i,j)", "A=F", "--format", "A=CSC(2)"], 2, &["^"]),
    (&["run", "y(i) = A(i,j)", "A=F", "--shape", "A=2x4"], 2, &["F.tns:2:1"]),
    (&["run", "y(i) = A(i,j)", "A=F", "--shape", "B=2x4"], 2, &["has no tensor `B`"]),
    (
        &["run", "y(i) = A(i,j) * B(i,j)", "A=F", "B=F", "--shape", "3x4"],
        2,
        &["--shape does not say which tensor is meant"],
    ),
    (&["run", "y(i) = A(i,j", "A=F"], 2, &["the text ends", "^"]),
    (&["run", "y(k) = A(i,j)", "A=F"], 2, &["nothing says how far the index `k`", "^"]),
    (&["run", "y(k) = A(i,j)", "A=F", "--extent", "k"], 2, &["--extent", "k=9"]),
    (
        &["run", "y(i) = A(i,j) * x(j)", "A=F", "x=gen:ones(3)"],
        2,
        &["extent 3", "\n                  ^"],
    ),
    (&["run", "y(i) = A(i,j)", "A=F", "--out", "y.doc"], 2, &["unknown extension"]),
    (
        &["run", "y(i) = A(i,j)", "A=F", "--out", "absent/y.tns"],
        1,
        &["there is no folder `absent`"],
    ),
    (&["advise", "F", "--out", "absent/y.svg"], 1, &["there is no folder `absent`"]),
    (&["show", "absent.npz"], 2, &["absent.npz", "cannot open"]),
    (&["info", "F", "--from", "mtx"], 2, &["the extension says what kind a file has"]),
    (&["convert", "F", "out.tns", "--from", "mtx"], 2, &["`- --from mtx < FILE`"]),
    (&["show", "F", "--trace", "5"], 2, &["an element has 2 coordinates here"]),
];

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("F.tns"), "1 2 5\n3 1 7\n3 4 2.5\n").unwrap();
    folder
}

/// The arguments with the file's name for `F`.
fn named<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let named = |&arg: &&'a str| match arg {
        "F" => "F.tns",
        "A=F" => "A=F.tns",
        "B=F" => "B=F.tns",
        "y=F" => "y=F.tns",
        other => other,
    };
    args.iter().map(named).collect()
}

#[test]
fn failures_say_what_is_wrong_and_give_their_exit_code() {
    let folder = folder();
    for &(args, code, parts) in FAILURES {
        let ran = ust_in(folder.path(), &named(args));
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
        for part in parts {
            assert!(ran.stderr.contains(part), "{args:?} does not say {part:?}: {}", ran.stderr);
        }
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no failed command leaves a file: {left:?}");
}

#[test]
fn with_json_failures_are_one_object_too() {
    let folder = folder();
    for &(args, code, _) in FAILURES.iter().filter(|(args, ..)| args.first() != Some(&"help")) {
        let mut args = named(args);
        args.push("--json");
        let ran = ust_in(folder.path(), &args);
        assert_eq!(ran.code, Some(code), "{args:?}");
        let error = &parse(&ran.stdout)["error"];
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{args:?}");
        assert!(!ran.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_span_holds_the_part_of_the_text_that_is_wrong() {
    for (args, text, part) in [
        (["format", "(i, j) -> (i : dence, j : dense)"], 1, "dence"),
        (["info", "gen:onsé(3)"], 1, "onsé"),
        (["info", "gen:random(3x3, nzn=1)"], 1, "nzn"),
        (["run", "y(i) = A(i,j) + * x(j)"], 1, "*"),
    ]
    .map(|(args, at, part)| (args, args[at], part))
    {
        let ran = ust(&[args[0], args[1], "--json"]);
        let span = &parse(&ran.stdout)["error"]["span"];
        let range = span[0].as_u64().unwrap() as usize..span[1].as_u64().unwrap() as usize;
        assert_eq!(&text[range], part, "{args:?}");
    }
}

#[test]
fn an_error_in_a_file_has_a_line_and_a_column() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.tns"), "1 2 5\n1 x 5\n").unwrap();
    let error = &parse(&ust_in(folder.path(), &["info", "bad.tns", "--json"]).stdout)["error"];
    assert_eq!(error["file"], "bad.tns");
    assert_eq!((error["line"].as_u64(), error["column"].as_u64()), (Some(2), Some(3)), "{error}");
}

#[test]
fn a_reader_that_stops_reading_ends_the_program_quietly() {
    for args in [["show", "gen:poisson2d(200)", "--json"], ["info", "gen:ones(9)", "--json"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ust"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Closed before the program has written anything, or soon after.
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_a_failure() {
    for args in [&["levels"][..], &["help"], &["--help"], &["show", "gen:ones(9)", "--json"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ust"));
        let ran = command.args(args).stdout(full).output().unwrap();
        assert_eq!(ran.status.code(), Some(1), "{args:?}");
        assert!(!ran.stderr.is_empty());
    }
}
