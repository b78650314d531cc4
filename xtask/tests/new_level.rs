//! A new level crate: it compiles, and its suite says which function is to be written.
//!
//! Slow, and so ignored: everything is built that a stranger's crate needs. `cargo xtask test` builds it before,
//! for `examples/third_party`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A new crate outside the workspace.
fn written(folder: &Path) -> PathBuf {
    let at = folder.join("crate");
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = command.args(["new-level", "lace", "--outside"]).arg(&at).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    at
}

#[test]
fn beside_what_is_to_be_written_it_is_the_crate_of_the_guide() {
    let folder = tempfile::tempdir().unwrap();
    let at = written(folder.path());
    let root = fs::canonicalize(root()).unwrap();
    for file in ["Cargo.toml", "tests/conformance.rs", "examples/ust.rs", "examples/bench.rs"] {
        let text = fs::read_to_string(at.join(file)).unwrap();
        let text = text.replace(root.to_str().unwrap(), "../..").replace("lace", "ragged");
        let guide = root.join("examples/third_party").join(file);
        assert_eq!(text, fs::read_to_string(guide).unwrap(), "{file}");
    }
}

#[test]
fn a_folder_with_files_and_a_name_that_is_none_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (name, at) in [("lace", "."), ("La-ce", "crate")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        let command = command.args(["new-level", name, "--outside"]).arg(folder.path().join(at));
        assert!(!command.output().unwrap().status.success(), "{name} {at}");
    }
    assert!(!folder.path().join("crate").exists());
}

/// What `cargo test` says of the crate.
fn tested(at: &Path) -> String {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let mut command = Command::new(env!("CARGO"));
    command.args(["test", "--offline", "--test", "conformance"]).current_dir(at);
    let Output { status, stdout, stderr } =
        command.env("CARGO_TARGET_DIR", root().join(target)).output().unwrap();
    let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(!status.success() && text.contains("test conforms ... FAILED"), "{text}");
    text
}

/// Writes what is to be written first.
fn write(at: &Path, by: &str) {
    let file = at.join("src/lib.rs");
    let text = fs::read_to_string(&file).unwrap();
    let (before, todo) = text.split_once("todo!(").unwrap();
    // The message ends with its line.
    let (_, after) = todo.split_once("\"\n").unwrap();
    let (_, after) = after.split_once(')').unwrap();
    fs::write(&file, format!("{before}{by}{after}")).unwrap();
}

#[test]
#[ignore = "builds everything that a crate outside needs"]
fn its_suite_fails_at_the_first_function_that_is_to_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = written(folder.path());
    let says = |what: &str| {
        let text = tested(&at);
        let first = text.find("not yet implemented: ").map(|at| &text[at..]);
        let first = first.unwrap_or_else(|| panic!("nothing is to be written: {text}"));
        assert!(first.starts_with(&format!("not yet implemented: {what}: ")), "{first}");
        text.contains("warning: ")
    };
    let warns = says("describe");
    assert!(!warns, "the compiler finds fault with what is there");
    write(&at, "vec![ust_level_api::ArraySpec::pos()]");
    says("assemble");
}
