//! `ust advise`: a table for people, an object for machines, a picture.

use super::common::{ust, ust_in};

#[test]
fn the_winner_stands_below_the_table_to_be_pasted() {
    let said = ust(&["advise", "gen:banded(300, diagonals=3)", "--budget", "0.05"]).done();
    for part in ["y(i) = A(i,j) * x(j)", "diagonals", "FORMAT", "(now)", "--format \"A="] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn the_last_line_is_a_command_that_does_what_is_advised() {
    let folder = tempfile::tempdir().unwrap();
    let made = ["convert", "gen:banded(300, diagonals=5)", "it's a.mtx"];
    ust_in(folder.path(), &made).done();
    // Every element is stored now: that wins on no machine.
    let args = ["advise", "it's a.mtx", "--budget", "0.3", "--format", "Dense"];
    let said = ust_in(folder.path(), &args).done();
    let last = said.lines().last().unwrap();
    assert!(
        last.starts_with("ust convert 'it'\\''s a.mtx' 'it'\\''s a.ust.npz' --format"),
        "{said}"
    );
    let command = last.replacen("ust", env!("CARGO_BIN_EXE_ust"), 1);
    let mut shell = std::process::Command::new("sh");
    let ran = shell.args(["-c", &command]).current_dir(folder.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let best = said.lines().find_map(|line| line.trim().strip_prefix("--format \"A=")).unwrap();
    let stored = ust_in(folder.path(), &["info", "it's a.ust.npz", "--json"]).json();
    let format = ust(&["format", best.trim_end_matches('"'), "--json"]).json();
    assert_eq!(stored["format"], format["format"]);
}

#[test]
fn json_has_every_format_and_its_numbers() {
    let said = ust(&["advise", "gen:random(40x50, nnz=100)", "--budget", "0.05", "--json"]).json();
    let formats = said["formats"].as_array().unwrap();
    assert_eq!(formats[0]["text"], said["best"]);
    assert!(formats[0]["measured"]["seconds"].as_f64().unwrap() > 0.0);
    assert!(formats.iter().any(|format| format["origin"] == "now"));
    for format in formats {
        assert!(format["predicted"]["bytes"].is_number() && format["reason"].is_string());
    }
    assert_eq!(said["stats"]["entries"], 100);
    assert_eq!(said["operand"], "A");
    assert!(said["ties"].is_array() && formats[0]["tied"] == true);
    for key in ["spread", "off", "rounds"] {
        assert!(formats[0]["measured"][key].is_number(), "{key}");
    }
    assert!(said["left_out"].is_array() && said["summary"].is_string());
}

#[test]
fn operations_take_operands() {
    let op = "C(i,k) = A(i,j) * B(j,k)";
    let args = ["advise", "gen:random(20x30, nnz=60)", "--op", op, "B=gen:normal(30x4)"];
    let said = ust(&[&args[..], &["--budget", "0.05", "--threads", "1", "--all"]].concat()).done();
    assert!(said.contains(op), "{said}");
}

#[test]
fn the_tensor_is_drawn_in_its_winner() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["advise", "gen:banded(30, diagonals=3)", "--budget", "0.05", "--svg", "a.svg"];
    let said = ust_in(folder.path(), &args).done();
    assert!(said.contains("wrote a.svg"), "{said}");
    let drawn = std::fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("banded"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (args, word) in [
        (&["gen:ones(3)", "--op", "y(i) = B(i,j)"][..], "rank 1"),
        (&["gen:ones(3)", "--op", "s = A(i) * "], "expected"),
        (&["gen:ones(3)", "q=gen:ones(3)"], "`q`"),
        (&["gen:ones(3)", "--budget=-1"], "seconds"),
    ] {
        let ran = ust(&[&["advise"][..], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(word), "{args:?}: {}", ran.stderr);
    }
}
